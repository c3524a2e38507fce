import Glibc
import KuraBytes
import SQLite

/// The tables as the loop sees them: what of the log is folded into them when, on the fold thread, and what that lets go of. A bounded piece
/// of it after each turn.
///
/// The room on the disk bounds it (`RoomKeeper`), and what its outcomes say of indexes and attachments is passed on. Belongs to the loop.
package final class TablesKeeper {
    let folder: Folder
    let schedule: FoldSchedule
    let room: RoomKeeper
    package let attachments: AttachmentFiles
    var builds = IndexBuilds()
    private let ledger: Ledger
    let documents: DocumentsStore
    private let caches: Caches
    private let log: LogKeeper
    private let desk: TicketDesk
    private let start: StorageStart
    let host: StorageHost
    private let configuration: StorageConfiguration

    /// `folder`: the thread that has the tables' connection.
    init(
        _ recovery: Recovery, _ folder: Folder, _ caches: Caches, _ log: LogKeeper, _ desk: TicketDesk,
        _ start: StorageStart, _ host: StorageHost
    ) {
        let (ledger, configuration) = (recovery.ledger, start.configuration)
        (self.ledger, documents, self.folder) = (ledger, recovery.documents, folder)
        (self.caches, self.log, self.desk) = (caches, log, desk)
        (self.start, self.host, self.configuration) = (start, host, configuration)
        attachments = AttachmentFiles(configuration, housekeeper: start.housekeeper, recovered: ledger)
        schedule = FoldSchedule(
            tablesRev: ledger.foldedRev, unfoldedSince: ledger.hasUnfolded ? configuration.clock.monotonic : nil,
            hasPendingWAL: folder.hasPendingWALAtStart)
        room = RoomKeeper(
            ledger, pace: folder.pace, space: caches.space, housekeeper: start.housekeeper, wake: host.wake,
            report: host.report
        ) {
            FileSystem.room(configuration.dataDirectory).map { Int($0.f_bavail) * Int($0.f_frsize) }
        }
        room.begin(wasFull: recovery.wasDiskFull, wal: folder.waitingBytes)
    }

    /// Everything up to this revision lies checkpointed and synced in the database file.
    var durableRev: UInt64 { schedule.durableRev }

    // MARK: What is asked of them

    /// Has a query run, as soon as the tables are as of the revision that it must see.
    /// - Returns: its ticket.
    func submit(_ query: any TableQuery) -> UInt64 { desk.submit(query, tablesRev: schedule.tablesRev) }

    /// Has tombstones forgotten, and somebody told.
    func submit(_ purge: Purge) -> UInt64 {
        desk.waits.add(purge.ticket, .purged)
        folder.submit(purge)
        return purge.ticket
    }

    /// Changes are in the log that the tables do not have.
    func noteUnfolded() { if !schedule.hasUnfolded { schedule.noteUnfolded(at: configuration.clock.monotonic) } }

    /// What is not folded is folded at once, whatever the pace is.
    func hasten() { schedule.hasten() }

    // MARK: Upkeep

    /// Folds, checkpoints, prepares and retires segments: a bounded piece of each.
    /// `scrub`: what destroyed secrets have left, of which it has the tables' part done.
    /// - Returns: nanoseconds until it wants to be called again; nil when only a change or a wake can give it work.
    func keepUp(_ time: UInt64, _ scrub: SecretsScrub) -> UInt64? {
        if let outcomes = folder.outcomes() {
            for outcome in outcomes { take(outcome, time, scrub) }
        }
        if schedule.hasUnfolded { ledger.overlay.hollow(synced: log.syncedRev) }
        if let slice = schedule.settling, ledger.settle(slice, budget: 1000) { schedule.noteSettled(time) }
        let hasNoNext = log.segments.noticeFailures(now: time)
        log.history.turnOver()
        if room.isFull {
            turnLogOver(time, hasNoNext)
        } else if ledger.committedRev > 0 {
            log.segments.prepareNext(now: time, capacity: room.nextCapacity)
        }
        if log.segments.mayRetire(durableRev: schedule.durableRev) {
            log.segments.retire(
                durableRev: schedule.durableRev, keeping: room.keptBytes,
                since: configuration.clock.wall.since(.milliseconds(seconds: configuration.log.retentionSeconds)))
        }
        keepRoom(time)
        // A fold that writers may come to wait for does not wait for others.
        let isBehind = ledger.overlay.bytes >= min(configuration.fold.overlayBytes, ledger.room.overlayLimit) / 8 * 5
        if PacedWriting.isHurried != isBehind { PacedWriting.isHurried = isBehind }
        let pace = pace
        startFold(time, scrub, pace)
        let untilCheckpoint = boundLog(time) ?? .max
        if let wait = schedule.wait(time, pace: pace) {
            return wait == .max ? nil : wait
        }
        // Who waits for a purge is answered in the next turn.
        if desk.waits.hasDone { return 0 }
        if room.isFull || ledger.isOverlayFull || ledger.room.isRefusingForReserve { return 10_000_000 }
        let expiry = log.segments.timeToExpiry(
            durableRev: schedule.durableRev, seconds: configuration.log.retentionSeconds)
        // Asked in every turn: four arguments of one `min` would be put into an array.
        let next = min(
            untilCheckpoint, min(idleCheckpoint(time) ?? .max, expiry ?? .max, log.history.trim(at: time) ?? .max))
        return next == .max ? nil : next
    }

    /// Hot keys fold to little, so the WAL grows slowly while segments pile up: a checkpoint lets them go.
    /// - Returns: nanoseconds until the next attempt, if a checkpoint is needed and cannot begin now.
    private func boundLog(_ time: UInt64) -> UInt64? {
        guard let wait = schedule.timeToCheckpoint(time) else { return nil }
        let waiting = log.segments.bytesAwaitingCheckpoint(
            foldedRev: ledger.foldedRev, durableRev: schedule.durableRev)
        guard waiting > room.awaitedBytes else { return nil }
        guard wait == 0 else { return wait }
        checkpoint()
        return nil
    }

    private func checkpoint() {
        schedule.noteCheckpointing()
        folder.checkpoint()
    }

    /// When nothing has been folded for a while, the WAL goes into the database file, so that the log can be let go.
    private func idleCheckpoint(_ time: UInt64) -> UInt64? {
        let wait = schedule.timeToIdleCheckpoint(time)
        guard wait == 0 else { return wait }
        checkpoint()
        return nil
    }

    // MARK: Folding

    /// The revision up to which somebody waits for the tables; 0 when nobody does.
    func wantedRev(_ scrub: SecretsScrub) -> UInt64 { max(scrub.wantedRev, desk.waits.wantedRev) }

    /// Most milliseconds that a change waits to be folded.
    private var pace: Int {
        let fold = configuration.fold
        // A fold also releases closed segments, and confirms unique indexes.
        guard schedule.hasUnfolded, schedule.isWaste(folding: ledger.overlay.valueBytes, log.segments.volume),
            !room.isFull, !ledger.room.isBounded, !log.segments.hasNews, !ledger.awaitsSlice
        else { return fold.milliseconds }
        return max(fold.milliseconds, fold.longestMilliseconds)
    }

    private func startFold(_ time: UInt64, _ scrub: SecretsScrub, _ pace: Int) {
        if let waiting = schedule.takeWaiting(time) { return submit(waiting) }
        guard let due = schedule.nextCut(afterMilliseconds: pace, hasConfirmations: ledger.awaitsSlice),
            time >= due || ledger.overlay.bytes >= room.foldBytes || wantedRev(scrub) > schedule.tablesRev,
            let cut = ledger.cutSlice(syncedRev: log.syncedRev, log: log.segments)
        else { return }
        cut.forgotten = attachments.takeForgotten()
        schedule.noteCut(time, leavesChanges: ledger.hasUnfolded, log.segments.volume)
        submit(cut)
    }

    /// Has a slice folded, or where there is little room its beginning, and the rest of it behind that.
    private func submit(_ slice: FoldSlice) { folder.submit(schedule.begin(slice, bytes: room.slice)) }

    private func take(_ outcome: Folder.Outcome, _ time: UInt64, _ scrub: SecretsScrub) {
        schedule.note(outcome, time)
        builds.note(piece: outcome.longestPiece)
        for news in outcome.news { news.tell(self, time) }
        for purge in outcome.purged where purge.kind != .history {
            ledger.scopes.known(purge.collection)?.rows.purge(before: purge.before)
            desk.waits.answer(purge.ticket, with: PurgeDone(purge.removed))
        }
        var folded: FoldSlice?
        switch outcome.work {
        case .slice(let slice): folded = slice
        case .checkpoint, .tending: break
        case .scrub:
            if !scrub.noteTables(outcome.error, time), let error = outcome.error {
                fail(error)
            }
            return
        }
        if let error = outcome.error {
            if error.isFull {
                // Kept and tried again: nothing is lost, the changes are in the log and in memory.
                let pause = noticeFullTables(time)
                if let folded {
                    ledger.room.isFoldOutOfSpace = true
                    schedule.retry(folded, at: time + pause)
                }
                return
            }
            if folded == nil, error.isBusy { return }
            return fail(error)
        }
        if let slice = folded {
            ledger.room.isFoldOutOfSpace = false
            schedule.noteFolded(slice)
            desk.noteFolded(to: schedule.tablesRev)
            attachments.folded(to: schedule.tablesRev, unused: slice.unused)
        }
    }

    /// The tables cannot be written: the storage ends. When that is for what they hold, the next start begins with what can be saved of them, since
    /// each would end in the same way.
    private func fail(_ error: SQLiteError) {
        log.fail(.database(error, file: configuration.tablesPath))
        if error.isCorrupt { start.boot.cannotFold(error) }
    }

    // MARK: Stopping

    /// Folds everything, if that can be done.
    func drain(_ scrub: SecretsScrub) {
        var attempts = 0
        while attempts < 3, log.failure == nil {
            if schedule.isRetrying { attempts += 1 }
            if let waiting = schedule.takeWaiting(.max) {
                submit(waiting)
            } else if !schedule.hasSlice {
                guard let cut = ledger.cutSlice(syncedRev: log.syncedRev, log: log.segments) else { return }
                submit(cut)
            }
            var pause = Pause()
            while schedule.hasSlice, !schedule.isRetrying, log.failure == nil {
                let time = configuration.clock.monotonic
                for outcome in folder.outcomes() ?? [] { take(outcome, time, scrub) }
                if let slice = schedule.settling {
                    while !ledger.settle(slice, budget: 100_000) {}
                    schedule.noteSettled(configuration.clock.monotonic)
                } else {
                    pause.rest()
                }
            }
        }
    }
}

/// Room on the disk: what the loop does about it, as `RoomKeeper` wishes.
extension TablesKeeper {
    private var written: RoomKeeper.Written { (log.segments.bytesAppended, folder.waitingBytes) }

    private func keepRoom(_ time: UInt64) {
        guard room.mustKeep(time, appended: log.segments.bytesAppended) else { return }
        let mayCheckpoint = schedule.isIdle && !schedule.isCheckpointing
        fulfil(room.keep(time, written, isFolding: schedule.hasSlice, mayCheckpoint: mayCheckpoint))
    }

    private func fulfil(_ wishes: RoomKeeper.Wishes) {
        if wishes.contains(.checkpoint) { checkpoint() }
        if wishes.contains(.shrunkenCaches) { caches.noticeFullDisk() }
        if wishes.contains(.hastenedFold) { schedule.hasten() }
    }

    /// A commit has found no room.
    func noticeFullLog() { fulfil(room.noteFullLog(written)) }

    /// The fold has found no room. Whoever waits for what the fold thread does is answered, unless it goes on at once: nobody knows when
    /// there is room.
    /// - Returns: nanoseconds until it is to be tried again.
    private func noticeFullTables(_ time: UInt64) -> UInt64 {
        let (pause, wishes) = room.noteFullTables(time)
        fulfil(wishes)
        guard pause > 0 else { return 0 }
        desk.waits.refuse(.fold, .noSpace)
        desk.waits.refuse(.scrub, .noSpace)
        return pause
    }

    /// While the disk is full the active segment may have grown for want of another, and only a closed one can be let go:
    /// when all of it is folded, a small one takes over, in the reserve's room if there is no other.
    private func turnLogOver(_ time: UInt64, _ hasNoNext: Bool) {
        let log = log.segments
        guard log.active.used >= 16 * Segment.leastCapacity, log.active.lastRev <= ledger.foldedRev else { return }
        let hasRoomNow = hasNoNext && room.reserve.give(16 * Segment.leastCapacity)
        if hasRoomNow { room.refuse(time) }
        // After a failure it is tried again a second later, or at once when there is room now.
        log.prepareNext(now: hasRoomNow ? .max : time, capacity: Segment.leastCapacity)
        log.turnOver()
    }
}
