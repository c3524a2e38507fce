import KuraBytes

/// Takes in changes of documents and of the lists of their attachments that the log has and the tables have not.
final class DocumentReplay: StoreReplay {
    private let ledger: Ledger
    private let collections: CollectionLedger
    private let rows: ReplacedRows
    private let uniques: UniqueCheck
    private var referenceKey = ByteBuffer()

    init(_ ledger: Ledger, _ reader: DocumentReader) {
        self.ledger = ledger
        rows = ReplacedRows(ledger, reader)
        collections = ledger.part(CollectionLedger.self)
        uniques = UniqueCheck(ledger: ledger, collections, reader: reader)
    }

    func replay(_ record: LogRecord, at: Int64) throws(StorageFault) {
        guard let (scope, old) = try rows.replaced(by: record) else { return }
        let isList = record.store == .attachments
        // A tombstone has no size, even if it still carries a value.
        let size =
            record.isTombstone ? 0 : isList ? AttachmentList.totalBytes(record.value) : record.value.count
        let wasDirty = old?.isDirty ?? false
        let unique = record.isTombstone ? [] : scope.collection.indexes?.uniques ?? []
        if !unique.isEmpty { uniques.prepare(scope, unique, record.value) }
        ledger.replay(
            scope, key: record.key, value: record.value, isTombstone: record.isTombstone,
            carrying: record.isTombstone && record.value.isEmpty ? old?.value : nil, rev: record.rev, at: at, old: old,
            oldBytes: isList ? DocumentsStore.listSize(old) : DocumentsStore.size(old), newBytes: size
        ) { item in
            if let old { DocumentsStore.succeed(item, old) } else { item.pointee.row = scope.rows.take() }
            item.pointee.writesBody = wasDirty || !record.value.isEmpty
            if !unique.isEmpty { uniques.claim(item) }
            if !record.isTombstone { collections.claimReferences(item, scope, &referenceKey) }
        }
    }
}
