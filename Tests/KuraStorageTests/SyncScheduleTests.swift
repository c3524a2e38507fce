import Testing

@testable import KuraStorage

@Suite struct SyncScheduleTests {
    private var schedule = SyncSchedule(requestedRev: 5)
    private static let second: UInt64 = 1_000_000_000

    @Test mutating func `strict changes wait for a sync until one up to them has been asked for`() {
        #expect(!schedule.isDue(strictRev: 5, .max))
        #expect(schedule.isDue(strictRev: 6, 0))
        schedule.request(7)
        #expect(schedule.requestedRev == 7 && !schedule.isDue(strictRev: 7, .max))
    }

    @Test
    mutating func `the relaxed change that may wait for the shortest time says when, and any sync takes it along`() {
        schedule.noteRelaxed(seconds: 5, 100)
        schedule.noteRelaxed(seconds: 2, 200)
        schedule.noteRelaxed(seconds: 9, 300)
        #expect(schedule.relaxedDueAt == 200 + 2 * Self.second)
        #expect(!schedule.isDue(strictRev: 0, 199 + 2 * Self.second))
        #expect(schedule.isDue(strictRev: 0, 200 + 2 * Self.second))
        schedule.request(6)
        #expect(schedule.relaxedDueAt == nil && !schedule.isDue(strictRev: 0, .max))
    }

    @Test mutating func `the time is asked for only when something relaxed waits for it`() {
        var asked = 0
        func time() -> UInt64 {
            asked += 1
            return 0
        }
        #expect(!schedule.isDue(strictRev: 5, time()) && schedule.isDue(strictRev: 6, time()))
        #expect(asked == 0)
    }
}
