import KuraBytes

/// Takes in changes of documents and of the lists of their attachments that the log has and the tables have not.
final class DocumentReplay: StoreReplay {
    private let ledger: Ledger
    private let collections: CollectionLedger
    private let reader: DocumentReader
    private let uniques: UniqueCheck
    private var referenceKey = ByteBuffer()

    init(_ ledger: Ledger, _ reader: DocumentReader) {
        (self.ledger, self.reader) = (ledger, reader)
        collections = ledger.part(CollectionLedger.self)
        uniques = UniqueCheck(ledger: ledger, collections, reader: reader)
    }

    func replay(_ record: LogRecord, at: Int64) throws(StorageFault) {
        let scope = ledger.scopes.findOrPrepare(record.store, record.scope)
        var old = ledger.find(scope, record.key)
        if old == nil, scope.mayHaveRows {
            do throws(EngineError) {
                if let item = try reader.find(scope: scope.id, id: record.key) {
                    item.pointee.store = scope.store
                    ledger.adopt(clean: item)
                    old = item
                }
            } catch {
                throw .unreadable("a document", error)
            }
        }
        if record.isTombstone, old == nil { return }
        let isList = record.store == .attachments
        let size = isList ? AttachmentList.totalBytes(record.value) : record.value.count
        let wasDirty = old?.isDirty ?? false
        let unique = record.isTombstone ? [] : scope.collection.indexes?.uniques ?? []
        if !unique.isEmpty { uniques.prepare(scope, unique, record.value) }
        ledger.replay(
            scope, key: record.key, value: record.value, isTombstone: record.isTombstone,
            carrying: record.isTombstone && record.value.isEmpty ? old?.value : nil, rev: record.rev, at: at, old: old,
            oldBytes: isList ? DocumentsStore.listSize(old) : DocumentsStore.size(old), newBytes: size
        ) { item in
            if let old { DocumentsStore.succeed(item, old) } else { item.pointee.row = scope.takeRow() }
            item.pointee.writesBody = wasDirty || !record.value.isEmpty
            if !unique.isEmpty { uniques.claim(item) }
            if !record.isTombstone { collections.claimReferences(item, scope, &referenceKey) }
        }
    }
}
