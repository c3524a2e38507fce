import Testing

@testable import KuraStorage

@Suite struct RewrapScheduleTests {
    private var schedule = RewrapSchedule()

    @Test mutating func `slices leave others a moment, and more after one that could not be stored`() {
        #expect(schedule.isDue(0) && schedule.next(7, admitsBulk: true) == 7)
        schedule.noteSlice(100)
        #expect(!schedule.isDue(99 + RewrapSchedule.interval) && schedule.isDue(100 + RewrapSchedule.interval))
        #expect(schedule.next(100, admitsBulk: true) == 100 + RewrapSchedule.interval)
        schedule.noteSlice(100, hasFailed: true)
        #expect(schedule.next(200, admitsBulk: true) == 100 + RewrapSchedule.pause)
        #expect(schedule.next(.max, admitsBulk: true) == .max)
    }

    @Test func `while there is hardly any room for bulk it is asked for again in a moment`() {
        #expect(schedule.next(7, admitsBulk: false) == 7 + RewrapSchedule.interval)
    }

    @Test mutating func `one root key at a time is let go of, and a failure is told once`() {
        #expect(schedule.takeRetirement() == .idle)
        let job = KeyJob(.retire(epoch: 1))
        schedule.retire(with: job)
        #expect(schedule.takeRetirement() == .running)
        job.fault = .busy
        job.isDone = true
        #expect(schedule.takeRetirement() == .failed(.busy))
        #expect(schedule.takeRetirement() == .idle)
        let other = KeyJob(.retire(epoch: 2))
        other.isDone = true
        schedule.retire(with: other)
        #expect(schedule.takeRetirement() == .idle)
    }
}
