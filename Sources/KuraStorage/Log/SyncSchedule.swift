import KuraBytes

/// What of the log is to be synced when: a value without I/O.
struct SyncSchedule {
    /// What is on the disk when the sync has ended that was asked for last.
    private(set) var requestedRev: SyncedRev
    /// When the oldest relaxed change that nobody has asked a sync for has to be synced, by the monotonic clock.
    private(set) var relaxedDueAt: UInt64?
    /// How far the secrets have come with what is in the log, sealed; empty until they change.
    var mark: [UInt8] = []

    init(requestedRev: SyncedRev) { self.requestedRev = requestedRev }

    /// Relaxed changes have come into the log that are synced in so many seconds.
    mutating func noteRelaxed(seconds: Int32, _ time: UInt64) {
        let due = time.later(by: .nanoseconds(seconds: seconds))
        relaxedDueAt = min(relaxedDueAt ?? due, due)
    }

    /// Whether something waits for a sync that nobody has asked for: strict changes up to this revision, or relaxed ones whose time has come.
    func isDue(strictRev: StrictRev, _ time: @autoclosure () -> UInt64) -> Bool {
        if !requestedRev.covers(strictRev) { return true }
        guard let relaxedDueAt else { return false }
        return relaxedDueAt <= time()
    }

    /// A sync of everything up to `rev` is asked for.
    mutating func request(_ rev: UInt64) {
        requestedRev = SyncedRev(rev)
        relaxedDueAt = nil
    }
}
