import KuraBytes
import Sodium

/// What the audit gets while the secrets are sealed: refusals. Nothing can seal a block then, nor read one; but everybody can seal to a public key.
///
/// It lies in clear beside the audit's head (`SecretRecords.inboxKey`) since something was put into the audit first. While the secrets are sealed, what has
/// waited for some seconds is sealed to it and is a row of its own. When they are unlocked those rows are opened, their records go into
/// the next block, and with it the rows go. Who can write to the data directory can take rows away or add some before that: the chain
/// begins with the block.
extension SecretsStore {
    /// Bytes of rows that there may be; what finds no room waits in memory.
    private static let inboxBytes = 512 << 10
    /// Rows that go into the audit at once.
    private static let inboxRows = 4096

    private var inboxScope: Scope? { ledger.scopes.find(.secrets, Bytes(SecretRecords.storeScope)) }

    /// What events can be sealed to while there are no keys.
    private var inboxPublicKey: ItemRef? {
        guard let scope = inboxScope, let item = ledger.find(scope, Bytes(SecretRecords.inboxKey)), !item.isTombstone
        else { return nil }
        return item
    }

    /// Something takes events while the secrets are sealed.
    var hasInbox: Bool { inboxPublicKey != nil }

    private func forEachInboxRow(_ body: (ItemRef) throws(StoreError) -> Void) throws(StoreError) {
        guard let scope = inboxScope else { return }
        let members = scope.sortedMembers()
        var position = members.lowerBound(of: Bytes(SecretRecords.inboxPrefix))
        while let item = members[position], item.key.starts(with: Bytes(SecretRecords.inboxPrefix)) {
            members.advance(&position)
            try body(item)
        }
    }

    // MARK: Sealed

    /// Seals what waits to the inbox, when it is time.
    /// - Throws: what staging a change throws.
    func stageInbox(all: Bool) throws(StoreError) {
        let isDue =
            all || hasStagedAudit || trail.bytes >= AuditTrail.due
            || monotonicNanoseconds() >= trail.since + Self.auditDelay
        guard isDue, trail.staged < trail.entries.count, let known = inboxPublicKey else { return }
        var (bytes, number): (Int, UInt64) = (0, 0)
        try forEachInboxRow { item in
            bytes += item.value.count
            number = max(number, SecretRecords.inboxNumber(item.key) ?? 0)
        }
        guard bytes < Self.inboxBytes else { return trail.postpone(0) }
        var block = SecretBuffer(capacity: trail.bytes + AuditBlock.headBytes)
        AuditBlock.begin(
            &block, number: 0, firstRecord: 0, count: trail.entries.count - trail.staged, previous: SetSum())
        for entry in trail.entries[trail.staged...] { append(entry, to: &block) }
        row.removeAll()
        do throws(SodiumError) { try SealedBox.seal(block.bytes, for: known.value, to: &row) } catch {
            // Somebody has altered it.
            return trail.postpone(0)
        }
        let client = ledger.takeOver()
        defer { ledger.giveBack(to: client) }
        try ledger.amend { () throws(StoreError) in
            makeInboxKey(number + 1)
            try stage(
                record: row.bytes, key: versionKey.bytes,
                ledger.scopes.findOrPrepare(.secrets, Bytes(SecretRecords.storeScope)))
        }
        row.removeAll()
        trail.staged = trail.entries.count
        (hasStagedAudit, isAuditInInbox) = (true, true)
    }

    private func makeInboxKey(_ number: UInt64) {
        let digits = Bytes("0123456789abcdef")
        versionKey.removeAll()
        versionKey.append(SecretRecords.inboxPrefix)
        for place in 1...16 { versionKey.append(digits[Int(number >> UInt64(64 - place * 4) & 15)]) }
    }

    // MARK: Unlocked

    /// Takes what has come while the secrets were sealed among the events that wait. Once after unlocking.
    func takeInbox() throws(StoreError) {
        // What an earlier look has taken still waits.
        guard inboxTaken.isEmpty else { return }
        var opened = SecretBuffer()
        var position = 0
        guard let pair = try? BoxKeyPair(seed: ring.key(.auditBox)) else { return }
        try forEachInboxRow { item in
            guard inboxTaken.count < Self.inboxRows else { return }
            inboxTaken.append(Array(item.key))
            opened.removeAll()
            guard (try? SealedBox.open(item.value, into: &opened, with: pair)) != nil,
                let block = AuditBlock(opened.bytes)
            else { return report("secrets: a record of the audit of while they were sealed has been altered") }
            _ = block.forEach { record in
                trail.take(record, at: position)
                position += 1
                return true
            }
        }
    }

    /// Stages the public key, when it is not there or is another's, and that the rows go whose records are in the block.
    func stageInboxTaken() throws(StoreError) {
        guard inboxCheckedOf != ring.generation || !inboxTaken.isEmpty else { return }
        let scope = ledger.scopes.findOrPrepare(.secrets, Bytes(SecretRecords.storeScope))
        if inboxCheckedOf != ring.generation {
            let pair: BoxKeyPair
            do { pair = try BoxKeyPair(seed: ring.key(.auditBox)) } catch { throw .overloaded }
            try pair.publicKey.withBytes { (key) throws(StoreError) in
                guard inboxPublicKey?.value.equals(key) != true else { return }
                try stage(record: key, key: Bytes(SecretRecords.inboxKey), scope)
            }
            inboxCheckedOf = ring.generation
        }
        for key in inboxTaken {
            try key.withBytes { (key) throws(StoreError) in
                guard let old = ledger.find(scope, key), !old.isTombstone else { return }
                try ledger.stage(
                    scope, key: key, value: Bytes(), isTombstone: true, old: old,
                    oldBytes: key.count + old.value.count, newBytes: 0, mayRepeat: true
                ) { item in item.pointee.version = old.pointee.version &+ 1 }
            }
        }
    }
}
