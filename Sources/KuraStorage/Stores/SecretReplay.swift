import KuraBytes

// Taking in the log's changes of secrets, as they are: sealed.

extension Ledger {
    /// There is something that keys have sealed.
    var holdsSecrets: Bool { scopes.all.contains { $0.store.isSealed && $0.lastRev > 0 } }
}

/// Heads of secrets, and records.
final class SecretHeadReplay: StoreReplay {
    private let ledger: Ledger

    init(_ ledger: Ledger) { self.ledger = ledger }

    func replay(_ record: LogRecord, at: Int64) {
        ledger.replay(resident: record, at: at) { item, old in
            // Records may change several times in a transaction; the fold tells by this which is the newest.
            item.pointee.version = (old?.pointee.version ?? 0) &+ 1
        }
    }
}

/// Values of secrets.
final class SecretVersionReplay: StoreReplay {
    private let ledger: Ledger
    private let rows: ReplacedRows

    init(_ ledger: Ledger, _ reader: DocumentReader) {
        (self.ledger, rows) = (ledger, ReplacedRows(ledger, reader))
    }

    func replay(_ record: LogRecord, at: Int64) throws(StorageFault) {
        guard let (scope, old) = try rows.replaced(by: record) else { return }
        let oldBytes = old.map { $0.isTombstone ? 0 : $0.value.count } ?? 0
        ledger.replay(
            scope, key: record.key, value: record.value, isTombstone: record.isTombstone, carrying: nil,
            rev: record.rev, at: at, old: old, oldBytes: oldBytes, newBytes: record.value.count
        ) { item in
            if let old {
                item.pointee.row = old.pointee.row
                item.pointee.version = old.pointee.version &+ 1
            } else {
                item.pointee.row = scope.rows.take()
            }
            item.pointee.writesBody = true
        }
    }
}
