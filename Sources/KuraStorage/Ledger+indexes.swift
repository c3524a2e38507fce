import KuraBytes

/// What the ledger knows of indexes: how they stand in the tables, and which may be told to be unique.
extension Ledger {
    /// Takes in how the indexes stand in the tables.
    func publish(_ statuses: [IndexStatus]) {
        let byCollection = Dictionary(grouping: statuses, by: \.collection)
        for collection in published.union(byCollection.keys) {
            guard let scope = scopes.known(collection) else { continue }
            let indexes = scope.indexes ?? CollectionIndexes()
            scope.indexes = indexes
            indexes.publish(byCollection[collection] ?? [])
        }
        published = Set(byCollection.keys)
        // From now on writes are held against all of such an index.
        var waiting: [Int64: UInt64] = [:]
        for status in statuses where status.state == .built {
            waiting[status.number] = unconfirmed[status.number] ?? rev
        }
        unconfirmed = waiting
    }

    /// The tables can be told that an index is unique, by a slice of its own if need be.
    var hasConfirmations: Bool { !unconfirmed.isEmpty && !confirmable.isEmpty }

    /// Indexes for which no change is left that may have missed a conflict.
    var confirmable: [Int64] {
        let oldest = queue.first?.pointee.rev ?? .max
        return unconfirmed.filter { $0.value < oldest }.map(\.key)
    }

    /// What is configured for a scope has changed.
    func note(configuration item: ItemRef, _ configuration: Scope) {
        // Said often, and of nobody's concern but the migration's.
        if ConfigurationStore.isProgress(item.key) {
            noteProgress(item, configuration)
            return
        }
        noteConfiguration(configuration)
        let isSearch = ConfigurationStore.isSearch(item.key)
        guard isSearch || ConfigurationStore.isIndexes(item.key), let subject = subject(of: configuration),
            subject.store == .documents, let scope = subject.name.withBytes({ scopes.find(.documents, $0) })
        else { return }
        let isFirst = scope.definedRev == 0
        if isFirst { scope.definedRev = item.pointee.rev }
        let text = item.isTombstone ? [] : Array(item.value)
        events.append(
            PendingEvent(
                item: item,
                event: FoldSlice.Event(
                    rev: item.pointee.rev, collection: scope.id, kind: isSearch ? .search(text) : .indexes(text)),
                isFirst: isFirst))
    }

    func takeBackEvent(of item: ItemRef) {
        guard let last = events.last, last.item == item else { return }
        events.removeLast()
        if last.isFirst { scopes.known(last.event.collection)?.definedRev = 0 }
    }
}
