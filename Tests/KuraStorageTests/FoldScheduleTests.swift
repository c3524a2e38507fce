import SQLite
import Testing

@testable import KuraStorage

@Suite struct FoldScheduleTests {
    private var schedule = FoldSchedule(tablesRev: 5, unfoldedSince: nil, hasPendingWAL: false)
    private static let second: UInt64 = 1_000_000_000

    private func slice(_ rev: UInt64) -> FoldSlice {
        let slice = FoldSlice()
        slice.rev = rev
        return slice
    }

    private func outcome(
        _ work: Folder.Outcome.Work, durableRev: UInt64 = 0, hasPendingWAL: Bool = true, error: SQLiteError? = nil
    ) -> Folder.Outcome {
        Folder.Outcome(work: work, error: error, durableRev: durableRev, hasPendingWAL: hasPendingWAL)
    }

    @Test mutating func `a slice is cut when the oldest change has waited for as long as the pace says`() {
        #expect(schedule.nextCut(afterMilliseconds: 1000, hasConfirmations: false) == nil)
        #expect(schedule.wait(7, pace: 1000) == nil)
        schedule.noteUnfolded(at: 7)
        schedule.noteUnfolded(at: 9)
        #expect(schedule.nextCut(afterMilliseconds: 1000, hasConfirmations: false) == 7 + Self.second)
        #expect(schedule.wait(7, pace: 1000) == Self.second)
        schedule.noteCut(20, leavesChanges: true)
        #expect(schedule.nextCut(afterMilliseconds: 1000, hasConfirmations: false) == 20 + Self.second)
        schedule.hasten()
        #expect(schedule.nextCut(afterMilliseconds: 1, hasConfirmations: false) == 1_000_000)
        schedule.noteCut(20, leavesChanges: false)
        schedule.hasten()
        #expect(!schedule.hasUnfolded)
    }

    @Test mutating func `indexes that are found unique are confirmed by a slice without changes`() {
        #expect(schedule.nextCut(afterMilliseconds: 2, hasConfirmations: true) == 2_000_000)
        _ = schedule.begin(slice(6), bytes: nil)
        #expect(schedule.nextCut(afterMilliseconds: 2, hasConfirmations: true) == nil)
    }

    @Test mutating func `what is due and not synced waits for its sync`() {
        schedule.noteUnfolded(at: 0)
        #expect(schedule.wait(Self.second, pace: 1000) == UInt64.max)
    }

    @Test mutating func `one slice is away at a time, until its items are let go of`() {
        let one = slice(8)
        #expect(schedule.begin(one, bytes: nil) === one)
        #expect(schedule.hasSlice && schedule.settling == nil && schedule.timeToCheckpoint(0) == nil)
        #expect(schedule.wait(0, pace: 1) == UInt64.max)
        #expect(schedule.takeWaiting(.max) == nil)
        schedule.noteFolded(one)
        #expect(schedule.tablesRev == 8 && schedule.settling === one && schedule.timeToCheckpoint(0) == 0)
        #expect(schedule.wait(0, pace: 1) == 0)
        schedule.noteSettled(3)
        #expect(schedule.isIdle && schedule.settling == nil)
        // One without changes takes nothing back.
        schedule.noteFolded(slice(0))
        #expect(schedule.tablesRev == 8)
    }

    @Test mutating func `a slice that found no room is tried again at its time`() {
        let one = slice(8)
        schedule.retry(schedule.begin(one, bytes: nil), at: 100)
        #expect(schedule.isRetrying && schedule.hasSlice)
        #expect(schedule.wait(40, pace: 1) == 60)
        #expect(schedule.wait(400, pace: 1) == 0)
        #expect(schedule.takeWaiting(99) == nil && schedule.isRetrying)
        #expect(schedule.takeWaiting(100) === one && !schedule.isRetrying)
        #expect(schedule.takeWaiting(.max) == nil)
    }

    @Test mutating func `a slice that is too large is folded in parts, in the order of revisions`() throws {
        schedule = FoldSchedule(tablesRev: 0, unfoldedSince: nil, hasPendingWAL: false)
        let directory = TemporaryDirectory()
        let storage = try IndexHarness(.tiny(directory.path))
        for id in 0..<4 { try storage.put("d\(id)", "1") }
        try storage.commit()
        let whole = try #require(storage.ledger.cutSlice(syncedRev: SyncedRev(storage.ledger.committedRev), log: nil))
        let (last, count) = (whole.rev, whole.items.count)
        var (parts, revs): ([FoldSlice], [UInt64]) = ([], [])
        var next: FoldSlice? = whole
        while let slice = next {
            let part = schedule.begin(slice, bytes: 1)
            #expect(schedule.takeWaiting(.max) == nil)
            parts.append(part)
            revs.append(part.rev)
            schedule.noteFolded(part)
            schedule.noteSettled(1)
            #expect(schedule.isIdle == (part.rev == last))
            if !schedule.isIdle { #expect(schedule.wait(1, pace: 1000) == 0) }
            next = schedule.takeWaiting(.max)
        }
        #expect(parts.count == 4 && revs == revs.sorted() && schedule.tablesRev == last)
        #expect(parts.reduce(0) { $0 + $1.items.count } == count)
    }

    @Test mutating func `with nothing folded for a while the WAL goes into the database file, once`() {
        #expect(schedule.timeToIdleCheckpoint(.max) == nil)
        schedule.note(outcome(.tending, durableRev: 4), 100)
        #expect(schedule.durableRev == 4)
        #expect(schedule.timeToIdleCheckpoint(100) == FoldSchedule.idleInterval)
        #expect(schedule.timeToIdleCheckpoint(100 + FoldSchedule.idleInterval) == 0)
        schedule.noteSettled(200)
        #expect(schedule.timeToIdleCheckpoint(200) == FoldSchedule.idleInterval)
        schedule.noteCheckpointing()
        #expect(schedule.timeToIdleCheckpoint(.max) == nil && schedule.timeToCheckpoint(.max) == nil)
        schedule.note(outcome(.scrub, hasPendingWAL: true), 300)
        #expect(schedule.isCheckpointing && schedule.durableRev == 4)
        schedule.note(outcome(.checkpoint, durableRev: 9, hasPendingWAL: true), 300)
        #expect(!schedule.isCheckpointing && schedule.timeToCheckpoint(300) == 0 && schedule.durableRev == 9)
        #expect(schedule.timeToIdleCheckpoint(300) == FoldSchedule.idleInterval)
        schedule.note(outcome(.checkpoint, durableRev: 9, hasPendingWAL: false), 300)
        #expect(schedule.timeToIdleCheckpoint(.max) == nil)
    }

    @Test mutating func `a fold waits while it would write four times what the log has got, unless it is hastened`() {
        schedule.noteUnfolded(at: 7)
        var log = LogVolume()
        log.note(whole: 5000, logged: 1000)
        schedule.noteCut(10, leavesChanges: true, log)
        log.note(whole: 401, logged: 100)
        #expect(schedule.isWaste(folding: 401, log) && !schedule.isWaste(folding: 400, log))
        #expect(!schedule.isWaste(folding: -8, log))
        var whole = log
        whole.note(whole: 1, logged: 1)
        #expect(!schedule.isWaste(folding: 500, whole))
        schedule.hasten()
        #expect(!schedule.isWaste(folding: 401, log))
    }

    @Test mutating func `a checkpoint that came to nothing is not asked for again at once`() {
        for error in [SQLiteError(extendedCode: 13, message: "full"), nil] {
            schedule.noteCheckpointing()
            schedule.note(outcome(.checkpoint, durableRev: 9, hasPendingWAL: true), 100)
            #expect(schedule.durableRev == 9)
            schedule.noteCheckpointing()
            schedule.note(outcome(.checkpoint, durableRev: 9, hasPendingWAL: true, error: error), 200)
            #expect(schedule.timeToCheckpoint(200) == FoldSchedule.checkpointPause)
            #expect(schedule.timeToCheckpoint(200 + FoldSchedule.checkpointPause) == 0)
            schedule = FoldSchedule(tablesRev: 0, unfoldedSince: nil, hasPendingWAL: false)
        }
    }

    @Test func `what a start finds unfolded has waited since then, and its WAL is checkpointed`() {
        let schedule = FoldSchedule(tablesRev: 1, unfoldedSince: 50, hasPendingWAL: true)
        #expect(schedule.nextCut(afterMilliseconds: 1, hasConfirmations: false) == 1_000_050)
        #expect(schedule.timeToIdleCheckpoint(FoldSchedule.idleInterval) == 0)
    }
}
