import KuraBytes
import Sodium

/// The audit: what was asked of secrets, by whom, sealed and linked, in the log with everything else.
///
/// Events wait in `trail` until a turn's end and go into a block then, which is staged as a part of the turn's last transaction: the same commit
/// and the same sync. Blocks lie among the values, in a scope of their own, the head among the heads. The oldest go when there are too many.
extension SecretsStore {
    static let auditScope: StaticString = SecretRecords.storeScope
    /// Longest that an event waits for others, nanoseconds.
    static let auditDelay: UInt64 = 5_000_000_000
    /// Bytes of texts in a block, about.
    private static let auditBlockBytes = 4 << 10
    /// Old blocks that one turn removes at most.
    private static let auditRemovals = 4

    // MARK: Noting

    /// Notes an event. It is in the log with the turn when somebody waits for it, which a change of a transaction always does.
    public func note(_ event: AuditEvent, isStrict: Bool, isChange: Bool) {
        let isSealed = !ring.isUnlocked
        // What was done while the secrets are sealed does not go by way of the public key.
        let trail = isSealed && event.outcome.isEmpty ? lockTrail : self.trail
        trail.note(event, at: ledger.now, isStrict: isStrict, isChange: isChange, isSealed: isSealed)
    }

    /// Whether reads of the service that was asked for last wait until they are in the audit. Asked once a request.
    public func takeAuditsEachRead() -> Bool {
        defer { auditsEachRead = false }
        return auditsEachRead
    }

    // MARK: Staging

    /// Puts what waits into blocks, if it is time.
    /// - Parameter all: whether it is or not.
    /// - Throws: `.noSpace`, `.cold`, `.integrity`.
    func stageAudit(all: Bool = false) throws(StoreError) {
        guard ring.isUnlocked else { return try stageInbox(all: all) }
        // What has come while they were sealed is looked for at once where all is wanted.
        let isUnseen = all && checkedAuditOf != ring.generation
        guard !trail.isEmpty || !lockTrail.isEmpty || isUnseen else { return }
        let isDue =
            all || hasStagedAudit || trail.hasStrict || trail.bytes >= AuditTrail.due
            || ledger.clock.monotonic >= trail.since + Self.auditDelay
        guard isDue else { return }
        try prepareAudit()
        guard trail.staged < trail.entries.count else { return }
        trail.noteLost(at: ledger.now)
        let sealer = try keeper.auditSealer()
        do throws(StoreError) { try stageIntoLog(sealer) } catch {
            guard error == .noSpace else { throw error }
            try saveInReserve(sealer)
            isAuditInReserve = true
        }
        trail.staged = trail.entries.count
        hasStagedAudit = true
    }

    private func stageIntoLog(_ sealer: AuditSealer) throws(StoreError) {
        try ledger.amend { () throws(StoreError) in
            let heads = try auditHeads()
            var head = heads.current ?? AuditHead()
            for frame in auditReserve?.frames ?? [] where frame.number == head.newest + 1 {
                try frame.row.withBytes { (sealed) throws(StoreError) in
                    rows.makeKey(block: frame.number)
                    guard let block = opened(sealed, sealer) else { throw .integrity }
                    memory.row.removeAll()
                    memory.row.append(sealed)
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
            try stage(head, isBinding: heads.fault != .unbound)
            try stageInboxTaken()
        }
        isAuditInLog = true
    }

    /// There is no room in the log: what waits goes into the reserve, and is on the disk there.
    /// - Throws: `.noSpace`.
    private func saveInReserve(_ sealer: AuditSealer) throws(StoreError) {
        guard let auditReserve, !auditReserve.isUsedUp || ledger.isRefusingChanges else { throw .noSpace }
        var head = AuditHead()
        if let auditReserveHead {
            head = auditReserveHead
        } else if let known = try auditHeads().current {
            head = known
        }
        var frames: [AuditReserve.Frame] = []
        var position = trail.staged
        while position < trail.entries.count {
            let number = head.newest + 1
            let records = makeBlock(from: &position, head, sealer)
            follow(&head, number, records, sealer)
            frames.append(AuditReserve.Frame(number: number, row: Array(memory.row.bytes)))
        }
        memory.row.removeAll()
        guard auditReserve.append(frames) else { throw .noSpace }
        auditReserveHead = head
    }

    /// Nothing more can be put into the audit that is on the disk before somebody is answered.
    public var isAuditWithoutRoom: Bool {
        let isRefusing = ledger.isRefusingChanges || ledger.isRefusingForReserve
        // Nothing seals a block for the reserve while the secrets are locked.
        if !ring.isUnlocked, auditsEachRead { return isRefusing || isInboxFull }
        return isRefusing && auditReserve?.isUsedUp != false
    }

    /// Looks at the end of the audit, once after unlocking: its head is that of the store's record, and nothing is behind it.
    /// - Throws: `.integrity` when that is not so; `.cold`, `.unreadable`.
    public func prepareAudit() throws(StoreError) {
        guard ring.isUnlocked else {
            // The audit was not whole at the lock.
            if auditsEachRead, lockAudit == nil { throw .integrity }
            return
        }
        guard brokenAudit?.generation != ring.generation else { throw .integrity }
        guard checkedAuditOf != ring.generation else { return }
        let sealer = try keeper.auditSealer()
        defer { memory.plaintext.removeAll() }
        let heads = try auditHeads()
        var head = heads.current ?? AuditHead()
        if let fault = try examine(heads) {
            // Without the store's record the audit goes on by its own row: what is done to repair that record is to be in it. But services that went
            // with it were never there for whoever asks now.
            guard fault == .unbound, rows.hasServices || !heads.isBehindMark else { throw .integrity }
            guard try auditRow(behind: head.newest) == nil else {
                noteBroken(head.newest + 1, .beyond)
                throw .integrity
            }
        }
        // What a stop has left in the reserve goes on from there.
        auditReserveHead = nil
        for frame in auditReserve?.frames ?? [] where frame.number == head.newest + 1 {
            let count = frame.row.withBytes { (sealed) -> Int? in
                rows.makeKey(block: frame.number)
                guard let block = opened(sealed, sealer), block.previous == head.link else { return nil }
                memory.row.removeAll()
                memory.row.append(sealed)
                return block.count
            }
            guard let count else { throw .integrity }
            follow(&head, frame.number, count, sealer)
            auditReserveHead = head
        }
        memory.row.removeAll()
        if !hasLookedForOwed, heads.isOwed, auditReserveHead == nil { noteMissing() }
        hasLookedForOwed = true
        checkedAuditOf = ring.generation
        try takeInbox(head)
    }

    /// The block in a row whose key is in `rows.key`; nil when it is not what was sealed there.
    private func opened(_ sealed: Bytes, _ sealer: AuditSealer) -> AuditBlock? {
        guard (try? sealer.open(sealed, .block, row: rows.key.bytes, into: &memory.plaintext)) != nil else {
            return nil
        }
        return AuditBlock(memory.plaintext.bytes)
    }

    /// What the head becomes with the block whose row is in `row`.
    func follow(_ head: inout AuditHead, _ number: UInt64, _ records: Int, _ sealer: AuditSealer) {
        head.link = sealer.link(head.link, number, memory.row.bytes)
        head.newest = number
        head.newestRecord += UInt64(records)
        head.bytes += UInt64(memory.row.count)
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
        rows.makeKey(block: number)
        memory.row.removeAll()
        sealer.seal(block.bytes, .block, row: rows.key.bytes, to: &memory.row)
        return position - start
    }

    /// `other`: the trail that the entry is of, when it is not `trail`.
    func append(_ entry: AuditTrail.Entry, of other: AuditTrail? = nil, to block: inout SecretBuffer) {
        block.append(littleEndian: entry.firstAt)
        block.append(littleEndian: entry.lastAt)
        block.append(
            littleEndian: min(entry.count, ~AuditBlock.unproved) | (entry.isUnproved ? AuditBlock.unproved : 0))
        block.append(littleEndian: entry.rev)
        block.append((other ?? trail).text(entry))
    }

    /// Stages the block whose row is in `row`.
    private func stage(block number: UInt64, records: Int, _ head: inout AuditHead, _ sealer: AuditSealer)
        throws(StoreError)
    {
        rows.makeKey(block: number)
        let scope = ledger.scopes.findOrPrepare(.secretVersions, Bytes(Self.auditScope))
        // There was none when it was unlocked. One that would have to be waited for shows with a later block, or after the next unlocking.
        var old: ItemRef?
        if scope.isInTable {
            do throws(StoreError) { old = try rows.find(scope) } catch {
                guard error == .cold else { throw error }
                _ = rows.takeColdLook()
            }
        }
        if let old, !old.isTombstone {
            noteBroken(number, .beyond)
            throw .integrity
        }
        try ledger.stage(
            scope, key: rows.key.bytes, value: memory.row.bytes, isTombstone: false, old: old, oldBytes: 0,
            newBytes: memory.row.count, mayRepeat: true
        ) { item in
            // A repair has removed what lay there.
            item.pointee.row = old?.pointee.row ?? scope.takeRow()
            item.pointee.version = (old?.pointee.version ?? 0) &+ 1
        }
        follow(&head, number, records, sealer)
        memory.row.removeAll()
    }

    /// As long as there are too many bytes; the newest blocks stay.
    private func removeOldBlocks(_ head: inout AuditHead, _ sealer: AuditSealer) throws(StoreError) {
        guard let scope = ledger.scopes.find(.secretVersions, Bytes(Self.auditScope)) else { return }
        var left = Self.auditRemovals
        while head.bytes > UInt64(ledger.configuration.auditBytes), head.oldest < head.newest, left > 0 {
            left -= 1
            rows.makeKey(block: head.oldest)
            let found: ItemRef?
            do throws(StoreError) { found = try rows.find(scope) } catch {
                awaitsAuditBlock = true
                return
            }
            // Two blocks of one turn are not both its own.
            if let old = found, !old.isTombstone, old.pointee.rev <= ledger.rev {
                var opened = SecretBuffer()
                if (try? sealer.open(old.value, .block, row: old.key, into: &opened)) != nil,
                    let block = AuditBlock(opened.bytes)
                {
                    head.oldestRecord = block.nextRecord
                }
                head.bytes -= min(head.bytes, UInt64(old.value.count))
                try rows.stageRemoval(of: old, in: scope)
            }
            head.oldest += 1
        }
    }

    /// The turn's changes are in the log, or were taken back.
    func endAudit(isStored: Bool) {
        if !isStored {
            trail.takeBack()
            lockTrail.takeBack()
            inboxCheckedOf = nil
            // What they were configured to be may have been taken back.
            if let vault { for service in vault.services.values { service.auditsEachRead = nil } }
        } else {
            if isAuditInLog, !isAuditInReserve {
                inboxTaken.removeAll()
                if auditReserve?.frames.isEmpty == false {
                    auditReserveHead = nil
                    auditReserveInLog = ledger.committedRev
                }
            }
            if hasStagedAudit { trail.removeStaged() } else { trail.endTurn() }
            if isAuditInInbox { lockTrail.removeStaged() } else { lockTrail.endTurn() }
        }
        (hasStagedAudit, isAuditInLog, isAuditInReserve, isAuditInInbox) = (false, false, false, false)
        // A power cut may still take back what is only in the log.
        if let rev = auditReserveInLog, ledger.syncedRev.has(rev) {
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
        if ring.isUnlocked { return trail.isEmpty ? nil : trail.since + Self.auditDelay }
        let refused = trail.isEmpty || !hasInbox ? nil : trail.since
        let done = lockTrail.isEmpty || lockAudit == nil ? nil : lockTrail.since
        return [refused, done].compactMap { $0 }.min().map { $0 + Self.auditDelay }
    }
}
