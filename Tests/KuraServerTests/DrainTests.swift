import KuraBytes
import KuraSocket
import Testing

@testable import KuraServer

@Suite struct DrainTests {
    private let time = ManualTime()
    private var clock: Clock { Clock(time) }

    private func connection(_ token: UInt64) -> Connection {
        .lone(token)
    }

    @Test func `before it begins nothing ends, and there is nothing to wait for`() {
        var drain = Drain()
        #expect(!drain.hasBegun && !drain.hasNewcomers)
        #expect(!drain.isOver(connections: 0))
        #expect(drain.beginsLastTurn(at: clock.monotonic) == false)
        #expect(drain.timeToNext(at: clock.monotonic) == nil)
    }

    @Test func `it is over when nobody is left, or when its time is and the last turn has begun`() {
        var drain = Drain()
        drain.begin(at: clock.monotonic)
        #expect(drain.hasBegun)
        #expect(!drain.isOver(connections: 1))
        #expect(drain.isOver(connections: 0))
        #expect(drain.timeToNext(at: clock.monotonic) == Drain.time)
        time.advance(by: Drain.time - 1)
        #expect(drain.beginsLastTurn(at: clock.monotonic) == false)
        #expect(drain.timeToNext(at: clock.monotonic) == 1)
        time.advance(by: 1)
        #expect(!drain.isOver(connections: 1))
        #expect(drain.timeToNext(at: clock.monotonic) == 0)
        #expect(drain.beginsLastTurn(at: clock.monotonic) == true)
        #expect(drain.isLast)
        #expect(drain.isOver(connections: 1))
        #expect(drain.beginsLastTurn(at: clock.monotonic) == false)
    }

    @Test func `newcomers have until they have asked, and no longer than their time`() {
        var drain = Drain()
        drain.begin(at: clock.monotonic)
        for token: UInt64 in 1...3 { drain.expect(connection(token)) }
        #expect(drain.timeToNext(at: clock.monotonic) == Drain.newcomersTime)
        #expect(drain.takeNewcomers(at: clock.monotonic) { $0.token == 2 }.map(\.token) == [2])
        #expect(drain.takeNewcomers(at: clock.monotonic) { $0.token == 2 }.isEmpty)
        #expect(drain.hasNewcomers)
        time.advance(by: Drain.newcomersTime)
        #expect(drain.timeToNext(at: clock.monotonic) == 0)
        #expect(drain.takeNewcomers(at: clock.monotonic) { _ in false }.map(\.token) == [1, 3])
        #expect(!drain.hasNewcomers)
        #expect(drain.timeToNext(at: clock.monotonic) == Drain.time - Drain.newcomersTime)
    }
}
