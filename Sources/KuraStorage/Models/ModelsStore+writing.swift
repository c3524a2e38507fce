public import KuraBytes

/// Storing, touching and deleting entries. What is changed is in memory at once and in the file a moment later.
extension ModelsStore {
    /// Stores a value under a key.
    /// `etag`: empty for none. `tags`: at most `tagLimit` numbers of the namespace's tags, four bytes each.
    /// `isStale`: it may be older than what it replaces, so it is to be fetched anew.
    public func put(
        _ namespace: ModelNamespace, _ key: Bytes, _ value: Bytes, _ lifetime: ModelLifetime, etag: Bytes = Bytes(),
        tags: Bytes = Bytes(), ifAbsent: Bool = false, isStale: Bool = false, by author: Author
    ) throws(StoreError) -> ModelStored {
        guard value.count <= Self.valueLimit else { throw .valueTooLarge(limit: Self.valueLimit) }
        let hash = hash(namespace.number, key)
        var old = find(namespace.number, key, hash)
        if ifAbsent, old != 0, state(of: old, namespace, maxAge: nil) != .miss { return .exists }
        let charge = ModelRow.charge(key.count + etag.count + tags.count + value.count)
        guard charge <= byteLimit(of: namespace) else { return .overBudget }
        if namespace.persists, !caches.admits(bytes: value.count) { return .lowStorage }
        // What comes faster than it is written lives in memory only, as that of a namespace that does not persist.
        let persists = namespace.persists && unsentBytes + caches.writer.waiting < caches.writer.limit
        let oldCharge = old == 0 ? 0 : rows.pointee[Int(old)].charge
        for account in namespace.accounts where author.accounts.contains(where: { $0 === account }) {
            try account.admitting(bytes: charge - oldCharge, items: old == 0 ? 1 : 0)
        }
        guard makeRoom(for: charge, replacing: &old, key, hash, in: namespace) else { return .makingRoom }
        if old != 0 {
            // Nor may the file have what it replaces.
            if persists { withdraw(old, namespace) } else { discard(old, namespace) }
        }
        sequence += 1
        var row = ModelRow()
        row.hash = hash
        row.namespace = namespace.number
        row.block = CacheBlock(key, etag, tags, value)
        row.keyCount = UInt16(key.count)
        row.etagCount = UInt16(etag.count)
        row.tagCount = UInt8(tags.count / 4)
        row.valueCount = UInt32(value.count)
        row.flags = isStale ? [.resident, .stale] : .resident
        row.sequence = sequence
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
            let freed = old == 0 ? 0 : rows.pointee[Int(old)].charge
            guard makeRoom(for: charge - freed, entries: old == 0 ? 1 : 0, in: namespace),
                makeMemory(for: charge - (old == 0 ? 0 : rows.pointee[Int(old)].footprint))
            else { return false }
            let before = old
            old = find(namespace.number, key, hash)
            if old == before { return true }
        }
    }

    /// What a row of a namespace takes from the room of all.
    private func add(_ row: ModelRow, in namespace: ModelNamespace, persists: Bool) {
        let number = insert(row)
        let place = Int(number)
        let charge = rows.pointee[place].charge
        namespace.order.insert(number, bytes: charge, limit: byteLimit(of: namespace))
        bytes += charge
        memory += rows.pointee[place].footprint
        eachTag(of: number) { namespace.marks.use(tag: $0, by: 1) }
        for account in namespace.accounts { account.note(bytes: charge, items: 1, scopes: 0) }
        if persists { persist(number, namespace) }
    }

    /// Has a row written by and by whose value is in memory.
    func persist(_ number: UInt32, _ namespace: ModelNamespace) {
        let place = Int(number)
        guard !rows.pointee[place].flags.contains(.unsent) else { return }
        rows.pointee[place].flags.insert([.persisted, .unsent])
        // What replaces one that waited has its row and its place in the list.
        if number != vacatedUnsent { unsent.append(number) }
        unsentBytes += Int(rows.pointee[place].valueCount)
    }

    /// Its times or marks have changed, not its value.
    func noteTouched(_ number: UInt32, _ namespace: ModelNamespace) {
        let place = Int(number)
        guard rows.pointee[place].flags.isPersistedAndSent else { return }
        batch.touch(rows.pointee[place], of: namespace)
        submitIfLarge()
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
        let number = find(namespace.number, key, hash(namespace.number, key))
        guard number != 0, state(of: number, namespace, maxAge: nil) != .miss else { return false }
        let place = Int(number)
        if let etag, !rows.pointee[place].etag.equals(etag) { return false }
        sequence += 1
        rows.pointee[place].sequence = sequence
        rows.pointee[place].flags.remove([.stale, .failed])
        if isStale { rows.pointee[place].flags.insert(.stale) }
        setTimes(&rows.pointee[place], namespace, lifetime)
        noteTouched(number, namespace)
        return true
    }

    /// Whoever was to fetch it has failed: it may live on a while.
    public func noteFailure(_ namespace: ModelNamespace, _ key: Bytes) {
        let number = find(namespace.number, key, hash(namespace.number, key))
        if number != 0 { rows.pointee[Int(number)].flags.insert(.failed) }
    }

    /// - Returns: whether there was something to be seen.
    public func delete(_ namespace: ModelNamespace, _ key: Bytes) -> Bool {
        let number = find(namespace.number, key, hash(namespace.number, key))
        guard number != 0 else { return false }
        let wasSeen = state(of: number, namespace, maxAge: nil) != .miss
        discard(number, namespace)
        if wasSeen { caches.tell(.models, CacheChange(.deleted, of: key, in: namespace)) }
        return wasSeen
    }

    /// The same, leaving the work for a sweep: it is ignored from now on.
    public func deleteLogically(_ namespace: ModelNamespace, _ key: Bytes) -> Bool {
        let number = find(namespace.number, key, hash(namespace.number, key))
        guard number != 0, state(of: number, namespace, maxAge: nil) != .miss else { return false }
        let place = Int(number)
        (rows.pointee[place].freshUntil, rows.pointee[place].staleUntil, rows.pointee[place].errorUntil) = (0, 0, 0)
        noteTouched(number, namespace)
        caches.tell(.models, CacheChange(.deleted, of: key, in: namespace))
        return true
    }

    // MARK: Rows and sums

    /// Takes a row out of everything, in memory and in the file.
    func discard(_ number: UInt32, _ namespace: ModelNamespace) {
        if rows.pointee[Int(number)].flags.contains(.persisted), namespace.persists,
            rows.pointee[Int(number)].sequence > namespace.unlinkedBefore
        {
            batch.delete(rows.pointee[Int(number)].key, of: namespace)
            submitIfLarge()
        }
        withdraw(number, namespace)
    }

    /// Takes a row out of everything in memory.
    func withdraw(_ number: UInt32, _ namespace: ModelNamespace) {
        let charge = rows.pointee[Int(number)].charge
        namespace.order.remove(number)
        memoryOrder.remove(number)
        bytes -= charge
        memory -= rows.pointee[Int(number)].footprint
        if rows.pointee[Int(number)].flags.contains(.unsent) {
            unsentBytes -= Int(rows.pointee[Int(number)].valueCount)
            vacatedUnsent = number
        }
        eachTag(of: number) { namespace.marks.use(tag: $0, by: -1) }
        for account in namespace.accounts { account.note(bytes: -charge, items: -1, scopes: 0) }
        remove(number)
    }

    func eachTag(of number: UInt32, _ body: (UInt32) -> Void) {
        let tags = rows.pointee[Int(number)].tags
        var position = 0
        while position < tags.count {
            body(tags.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            position += 4
        }
    }

    /// The value has been read: it is in memory from now on, if there is room.
    func makeResident(_ number: UInt32, _ value: Bytes) {
        let place = Int(number)
        let written = rows.pointee[place].sequence
        makeMemory(for: value.count)
        guard rows.pointee[place].sequence == written, memory + value.count <= limits.memory else { return }
        let old = rows.pointee[place].block
        memory -= old.footprint
        rows.pointee[place].block = CacheBlock(old.bytes, value)
        rows.pointee[place].valueCount = UInt32(value.count)
        rows.pointee[place].flags.insert(.resident)
        memory += rows.pointee[place].block.footprint
        old.release()
        memoryOrder.insert(number, bytes: value.count, limit: limits.memory)
    }
}
