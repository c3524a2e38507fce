public import KuraBytes

/// Who goes when there is no room: asked before anything is stored, so no bound is ever passed.
extension ModelsStore {
    /// Bytes that a namespace may have.
    func byteLimit(of namespace: ModelNamespace) -> Int {
        min(namespace.configuration.maxBytes ?? .max, namespace.persists ? byteLimit : memory.limit / 2)
    }

    /// Makes room for so many entries and bytes that are new in a namespace.
    /// - Returns: false when the turn's time is over before there is enough of it: it goes on when this is asked again.
    func makeRoom(for charge: Int, entries: Int, in namespace: ModelNamespace) -> Bool {
        let limit = byteLimit(of: namespace)
        let maxEntries = namespace.configuration.maxEntries ?? .max
        var effort = CacheEffort(caches)
        while namespace.bytes + charge > limit || namespace.count > maxEntries - entries {
            guard effort.goesOn() else { return false }
            guard evict(from: namespace) else { break }
        }
        while bytes + charge > byteLimit {
            guard effort.goesOn() else { return false }
            guard evictSomewhere() else { break }
        }
        return true
    }

    /// The same for many, of a request that stores all of them or none yet.
    /// `more`: bytes that they take besides what they replace.
    public func prepare(_ namespace: ModelNamespace, entries: Int, more: Int) -> Bool {
        let entries = min(entries, namespace.configuration.maxEntries ?? .max)
        return makeRoom(for: min(more, byteLimit(of: namespace)), entries: entries, in: namespace)
            && makeMemory(for: min(more, memory.limit))
    }

    /// What an entry of so many bytes would take besides what it replaces, and whether it is new; nothing of one that is not stored anyway.
    public func more(
        _ namespace: ModelNamespace, _ key: Bytes, bytes: Int, ifAbsent: Bool
    ) -> (bytes: Int, isNew: Bool) {
        let old = rows.find(namespace.number, key)
        let charge = ModelRow.charge(key.count + bytes)
        let isPresent = old != 0 && ifAbsent && state(of: old, namespace, maxAge: nil) != .miss
        guard !isPresent, charge <= byteLimit(of: namespace) else { return (0, false) }
        return (charge - (old == 0 ? 0 : rows[old].charge), old == 0)
    }

    /// Makes room in memory: values that the file has go first, whole entries when there are none.
    /// - Returns: false when the turn's time is over before there is enough of it.
    @discardableResult
    func makeMemory(for size: Int) -> Bool {
        var effort = CacheEffort(caches)
        while memory.bytes + size > memory.limit {
            guard effort.goesOn() else { return false }
            if memory.dropValue(rows, sketch) { continue }
            // What is on its way to a file can leave in a moment; how much that is has a bound of its own.
            if outbox.isBusy, memory.bytes + size <= memory.limit + caches.writer.limit { break }
            guard evictSomewhere() else { break }
        }
        return true
    }

    /// What is more than there may be goes, some in each turn.
    /// - Returns: nanoseconds until it wants to go on; nil when that is all.
    func tendBounds() -> UInt64? {
        while let number = oversize.last {
            guard let namespace = namespaces[number], !makeRoom(for: 0, entries: 0, in: namespace) else {
                oversize.removeLast()
                continue
            }
            return 1_000_000
        }
        return memory.bytes <= memory.limit || makeMemory(for: 0) ? nil : 1_000_000
    }

    /// Lets go of an entry of one of those that have most.
    private func evictSomewhere() -> Bool {
        guard let largest = namespaces.findLarge() else { return false }
        return evict(from: largest)
    }

    /// - Returns: false when there is nothing in it.
    func evict(from namespace: ModelNamespace) -> Bool {
        let rejected = namespace.order.rejected
        let victim = namespace.order.victim(sketch, limit: byteLimit(of: namespace)) { rows[$0].hash }
        guard let victim else { return false }
        namespace.counts.evictions += 1
        namespace.counts.rejections += namespace.order.rejected - rejected
        discard(victim, namespace)
        return true
    }
}

extension ModelsStore: CacheRoom {
    var store: CacheStore { .models }
    var isRead: Bool { isLoaded }
    var purgeRank: Int { 2 }

    /// Entries go; when that would be most of them, all do, with their files, which takes no room and no time.
    func purge(bytes wanted: Int) -> Int {
        // What has gone with its file is still counted until it has been swept.
        let there = bytes - sweep.clearedBytes
        guard there > 0 else { return 0 }
        outbox.batch.isRelief = true
        if wanted >= there / 2 {
            let before = sweep.clearedBytes
            for namespace in namespaces.all where namespace.persists { clear(namespace) }
            return sweep.clearedBytes - before
        }
        let before = bytes
        var effort = CacheEffort(caches)
        while before - bytes < wanted, effort.goesOn(), evictSomewhere() {}
        return before - bytes
    }

    func purgeEnded() {
        let files = Set(namespaces.all.filter(\.persists).map(\.file))
        for file in files.sorted() { outbox.batch.shrink(file) }
        outbox.batch.isRelief = true
        outbox.submit()
    }

    /// Drops all entries of a namespace, and what its file has of them.
    private func clear(_ namespace: ModelNamespace) {
        guard namespace.count > 0 else { return }
        namespace.counts.evictions += namespace.count
        sweep.clearedBytes += namespace.bytes
        let sequence = outbox.countChange()
        tell(.drop, .whole, Bytes(), namespace)
        drop(namespace)
        guard !namespace.configuration.isPartition else { return }
        outbox.batch.drop(namespace, file: namespace.file, isPartition: false)
        namespace.unlinkedBefore = sequence
    }
}
