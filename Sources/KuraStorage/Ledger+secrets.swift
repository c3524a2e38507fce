import KuraBytes

/// Taking in the log's changes of secrets, as they are: sealed.
extension Ledger {
    /// There is something that keys have sealed.
    var holdsSecrets: Bool { scopes.all.contains { $0.store.isSealed && $0.lastRev > 0 } }

    func replay(secret record: LogRecord, at: Int64) {
        let scope = scopes.findOrPrepare(record.store, record.scope)
        let old = find(scope, record.key)
        let wasPresent = old.map { !$0.isTombstone } ?? false
        if record.isTombstone, !wasPresent {
            note(replayed: record.rev)
            return
        }
        replay(
            scope, key: record.key, value: record.value, isTombstone: record.isTombstone, carrying: nil,
            rev: record.rev, at: at, old: old, oldBytes: wasPresent ? old!.key.count + old!.value.count : 0,
            newBytes: record.isTombstone ? 0 : record.key.count + record.value.count
        ) { item in
            // Records may change several times in a transaction; the fold tells by this which is the newest.
            item.pointee.version = (old?.pointee.version ?? 0) &+ 1
        }
    }

    func replay(secretVersion record: LogRecord, at: Int64, reader: DocumentReader) throws(StorageFault) {
        let scope = scopes.findOrPrepare(record.store, record.scope)
        var old = find(scope, record.key)
        if old == nil, scope.mayHaveRows {
            do throws(StoreError) {
                if let item = try reader.find(scope: scope.id, id: record.key, isSealed: true) {
                    item.pointee.store = scope.store
                    adopt(clean: item)
                    old = item
                }
            } catch { throw .unreadable("a secret", error) }
        }
        if record.isTombstone, old == nil {
            note(replayed: record.rev)
            return
        }
        let oldBytes = old.map { $0.isTombstone ? 0 : $0.value.count } ?? 0
        replay(
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
