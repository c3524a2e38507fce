import Glibc
import KuraBytes
import SQLite

/// Folding, checkpoints, segments and the reserve: a bounded piece of each after a turn.
extension Storage {
    /// Folds, checkpoints, prepares and retires segments: a bounded piece of each.
    /// `time`: now, by the clock that never goes back.
    /// - Returns: nanoseconds until it wants to be called again; 0 for at once, nil when only a change or a wake can
    ///   give it work.
    public func upkeep(at time: UInt64) -> UInt64? {
        Work.at(.upkeep)
        defer { Work.at(.other) }
        quickTables?.endTurn()
        let wait = keepUp(time)
        var due = syncing.relaxedDueAt
        // What has aged goes some a turn.
        if aging.hasFound { due = min(due ?? .max, time + 1_000_000) }
        due = min(due ?? .max, tendRooms(time))
        if let next = settleWaits(time) { due = min(due ?? .max, next) }
        if let next = contents.tend(at: time) { due = min(due ?? .max, time + next) }
        guard let due else { return wait }
        return min(wait ?? .max, due > time ? due - time : 0)
    }

    /// What takes its time anyway: ages, migrations, the secrets' checks and keys, the caches. Not asked again within a millisecond, unless something is
    /// due: it would be a tenth of a read.
    /// - Returns: when the next turn is due for any of them.
    private func tendRooms(_ time: UInt64) -> UInt64 {
        if time < tending.nextAt, time - tending.lastAt < Self.tendingInterval {
            return min(tending.nextAt, tending.lastAt + Self.tendingInterval)
        }
        var due = min(aging.nextAt, migrations.nextPiece(time, admitsBulk: admitsBulk) ?? .max, timeToSecrets(time))
        due = min(due, scrubSecrets(time) ?? .max)
        if let next = caches.upkeep(time) { due = min(due, time + next) }
        due = min(due, keepBill(time))
        if !launches.isIdle { due = min(due, launches.tend(time, self)) }
        tendBoot()
        tending = (time, due)
        return due
    }

    private static let tendingInterval: UInt64 = 1_000_000

    private func keepUp(_ time: UInt64) -> UInt64? {
        ledger.trimCache()
        age(time)
        migrate(time)
        if let outcomes = folder.outcomes() {
            for outcome in outcomes { take(outcome, time) }
        }
        if let slice = folding.settling, ledger.settle(slice, budget: 1000) { folding.noteSettled(time) }
        let hasNoNext = log.noticeFailures(now: time)
        history.turnOver()
        if room.isFull {
            turnLogOver(time, hasNoNext)
        } else if ledger.committedRev > 0 {
            log.prepareNext(now: time, capacity: room.nextCapacity)
        }
        if log.mayRetire(durableRev: folding.durableRev) {
            log.retire(
                durableRev: folding.durableRev, keeping: room.keptBytes,
                since: clock.wall.since(.milliseconds(seconds: configuration.retentionSeconds)))
        }
        keepRoom(time)
        // A fold that writers may come to wait for does not wait for others.
        let isBehind = ledger.overlay.bytes >= min(configuration.overlayBytes, ledger.room.overlayLimit) / 8 * 5
        if PacedWriting.isHurried != isBehind { PacedWriting.isHurried = isBehind }
        startFold(time)
        boundLog()
        let isRelaxed = syncing.relaxedDueAt != nil
        if let wait = folding.wait(time, pace: configuration.foldMilliseconds, isRelaxed: isRelaxed) {
            return wait == .max ? nil : wait
        }
        // Who waits for a purge is answered in the next turn.
        if waits.hasDone { return 0 }
        if room.isFull || ledger.isOverlayFull || ledger.room.isRefusingForReserve { return 10_000_000 }
        let expiry = log.timeToExpiry(durableRev: folding.durableRev, seconds: configuration.retentionSeconds)
        // Asked in every turn: no list is made for it.
        let next = min(idleCheckpoint(time) ?? .max, expiry ?? .max, history.trim(at: time) ?? .max)
        return next == .max ? nil : next
    }

    /// Hot keys fold to little, so the WAL grows slowly while segments pile up: a checkpoint lets them go.
    private func boundLog() {
        guard folding.admitsCheckpoint else { return }
        let waiting = log.bytesAwaitingCheckpoint(foldedRev: ledger.foldedRev, durableRev: folding.durableRev)
        if waiting > room.awaitedBytes { checkpoint() }
    }

    func checkpoint() {
        folding.noteCheckpointing()
        folder.checkpoint()
    }

    func startFold(_ time: UInt64) {
        if let waiting = folding.takeWaiting(time) { return submit(waiting) }
        let pace = configuration.foldMilliseconds
        guard let due = folding.nextCut(afterMilliseconds: pace, hasConfirmations: ledger.awaitsSlice),
            time >= due || ledger.overlay.bytes >= room.foldBytes || foldWantedRev > folding.tablesRev,
            let cut = ledger.cutSlice(syncedRev: syncedRev, log: log)
        else { return }
        cut.forgotten = attachments.takeForgotten()
        folding.noteCut(time, leavesChanges: ledger.hasUnfolded)
        submit(cut)
    }

    /// Has a slice folded, or where there is little room its beginning, and the rest of it behind that.
    func submit(_ slice: FoldSlice) { folder.submit(folding.begin(slice, bytes: room.slice)) }

    /// When nothing has been folded for a while, the WAL goes into the database file, so that the log can be let go.
    private func idleCheckpoint(_ time: UInt64) -> UInt64? {
        let wait = folding.timeToIdleCheckpoint(time)
        guard wait == 0 else { return wait }
        checkpoint()
        return nil
    }

    func take(_ outcome: Folder.Outcome, _ time: UInt64) {
        folding.note(outcome, time)
        noteIndexes(of: outcome, time)
        for purge in outcome.purged {
            if let scope = ledger.scopes.known(purge.collection) {
                scope.purgedBefore = max(scope.purgedBefore, purge.before)
            }
            waits.answer(purge.ticket, with: PurgeDone(purge.removed))
        }
        if !outcome.unused.isEmpty { attachments.folded(to: folding.tablesRev, unused: outcome.unused) }
        var folded: FoldSlice?
        switch outcome.work {
        case .slice(let slice): folded = slice
        case .checkpoint, .tending: break
        case .scrub:
            if !noteScrub(outcome.error, time), let error = outcome.error { fail(error) }
            return
        }
        if let error = outcome.error {
            if error.isFull {
                // Kept and tried again: nothing is lost, the changes are in the log and in memory.
                let pause = noticeFullTables(time)
                if let folded {
                    ledger.room.isFoldOutOfSpace = true
                    folding.retry(folded, at: time + pause)
                }
                return
            }
            if folded == nil, error.isBusy { return }
            return fail(error)
        }
        if let slice = folded {
            ledger.room.isFoldOutOfSpace = false
            folding.noteFolded(slice)
            for query in waits.takeFolded(to: folding.tablesRev) { queries.submit(query) }
            attachments.folded(to: folding.tablesRev, unused: slice.unused)
        }
    }

    /// The tables cannot be written: the storage ends. When that is for what they hold, the next start begins with what can be saved of them, since
    /// each would end in the same way.
    private func fail(_ error: SQLiteError) {
        fault = .database(error, file: configuration.tablesPath)
        if error.isCorrupt { boot.cannotFold(error) }
    }
}
