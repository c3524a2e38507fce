/// What the daemon does beside serving, on threads of its own, when it is time or when it is told: snapshots, checks, and reading its
/// configuration again. Belongs to the loop.
struct BackgroundJobs {
    let reload: Reload
    /// Where it is told what came of them.
    let journal: Journal
    /// nil when none are configured.
    var backups: ScheduledBackups?
    /// nil when none are wanted.
    var checks: IdleChecks?

    init(_ reload: Reload, _ journal: Journal) {
        self.reload = reload
        self.journal = journal
    }

    /// Nanoseconds until one of them wants to be asked again; nil while they have nothing to do, or are at it.
    func timeToNext(at time: UInt64) -> UInt64? {
        let next = min(backups?.timeToNext(at: time) ?? .max, checks?.timeToNext(at: time) ?? .max)
        return next == .max ? nil : next
    }

    /// Ends the threads.
    func stop() {
        backups?.stop()
        checks?.stop()
        reload.stop()
    }
}
