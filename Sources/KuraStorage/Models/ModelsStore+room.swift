import KuraBytes

/// Who goes when there is no room: asked before anything is stored, so no bound is ever passed.
extension ModelsStore {
    /// Bytes that a namespace may have.
    func byteLimit(of namespace: ModelNamespace) -> Int {
        min(namespace.configuration.maxBytes ?? .max, namespace.persists ? limits.bytes : limits.memory / 2)
    }

    /// Namespaces that are looked at for one that has most.
    private static let lookedAt = 8

    /// Makes room for an entry of so many bytes that is new in a namespace.
    func makeRoom(for charge: Int, in namespace: ModelNamespace) {
        let limit = byteLimit(of: namespace)
        while namespace.bytes + charge > limit, evict(from: namespace) {}
        if let maxEntries = namespace.configuration.maxEntries {
            while namespace.count >= maxEntries, evict(from: namespace) {}
        }
        while bytes + charge > limits.bytes, evictSomewhere() {}
    }

    /// Makes room in memory: values that the file has go first, whole entries when there are none.
    func makeMemory(for size: Int) {
        while memory + size > limits.memory {
            if dropValue() { continue }
            // What is on its way to a file can leave in a moment; how much that is has a bound of its own.
            if !unwritten.isEmpty || unsentBytes > 0, memory + size <= limits.memory + caches.writer.limit { return }
            guard evictSomewhere() else { return }
        }
    }

    /// Lets go of a value that is in the file.
    private func dropValue() -> Bool {
        let victim = memoryOrder.victim(sketch, limit: limits.memory) { rows.pointee[Int($0)].hash }
        guard let victim else { return false }
        memoryOrder.remove(victim)
        let place = Int(victim)
        let old = rows.pointee[place].block
        memory -= old.footprint
        rows.pointee[place].flags.remove(.resident)
        rows.pointee[place].block = CacheBlock(old.bytes(0..<Int(old.count) - Int(rows.pointee[place].valueCount)))
        memory += rows.pointee[place].block.footprint
        old.release()
        return true
    }

    /// Lets go of an entry of one of those that have most.
    private func evictSomewhere() -> Bool {
        var largest: ModelNamespace?
        for _ in 0..<min(Self.lookedAt, namespaces.count) {
            hand = hand + 1 < namespaces.count ? hand + 1 : 0
            if let namespace = namespaces[hand], namespace.count > 0, namespace.bytes > largest?.bytes ?? -1 {
                largest = namespace
            }
        }
        if largest == nil { largest = namespaces.compactMap { $0 }.max { $0.bytes < $1.bytes } }
        guard let largest else { return false }
        return evict(from: largest)
    }

    /// - Returns: false when there is nothing in it.
    func evict(from namespace: ModelNamespace) -> Bool {
        let rejected = namespace.order.rejected
        let victim = namespace.order.victim(sketch, limit: byteLimit(of: namespace)) { rows.pointee[Int($0)].hash }
        guard let victim else { return false }
        namespace.counts.evictions += 1
        namespace.counts.rejections += namespace.order.rejected - rejected
        discard(victim, namespace)
        return true
    }
}

extension ModelsStore: CacheRoom {
    var purgeRank: Int { 2 }

    /// The file that has most gives up its entries; when that would be most of it, it goes whole, which takes no room.
    func purge(bytes wanted: Int) -> Int {
        guard bytes > 0 else { return 0 }
        let before = bytes
        if wanted >= bytes / 2 {
            for namespace in namespaces.compactMap({ $0 }) where namespace.persists { empty(namespace) }
        } else {
            while before - bytes < wanted, evictSomewhere() {}
        }
        let files = Set(namespaces.compactMap { $0 }.filter(\.persists).map(\.file))
        for file in files.sorted() { batch.shrink(file) }
        batch.isRelief = true
        submit()
        return before - bytes
    }

    /// Takes all entries of a namespace out.
    func empty(_ namespace: ModelNamespace) {
        while let row = namespace.order.any {
            withdraw(row, namespace)
            namespace.counts.evictions += 1
        }
        guard namespace.persists else { return }
        batch.drop(namespace, file: namespace.file, isPartition: namespace.configuration.isPartition)
    }
}
