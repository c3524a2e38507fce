public import KuraBytes
import Sodium

/// What the audit gets while the secrets are sealed. Nothing can seal a block then, nor read one.
///
/// Refusals are sealed to a public key, which lies in clear beside the audit's head (`SecretRecords.inboxKey`) since something was put into the audit
/// first. Everybody can seal to it: whoever can write to the data directory can add refusals that never were, or take rows away. So
/// nothing but refusals is taken from there, and the audit marks each as unproved. What is done all the same (reads of what survives a lock) is
/// sealed with a key that the lock leaves in memory (`AuditLock`).
///
/// What has waited for some seconds, or somebody waits for, is a row of its own. When the secrets are unlocked, those rows are opened, their records go into the
/// next block, and with it the rows go.
public final class AuditInbox {
    private let ledger: Ledger
    private let ring: KeyRing
    private let keeper: VaultKeeper
    private let rows: SecretRows
    private let memory: SecretsMemory
    /// What was done while the secrets were locked, and what seals it; that is there from a lock until somebody unlocks.
    let lockTrail: AuditTrail
    private(set) var lock: AuditLock?
    /// The public key has been looked at since the store was unlocked.
    private var keyCheckedOf: UInt64?
    /// Rows whose events wait to be put into a block.
    private var taken: [[UInt8]] = []
    /// Whether a method can be refused with that kind of error: nothing else is believed that came by way of the public key.
    public var judgesRefusal: (_ method: Bytes, _ kind: Bytes) -> Bool = { _, _ in false }

    /// Bytes of rows that there may be; what finds no room waits in memory.
    private static let inboxBytes = 512 << 10
    /// Rows that go into the audit at once.
    private static let inboxRows = 4096

    init(_ ledger: Ledger, _ keeper: VaultKeeper, _ rows: SecretRows, _ memory: SecretsMemory) {
        (self.ledger, self.keeper, self.rows, self.memory) = (ledger, keeper, rows, memory)
        ring = keeper.ring
        lockTrail = AuditTrail(ledger.clock)
    }

    /// What events can be sealed to while there are no keys.
    private var publicKey: ItemRef? { rows.beside(SecretRecords.inboxKey) }

    /// Something takes refusals while the secrets are sealed.
    var hasKey: Bool { publicKey != nil }

    private func forEachRow(
        _ prefix: StaticString, _ body: (ItemRef) throws(SecretsError) -> Void
    ) throws(SecretsError) {
        guard let scope = ledger.scopes.find(.secrets, Bytes(SecretRecords.storeScope)) else { return }
        let members = scope.sortedMembers()
        var position = members.lowerBound(of: Bytes(prefix))
        while let item = members[position], item.key.starts(with: Bytes(prefix)) {
            members.advance(&position)
            if !item.isTombstone { try body(item) }
        }
    }

    // MARK: Sealed

    /// The secrets are about to be locked: what is done meanwhile is sealed with a key that is no other's, and so is what is in no block yet.
    func keep(_ lock: AuditLock?, restOf trail: AuditTrail) {
        self.lock = lock
        trail.moveRest(to: lockTrail)
    }

    /// Seals what waits, when it is time.
    /// - Parameters:
    ///   - refusals: what was refused while the secrets are sealed.
    ///   - all: whether it is time or not.
    ///   - staged: what the turn has put into the audit.
    /// - Throws: what staging a change throws.
    func stage(_ refusals: AuditTrail, all: Bool, _ staged: inout StagedAudit) throws(SecretsError) {
        func isDue(_ trail: AuditTrail) -> Bool {
            trail.staged < trail.entries.count && (all || staged.contains(.some) || trail.isDue)
        }
        if isDue(refusals), let known = publicKey {
            try stage(refusals, SecretRecords.inboxPrefix, &staged) { block in
                do throws(SodiumError) {
                    try SealedBox.seal(block, for: known.value, to: &memory.row)
                    return true
                } catch {
                    // Somebody has altered it.
                    return false
                }
            }
        }
        if isDue(lockTrail), let lock {
            try stage(lockTrail, SecretRecords.lockPrefix, &staged) { block in
                lock.seal(block, row: rows.key.bytes, to: &memory.row)
                return true
            }
        }
    }

    /// What comes finds no room on the disk until somebody unlocks.
    var isFull: Bool { ((try? measure())?.bytes ?? 0) >= Self.inboxBytes }

    /// Bytes of the rows, and the greatest number of one.
    private func measure() throws(SecretsError) -> (bytes: Int, number: UInt64) {
        var (bytes, number): (Int, UInt64) = (0, 0)
        for kind in [SecretRecords.inboxPrefix, SecretRecords.lockPrefix] {
            try forEachRow(kind) { item in
                bytes += item.value.count
                number = max(number, SecretRecords.number(item.key, behind: kind) ?? 0)
            }
        }
        return (bytes, number)
    }

    /// `seal`: seals a block into `row`, for the row whose key is in `rows.key`; false when it cannot.
    private func stage(
        _ trail: AuditTrail, _ prefix: StaticString, _ staged: inout StagedAudit, _ seal: (Bytes) -> Bool
    ) throws(SecretsError) {
        let (bytes, number) = try measure()
        guard bytes < Self.inboxBytes else { return trail.postpone(0) }
        let block = trail.block(trail.staged..<trail.entries.count)
        memory.row.removeAll()
        rows.makeKey(prefix, block: number + 1)
        guard seal(block.bytes) else { return trail.postpone(0) }
        try ledger.amend { () throws(SecretsError) in
            try rows.stage(
                record: memory.row.bytes, key: rows.key.bytes,
                ledger.scopes.findOrPrepare(.secrets, Bytes(SecretRecords.storeScope)))
        }
        memory.row.removeAll()
        trail.staged = trail.entries.count
        staged.formUnion([.some, .inInbox])
    }

    /// The store is about to close: what nothing could seal is lost.
    func tellUnkept() {
        guard !ring.isUnlocked, !lockTrail.isEmpty else { return }
        keeper.report(
            "secrets: \(lockTrail.entries.count) records of what was done while they were sealed are lost with this stop"
        )
    }

    // MARK: Unlocked

    /// Takes what has come while the secrets were sealed among the events that wait. Once after unlocking.
    /// - Parameters:
    ///   - trail: gets them.
    ///   - end: where the audit ends, as it did at the lock.
    /// - Throws: what looking for rows throws.
    func take(into trail: AuditTrail, at end: AuditHead) throws(SecretsError) {
        var count = 0
        // What an earlier look has taken still waits.
        if taken.isEmpty {
            // A rotation may have come since: they are sealed with what was there then.
            let pairs = ((try? ring.keys(.auditBox)) ?? []).compactMap { try? BoxKeyPair(seed: $0) }
            let locks = (try? keeper.auditSealer().locks(at: end)) ?? []
            guard !pairs.isEmpty, !locks.isEmpty else { return }
            var leftOut = 0
            var opened = SecretBuffer()
            try forEachRow(SecretRecords.lockPrefix) { item in
                let isOpen = locks.contains { $0.open(item.value, row: item.key, into: &opened) }
                take(isOpen ? opened.bytes : Bytes(), item, isUnproved: false, into: trail, &count, &leftOut)
            }
            try forEachRow(SecretRecords.inboxPrefix) { item in
                let isOpen = pairs.contains { pair in
                    opened.removeAll()
                    return (try? SealedBox.open(item.value, into: &opened, with: pair)) != nil
                }
                take(isOpen ? opened.bytes : Bytes(), item, isUnproved: true, into: trail, &count, &leftOut)
            }
            if leftOut > 0 {
                keeper.report(
                    "secrets: \(leftOut) of what came into the audit while they were sealed was left out: it is not what was sealed there, or no refusal"
                )
            }
        }
        takeLockTrail(into: trail, &count)
        lock = nil
    }

    /// Takes the records of a row. `text`: of their block; empty when the row does not open.
    private func take(
        _ text: Bytes, _ item: ItemRef, isUnproved: Bool, into trail: AuditTrail, _ count: inout Int,
        _ leftOut: inout Int
    ) {
        guard taken.count < Self.inboxRows else { return }
        taken.append(Array(item.key))
        guard let block = AuditBlock(text), block.forEach({ _ in true }) else {
            leftOut += 1
            return
        }
        _ = block.forEach { record in
            guard isInRange(record), !isUnproved || isRefusal(record.event) else {
                leftOut += 1
                return true
            }
            var record = record
            record.isUnproved = isUnproved
            if trail.take(record, at: count) { count += 1 }
            return true
        }
    }

    /// Last millisecond that a time of the wire can name, at the end of the year 9999.
    private static let lastTime: Int64 = 253_402_300_799_999
    /// Bytes of a text of an event; the longest are names.
    private static let textBytes = 1024

    private func isInRange(_ record: AuditRecord) -> Bool {
        let times = 0...Self.lastTime
        let event = record.event
        return record.count > 0 && times.contains(record.firstAt) && times.contains(record.lastAt)
            && event.rev <= ledger.rev
            && [
                event.method, event.outcome, event.role, event.client, event.name.service, event.name.account,
                event.name.group,
            ].allSatisfy { $0.count <= Self.textBytes && String(validating: $0, as: UTF8.self) != nil }
    }

    /// Whether it can have been refused while the secrets were sealed.
    private func isRefusal(_ event: AuditEvent) -> Bool {
        !event.outcome.isEmpty && judgesRefusal(event.method, event.outcome)
    }

    /// What was done while the secrets were locked, and is in memory still, goes behind `count` others.
    private func takeLockTrail(into trail: AuditTrail, _ count: inout Int) {
        guard !lockTrail.isEmpty else { return }
        let block = lockTrail.block(0..<lockTrail.entries.count)
        _ = AuditBlock(block.bytes)?.forEach { record in
            if trail.take(record, at: count) { count += 1 }
            return true
        }
        lockTrail.moveAway(to: trail)
    }

    /// Stages the public key, when it is not there or is another's, and that the rows go whose records are in the block.
    func stageTaken() throws(SecretsError) {
        guard keyCheckedOf != ring.generation || !taken.isEmpty else { return }
        let scope = ledger.scopes.findOrPrepare(.secrets, Bytes(SecretRecords.storeScope))
        if keyCheckedOf != ring.generation {
            let pair: BoxKeyPair
            do { pair = try BoxKeyPair(seed: ring.key(.auditBox)) } catch { throw .engine(.overloaded) }
            try pair.publicKey.withBytes { (key) throws(SecretsError) in
                guard publicKey?.value.equals(key) != true else { return }
                try rows.stage(record: key, key: Bytes(SecretRecords.inboxKey), scope)
            }
            keyCheckedOf = ring.generation
        }
        for key in taken {
            try key.withBytes { (key) throws(SecretsError) in
                guard let old = ledger.find(scope, key), !old.isTombstone else { return }
                try rows.stageRemoval(ofRecord: old, in: scope)
            }
        }
    }

    /// The turn's changes are in the log, or were taken back. `staged`: what they had of the audit.
    func endTurn(isStored: Bool, _ staged: StagedAudit) {
        guard isStored else {
            lockTrail.takeBack()
            keyCheckedOf = nil
            return
        }
        if staged.contains(.inLog), !staged.contains(.inReserve) { taken.removeAll() }
        if staged.contains(.inInbox) { lockTrail.removeStaged() } else { lockTrail.endTurn() }
    }
}
