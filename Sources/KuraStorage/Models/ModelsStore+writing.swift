public import KuraBytes

/// Storing, touching and deleting entries. What is changed is in memory at once and in the file a moment later.
extension ModelsStore {
    /// Stores a value under a key.
    /// `etag`: empty for none. `tags`: at most `tagLimit` numbers of the namespace's tags, four bytes each.
    /// `isStale`: it may be older than what it replaces, so it is to be fetched anew.
    public func put(
        _ namespace: ModelNamespace, _ key: Bytes, _ value: Bytes, _ lifetime: ModelLifetime, etag: Bytes = Bytes(),
        tags: Bytes = Bytes(), ifAbsent: Bool = false, isStale: Bool = false, by author: Author
    ) throws(EngineError) -> ModelStored {
        guard value.count <= Self.valueLimit else { throw .valueTooLarge(limit: Self.valueLimit) }
        let hash = rows.hash(namespace.number, key)
        var old = rows.find(namespace.number, key, hash)
        if ifAbsent, old != 0, state(of: old, namespace, maxAge: nil) != .miss { return .exists }
        let charge = ModelRow.charge(key.count + etag.count + tags.count + value.count)
        guard charge <= byteLimit(of: namespace) else { return .overBudget }
        if namespace.persists, !caches.admits(bytes: value.count) { return .lowStorage }
        // What comes faster than it is written lives in memory only, as that of a namespace that does not persist.
        let persists = namespace.persists && outbox.admits
        let oldCharge = old == 0 ? 0 : rows[old].charge
        for account in namespace.accounts where author.accounts.contains(where: { $0 === account }) {
            try account.admitting(bytes: charge - oldCharge, items: old == 0 ? 1 : 0)
        }
        guard makeRoom(for: charge, replacing: &old, key, hash, in: namespace) else { return .makingRoom }
        if old != 0 {
            // Nor may the file have what it replaces.
            if persists { withdraw(old, namespace) } else { discard(old, namespace) }
        }
        var row = ModelRow()
        row.hash = hash
        row.namespace = namespace.number
        row.block = CacheBlock(key, etag, tags, value)
        row.keyCount = UInt16(key.count)
        row.etagCount = UInt16(etag.count)
        row.tagCount = UInt8(tags.count / 4)
        row.valueCount = UInt32(value.count)
        row.flags = isStale ? [.resident, .stale] : .resident
        row.sequence = outbox.countChange()
        setTimes(&row, namespace, lifetime)
        add(row, in: namespace, persists: persists)
        if persists { caches.note(.models, namespace.name, key, bytes: key.count + value.count, by: author) }
        namespace.counts.puts += 1
        caches.tell(.models, CacheChange(.stored, of: key, in: namespace))
        return .stored
    }

    /// Makes room for an entry. What is replaced makes room first, so that nobody else goes for it.
    /// `old`: the row that is replaced; 0 when there is none, or none any more.
    /// - Returns: false when there is not enough of it yet.
    private func makeRoom(
        for charge: Int, replacing old: inout UInt32, _ key: Bytes, _ hash: UInt64, in namespace: ModelNamespace
    ) -> Bool {
        while true {
            let freed = old == 0 ? 0 : rows[old].charge
            guard makeRoom(for: charge - freed, entries: old == 0 ? 1 : 0, in: namespace),
                makeMemory(for: charge - (old == 0 ? 0 : rows[old].footprint))
            else { return false }
            let before = old
            old = rows.find(namespace.number, key, hash)
            if old == before { return true }
        }
    }

    /// What a row of a namespace takes from the room of all.
    private func add(_ row: ModelRow, in namespace: ModelNamespace, persists: Bool) {
        let number = rows.insert(row)
        let charge = rows[number].charge
        namespace.order.insert(number, bytes: charge, limit: byteLimit(of: namespace))
        bytes += charge
        memory.take(rows[number].footprint)
        rows[number].forEachTag { namespace.marks.use(tag: $0, by: 1) }
        for account in namespace.accounts { account.note(bytes: charge, items: 1, scopes: 0) }
        if persists { outbox.persist(number, rows) }
    }

    func setTimes(_ row: inout ModelRow, _ namespace: ModelNamespace, _ lifetime: ModelLifetime) {
        let now = caches.clock
        row.storedAt = now
        guard let ttl = lifetime.ttl ?? namespace.configuration.ttl else {
            (row.freshUntil, row.staleUntil, row.errorUntil) = (.max, .max, .max)
            return
        }
        let stale = lifetime.stale ?? namespace.configuration.stale
        row.freshUntil = now.later(by: .milliseconds(seconds: ttl))
        row.staleUntil = row.freshUntil.later(by: .milliseconds(seconds: stale))
        let staleIfError = lifetime.staleIfError ?? namespace.configuration.staleIfError
        row.errorUntil = row.freshUntil.later(by: .milliseconds(seconds: max(stale, staleIfError)))
    }

    /// What is there is as good as new: its value is not written again.
    /// `etag`: that it is to be about; nil: whatever is there.
    /// - Returns: false when there is no such entry, or another one.
    public func touch(
        _ namespace: ModelNamespace, _ key: Bytes, _ lifetime: ModelLifetime, etag: Bytes?, isStale: Bool = false
    ) -> Bool {
        let number = rows.find(namespace.number, key)
        guard number != 0, state(of: number, namespace, maxAge: nil) != .miss else { return false }
        if let etag, !rows[number].etag.equals(etag) { return false }
        rows[number].sequence = outbox.countChange()
        rows[number].flags.remove([.stale, .failed])
        if isStale { rows[number].flags.insert(.stale) }
        setTimes(&rows[number], namespace, lifetime)
        outbox.touch(number, of: namespace, rows)
        return true
    }

    /// Whoever was to fetch it has failed: it may live on a while.
    public func noteFailure(_ namespace: ModelNamespace, _ key: Bytes) {
        let number = rows.find(namespace.number, key)
        if number != 0 { rows[number].flags.insert(.failed) }
    }

    /// - Returns: whether there was something to be seen.
    public func delete(_ namespace: ModelNamespace, _ key: Bytes) -> Bool {
        let number = rows.find(namespace.number, key)
        guard number != 0 else { return false }
        let wasSeen = state(of: number, namespace, maxAge: nil) != .miss
        discard(number, namespace)
        if wasSeen { caches.tell(.models, CacheChange(.deleted, of: key, in: namespace)) }
        return wasSeen
    }

    /// The same, leaving the work for a sweep: it is ignored from now on.
    public func deleteLogically(_ namespace: ModelNamespace, _ key: Bytes) -> Bool {
        let number = rows.find(namespace.number, key)
        guard number != 0, state(of: number, namespace, maxAge: nil) != .miss else { return false }
        (rows[number].freshUntil, rows[number].staleUntil, rows[number].errorUntil) = (0, 0, 0)
        outbox.touch(number, of: namespace, rows)
        caches.tell(.models, CacheChange(.deleted, of: key, in: namespace))
        return true
    }

    // MARK: Rows and sums

    /// Takes a row out of everything, in memory and in the file.
    func discard(_ number: UInt32, _ namespace: ModelNamespace) {
        if rows[number].flags.contains(.persisted), namespace.persists,
            rows[number].sequence > namespace.unlinkedBefore
        {
            outbox.batch.delete(rows[number].key, of: namespace)
            outbox.submitIfLarge()
        }
        withdraw(number, namespace)
    }

    /// Takes a row out of everything in memory.
    func withdraw(_ number: UInt32, _ namespace: ModelNamespace) {
        let charge = rows[number].charge
        namespace.order.remove(number)
        memory.keep(number)
        bytes -= charge
        memory.giveBack(rows[number].footprint)
        if rows[number].flags.contains(.unsent) {
            outbox.unsent.vacate(number, bytes: Int(rows[number].valueCount))
        }
        rows[number].forEachTag { namespace.marks.use(tag: $0, by: -1) }
        for account in namespace.accounts { account.note(bytes: -charge, items: -1, scopes: 0) }
        rows.remove(number)
    }

    /// The value has been read: it is in memory from now on, if there is room.
    func makeResident(_ number: UInt32, _ value: Bytes) {
        let written = rows[number].sequence
        makeMemory(for: value.count)
        guard rows[number].sequence == written, memory.bytes + value.count <= memory.limit else { return }
        memory.insert(value, of: number, rows)
    }
}
