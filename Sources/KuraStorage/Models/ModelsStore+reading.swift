public import KuraBytes

/// Looking entries up, and what they are worth.
extension ModelsStore {
    /// What was found under a key.
    public enum Found {
        case entry(ModelView)
        /// The value is not in memory: have it read (`read`), then ask again.
        case cold
        /// The key may be in a file that is being read in: ask again when it has been (`awaitLoading`).
        case unknown
    }

    /// Looks a key up. A hit is noted.
    /// `maxAge`: milliseconds from which on it counts as stale; nil: as it says itself.
    /// `reading`: what the request has had read; it is kept as long as what is returned.
    public func get(
        _ namespace: ModelNamespace, _ key: Bytes, maxAge: Int64?, reading: ModelRead? = nil
    ) -> Found {
        let hash = rows.hash(namespace.number, key)
        let row = rows.find(namespace.number, key, hash)
        guard row != 0 else {
            guard isLoaded || !namespace.persists else { return .unknown }
            namespace.counts.misses += 1
            return .entry(.miss)
        }
        let state = state(of: row, namespace, maxAge: maxAge)
        if state == .miss {
            namespace.counts.misses += 1
            return .entry(.miss)
        }
        sketch.add(hash)
        places.visit(row)
        if state == .fresh { namespace.counts.hits += 1 } else { namespace.counts.stale += 1 }
        guard rows[row].flags.contains(.resident) else {
            return answer(row, namespace, state, reading)
        }
        memory.visit(row)
        return .entry(view(row, state))
    }

    /// The same of an entry whose value is not in memory.
    private func answer(
        _ row: UInt32, _ namespace: ModelNamespace, _ state: ModelState, _ reading: ModelRead?
    ) -> Found {
        let written = rows[row].sequence
        switch reading?.answer(written) {
        case nil:
            if state == .fresh { namespace.counts.hits -= 1 } else { namespace.counts.stale -= 1 }
            return .cold
        case .gone:
            // The file has lost it.
            discard(row, namespace)
            return .entry(.miss)
        case .value(let value):
            makeResident(row, value)
            // Making room may have taken the entry itself.
            guard rows[row].sequence == written else { return .entry(.miss) }
            var view = view(row, state)
            view.value = value
            return .entry(view)
        }
    }

    func view(_ row: UInt32, _ state: ModelState) -> ModelView {
        let isResident = rows[row].flags.contains(.resident)
        return ModelView(
            state: state, value: isResident ? rows[row].value : Bytes(), etag: rows[row].etag,
            age: max(caches.clock - rows[row].storedAt, 0), tags: rows[row].tags)
    }

    func state(of row: UInt32, _ namespace: ModelNamespace, maxAge: Int64?) -> ModelState {
        let now = caches.clock
        guard now < rows[row].livesUntil else {
            caches.noteExpired()
            return .miss
        }
        let written = rows[row].sequence
        let marks = marks(of: row, namespace)
        if marks.dropBefore > written { return .miss }
        if marks.staleBefore > written || rows[row].flags.contains(.stale) || now >= rows[row].freshUntil {
            return .stale
        }
        if let maxAge, now - rows[row].storedAt >= maxAge { return .stale }
        return .fresh
    }

    /// What is marked of an entry.
    func marks(of row: UInt32, _ namespace: ModelNamespace) -> ModelMarks {
        namespace.marks.about(rows[row].key, tags: rows[row].tags, since: rows[row].sequence)
    }

    /// Whether what was begun at `since` and would be stored under a key now has been invalidated meanwhile.
    public func isInvalidated(_ namespace: ModelNamespace, _ key: Bytes, tags: Bytes, since: UInt64) -> Bool {
        if namespace.marks.forgotten > since { return true }
        if namespace.marks.about(key, tags: tags, since: since).newest > since { return true }
        // What is there may have other tags.
        let row = rows.find(namespace.number, key)
        return row != 0
            && namespace.marks.about(key, tags: rows[row].tags, since: since).newest > since
    }

    /// What the store has come to, for `isInvalidated`.
    public var moment: UInt64 { outbox.sequence }

    /// Calls `body` with key, state and bytes of the value of entries of a namespace, from a place in the index on.
    /// - Returns: the place where the next page begins; nil at the end.
    public func list(
        _ namespace: ModelNamespace, after: Int, limit: Int, _ body: (Bytes, ModelView, Int) -> Void
    ) -> UInt32? {
        guard after + 1 < Int(rows.end) else { return nil }
        var (left, looks) = (limit, 0)
        for row in UInt32(after + 1)..<rows.end {
            // A page may hold fewer: others' rows are passed over so long and no longer.
            if left == 0 || looks == Self.looksOfPage { return row - 1 }
            looks += 1
            guard rows[row].namespace == namespace.number else { continue }
            let state = state(of: row, namespace, maxAge: nil)
            guard state != .miss else { continue }
            body(rows[row].key, view(row, state), Int(rows[row].valueCount))
            left -= 1
        }
        return nil
    }

    private static let looksOfPage = 20_000
}
