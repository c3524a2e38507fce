import KuraBytes

/// What changes of the log take the place of, for stores whose items lie in rows and are not all in memory: it is looked for in memory, and then
/// in the tables.
struct ReplacedRows {
    private let ledger: Ledger
    private let reader: DocumentReader

    init(_ ledger: Ledger, _ reader: DocumentReader) { (self.ledger, self.reader) = (ledger, reader) }

    /// The scope of a change, and the item that has its key; nil when the change deletes what is not there. That may be when earlier changes are
    /// lost. Its revision is given out all the same.
    func replaced(by record: LogRecord) throws(StorageFault) -> (scope: Scope, old: ItemRef?)? {
        let scope = ledger.scopes.findOrPrepare(record.store, record.scope)
        let old = try find(scope, record.key)
        guard old != nil || !record.isTombstone else {
            ledger.note(replayed: record.rev)
            return nil
        }
        return (scope, old)
    }

    private func find(_ scope: Scope, _ key: Bytes) throws(StorageFault) -> ItemRef? {
        if let known = ledger.find(scope, key) { return known }
        guard scope.rows.mayExist else { return nil }
        let isSealed = scope.store.isSealed
        do throws(EngineError) {
            guard let item = try reader.find(scope: scope.id, id: key, isSealed: isSealed) else { return nil }
            item.pointee.store = scope.store
            ledger.adopt(clean: item)
            return item
        } catch { throw .unreadable(isSealed ? "a secret" : "a document", error) }
    }
}
