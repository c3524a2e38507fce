import KuraBytes

/// What namespaces are configured to be.
extension ModelsStore {
    /// Configures a namespace. What it holds already stays, as far as it may.
    public func configure(_ namespace: ModelNamespace, _ wanted: ModelConfiguration) {
        let old = namespace.configuration
        guard wanted != old else { return }
        let (oldFile, hadFile) = (namespace.file, namespace.persists)
        if hadFile, wanted.isPartition != old.isPartition || !wanted.persists || wanted.isScratch {
            // It moves: what was in the old file goes from there, and what is in memory goes to the new one.
            sendAll()
            batch.drop(namespace, file: oldFile, isPartition: old.isPartition)
            namespace.configuration = wanted
            move(namespace)
        } else {
            namespace.configuration = wanted
            if namespace.persists, !hadFile { move(namespace) }
        }
        if wanted.isScratch { batch.note(namespace, configuration: Bytes()) } else { write(namespace) }
        while namespace.bytes > byteLimit(of: namespace), evict(from: namespace) {}
        if let maxEntries = wanted.maxEntries { while namespace.count > maxEntries, evict(from: namespace) {} }
    }

    /// Writes what is in memory of a namespace to the file that it has now; what is not in memory is gone.
    private func move(_ namespace: ModelNamespace) {
        // Whatever has the file's name is not of this namespace.
        if namespace.persists, namespace.configuration.isPartition {
            batch.drop(namespace, file: namespace.file, isPartition: true)
        }
        for place in 1..<max(rows.pointee.count, 1) where rows.pointee[place].namespace == namespace.number {
            let row = UInt32(place)
            rows.pointee[place].flags.remove(.persisted)
            memoryOrder.remove(row)
            if !rows.pointee[place].flags.contains(.resident) {
                withdraw(row, namespace)
            } else if namespace.persists {
                persist(row, namespace)
            }
        }
        submit()
    }

    /// The effective bound of a namespace's bytes.
    public func maxBytes(of namespace: ModelNamespace) -> Int { byteLimit(of: namespace) }

    // MARK: Scratch

    /// A connection holds a scratch namespace from now on.
    public func hold(_ namespace: ModelNamespace, by owner: UInt64) { namespace.holders.insert(owner) }

    /// A connection is gone: scratch namespaces that nobody else holds go with it.
    func release(_ owner: UInt64) {
        for namespace in namespaces.compactMap({ $0 }) where namespace.holders.remove(owner) != nil {
            guard namespace.configuration.isScratch, namespace.holders.isEmpty else { continue }
            while let row = namespace.order.any { withdraw(row, namespace) }
            forget(namespace)
        }
    }
}
