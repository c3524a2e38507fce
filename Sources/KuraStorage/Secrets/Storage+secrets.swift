import KuraBytes

/// What secrets ask of turns that nobody's request has begun.
extension Storage {
    /// Items that are looked at in one turn because something of them has expired.
    private static let sweepItems = 32

    /// Lets go of what was opened with keys that are gone, and removes what has expired.
    func sweepSecrets() {
        secrets.follow()
        guard let at = secrets.nextExpiry, at <= ledger.now, admitsBulk else { return }
        ledger.writer = []
        ledger.writerAccounts = []
        do throws(StoreError) { try secrets.sweep(most: Self.sweepItems) } catch {
            // Nobody waits for it: it is tried again.
            if error == .cold { _ = warm() }
        }
    }

    /// Goes on with checking what is there.
    /// - Returns: when the next turn is due for secrets.
    func timeToSecrets(_ time: UInt64) -> UInt64 {
        if secrets.checkSome() { return time }
        let auditDue = secrets.auditDueAt ?? .max
        guard let at = secrets.nextExpiry else { return auditDue }
        // Not again at once when it could not be done.
        return min(auditDue, time + UInt64(max(at - ledger.now, 1)) * 1_000_000)
    }

    /// The keys are about to go: what waits is sealed with them. What finds no room then is lost.
    public func stageAuditNow() {
        try? secrets.stageAudit(all: true)
    }

    /// The turn's requests have been answered again, and there is no commit any more.
    public func saveAudit() {
        stageAudit()
        secrets.endAudit(isStored: true)
    }

    /// Puts what the turn has asked of secrets into its commit.
    func stageAudit() {
        do throws(StoreError) { try secrets.stageAudit() } catch {
            if error == .cold { _ = warm() }
            secrets.trail.postpone(error == .cold ? SecretsStore.auditDelay - 10_000_000 : 0)
        }
        if secrets.takeAwaitsAuditBlock() { _ = warm() }
    }
}
