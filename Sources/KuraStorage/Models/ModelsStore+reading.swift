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
        let hash = hash(namespace.number, key)
        let row = find(namespace.number, key, hash)
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
        let place = Int(row)
        if state == .fresh { namespace.counts.hits += 1 } else { namespace.counts.stale += 1 }
        guard rows.pointee[place].flags.contains(.resident) else {
            return answer(row, namespace, state, reading)
        }
        if memoryPlaces.holds(row) { memoryPlaces.visit(row) }
        return .entry(view(row, state))
    }

    /// The same of an entry whose value is not in memory.
    private func answer(
        _ row: UInt32, _ namespace: ModelNamespace, _ state: ModelState, _ reading: ModelRead?
    ) -> Found {
        let written = rows.pointee[Int(row)].sequence
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
            guard rows.pointee[Int(row)].sequence == written else { return .entry(.miss) }
            var view = view(row, state)
            view.value = value
            return .entry(view)
        }
    }

    func view(_ row: UInt32, _ state: ModelState) -> ModelView {
        let place = Int(row)
        let isResident = rows.pointee[place].flags.contains(.resident)
        return ModelView(
            state: state, value: isResident ? rows.pointee[place].value : Bytes(), etag: rows.pointee[place].etag,
            age: max(caches.clock - rows.pointee[place].storedAt, 0), tags: rows.pointee[place].tags)
    }

    func state(of row: UInt32, _ namespace: ModelNamespace, maxAge: Int64?) -> ModelState {
        let place = Int(row)
        let now = caches.clock
        guard now < rows.pointee[place].livesUntil else {
            caches.noteExpired()
            return .miss
        }
        let written = rows.pointee[place].sequence
        let marks = namespace.marks.about(rows.pointee[place].key, tags: rows.pointee[place].tags, since: written)
        if marks.dropBefore > written { return .miss }
        if marks.staleBefore > written || rows.pointee[place].flags.contains(.stale)
            || now >= rows.pointee[place].freshUntil
        {
            return .stale
        }
        if let maxAge, now - rows.pointee[place].storedAt >= maxAge { return .stale }
        return .fresh
    }

    /// Whether what was begun at `since` and would be stored under a key now has been invalidated meanwhile.
    public func isInvalidated(_ namespace: ModelNamespace, _ key: Bytes, tags: Bytes, since: UInt64) -> Bool {
        if namespace.marks.forgotten > since { return true }
        if namespace.marks.about(key, tags: tags, since: since).newest > since { return true }
        // What is there may have other tags.
        let row = find(namespace.number, key, hash(namespace.number, key))
        return row != 0
            && namespace.marks.about(key, tags: rows.pointee[Int(row)].tags, since: since).newest > since
    }

    /// What the store has come to, for `isInvalidated`.
    public var moment: UInt64 { sequence }

    /// Calls `body` with key, state and bytes of the value of entries of a namespace, from a place in the index on.
    /// - Returns: the place where the next page begins; nil at the end.
    public func list(
        _ namespace: ModelNamespace, after: Int, limit: Int, _ body: (Bytes, ModelView, Int) -> Void
    ) -> UInt32? {
        var place = after + 1
        var (left, looks) = (limit, 0)
        while place < rows.pointee.count {
            // A page may hold fewer: others' rows are passed over so long and no longer.
            if left == 0 || looks == Self.looksOfPage { return UInt32(place - 1) }
            looks += 1
            if rows.pointee[place].namespace == namespace.number {
                let state = state(of: UInt32(place), namespace, maxAge: nil)
                if state != .miss {
                    body(rows.pointee[place].key, view(UInt32(place), state), Int(rows.pointee[place].valueCount))
                    left -= 1
                }
            }
            place += 1
        }
        return nil
    }

    private static let looksOfPage = 20_000
}
