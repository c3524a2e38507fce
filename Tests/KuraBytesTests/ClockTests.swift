import Glibc
import KuraBytes
import KuraTestSupport
import Synchronization
import Testing

@Suite struct ClockTests {
    @Test func `a time that is set stands still until it is moved, on all three clocks`() {
        let time = ManualTime(wall: 5000)
        let clock = Clock(time)
        let (monotonic, boottime) = (clock.monotonic, clock.boottime)
        let deadline = clock.deadline(milliseconds: 3)
        #expect(clock.wall == 5000 && !clock.isSystem && deadline.left == 3_000_000)
        for _ in 0..<5 { time.advance(by: 500_000) }
        #expect(clock.monotonic == monotonic + 2_500_000 && clock.boottime == boottime + 2_500_000)
        #expect(clock.wall == 5002, "halves of a millisecond add up")
        #expect(!deadline.isOver && deadline.left == 500_000)
        time.advance(by: 500_000)
        #expect(deadline.isOver && deadline.left == 0)
        time.setWall(7)
        #expect(clock.wall == 7 && clock.monotonic == monotonic + 3_000_000)
        #expect(!clock.deadline(after: .max).isOver)
    }

    @Test func `whoever asked for it is called when the time is moved`() {
        let time = ManualTime()
        let count = Atomic<Int>(0)
        for _ in 0..<2 { Clock(time).onAdvance { count.add(1, ordering: .relaxed) } }
        time.advance(by: 1)
        time.setWall(1)
        let calls = count.load(ordering: .relaxed)
        #expect(calls == 4)
        Clock.system.onAdvance { Issue.record("nobody moves it") }
    }

    @Test func `offsets are added to the system's time, as of each look`() throws {
        let directory = TemporaryDirectory(prefix: "kura-clock")
        let path = directory.path + "/clock"
        func write(_ words: [UInt64]) {
            let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(file) }
            let bytes = words.map(\.littleEndian)
            #expect(pwrite(file, bytes, bytes.count * 8, 0) == bytes.count * 8)
        }
        #expect(ManualTime(offsets: path) == nil)
        write([0, 0])
        #expect(ManualTime(offsets: path) == nil, "it is too short")
        write([0, 0, 0])
        let clock = Clock(try #require(ManualTime(offsets: path)))
        let minute: UInt64 = 60_000_000_000
        var before = (Clock.system.monotonic, Clock.system.boottime, Clock.system.wall)
        #expect(clock.monotonic - before.0 < minute && clock.wall - before.2 < 60_000)
        write([10 * minute, 20 * minute, UInt64(bitPattern: -86_400_000)])
        before = (Clock.system.monotonic, Clock.system.boottime, Clock.system.wall)
        #expect(clock.monotonic >= before.0 + 10 * minute && clock.monotonic < before.0 + 11 * minute)
        #expect(clock.boottime >= before.1 + 20 * minute && clock.boottime < before.1 + 21 * minute)
        #expect(clock.wall >= before.2 - 86_400_000 && clock.wall < before.2 - 86_340_000)
        #expect(clock.sleep(-1) == ManualTime.interval && clock.sleep(2) == 2 && clock.sleep(600_000) == 5)
    }

    @Test func `by the system's time a thread sleeps as it is told, and by one that is set until it is woken`() {
        let (system, set) = (Clock.system, Clock(ManualTime()))
        #expect(system.sleep(-1) == -1 && system.sleep(0) == 0 && system.sleep(7) == 7)
        #expect(set.sleep(-1) == -1 && set.sleep(0) == 0 && set.sleep(7) == -1)
    }
}
