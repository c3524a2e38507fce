import KuraBytes

/// The note beside the store's record that something destroyed is still to be overwritten on the disk.
final class ScrubNote {
    private let ledger: Ledger
    /// The scope of the store's record, once it was found, and how many scopes there were when it was not.
    private var storeScope: Scope?
    private var scopesWithoutStore = -1

    init(_ ledger: Ledger) { self.ledger = ledger }

    /// Revision of the newest change that has left something to be overwritten; nil when nothing is left.
    var owedRev: UInt64? {
        // Asked in every turn, mostly where there are no secrets.
        if storeScope?.isInTable != true {
            guard ledger.scopes.all.count != scopesWithoutStore else { return nil }
            storeScope = ledger.scopes.find(.secrets, Bytes(SecretRecords.storeScope))
            scopesWithoutStore = storeScope == nil ? ledger.scopes.all.count : -1
        }
        guard let scope = storeScope, scope.isInTable,
            let item = ledger.find(scope, Bytes(SecretRecords.scrubKey)), !item.isTombstone
        else { return nil }
        return item.pointee.rev
    }

    /// Nothing is left.
    func stageDone() throws(EngineError) {
        _ = try ledger.transaction(by: .daemon) { () throws(EngineError) in try stage(isOwed: false) }
    }

    func stage(isOwed: Bool) throws(EngineError) {
        scopesWithoutStore = -1
        let scope = ledger.scopes.findOrPrepare(.secrets, Bytes(SecretRecords.storeScope))
        let key = Bytes(SecretRecords.scrubKey)
        let old = scope.isInTable ? ledger.find(scope, key) : nil
        let bytes = key.count + 1
        try ledger.stage(
            scope, key: key, value: isOwed ? Bytes("1") : Bytes(), isTombstone: !isOwed, old: old,
            oldBytes: old.map { $0.isTombstone ? 0 : bytes } ?? 0, newBytes: isOwed ? bytes : 0, mayRepeat: true
        ) { item in item.pointee.version = (old?.pointee.version ?? 0) &+ 1 }
    }
}
