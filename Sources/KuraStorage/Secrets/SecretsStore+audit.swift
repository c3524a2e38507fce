import KuraBytes
import Sodium

/// The audit: what was asked of secrets, by whom, sealed and linked, in the log with everything else.
///
/// Events wait in `trail` until a turn's end and go into a block then, which is staged as a part of the turn's last transaction: the same commit
/// and the same sync. Blocks lie among the values, in a scope of their own, the head among the heads. The oldest go when there are too many.
extension SecretsStore {
    private static let auditScope: StaticString = SecretRecords.storeScope
    /// Longest that an event waits for others, nanoseconds.
    static let auditDelay: UInt64 = 5_000_000_000
    /// Bytes of texts in a block, about.
    private static let auditBlockBytes = 4 << 10
    /// Old blocks that one turn removes at most.
    private static let auditRemovals = 4

    // MARK: Noting

    /// Notes an event. It is in the log with the turn when somebody waits for it, which a change of a transaction always does.
    public func note(_ event: AuditEvent, isStrict: Bool, isChange: Bool) {
        trail.note(
            event, at: ledger.now, isStrict: isStrict, isChange: isChange, isSealed: !ring.isUnlocked)
    }

    /// Whether reads of the service that was asked for last wait until they are in the audit. Asked once a request.
    public func takeAuditsEachRead() -> Bool {
        defer { auditsEachRead = false }
        return auditsEachRead
    }

    // MARK: Staging

    private func auditSealer() throws(StoreError) -> AuditSealer {
        follow()
        if let auditing { return auditing.sealer }
        let made = try AuditSealer(ring)
        auditing = (ring.generation, made)
        return made
    }

    /// nil when nothing was ever put there.
    private func auditHead(_ sealer: AuditSealer) throws(StoreError) -> AuditHead? {
        guard let scope = ledger.scopes.find(.secrets, Bytes(Self.auditScope)),
            let item = ledger.find(scope, Bytes(SecretRecords.auditKey)), !item.isTombstone
        else { return nil }
        var opened = SecretBuffer()
        try sealer.open(item.value, .head, row: item.key, into: &opened)
        guard let head = AuditHead(opened.bytes) else { throw .integrity }
        return head
    }

    /// Puts what waits into blocks, if it is time.
    /// - Parameter all: whether it is or not.
    /// - Throws: `.noSpace`, `.cold`, `.integrity`.
    func stageAudit(all: Bool = false) throws(StoreError) {
        guard !trail.isEmpty else { return }
        guard ring.isUnlocked else { return try stageInbox(all: all) }
        let isDue =
            all || hasStagedAudit || trail.hasStrict || trail.bytes >= AuditTrail.due
            || monotonicNanoseconds() >= trail.since + Self.auditDelay
        guard isDue, trail.staged < trail.entries.count else { return }
        trail.noteLost(at: ledger.now)
        try prepareAudit()
        let sealer = try auditSealer()
        do throws(StoreError) { try stageIntoLog(sealer) } catch {
            guard error == .noSpace else { throw error }
            try saveInReserve(sealer)
            isAuditInReserve = true
        }
        trail.staged = trail.entries.count
        hasStagedAudit = true
    }

    private func stageIntoLog(_ sealer: AuditSealer) throws(StoreError) {
        let client = ledger.takeOver()
        defer { ledger.giveBack(to: client) }
        try ledger.amend { () throws(StoreError) in
            var head = try auditHead(sealer) ?? AuditHead()
            for frame in auditReserve?.frames ?? [] where frame.number == head.newest + 1 {
                try frame.row.withBytes { (sealed) throws(StoreError) in
                    makeBlockKey(frame.number)
                    guard let block = opened(sealed, sealer) else { throw .integrity }
                    row.removeAll()
                    row.append(sealed)
                    try stage(block: frame.number, records: block.count, &head, sealer)
                }
            }
            var position = trail.staged
            while position < trail.entries.count {
                let number = head.newest + 1
                let records = makeBlock(from: &position, head, sealer)
                try stage(block: number, records: records, &head, sealer)
            }
            try removeOldBlocks(&head, sealer)
            try stage(head, sealer)
            try stageInboxTaken()
        }
    }

    /// There is no room in the log: what waits goes into the reserve, and is on the disk there.
    /// - Throws: `.noSpace`.
    private func saveInReserve(_ sealer: AuditSealer) throws(StoreError) {
        guard let auditReserve, !auditReserve.isUsedUp || ledger.isRefusingChanges else { throw .noSpace }
        var head = AuditHead()
        if let auditReserveHead { head = auditReserveHead } else if let known = try auditHead(sealer) { head = known }
        var frames: [AuditReserve.Frame] = []
        var position = trail.staged
        while position < trail.entries.count {
            let number = head.newest + 1
            let records = makeBlock(from: &position, head, sealer)
            follow(&head, number, records, sealer)
            frames.append(AuditReserve.Frame(number: number, row: Array(row.bytes)))
        }
        row.removeAll()
        guard auditReserve.append(frames) else { throw .noSpace }
        auditReserveHead = head
    }

    /// Nothing more can be put into the audit that is on the disk before somebody is answered.
    public var isAuditWithoutRoom: Bool {
        (ledger.isRefusingChanges || ledger.isRefusingForReserve) && auditReserve?.isUsedUp != false
    }

    /// Looks at the end of the audit, once after unlocking: nothing may be behind what its head tells of.
    /// - Throws: `.integrity` when there is, or the head cannot be opened; `.cold`, `.unreadable`.
    public func prepareAudit() throws(StoreError) {
        guard ring.isUnlocked, checkedAuditOf != ring.generation else { return }
        let sealer = try auditSealer()
        defer { plaintext.removeAll() }
        var head = try auditHead(sealer) ?? AuditHead()
        makeBlockKey(head.newest + 1)
        if let scope = ledger.scopes.find(.secretVersions, Bytes(Self.auditScope)), let item = try findVersion(scope),
            !item.isTombstone
        {
            throw .integrity
        }
        // What a stop has left in the reserve goes on from there.
        auditReserveHead = nil
        for frame in auditReserve?.frames ?? [] where frame.number == head.newest + 1 {
            let count = frame.row.withBytes { (sealed) -> Int? in
                makeBlockKey(frame.number)
                guard let block = opened(sealed, sealer), block.previous == head.link else { return nil }
                row.removeAll()
                row.append(sealed)
                return block.count
            }
            guard let count else { throw .integrity }
            follow(&head, frame.number, count, sealer)
            auditReserveHead = head
        }
        row.removeAll()
        checkedAuditOf = ring.generation
        try takeInbox()
    }

    /// The block in a row whose key is in `versionKey`; nil when it is not what was sealed there.
    private func opened(_ sealed: Bytes, _ sealer: AuditSealer) -> AuditBlock? {
        guard (try? sealer.open(sealed, .block, row: versionKey.bytes, into: &plaintext)) != nil else { return nil }
        return AuditBlock(plaintext.bytes)
    }

    /// What the head becomes with the block whose row is in `row`.
    private func follow(_ head: inout AuditHead, _ number: UInt64, _ records: Int, _ sealer: AuditSealer) {
        head.link = sealer.link(head.link, number, row.bytes)
        head.newest = number
        head.newestRecord += UInt64(records)
        head.bytes += UInt64(row.count)
    }

    /// Seals events from `position` on as the block behind the head, into `row`.
    /// - Returns: how many.
    private func makeBlock(from position: inout Int, _ head: AuditHead, _ sealer: AuditSealer) -> Int {
        let start = position
        var bytes = 0
        while position < trail.entries.count, bytes < Self.auditBlockBytes {
            bytes += trail.entries[position].range.count
            position += 1
        }
        let number = head.newest + 1
        var block = SecretBuffer(capacity: bytes + AuditBlock.headBytes + 32 * (position - start))
        AuditBlock.begin(
            &block, number: number, firstRecord: head.newestRecord + 1, count: position - start, previous: head.link)
        for entry in trail.entries[start..<position] { append(entry, to: &block) }
        makeBlockKey(number)
        row.removeAll()
        sealer.seal(block.bytes, .block, row: versionKey.bytes, to: &row)
        return position - start
    }

    func append(_ entry: AuditTrail.Entry, to block: inout SecretBuffer) {
        block.append(littleEndian: entry.firstAt)
        block.append(littleEndian: entry.lastAt)
        block.append(littleEndian: entry.count)
        block.append(littleEndian: entry.rev)
        block.append(trail.text(entry))
    }

    /// Stages the block whose row is in `row`.
    private func stage(block number: UInt64, records: Int, _ head: inout AuditHead, _ sealer: AuditSealer)
        throws(StoreError)
    {
        makeBlockKey(number)
        let scope = ledger.scopes.findOrPrepare(.secretVersions, Bytes(Self.auditScope))
        try ledger.stage(
            scope, key: versionKey.bytes, value: row.bytes, isTombstone: false, old: nil, oldBytes: 0,
            newBytes: row.count
        ) { item in item.pointee.row = scope.takeRow() }
        follow(&head, number, records, sealer)
        row.removeAll()
    }

    private func stage(_ head: AuditHead, _ sealer: AuditSealer) throws(StoreError) {
        var text = SecretBuffer()
        head.encode(to: &text)
        row.removeAll()
        sealer.seal(text.bytes, .head, row: Bytes(SecretRecords.auditKey), to: &row)
        try stage(
            record: row.bytes, key: Bytes(SecretRecords.auditKey),
            ledger.scopes.findOrPrepare(.secrets, Bytes(Self.auditScope))
        )
        row.removeAll()
    }

    /// As long as there are too many bytes; the newest blocks stay.
    private func removeOldBlocks(_ head: inout AuditHead, _ sealer: AuditSealer) throws(StoreError) {
        guard let scope = ledger.scopes.find(.secretVersions, Bytes(Self.auditScope)) else { return }
        var left = Self.auditRemovals
        while head.bytes > UInt64(ledger.configuration.auditBytes), head.oldest < head.newest, left > 0 {
            left -= 1
            makeBlockKey(head.oldest)
            let found: ItemRef?
            do throws(StoreError) { found = try findVersion(scope) } catch {
                awaitsAuditBlock = true
                return
            }
            // Two blocks of one turn are not both its own.
            if let old = found, !old.isTombstone, old.pointee.rev <= ledger.rev {
                var opened = SecretBuffer()
                if (try? sealer.open(old.value, .block, row: old.key, into: &opened)) != nil,
                    let block = AuditBlock(opened.bytes)
                {
                    head.oldestRecord = block.firstRecord + UInt64(block.count)
                }
                head.bytes -= min(head.bytes, UInt64(old.value.count))
                try ledger.stage(
                    scope, key: versionKey.bytes, value: Bytes(), isTombstone: true, old: old,
                    oldBytes: old.value.count, newBytes: 0
                ) { item in
                    item.pointee.row = old.pointee.row
                    item.pointee.version = old.pointee.version &+ 1
                    item.pointee.writesBody = true
                }
            }
            head.oldest += 1
        }
    }

    /// Leaves the key of a block's row in `versionKey`: 16 hexadecimal digits.
    private func makeBlockKey(_ number: UInt64) {
        let digits = Bytes("0123456789abcdef")
        versionKey.removeAll()
        for place in 1...16 { versionKey.append(digits[Int(number >> UInt64(64 - place * 4) & 15)]) }
    }

    /// The turn's changes are in the log, or were taken back.
    func endAudit(isStored: Bool) {
        if !isStored {
            trail.takeBack()
            inboxCheckedOf = nil
            // What they were configured to be may have been taken back.
            if let vault { for service in vault.services.values { service.auditsEachRead = nil } }
        } else if hasStagedAudit {
            if !isAuditInReserve, !isAuditInInbox {
                inboxTaken.removeAll()
                if auditReserve?.frames.isEmpty == false {
                    auditReserveHead = nil
                    auditReserveInLog = ledger.committedRev
                }
            }
            trail.removeStaged()
        } else {
            trail.endTurn()
        }
        hasStagedAudit = false
        (isAuditInReserve, isAuditInInbox) = (false, false)
        // A power cut may still take back what is only in the log.
        if let rev = auditReserveInLog, ledger.syncedRev >= rev {
            auditReserveInLog = nil
            if auditReserveHead == nil { auditReserve?.removeAll() }
        }
    }

    /// Whether a block is to be read in, so that it can go.
    func takeAwaitsAuditBlock() -> Bool {
        defer { awaitsAuditBlock = false }
        return awaitsAuditBlock
    }

    /// When what waits is put into the log, nanoseconds; nil when nothing does.
    var auditDueAt: UInt64? {
        trail.isEmpty || !ring.isUnlocked && !hasInbox ? nil : trail.since + Self.auditDelay
    }

    // MARK: Reading

    /// Where a walk over the audit stands: before a record of a block.
    public struct AuditPosition: Equatable, Sendable {
        public var block: UInt64
        public var record: UInt64

        public init(block: UInt64, record: UInt64) { (self.block, self.record) = (block, record) }
    }

    /// Opens a block into `plaintext`.
    /// - Returns: the row; nil when there is none.
    private func openBlock(_ number: UInt64, _ sealer: AuditSealer) throws(StoreError) -> (AuditBlock, Bytes)? {
        makeBlockKey(number)
        guard let scope = ledger.scopes.find(.secretVersions, Bytes(Self.auditScope)),
            let item = try findVersion(scope), !item.isTombstone
        else { return nil }
        ledger.markRead(item)
        try sealer.open(item.value, .block, row: item.key, into: &plaintext)
        guard let block = AuditBlock(plaintext.bytes), block.number == number else { throw .integrity }
        return (block, item.value)
    }

    /// Lends records to `body`, the oldest first.
    /// - Parameters:
    ///   - position: where to begin; nil for the oldest.
    ///   - since: older records are left out, milliseconds since 1970.
    ///   - most: blocks that are looked at.
    ///   - body: takes one; false when there was no room for it, and the next walk begins with it.
    /// - Returns: where to go on; nil at the end.
    /// - Throws: `.sealed`; `.integrity` when a block is not what was put there; what reading values throws.
    public func audit(
        from position: AuditPosition?, since: Int64, most: Int, _ body: (AuditRecord) -> Bool
    ) throws(StoreError) -> AuditPosition? {
        guard ring.isUnlocked else { throw .sealed }
        let sealer = try auditSealer()
        defer { plaintext.removeAll() }
        guard let head = try auditHead(sealer) else { return nil }
        var next = position ?? AuditPosition(block: head.oldest, record: 0)
        if next.block < head.oldest { next = AuditPosition(block: head.oldest, record: 0) }
        if position == nil, since > 0 { next.block = try firstBlock(since, head, sealer) }
        var left = most
        while next.block <= head.newest {
            guard left > 0 else { return next }
            left -= 1
            guard let (block, _) = try openBlock(next.block, sealer) else { throw .integrity }
            var stop: AuditPosition?
            let isWhole = block.forEach { record in
                guard record.number >= next.record, record.lastAt >= since else { return true }
                if body(record) { return true }
                stop = AuditPosition(block: block.number, record: record.number)
                return false
            }
            guard isWhole else { throw .integrity }
            if let stop { return stop }
            next.block += 1
        }
        return nil
    }

    /// The first block with a record that is not older. Blocks are in the order of time, but for clocks that were set.
    private func firstBlock(_ since: Int64, _ head: AuditHead, _ sealer: AuditSealer) throws(StoreError) -> UInt64 {
        var (lower, upper) = (head.oldest, head.newest)
        while lower < upper {
            let middle = lower + (upper - lower) / 2
            var newest: Int64 = 0
            guard let (block, _) = try openBlock(middle, sealer),
                block.forEach({ record in
                    newest = max(newest, record.lastAt)
                    return true
                })
            else { throw .integrity }
            if newest < since { lower = middle + 1 } else { upper = middle }
        }
        return lower
    }

    /// What checking a piece of the audit came to.
    public struct AuditCheck {
        /// Records that are as they were written.
        public var records: UInt64 = 0
        /// The block to go on with; nil at the end.
        public var next: UInt64?
        /// The first record that is not as it was written, or missing.
        public var broken: UInt64?
        /// Number of the newest record, and what the chain has come to with it: 32 bytes.
        public var newest: UInt64 = 0
        public var link: [UInt8] = []
    }

    /// Checks some blocks: that each is whole, follows the one before it, and that the last is the head's.
    /// - Parameters:
    ///   - block: where to begin, as an earlier check has returned it; nil for the oldest.
    ///   - most: blocks that are looked at.
    /// - Returns: what it has come to.
    /// - Throws: `.sealed`, and what reading values throws.
    public func verifyAudit(from block: UInt64?, most: Int) throws(StoreError) -> AuditCheck {
        guard ring.isUnlocked else { throw .sealed }
        let sealer = try auditSealer()
        defer { plaintext.removeAll() }
        var check = AuditCheck()
        let known: AuditHead?
        do throws(StoreError) { known = try auditHead(sealer) } catch {
            check.broken = 0
            return check
        }
        guard let head = known else {
            // Blocks without the head that tells of them.
            if let scope = ledger.scopes.find(.secretVersions, Bytes(Self.auditScope)), scope.count > 0 {
                check.broken = 0
            }
            return check
        }
        check.newest = head.newestRecord
        var text = SecretBuffer()
        head.link.append(to: &text)
        check.link = Array(text.bytes)
        var link: SetSum?
        var expected = head.oldestRecord
        var number = max(block ?? 0, head.oldest)
        if number > head.oldest {
            // The one before has been checked; what follows it is held against it.
            number -= 1
            guard let (before, row) = try openChecked(number, sealer) else {
                check.broken = 0
                return check
            }
            link = sealer.link(before.previous, number, row)
            expected = before.firstRecord + UInt64(before.count)
            number += 1
        }
        var left = most
        while number <= head.newest {
            guard left > 0 else {
                check.next = number
                return check
            }
            left -= 1
            guard let (found, row) = try openChecked(number, sealer), link == nil || found.previous == link,
                found.firstRecord == expected
            else {
                check.broken = expected
                return check
            }
            link = sealer.link(found.previous, number, row)
            expected += UInt64(found.count)
            check.records += UInt64(found.count)
            number += 1
        }
        if head.newest >= head.oldest, link != head.link || expected != head.newestRecord + 1 {
            check.broken = expected
        }
        return check
    }

    /// A block that is whole; nil when it is not, or missing.
    private func openChecked(_ number: UInt64, _ sealer: AuditSealer) throws(StoreError) -> (AuditBlock, Bytes)? {
        do throws(StoreError) {
            guard let found = try openBlock(number, sealer), found.0.forEach({ _ in true }) else { return nil }
            return found
        } catch {
            if error == .integrity { return nil }
            throw error
        }
    }
}
