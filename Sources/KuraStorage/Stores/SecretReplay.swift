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
    private let reader: DocumentReader

    init(_ ledger: Ledger, _ reader: DocumentReader) { (self.ledger, self.reader) = (ledger, reader) }

    func replay(_ record: LogRecord, at: Int64) throws(StorageFault) {
        let scope = ledger.scopes.findOrPrepare(record.store, record.scope)
        var old = ledger.find(scope, record.key)
        if old == nil, scope.mayHaveRows {
            do throws(EngineError) {
                if let item = try reader.find(scope: scope.id, id: record.key, isSealed: true) {
                    item.pointee.store = scope.store
                    ledger.adopt(clean: item)
                    old = item
                }
            } catch { throw .unreadable("a secret", error) }
        }
        if record.isTombstone, old == nil {
            ledger.note(replayed: record.rev)
            return
        }
        let oldBytes = old.map { $0.isTombstone ? 0 : $0.value.count } ?? 0
        ledger.replay(
            scope, key: record.key, value: record.value, isTombstone: record.isTombstone, carrying: nil,
            rev: record.rev, at: at, old: old, oldBytes: oldBytes, newBytes: record.value.count
        ) { item in
            if let old {
                item.pointee.row = old.pointee.row
                item.pointee.version = old.pointee.version &+ 1
            } else {
                item.pointee.row = scope.takeRow()
            }
            item.pointee.writesBody = true
        }
    }
}
