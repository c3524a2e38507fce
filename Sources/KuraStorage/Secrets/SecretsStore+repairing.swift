public import KuraBytes
import Sodium

/// Getting on with what is left after damage, on somebody's word: nothing here happens by itself.
///
/// What a repair accepts is what is there now. Each row that opens was written by this store once, under that name; whether it is the newest that was
/// written nobody can tell any more, since that is what the sum was for.
extension SecretsStore {
    /// What a repair has done.
    public struct Repair {
        public var rev: UInt64
        /// Items that stay, all or some of their versions.
        public var kept = 0
        public var lostItems = 0
        public var lostVersions = 0

        /// `kept`: items that were whole.
        public init(rev: UInt64, kept: Int = 0) {
            self.rev = rev
            self.kept = kept
        }
    }

    /// Has a service go on with what a checkup of it, which has just ended, has found whole: items that do not open go, versions that do not are
    /// marked as destroyed, and the service's record is made to fit. What another keys/host.key opens stays unless the checkup condemns it. When its record is lost all of its values are, and it begins anew.
    /// - Throws: `.preparing` when it has changed since; `.quotaExceeded` when there is more damage than one transaction may mend.
    public func repair(service: Bytes, _ checkup: SecretsCheckup, by author: Author) throws(SecretsError) -> Repair {
        let vault = try keeper.openDamaged()
        guard let hash = checkup.only, let scope = rows.scope(hash), checkup.isDone,
            scope.lastRev == checkup.service.startedRev
        else {
            throw .preparing
        }
        guard checkup.findings.damageCount <= checkup.findings.damages.count else {
            throw .engine(.quotaExceeded(limit: CheckupFindings.mostDamages))
        }
        isRepairing = true
        defer {
            isRepairing = false
            memory.close()
        }
        let opened = OpenService(hash)
        opened.isChecked = true
        let place = Place(vault: vault, service: opened, scope: scope)
        var repair = Repair(rev: 0)
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            if checkup.service.hasRecord {
                try mend(service, checkup, place, &repair)
            } else {
                try beginAnew(service, place, &repair)
            }
        }
        repair.rev = rev ?? scope.lastRev
        vault.services[hash] = nil
        keeper.met.forget()
        report(
            "secrets: a service was repaired; \(repair.lostItems) items and \(repair.lostVersions) versions are lost")
        return repair
    }

    private func mend(
        _ service: Bytes, _ checkup: SecretsCheckup, _ place: Place, _ repair: inout Repair
    ) throws(SecretsError) {
        // The sum is that of what is there, whatever the record says; then changes add to it as they always do.
        let before = try openRecord(service, place)
        record.count = checkup.service.count
        record.sum = checkup.service.sum
        try stageRecord(before, place, headBytes: 0)
        for damage in checkup.findings.damages where damage.what == .item {
            try stageLoss(of: damage.row, service, place)
            repair.lostItems += 1
        }
        var rows: [[UInt8]: [UInt32]] = [:]
        for damage in checkup.findings.damages where damage.what == .version {
            rows[damage.row, default: []].append(damage.version)
        }
        for (row, numbers) in rows {
            guard let item = row.withBytes({ ledger.find(place.scope, $0) }), !item.isTombstone else { continue }
            try open(item, place)
            memory.rowKey.removeAll()
            row.withBytes { memory.rowKey.append($0) }
            for index in head.versions.indices where numbers.contains(head.versions[index].number) {
                try stageRemoval(of: head.versions[index].number, place)
                head.versions[index].isDestroyed = true
                head.versions[index].sealedKey = Bytes()
                repair.lostVersions += 1
            }
            try stageHead(place, item)
        }
        try renewRevisions(place)
        repair.kept = Int(checkup.service.count) - repair.lostItems
    }

    /// Items that are whole but for a revision which there has not been yet: nobody could change them any more.
    private func renewRevisions(_ place: Place) throws(SecretsError) {
        var items: [ItemRef] = []
        var next = place.scope.members.oldest
        while let item = next {
            // What this transaction has staged is of the revision behind the newest.
            if !item.isTombstone, !item.key.equals(SecretRecords.key), item.pointee.rev > ledger.rev,
                !item.pointee.flags.contains(.dirty)
            {
                items.append(item)
            }
            next = item.pointee.newer
        }
        for item in items {
            try open(item, place)
            memory.rowKey.removeAll()
            memory.rowKey.append(item.key)
            try stageHead(place, item)
        }
    }

    /// A head that does not open goes; which versions it had cannot be told.
    private func stageLoss(of row: [UInt8], _ service: Bytes, _ place: Place) throws(SecretsError) {
        guard let item = row.withBytes({ ledger.find(place.scope, $0) }), !item.isTombstone else { return }
        memory.rowKey.removeAll()
        row.withBytes { memory.rowKey.append($0) }
        try stage(Bytes(), isTombstone: true, item, of: service, place)
    }

    /// The service's keys are lost: everything of it goes, and it gets a record with another key.
    private func beginAnew(_ service: Bytes, _ place: Place, _ repair: inout Repair) throws(SecretsError) {
        var items: [ItemRef] = []
        var next = place.scope.members.oldest
        while let item = next {
            if !item.isTombstone { items.append(item) }
            next = item.pointee.newer
        }
        let element = rows.liveRecord(place.scope).map { place.vault.sealer.element(place.scope, $0) }
        for item in items {
            try rows.stageRemoval(ofRecord: item, in: place.scope)
            if !item.key.equals(SecretRecords.key) { repair.lostItems += 1 }
        }
        // Nobody can open them any more; their rows go in pieces.
        if let values = rows.values(of: place.scope) {
            do throws(EngineError) { try ledger.stageDrop(values) } catch { throw .engine(error) }
        }
        guard let element else { return }
        var store = try keeper.storeRecord(place.vault.sealer) ?? keeper.firstStoreRecord
        store.services -= min(store.services, 1)
        store.sum -= element
        try keeper.stage(store, element, place.vault.sealer)
    }

    /// Accepts the services' records and the audit as they are: whatever was removed or set back among them stays so. Services whose own rows do not
    /// fit are still damaged, and the others go on. Of the audit the newest blocks stay that follow one another.
    /// - Parameters:
    ///   - checkup: one of the audit, which has just ended.
    ///   - author: whose the change is.
    /// - Returns: the revision.
    /// - Throws: `.preparing` when the audit has gone on since; what reading values and staging changes throw.
    public func repairStore(_ checkup: SecretsCheckup, by author: Author) throws(SecretsError) -> UInt64 {
        let vault = try keeper.openDamaged()
        let end = try audit.binding.acceptedEnd()
        guard checkup.generation == ring.generation, checkup.isDone, let kept = checkup.kept, kept.head == end.head
        else { throw .preparing }
        let heads = try audit.binding.heads()
        let accepted = kept.accepted
        // What a checkup lists as `audit`, or blocks that it would come to.
        let isWhole = try audit.binding.examine(heads) == nil && audit.binding.isOfSecrets
        let isAsItWas = isWhole && heads.current?.oldest == accepted?.oldest
        var store = (try? keeper.storeRecord(vault.sealer)) ?? VaultRecord()
        (store.sum, store.services) = keeper.sumOfRecords(vault)
        (store.knowsAudit, store.audit) = (true, accepted)
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            try audit.blocks.stageRemoval(behind: end.head.newest)
            try keeper.stage(store, store.sum, vault.sealer)
            try audit.binding.stage(accepted: accepted)
        }
        // Everything is looked at again.
        keeper.forgetVault()
        audit.accept(isAsItWas: isAsItWas)
        report("secrets: the services' records and the audit were accepted as they are")
        return rev ?? ledger.rev
    }
}
