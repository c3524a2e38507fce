import KuraBytes

/// The log and its way to the disk: its segments, what of them is to be synced when, and what the change feed reads of them.
///
/// A commit or a sync whose outcome is not known ends the storage: `failure` stands from then on. Belongs to the loop.
package final class LogKeeper {
    package let segments: Log
    let history: ChangeHistory
    private let ledger: Ledger
    private let syncer: LogSync
    private var schedule: SyncSchedule
    private var fault: StorageFault?
    private let clock: Clock

    /// The log as it was recovered, and the thread that syncs it.
    init(_ recovery: Recovery, _ start: StorageStart, _ host: StorageHost) {
        (ledger, segments, clock) = (recovery.ledger, recovery.log, start.configuration.clock)
        history = ChangeHistory(log: segments, housekeeper: start.housekeeper, wake: host.wake, report: host.report)
        var note: AcknowledgedNote?
        do throws(StorageFault) {
            note = try AcknowledgedNote(
                start.configuration.acknowledgedPath, epoch: recovery.epoch, rev: ledger.rev,
                mark: recovery.acknowledgedMark)
        } catch {
            host.report("what was acknowledged is not noted, so a log that is cut short would not be noticed: \(error)")
        }
        let synced = ledger.revisions.synced
        syncer = LogSync(syncedRev: synced, note: note, clock: clock, wake: host.wake)
        schedule = SyncSchedule(requestedRev: synced)
    }

    /// Begins the thread that syncs.
    func begin() throws(StorageFault) { try syncer.begin() }

    // MARK: Failing

    /// Why the storage must stop; nil while all is well.
    var failure: StorageFault? {
        if let fault { return fault }
        return syncer.failure.map { .syncFailed(errno: $0) }
    }

    /// Nothing more can be promised: what became of a commit or of the tables is not known.
    func fail(_ fault: StorageFault) { self.fault = fault }

    // MARK: Committed

    /// How far the secrets have come with what is in the log, sealed.
    func note(mark: [UInt8]) { schedule.mark = mark }

    /// Relaxed changes are in the log that are synced in so many seconds.
    func noteRelaxed(seconds: Int32) { schedule.noteRelaxed(seconds: seconds, clock.monotonic) }

    // MARK: Syncing

    /// Everything up to this revision is on the disk.
    var syncedRev: SyncedRev { syncer.syncedRev }
    var isSyncing: Bool { syncer.isBusy }
    /// What a sync takes on this disk, nanoseconds, smoothed; 0 before the first.
    var syncTime: UInt64 { syncer.syncTime }
    var syncs: UInt64 { syncer.count }
    /// What syncs took, nanoseconds, and how many revisions each made durable.
    var measures: (times: Histogram, revs: Histogram) { syncer.measures }
    /// When relaxed changes are synced that nobody has asked a sync for; nil while there are none.
    var relaxedDueAt: UInt64? { schedule.relaxedDueAt }

    /// Whether revisions wait for a sync that nobody has asked for: strict ones, relaxed ones whose time has come or that somebody waits to
    /// find in the tables, or so many that they have to be folded.
    /// - Parameters:
    ///   - foldBytes: bytes of changes that have to be folded.
    ///   - wantedRev: up to which somebody waits for the tables.
    /// - Returns: true when `sync` is to be called.
    func needsSync(foldBytes: @autoclosure () -> Int, wantedRev: @autoclosure () -> UInt64) -> Bool {
        guard !segments.unsynced.isEmpty else { return false }
        if schedule.isDue(strictRev: ledger.revisions.committedStrict, clock.monotonic) { return true }
        return ledger.overlay.bytes >= foldBytes() || !schedule.requestedRev.has(wantedRev())
    }

    /// Has everything appended so far synced.
    /// - Parameter inline: on this thread, now; allowed only while `isSyncing` is false.
    func sync(inline: Bool) {
        let unsynced = segments.takeUnsynced()
        guard !unsynced.isEmpty else { return }
        schedule.request(ledger.committedRev)
        if inline {
            syncer.syncInline(to: ledger.committedRev, segments: unsynced, mark: schedule.mark)
        } else {
            syncer.sync(to: ledger.committedRev, segments: unsynced, mark: schedule.mark)
        }
    }

    // MARK: Stopping

    /// Ends the thread; nothing is appended any more.
    func stop() {
        syncer.stop()
        segments.finish()
    }

    /// As when the power goes: what is not synced is not in the log any more, and nothing else comes into it.
    func cut() throws(StorageFault) {
        syncer.stop(isCut: true)
        fault = .refused("a power cut")
        try segments.cut(after: syncedRev.rev)
    }
}
