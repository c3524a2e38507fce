import KuraBytes
import SQLite

/// What secrets ask of turns that nobody's request has begun.
extension Storage {
    /// Items that are looked at in one turn because something of them has expired.
    private static let sweepItems = 32

    /// Lets go of what was opened with keys that are gone, and removes what has expired.
    func sweepSecrets() {
        guard secrets.keeper.hasOpened else { return }
        secrets.keeper.follow()
        guard let next = secrets.nextExpiry, next.at <= ledger.steadyNow, admitsBulk else { return }
        Work.at(.expiry, next.rev)
        defer { Work.at(.other) }
        do throws(StoreError) { try secrets.sweep(most: Self.sweepItems) } catch {
            // Nobody waits for it: it is tried again.
            if error == .cold { _ = warm() }
        }
    }

    /// Seals some of what is sealed with older keys anew, when it is time, and lets older root keys go that nothing needs.
    func rewrapSecrets() {
        guard secrets.canRewrap, admitsBulk else { return }
        let time = clock.monotonic
        guard rewrapping.isDue(time) else { return }
        _ = FaultPoints.hit(.rewrapSlice)
        rewrapping.noteSlice(time)
        do throws(StoreError) { try secrets.rewrapSome() } catch {
            // Nobody waits for it: the same again later.
            rewrapping.noteSlice(time, hasFailed: true)
            if error == .cold { _ = warm() }
        }
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
        guard let epoch = secrets.epochToRetire(syncedRev: syncedRev) else { return }
        let job = KeyJob(.retire(epoch: epoch))
        // A ticket that nobody waits for.
        guard (try? keyKeeper.submit(job, ticket: takeTicket())) != nil else { return }
        rewrapping.retire(with: job)
    }

    /// Goes on with checking what is there.
    /// - Returns: when the next turn is due for secrets.
    func timeToSecrets(_ time: UInt64) -> UInt64 {
        if secrets.checkSome() { return time }
        // The turn in which the page has been read in looks again.
        do throws(StoreError) { try secrets.audit.binding.examineOnce() } catch { if error == .cold { _ = warm() } }
        retireRoot()
        if secrets.isLookingForOld { return time }
        let auditDue = secrets.audit.dueAt ?? .max
        rewrapping.isWanted = secrets.canRewrap
        if rewrapping.isWanted { return min(auditDue, rewrapping.next(time, admitsBulk: admitsBulk)) }
        guard let next = secrets.nextExpiry else { return auditDue }
        Work.at(.expiry, next.rev)
        defer { Work.at(.upkeep) }
        _ = FaultPoints.hit(.secretsExpiry)
        // Not again at once when it could not be done.
        return min(auditDue, time.later(by: .nanoseconds(milliseconds: max(next.at.since(ledger.steadyNow), 1))))
    }

    /// The keys are about to go: what waits is sealed with them. What finds no room then is lost.
    public func stageAuditNow() {
        try? secrets.audit.stage(all: true)
    }

    /// The turn's requests have been answered again, and there is no commit any more.
    public func saveAudit() {
        stageAudit()
        secrets.audit.endTurn(isStored: true)
    }

    /// Puts what the turn has asked of secrets into its commit.
    func stageAudit() {
        do throws(StoreError) { try secrets.audit.stage() } catch {
            if error == .cold { _ = warm() }
            secrets.audit.trail.postpone(error == .cold ? AuditTrail.delay - 10_000_000 : 0)
        }
        if secrets.audit.blocks.takeAwaitsOldest() { _ = warm() }
    }
}
