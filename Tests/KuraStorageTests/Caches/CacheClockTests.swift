import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct CacheClockTests {
    private let time = ManualTime(wall: 1_000_000)
    private let clock: CacheClock

    init() { clock = CacheClock(Clock(time)) }

    @Test func `it stands still in a turn, and never goes back`() {
        #expect(clock.now == 1_000_000)
        time.advance(by: 50_000_000)
        #expect(clock.now == 1_000_000)
        clock.beginTurn()
        #expect(clock.now == 1_000_050)
        // An earlier run had come further, and what it had come to counts.
        clock.was(2_000_000)
        #expect(clock.now == 2_000_000)
        clock.was(1_500_000)
        #expect(clock.now == 2_000_000)
    }

    @Test func `a turn has two milliseconds for what can wait`() {
        #expect(clock.hasTime())
        time.advance(by: 3_000_000)
        #expect(!clock.hasTime())
        clock.beginTurn()
        #expect(clock.hasTime())
    }

    @Test func `it is written when somebody was told that something has expired, once a second`() {
        #expect(clock.waitForWriting(5_000_000_000) == nil)
        clock.noteExpired()
        #expect(clock.waitForWriting(5_000_000_000) == 0)
        clock.noteWritten(5_000_000_000)
        #expect(clock.waitForWriting(5_000_000_001) == nil)
        clock.noteExpired()
        #expect(clock.waitForWriting(5_000_000_001) == 999_999_999)
    }
}
