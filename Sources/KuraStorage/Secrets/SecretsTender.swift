import KuraBytes
import SQLite

/// What is done about secrets that nobody's request asks for: what has expired goes, what older keys have sealed is sealed anew, what destroyed
/// versions have left is overwritten, and the audit is put into commits. Belongs to the loop.
final class SecretsTender {
    let keys: KeyKeeper
    let scrub: SecretsScrub
    private var rewrapping = RewrapSchedule()
    private let secrets: SecretsStore
    private let ledger: Ledger
    private let log: LogKeeper
    private let desk: TicketDesk
    private let clock: Clock
    private let report: @Sendable (String) -> Void
    /// What has expired and could not be removed, as on a full disk, is not tried again before.
    private var sweepAt: UInt64 = 0
    private static let sweepPause: UInt64 = 100_000_000

    /// Items that are looked at in one turn because something of them has expired.
    private static let sweepItems = 32

    /// `report`: takes lines for the operator.
    init(
        _ secrets: SecretsStore, _ keys: KeyKeeper, _ scrub: SecretsScrub, _ log: LogKeeper, _ desk: TicketDesk,
        clock: Clock, report: @escaping @Sendable (String) -> Void
    ) {
        (self.secrets, self.keys, self.scrub, self.log, self.desk) = (secrets, keys, scrub, log, desk)
        (ledger, self.clock, self.report) = (secrets.ledger, clock, report)
    }

    // MARK: At a turn's beginning

    func beginTurn() {
        if secrets.keeper.hasOpened { sweep() }
        scrub.finish()
        if rewrapping.isWanted { rewrap() }
    }

    /// Lets go of what was opened with keys that are gone, and removes what has expired.
    private func sweep() {
        secrets.keeper.follow()
        guard let next = secrets.nextExpiry, next.at <= ledger.steadyNow, ledger.admitsBulk else { return }
        Work.at(.expiry, next.rev)
        defer { Work.at(.other) }
        guard clock.monotonic >= sweepAt else { return }
        do throws(SecretsError) { try secrets.sweep(most: Self.sweepItems) } catch {
            // Nobody waits for it: it is tried again.
            if error == .engine(.cold) {
                _ = desk.warm()
            } else {
                sweepAt = clock.monotonic.later(by: Self.sweepPause)
            }
        }
    }

    /// Seals some of what is sealed with older keys anew, when it is time, and lets older root keys go that nothing needs.
    private func rewrap() {
        guard secrets.canRewrap, ledger.admitsBulk else { return }
        let time = clock.monotonic
        guard rewrapping.isDue(time) else { return }
        _ = FaultPoints.hit(.rewrapSlice)
        rewrapping.noteSlice(time)
        do throws(SecretsError) { try secrets.rewrapSome() } catch {
            // Nobody waits for it: the same again later.
            rewrapping.noteSlice(time, hasFailed: true)
            if error == .engine(.cold) { _ = desk.warm() }
        }
    }

    // MARK: At its end

    /// Puts what the turn has asked of secrets into its commit.
    func stageAudit() {
        do throws(SecretsError) { try secrets.audit.stage() } catch {
            if error == .engine(.cold) { _ = desk.warm() }
            secrets.audit.trail.postpone(error == .engine(.cold) ? AuditTrail.delay - 10_000_000 : 0)
        }
        if secrets.audit.blocks.takeAwaitsOldest() { _ = desk.warm() }
    }

    /// Goes on with checking what is there.
    /// - Returns: when the next turn is due for secrets.
    func tend(_ time: UInt64) -> UInt64 { min(check(time), scrub.step(time) ?? .max) }

    private func check(_ time: UInt64) -> UInt64 {
        if secrets.checkSome() { return time }
        // The turn in which the page has been read in looks again.
        do throws(SecretsError) { try secrets.audit.binding.examineOnce() } catch {
            if error == .engine(.cold) { _ = desk.warm() }
        }
        retireRoot()
        if secrets.isLookingForOld { return time }
        let auditDue = secrets.audit.dueAt ?? .max
        rewrapping.isWanted = secrets.canRewrap
        if rewrapping.isWanted { return min(auditDue, rewrapping.next(time, admitsBulk: ledger.admitsBulk)) }
        guard let next = secrets.nextExpiry else { return auditDue }
        Work.at(.expiry, next.rev)
        defer { Work.at(.upkeep) }
        _ = FaultPoints.hit(.secretsExpiry)
        let wait = UInt64.nanoseconds(milliseconds: max(next.at.since(ledger.steadyNow), 1))
        return min(auditDue, max(time.later(by: wait), sweepAt))
    }

    /// Lets the oldest root key go when nothing needs it.
    private func retireRoot() {
        switch rewrapping.takeRetirement() {
        case .idle: break
        case .running: return
        case .failed(let fault):
            if fault != .sealed { report("an older root key could not be let go: \(fault)") }
            return secrets.keepOldRoots()
        }
        guard let epoch = secrets.epochToRetire(syncedRev: log.syncedRev) else { return }
        let job = KeyJob(.retire(epoch: epoch))
        // A ticket that nobody waits for.
        guard (try? keys.submit(job, ticket: desk.takeTicket())) != nil else { return }
        rewrapping.retire(with: job)
    }

    // MARK: Keys

    /// Forgets every key but the host's; jobs that are under way unlock nothing any more.
    func lock() {
        secrets.audit.keepLock()
        // Last of what is done with the keys: whatever opens something with them lets go of survivors.
        secrets.keepSurvivors()
        keys.lock()
        secrets.keeper.follow()
    }
}
