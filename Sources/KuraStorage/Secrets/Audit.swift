import KuraBytes
import Sodium

/// The audit: what was asked of secrets, by whom, sealed and linked, in the log with everything else.
///
/// Events wait in `trail` until a turn's end and go into a block then, which is staged as a part of the turn's last transaction: the same commit
/// and the same sync. Blocks lie among the values (`AuditBlocks`), the head among the heads (`AuditBinding`). While the secrets are sealed, rows in
/// the inbox take events (`AuditInbox`).
public final class Audit {
    private let ledger: Ledger
    let ring: KeyRing
    let keeper: VaultKeeper
    let memory: SecretsMemory
    let blocks: AuditBlocks
    public let binding: AuditBinding
    public let inbox: AuditInbox
    /// What is to be in the audit.
    let trail: AuditTrail
    /// Takes blocks while the disk is full; nil until the storage has opened.
    var reserve: AuditReserve?
    private var staged: StagedAudit = []
    /// The service that was asked for last has each read audited before it is answered.
    public internal(set) var auditsEachRead = false
    /// It was looked, once, whether the newest change on the disk has its record in the audit.
    private var hasLookedForOwed = false

    init(_ ledger: Ledger, _ keeper: VaultKeeper, _ rows: SecretRows, _ memory: SecretsMemory) {
        (self.ledger, self.keeper, self.memory, ring) = (ledger, keeper, memory, keeper.ring)
        blocks = AuditBlocks(ledger, rows, memory)
        binding = AuditBinding(ledger, keeper, rows, memory, blocks)
        inbox = AuditInbox(ledger, keeper, rows, memory)
        trail = AuditTrail(ledger.clock)
    }

    // MARK: Noting

    /// Notes an event. It is in the log with the turn when somebody waits for it, which a change of a transaction always does.
    public func note(_ event: AuditEvent, isStrict: Bool, isChange: Bool) {
        let isSealed = !ring.isUnlocked
        // What was done while the secrets are sealed does not go by way of the public key.
        let trail = isSealed && event.outcome.isEmpty ? inbox.lockTrail : self.trail
        trail.note(event, at: ledger.now, isStrict: isStrict, isChange: isChange, isSealed: isSealed)
    }

    /// Whether reads of the service that was asked for last wait until they are in the audit. Asked once a request.
    public func takeAuditsEachRead() -> Bool {
        defer { auditsEachRead = false }
        return auditsEachRead
    }

    /// The secrets are about to be locked: what is done meanwhile is sealed with a key that is no other's.
    func keepLock() {
        guard ring.isUnlocked else { return }
        var lock: AuditLock?
        if let sealer = try? keeper.auditSealer(), let heads = try? binding.heads(), heads.fault == nil {
            lock = (try? sealer.locks(at: reserve?.head ?? heads.current ?? AuditHead()))?.first
        }
        inbox.keep(lock, restOf: trail)
    }

    /// When what waits is put into the log, nanoseconds; nil when nothing does.
    var dueAt: UInt64? {
        if ring.isUnlocked { return trail.isEmpty ? nil : trail.dueAt }
        let refused = trail.isEmpty || !inbox.hasKey ? nil : trail.dueAt
        let done = inbox.lockTrail.isEmpty || inbox.lock == nil ? nil : inbox.lockTrail.dueAt
        return [refused, done].compactMap { $0 }.min()
    }

    // MARK: Staging

    /// Puts what waits into blocks, if it is time.
    /// - Parameter all: whether it is or not.
    /// - Throws: `.noSpace`, `.cold`, `.integrity`.
    func stage(all: Bool = false) throws(SecretsError) {
        guard ring.isUnlocked else { return try inbox.stage(trail, all: all, &staged) }
        // What has come while they were sealed is looked for at once where all is wanted.
        let isUnseen = all && !binding.findings.has(.checked, of: ring.generation)
        guard !trail.isEmpty || !inbox.lockTrail.isEmpty || isUnseen else { return }
        guard all || staged.contains(.some) || trail.isDue else { return }
        try prepare()
        guard trail.staged < trail.entries.count else { return }
        trail.noteLost(at: ledger.now)
        let sealer = try keeper.auditSealer()
        do throws(SecretsError) { try stageIntoLog(sealer) } catch {
            guard error == .engine(.noSpace) else { throw error }
            try saveInReserve(sealer)
            staged.insert(.inReserve)
        }
        trail.staged = trail.entries.count
        staged.insert(.some)
    }

    private func stageIntoLog(_ sealer: AuditSealer) throws(SecretsError) {
        try ledger.amend { () throws(SecretsError) in
            let heads = try binding.heads()
            var head = heads.current ?? AuditHead()
            for frame in reserve?.frames ?? [] where frame.number == head.newest + 1 {
                guard let block = blocks.open(frame, sealer) else { throw .integrity }
                try stage(frame.number, records: block.count, behind: &head, sealer)
            }
            var position = trail.staged
            while position < trail.entries.count {
                let number = head.newest + 1
                let records = blocks.seal(trail, from: &position, behind: head, sealer)
                try stage(number, records: records, behind: &head, sealer)
            }
            try blocks.stageRemovals(&head, sealer)
            try binding.stage(head, isBinding: heads.fault != .unbound)
            try inbox.stageTaken()
        }
        staged.insert(.inLog)
    }

    /// Stages the block whose row is in `memory.row`.
    private func stage(
        _ number: UInt64, records: Int, behind head: inout AuditHead, _ sealer: AuditSealer
    ) throws(SecretsError) {
        guard try blocks.stage(number, records: records, behind: &head, sealer) else {
            binding.noteBroken(.beyond)
            throw .integrity
        }
    }

    /// There is no room in the log: what waits goes into the reserve, and is on the disk there.
    /// - Throws: `.noSpace`.
    private func saveInReserve(_ sealer: AuditSealer) throws(SecretsError) {
        guard let reserve, !reserve.isUsedUp || ledger.room.isRefusingChanges else { throw .engine(.noSpace) }
        var head = AuditHead()
        if let known = reserve.head {
            head = known
        } else if let known = try binding.heads().current {
            head = known
        }
        var frames: [AuditReserve.Frame] = []
        var position = trail.staged
        while position < trail.entries.count {
            let number = head.newest + 1
            let records = blocks.seal(trail, from: &position, behind: head, sealer)
            head.follow(number, records: records, row: memory.row.bytes, sealer)
            frames.append(AuditReserve.Frame(number: number, row: Array(memory.row.bytes)))
        }
        memory.row.removeAll()
        guard reserve.append(frames) else { throw .engine(.noSpace) }
        reserve.head = head
    }

    /// Nothing more can be put into the audit that is on the disk before somebody is answered.
    public var isWithoutRoom: Bool {
        let isRefusing = ledger.room.isRefusingChanges || ledger.room.isRefusingForReserve
        // Nothing seals a block for the reserve while the secrets are locked.
        if !ring.isUnlocked, auditsEachRead { return isRefusing || inbox.isFull }
        return isRefusing && reserve?.isUsedUp != false
    }

    /// Looks at the end of the audit, once after unlocking: its head is that of the store's record, and nothing is behind it.
    /// - Throws: `.integrity` when that is not so; `.cold`, `.unreadable`.
    public func prepare() throws(SecretsError) {
        guard ring.isUnlocked else {
            // The audit was not whole at the lock.
            if auditsEachRead, inbox.lock == nil { throw .integrity }
            return
        }
        guard !binding.findings.has(.broken, of: ring.generation) else { throw .integrity }
        guard !binding.findings.has(.checked, of: ring.generation) else { return }
        let sealer = try keeper.auditSealer()
        defer { memory.plaintext.removeAll() }
        let heads = try binding.heads()
        var head = heads.current ?? AuditHead()
        if let fault = try binding.examine(heads) {
            // Without the store's record the audit goes on by its own row: what is done to repair that record is to be in it. But services that went
            // with it were never there for whoever asks now.
            guard fault == .unbound, keeper.rows.hasServices || !heads.isBehindMark else { throw .integrity }
            guard try blocks.row(behind: head.newest) == nil else {
                binding.noteBroken(.beyond)
                throw .integrity
            }
        }
        // What a stop has left in the reserve goes on from there.
        reserve?.head = nil
        for frame in reserve?.frames ?? [] where frame.number == head.newest + 1 {
            guard let block = blocks.open(frame, sealer), block.previous == head.link else { throw .integrity }
            head.follow(frame.number, records: block.count, row: memory.row.bytes, sealer)
            reserve?.head = head
        }
        memory.row.removeAll()
        if !hasLookedForOwed, heads.isOwed, reserve?.head == nil {
            keeper.report(
                "secrets: the audit has no record of the newest change: it was cut off amid a turn, or removed")
            trail.noteMissing(at: ledger.now)
        }
        hasLookedForOwed = true
        binding.noteChecked()
        try inbox.take(into: trail, at: head)
    }

    /// A repair has accepted the audit as it is. `isAsItWas`: it was as it had been written.
    func accept(isAsItWas: Bool) {
        binding.accept()
        if !isAsItWas { trail.noteAccepted(at: ledger.now) }
        // What follows is the repair's own change.
        hasLookedForOwed = true
    }

    /// The turn's changes are in the log, or were taken back.
    func endTurn(isStored: Bool) {
        inbox.endTurn(isStored: isStored, staged)
        if !isStored {
            trail.takeBack()
            // What they were configured to be may have been taken back.
            keeper.vault?.services.values.forEach { $0.auditsEachRead = nil }
        } else {
            if staged.contains(.inLog), !staged.contains(.inReserve) { reserve?.noteInLog(ledger.committedRev) }
            if staged.contains(.some) { trail.removeStaged() } else { trail.endTurn() }
        }
        staged = []
        reserve?.noteSynced(ledger.revisions.synced)
    }
}
