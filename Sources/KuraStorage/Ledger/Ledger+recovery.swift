import KuraBytes

/// Taking in what a start finds: the log's changes, and what the tables have of resident stores.
extension Ledger {
    /// Takes in a change that the log has and the tables have not.
    func replay(
        _ scope: Scope, key: Bytes, value: Bytes, isTombstone: Bool, carrying body: Bytes?, rev: UInt64, at: Int64,
        old: ItemRef?, oldBytes: Int, newBytes: Int, shape: (ItemRef) -> Void
    ) {
        guard scopes.enter(scope) else { return }
        let new = ItemRef.make(key: key, value: body ?? value)
        new.pointee.rev = rev
        new.pointee.scope = scope.id
        new.pointee.store = scope.store
        new.pointee.updatedAt = at
        new.pointee.createdAt = at
        new.pointee.version = 1
        new.pointee.hash = table.hash(scope: scope.id, key: key)
        new.pointee.flags = [.dirty]
        new.pointee.isDeleted = isTombstone
        let wasPresent = old.map { !$0.isTombstone } ?? false
        new.pointee.countDelta = (isTombstone ? 0 : 1) - (wasPresent ? 1 : 0)
        new.pointee.bytesDelta = Int32(newBytes - oldBytes)
        shape(new)
        enter(new, over: old, scope)
        if let old {
            overlay.supersede(old, by: new, isKept: keepsHistory(scope.id))
            old.release()
            // The log that this is read from is on the disk.
            overlay.hollow(synced: .everything)
        }
        note(replayed: rev)
    }

    /// Takes in the dropping of a collection.
    func replay(drop scope: Scope?, rev: UInt64, at: Int64) {
        if let scope { enter(drop: makeDrop(scope, rev: rev, at: at), scope) }
        note(replayed: rev)
    }

    func note(replayed rev: UInt64) {
        revisions.replay(rev)
        for part in parts { part.replayed(to: self.rev) }
    }

    /// Takes in a change of a resident store.
    /// `shape`: fills in what the store keeps in the item; given the item that it replaces.
    func replay(resident record: LogRecord, at: Int64, shape: (ItemRef, ItemRef?) -> Void = { _, _ in }) {
        let scope = scopes.findOrPrepare(record.store, record.scope)
        let old = find(scope, record.key)
        let wasPresent = old.map { !$0.isTombstone } ?? false
        // Its revision is given out all the same.
        if record.isTombstone, !wasPresent { return note(replayed: record.rev) }
        replay(
            scope, key: record.key, value: record.value, isTombstone: record.isTombstone, carrying: nil,
            rev: record.rev, at: at, old: old, oldBytes: wasPresent ? old!.key.count + old!.value.count : 0,
            newBytes: record.isTombstone ? 0 : record.key.count + record.value.count
        ) { shape($0, old) }
    }

    /// Takes in an item of a resident store that the tables have.
    func load(resident key: Bytes, value: Bytes, rev: UInt64, updatedAt: Int64, _ scope: Scope) {
        let item = ItemRef.make(key: key, value: value)
        item.pointee.rev = rev
        item.pointee.scope = scope.id
        item.pointee.store = scope.store
        item.pointee.updatedAt = updatedAt
        item.pointee.createdAt = updatedAt
        item.pointee.hash = table.hash(scope: scope.id, key: key)
        table.insert(item)
        scope.members.append(item)
    }
}
