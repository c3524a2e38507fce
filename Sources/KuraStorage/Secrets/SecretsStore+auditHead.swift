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

/// The audit's head, which stands twice: in the store's record, which changes in the same transaction and tells whether anything was dropped or
/// set back; and in a row of its own, by which the audit goes on when that record is lost.
extension SecretsStore {
    /// What the store's record and the row say.
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

    /// Layout of a row whose head the store's record has as well, and of one that was written before.
    private static let boundLayout: UInt8 = 2
    private static let unboundLayout: UInt8 = 1

    /// - Throws: `.sealed`.
    func auditHeads() throws(StoreError) -> AuditHeads {
        var heads = try knownHeads()
        guard heads.fault == nil || heads.isRecordMissing, try isBehindMark(heads) else { return heads }
        heads.isBehindMark = true
        heads.fault = heads.fault ?? (heads.current == nil ? .dropped : .bothSetBack)
        return heads
    }

    private func knownHeads() throws(StoreError) -> AuditHeads {
        keeper.follow()
        let (row, isBound, isAltered) = try auditRow()
        var heads = AuditHeads(current: row, row: row)
        let found: VaultRecord?
        do throws(StoreError) { found = try keeper.storeRecord(try keeper.sealer()) } catch {
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
    private func fault(of heads: AuditHeads) throws(StoreError) -> AuditFault? {
        if heads.isBehindMark {
            // Beside services of now it is the store's record that was set back.
            _ = try? keeper.openDamaged()
            return keeper.isUnfit ? .unbound : heads.fault
        }
        // Blocks without the head that tells of them.
        guard let head = heads.current else {
            if let fault = heads.fault { return fault }
            return try auditRow(behind: 0) == nil ? nil : .head
        }
        switch heads.fault {
        case .dropped: return try hasBlock(head.oldest) ? .head : .dropped
        case .setBack: return try hasBlock(head.newest) ? .head : .setBack
        case nil:
            guard try auditRow(behind: head.newest) == nil else { return .beyond }
            guard try isWhole(endOf: head) else { return .record }
            return keeper.isUnfit ? .unbound : nil
        default: return heads.fault
        }
    }

    /// What is wrong, told and remembered.
    /// - Throws: what reading values throws.
    func examine(_ heads: AuditHeads) throws(StoreError) -> AuditFault? {
        guard let fault = try self.fault(of: heads) else { return nil }
        // What the heads alone do not tell of.
        if fault == .beyond || fault == .head && heads.fault == nil {
            noteBroken((heads.current?.newest ?? 0) + 1, fault)
        } else if fault == .record {
            noteBroken(heads.current?.newest ?? 0, fault)
        } else {
            tell(fault)
        }
        return fault
    }

    /// Whether the audit's newest block is there, and the one that the head tells of.
    private func isWhole(endOf head: AuditHead) throws(StoreError) -> Bool {
        guard head.newest >= head.oldest, head.newest > 0 else { return true }
        let sealer = try keeper.auditSealer()
        defer { memory.plaintext.removeAll() }
        guard let (block, sealed) = try openChecked(head.newest, sealer) else { return false }
        return sealer.link(block.previous, head.newest, sealed) == head.link
    }

    /// Looks whether the audit is that of the secrets, once after unlocking: nobody has to ask for it to be told.
    /// - Throws: what reading values throws.
    func examineAudit() throws(StoreError) {
        guard ring.isUnlocked, examinedAuditOf != ring.generation else { return }
        // Whether the store's record fits is known when all records have been looked at.
        guard let vault, vault.generation == ring.generation, vault.hasReadRecords else { return }
        do throws(StoreError) { _ = try examine(try auditHeads()) } catch {
            // What cannot be read shows to whoever needs it.
            if error != .cold { examinedAuditOf = ring.generation }
            throw error
        }
        examinedAuditOf = ring.generation
    }

    private func auditRow() throws(StoreError) -> (head: AuditHead?, isBound: Bool, isAltered: Bool) {
        guard let item = auditRowItem else { return (nil, false, false) }
        var opened = SecretBuffer()
        do throws(StoreError) { try keeper.auditSealer().open(item.value, .head, row: item.key, into: &opened) } catch {
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
    var isAuditOfSecrets: Bool {
        guard let heads = try? auditHeads(), brokenAudit?.generation != ring.generation else { return false }
        return heads.fault == nil && !keeper.isUnfit
    }

    /// Whether the secrets themselves were set back or removed, as far as the heads tell: what is there is not handed
    /// out, and not written over, whatever becomes of a role's requests that the audit cannot take.
    public var areSetBack: Bool {
        guard let heads = try? auditHeads() else { return false }
        return heads.isBehindMark || heads.fault == .secretsSetBack
    }

    private var auditRowItem: ItemRef? {
        ledger.scopes.find(.secrets, Bytes(Self.auditScope)).flatMap { rows.liveRecord($0, SecretRecords.auditKey) }
    }

    // MARK: Staging

    /// Stages the head, in its row and in the store's record.
    /// `isBinding`: the store's record can be opened.
    func stage(_ head: AuditHead, isBinding: Bool) throws(StoreError) {
        try stageRow(head)
        guard isBinding else { return }
        let known = try keeper.storeRecord(try keeper.sealer())
        // Services without the store's record are damage, which a new record must not hide.
        guard known != nil || !rows.hasServices else { return }
        var store = known ?? VaultRecord()
        (store.knowsAudit, store.audit, store.owesAudit) = (true, head, false)
        try keeper.stage(store: store)
    }

    func stageRow(_ head: AuditHead) throws(StoreError) {
        var text = SecretBuffer()
        text.append(Self.boundLayout)
        head.encode(body: &text)
        memory.row.removeAll()
        try keeper.auditSealer().seal(text.bytes, .head, row: Bytes(SecretRecords.auditKey), to: &memory.row)
        try rows.stage(
            record: memory.row.bytes, key: Bytes(SecretRecords.auditKey),
            ledger.scopes.findOrPrepare(.secrets, Bytes(Self.auditScope)))
        memory.row.removeAll()
    }

    /// Stages that the row of the head goes: it cannot be opened, and there is no audit.
    func stageRowRemoval() throws(StoreError) {
        guard let old = auditRowItem, let scope = ledger.scopes.find(.secrets, Bytes(Self.auditScope)) else { return }
        try rows.stageRemoval(ofRecord: old, in: scope)
    }

    /// Whether nothing tells that what is there is what was written.
    var areUnvouched: Bool {
        guard let heads = try? auditHeads() else { return false }
        return heads.isBehindMark || heads.fault == .secretsSetBack || heads.fault == .unbound
    }

    // MARK: Telling

    /// Tells the operator, once after each unlocking.
    func tell(_ fault: AuditFault) {
        guard toldAuditOf != ring.generation else { return }
        toldAuditOf = ring.generation
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
        report(
            "secrets: \(what): 'kura secrets audit verify' tells where, 'kura secrets repair STOREID' accepts what is there (the storeId of 'kura secrets status')"
        )
    }

    /// The newest change has no record, which was cut off with the end of its turn, or removed: that is in the audit.
    func noteMissing() {
        report("secrets: the audit has no record of the newest change: it was cut off amid a turn, or removed")
        trail.noteMissing(at: ledger.now)
    }

    // MARK: Repairing

    /// What a repair accepts as the end of the audit: the longest that is there, with the blocks that follow it. Where even the newest block is
    /// gone, the audit begins anew there; its numbers go on, so that they tell how much is missing.
    /// - Returns: the head, and whether its newest block is there.
    /// - Throws: what reading values throws.
    func acceptedEnd() throws(StoreError) -> (head: AuditHead, isWhole: Bool) {
        let sealer = try keeper.auditSealer()
        defer { memory.plaintext.removeAll() }
        let heads = try auditHeads()
        let known = [heads.current, heads.row].compactMap { $0 }.sorted { $0.newest > $1.newest }
        var accepted: AuditHead?
        for head in known where accepted == nil && head.newest >= head.oldest {
            guard let (block, sealed) = try openChecked(head.newest, sealer) else { continue }
            if sealer.link(block.previous, head.newest, sealed) == head.link { accepted = head }
        }
        var isWhole = accepted != nil
        var head = accepted ?? known.first ?? AuditHead()
        // Without either head the oldest block that is there is where it begins.
        if known.isEmpty, let first = try auditRow(behind: 0),
            let number = Self.blockNumber(first.key), let (block, _) = try openChecked(number, sealer),
            block.firstRecord > 0
        {
            (head.newest, head.oldest, head.link) = (number - 1, number, block.previous)
            (head.newestRecord, head.oldestRecord) = (block.firstRecord - 1, block.firstRecord)
        }
        while isWhole || known.isEmpty, let (block, sealed) = try openChecked(head.newest + 1, sealer),
            block.previous == head.link, block.firstRecord == head.newestRecord + 1
        {
            memory.row.removeAll()
            memory.row.append(sealed)
            follow(&head, block.number, block.count, sealer)
            memory.row.removeAll()
            isWhole = true
        }
        return (head, isWhole)
    }

    /// The number in the key of a block of the audit: 16 hexadecimal digits, from 1; nil when the daemon has not made it.
    private static func blockNumber(_ key: Bytes) -> UInt64? {
        guard key.count == 16, let number = UInt64(String(decoding: key, as: UTF8.self), radix: 16), number > 0,
            number <= UInt64(Int64.max)
        else { return nil }
        return number
    }

    /// The blocks that a repair keeps, as far as it has looked: from the accepted end back, as long as one follows the other.
    struct KeptAudit {
        /// The end.
        let head: AuditHead
        /// Number of the oldest so far, and of its first record; those behind the end when there is none.
        var oldest: UInt64
        var oldestRecord: UInt64
        /// What the block before it has to come to.
        var link: SetSum
        var bytes: UInt64 = 0
        var isDone: Bool

        init(_ head: AuditHead, isWhole: Bool) {
            self.head = head
            (oldest, oldestRecord, link) = (head.newest + 1, head.newestRecord + 1, head.link)
            isDone = !isWhole
        }

        /// What the audit's head becomes; nil when there never was an audit.
        var accepted: AuditHead? {
            var accepted = head
            (accepted.oldest, accepted.oldestRecord, accepted.bytes) = (oldest, oldestRecord, bytes)
            return accepted == AuditHead() ? nil : accepted
        }
    }

    /// Looks at the block before those that are kept.
    /// - Throws: what reading values throws.
    func extend(_ kept: inout KeptAudit) throws(StoreError) {
        let sealer = try keeper.auditSealer()
        defer { memory.plaintext.removeAll() }
        let number = kept.oldest - 1
        guard number >= max(kept.head.oldest, 1), let (block, sealed) = try openChecked(number, sealer),
            sealer.link(block.previous, number, sealed) == kept.link, block.nextRecord == kept.oldestRecord
        else {
            kept.isDone = true
            return
        }
        (kept.oldest, kept.oldestRecord, kept.link) = (number, block.firstRecord, block.previous)
        kept.bytes += UInt64(sealed.count)
    }

    /// Rows that one repair removes at most.
    private static let repairRemovals = 256

    /// Stages that what lies behind the accepted end goes.
    /// - Throws: what reading values and staging changes throw.
    func stageRemoval(behind number: UInt64) throws(StoreError) {
        guard let scope = ledger.scopes.find(.secretVersions, Bytes(Self.auditScope)) else { return }
        func remove(_ old: ItemRef) throws(StoreError) {
            // Its revision and its row's number may be made up.
            scope.nextRow = max(scope.nextRow, old.pointee.row &+ 1)
            try rows.stageRemoval(of: old, in: scope)
        }
        rows.makeKey(block: number + 1)
        if let old = try rows.find(scope), !old.isTombstone { try remove(old) }
        rows.makeKey(block: number)
        var left = Self.repairRemovals
        while left > 0, let old = try rows.findBehind(scope) {
            try remove(old)
            left -= 1
        }
    }

    /// A block is missing or altered, or lies behind the end: that is told, and found by whoever asks.
    func noteBroken(_ block: UInt64, _ fault: AuditFault = .record) {
        brokenAudit = (ring.generation, block)
        tell(fault)
    }

    /// The first row behind that block, whatever is in it; nil when there is none. Its key is in `rows.key`.
    /// - Throws: what reading values throws.
    func auditRow(behind number: UInt64) throws(StoreError) -> ItemRef? {
        guard let scope = ledger.scopes.find(.secretVersions, Bytes(Self.auditScope)) else { return nil }
        // What came with the log may be in memory alone.
        rows.makeKey(block: number + 1)
        if let item = try rows.find(scope), !item.isTombstone { return item }
        rows.makeKey(block: number)
        return try rows.findBehind(scope)
    }

    /// Whether there is a row of that block, whatever is in it.
    func hasBlock(_ number: UInt64) throws(StoreError) -> Bool {
        rows.makeKey(block: number)
        guard let scope = ledger.scopes.find(.secretVersions, Bytes(Self.auditScope)),
            let item = try rows.find(scope)
        else { return false }
        return !item.isTombstone
    }
}
