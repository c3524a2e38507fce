import KuraBytes
import Sodium

/// What is wrong with the audit, or with what binds it to the secrets.
public enum AuditFault: Sendable {
    /// A record has been altered, or is missing.
    case record
    /// The row of the audit's head has been altered, or is missing, and the records are there.
    case head
    /// The audit has been removed: its head, and its records.
    case dropped
    /// The audit is as it was some changes ago, and the secrets are not.
    case setBack
    /// The secrets are as they were some changes ago, and the audit is not.
    case secretsSetBack
    /// Both are as they were some changes ago.
    case bothSetBack
    /// Something lies behind the newest block that the secrets know of.
    case beyond
    /// The store's record is missing or altered, or does not fit the services': nothing tells where the audit ends.
    case unbound
}

/// What the store's record and the row of the audit's head say.
struct AuditHeads {
    /// Where the audit ends, as the store's record says; without that, as the row does. nil when nothing was ever put there.
    var current: AuditHead?
    /// The row's; nil when it is missing or altered.
    var row: AuditHead?
    var fault: AuditFault?
    /// The store's record has a change whose record is to follow in the same turn.
    var isOwed = false
    /// Changes of secrets that there were.
    var changes: UInt64 = 0
    /// DATA/acknowledged knows of more: that is the fault.
    var isBehindMark = false
    /// There is no store's record.
    var isRecordMissing = false
}

/// What binds the audit to the secrets. Its head stands twice: in the store's record, which changes in the same transaction and tells whether
/// anything was dropped or set back; and in a row of its own, by which the audit goes on when that record is lost. DATA/acknowledged has a mark of
/// how far both had come.
public final class AuditBinding {
    private let ledger: Ledger
    private let ring: KeyRing
    private let keeper: VaultKeeper
    private let rows: SecretRows
    private let memory: SecretsMemory
    private let blocks: AuditBlocks
    private(set) var findings = AuditFindings()
    /// What DATA/acknowledged says, until the store is seen to be as new; then, and without one, it is empty.
    var mark = SecretsMark()

    init(_ ledger: Ledger, _ keeper: VaultKeeper, _ rows: SecretRows, _ memory: SecretsMemory, _ blocks: AuditBlocks) {
        (self.ledger, self.keeper, self.rows, self.memory, self.blocks) = (ledger, keeper, rows, memory, blocks)
        ring = keeper.ring
    }

    /// Layout of a row whose head the store's record has as well, and of one that was written before.
    private static let boundLayout: UInt8 = 2
    private static let unboundLayout: UInt8 = 1

    /// - Throws: `.sealed`.
    func heads() throws(SecretsError) -> AuditHeads {
        var heads = try knownHeads()
        guard heads.fault == nil || heads.isRecordMissing, try isBehindMark(heads) else { return heads }
        heads.isBehindMark = true
        heads.fault = heads.fault ?? (heads.current == nil ? .dropped : .bothSetBack)
        return heads
    }

    private func knownHeads() throws(SecretsError) -> AuditHeads {
        keeper.follow()
        let (row, isBound, isAltered) = try auditRow()
        var heads = AuditHeads(current: row, row: row)
        let found: VaultRecord?
        do throws(SecretsError) { found = try keeper.storeRecord(keeper.sealer()) } catch {
            guard error == .integrity else { throw error }
            heads.fault = .unbound
            return heads
        }
        heads.changes = found?.changes ?? 0
        heads.isRecordMissing = found == nil
        guard let known = found, known.knowsAudit else {
            if isAltered {
                heads.fault = .head
            } else if found == nil, isBound || rows.hasServices {
                heads.fault = .unbound
            } else if isBound {
                heads.fault = .secretsSetBack
            }
            return heads
        }
        heads.current = known.audit
        heads.isOwed = known.owesAudit
        heads.fault = isAltered ? .head : Self.fault(known.audit, row)
        return heads
    }

    private static func fault(_ known: AuditHead?, _ row: AuditHead?) -> AuditFault? {
        guard known != row else { return nil }
        guard let row else { return .dropped }
        let newest = known?.newest ?? 0
        return row.newest < newest ? .setBack : row.newest > newest ? .secretsSetBack : .head
    }

    /// What is wrong, by a look at the records as well: with those there the row of the head alone is missing, or set back.
    /// - Throws: what reading values throws.
    private func fault(of heads: AuditHeads) throws(SecretsError) -> AuditFault? {
        if heads.isBehindMark {
            // Beside services of now it is the store's record that was set back.
            _ = try? keeper.openDamaged()
            return keeper.isUnfit ? .unbound : heads.fault
        }
        // Blocks without the head that tells of them.
        guard let head = heads.current else {
            if let fault = heads.fault { return fault }
            return try blocks.row(behind: 0) == nil ? nil : .head
        }
        switch heads.fault {
        case .dropped: return try blocks.has(head.oldest) ? .head : .dropped
        case .setBack: return try blocks.has(head.newest) ? .head : .setBack
        case nil:
            guard try blocks.row(behind: head.newest) == nil else { return .beyond }
            guard try isWhole(endOf: head) else { return .record }
            return keeper.isUnfit ? .unbound : nil
        default: return heads.fault
        }
    }

    /// What is wrong, told and remembered.
    /// - Throws: what reading values throws.
    func examine(_ heads: AuditHeads) throws(SecretsError) -> AuditFault? {
        guard let fault = try self.fault(of: heads) else { return nil }
        // What the heads alone do not tell of.
        if fault == .beyond || fault == .record || fault == .head && heads.fault == nil {
            noteBroken(fault)
        } else {
            tell(fault)
        }
        return fault
    }

    /// Whether the audit's newest block is there, and the one that the head tells of.
    private func isWhole(endOf head: AuditHead) throws(SecretsError) -> Bool {
        guard head.newest >= head.oldest, head.newest > 0 else { return true }
        defer { memory.plaintext.removeAll() }
        return try blocks.isWhole(endOf: head, keeper.auditSealer())
    }

    /// Looks whether the audit is that of the secrets, once after unlocking: nobody has to ask for it to be told.
    /// - Throws: what reading values throws.
    func examineOnce() throws(SecretsError) {
        guard ring.isUnlocked, !findings.has(.examined, of: ring.generation) else { return }
        // Whether the store's record fits is known when all records have been looked at.
        guard let vault = keeper.vault, vault.generation == ring.generation, vault.hasReadRecords else { return }
        do throws(SecretsError) { _ = try examine(heads()) } catch {
            // What cannot be read shows to whoever needs it.
            if error != .engine(.cold) { findings.note(.examined, of: ring.generation) }
            throw error
        }
        findings.note(.examined, of: ring.generation)
    }

    private func auditRow() throws(SecretsError) -> (head: AuditHead?, isBound: Bool, isAltered: Bool) {
        guard let item = rows.beside(SecretRecords.auditKey) else { return (nil, false, false) }
        var opened = SecretBuffer()
        do throws(SecretsError) { try keeper.auditSealer().open(item.value, .head, row: item.key, into: &opened) } catch
        {
            guard error == .integrity else { throw error }
            return (nil, false, true)
        }
        let layout = opened.bytes.count > 0 ? opened.bytes[0] : 0
        guard layout == Self.boundLayout || layout == Self.unboundLayout,
            let head = AuditHead(body: opened.bytes.extracting(1..<opened.bytes.count))
        else { return (nil, false, true) }
        return (head, layout == Self.boundLayout, false)
    }

    /// Whether the audit is that of the secrets, as far as its head tells.
    var isOfSecrets: Bool {
        guard let heads = try? heads(), !findings.has(.broken, of: ring.generation) else { return false }
        return heads.fault == nil && !keeper.isUnfit
    }

    /// Whether the secrets themselves were set back or removed, as far as the heads tell: what is there is not handed
    /// out, and not written over, whatever becomes of a role's requests that the audit cannot take.
    public var areSetBack: Bool {
        guard let heads = try? heads() else { return false }
        return heads.isBehindMark || heads.fault == .secretsSetBack
    }

    // MARK: Staging

    /// Stages the head, in its row and in the store's record.
    /// `isBinding`: the store's record can be opened.
    func stage(_ head: AuditHead, isBinding: Bool) throws(SecretsError) {
        try stageRow(head)
        guard isBinding else { return }
        let known = try keeper.storeRecord(keeper.sealer())
        // Services without the store's record are damage, which a new record must not hide.
        guard known != nil || !rows.hasServices else { return }
        var store = known ?? VaultRecord()
        (store.knowsAudit, store.audit, store.owesAudit) = (true, head, false)
        try keeper.stage(store: store)
    }

    private func stageRow(_ head: AuditHead) throws(SecretsError) {
        var text = SecretBuffer()
        text.append(Self.boundLayout)
        head.encode(body: &text)
        memory.row.removeAll()
        try keeper.auditSealer().seal(text.bytes, .head, row: Bytes(SecretRecords.auditKey), to: &memory.row)
        try rows.stage(
            record: memory.row.bytes, key: Bytes(SecretRecords.auditKey),
            ledger.scopes.findOrPrepare(.secrets, Bytes(SecretRecords.storeScope)))
        memory.row.removeAll()
    }

    /// Stages that the row of the head goes: it cannot be opened, and there is no audit.
    private func stageRowRemoval() throws(SecretsError) {
        guard let old = rows.beside(SecretRecords.auditKey),
            let scope = ledger.scopes.find(.secrets, Bytes(SecretRecords.storeScope))
        else { return }
        try rows.stageRemoval(ofRecord: old, in: scope)
    }

    /// Whether nothing tells that what is there is what was written.
    var areUnvouched: Bool {
        guard let heads = try? heads() else { return false }
        return heads.isBehindMark || heads.fault == .secretsSetBack || heads.fault == .unbound
    }

    // MARK: Telling

    /// Tells the operator, once after each unlocking.
    private func tell(_ fault: AuditFault) {
        guard findings.note(.told, of: ring.generation) else { return }
        let what =
            switch fault {
            case .record: "a record of the audit has been altered or removed"
            case .head: "the head of the audit has been altered or removed"
            case .dropped: "the audit has been removed"
            case .setBack: "the audit has been set back, and the secrets have not"
            case .secretsSetBack: "the secrets have been set back, and the audit has not"
            case .bothSetBack: "the secrets and their audit have been set back: more was acknowledged"
            case .beyond: "something lies behind the newest record of the audit that the secrets know of"
            case .unbound:
                "the store's record is altered or missing, or does not fit the services', and nothing tells where the audit ends"
            }
        keeper.report(
            "secrets: \(what): 'kura secrets audit verify' tells where, 'kura secrets repair STOREID' accepts what is there (the storeId of 'kura secrets status')"
        )
    }

    /// A block is missing or altered, or lies behind the end: that is told, and found by whoever asks.
    func noteBroken(_ fault: AuditFault = .record) {
        findings.note(.broken, of: ring.generation)
        tell(fault)
    }

    /// The end of the audit, and what has come while the secrets were sealed, has been looked at.
    func noteChecked() { findings.note(.checked, of: ring.generation) }

    // MARK: The mark

    /// What is to be noted with the next sync of the log. Asked when the turn's changes are in the log.
    /// - Returns: nil when nothing has changed; also while what is there is not seen to be as new as what was noted before.
    func takeMark() -> [UInt8]? {
        guard keeper.isMarkDue, mark.isEmpty, ring.isUnlocked, let sealing = try? keeper.auditSealer(),
            let opening = try? keeper.sealer(), let known = try? keeper.storeRecord(opening)
        else { return nil }
        keeper.isMarkDue = false
        return SecretsMark(
            changes: known.changes, newestRecord: known.audit?.newestRecord ?? 0, sealing
        ).sealed
    }

    /// Whether more was noted than is there. Once that is not so it never is: both only grow.
    /// - Throws: `.sealed`.
    private func isBehindMark(_ heads: AuditHeads) throws(SecretsError) -> Bool {
        guard !mark.isEmpty else { return false }
        let isBehind = mark.tells(
            moreThan: heads.changes, newestRecord: heads.current?.newestRecord ?? 0, try keeper.auditSealer())
        if isBehind == true { return true }
        if isBehind == nil {
            keeper.report(
                "secrets: the mark in DATA/acknowledged does not open, since it was altered or is of before a rotation: whether the secrets and their audit were set back since the last stop is not known"
            )
        }
        mark = SecretsMark()
        return false
    }

    // MARK: Repairing

    /// What a repair accepts as the end of the audit.
    /// - Returns: the head, and whether its newest block is there.
    /// - Throws: what reading values throws.
    func acceptedEnd() throws(SecretsError) -> (head: AuditHead, isWhole: Bool) {
        let sealer = try keeper.auditSealer()
        defer { memory.plaintext.removeAll() }
        let heads = try heads()
        return try blocks.end([heads.current, heads.row].compactMap { $0 }, sealer)
    }

    /// Stages what a repair has accepted; nil when there never was an audit.
    func stage(accepted head: AuditHead?) throws(SecretsError) {
        if let head { try stageRow(head) } else { try stageRowRemoval() }
    }

    /// Everything is looked at again, and counts as it is.
    func accept() { (findings, mark) = (AuditFindings(), SecretsMark()) }
}
