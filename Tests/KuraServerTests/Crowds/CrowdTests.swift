import KuraBytes
import KuraSocket
import KuraTransport
import Testing

@testable import KuraServer

@Suite struct CrowdTests {
    private let time = ManualTime()
    private var clock: Clock { Clock(time) }
    private let budget = BufferBudget(limit: 64 << 20)

    private func connection(_ token: UInt64) -> Connection {
        .lone(token)
    }

    @Test func `it has something to do when the first of its parts has`() {
        var crowd = Crowd([], budget, stallSeconds: 4)
        var waits = [crowd.timeToNext(at: time.monotonic)]
        crowd.stalls.watch(connection(1), clock)
        waits.append(crowd.timeToNext(at: time.monotonic))
        _ = crowd.memory.starve(connection(2), turn: 1, clock)
        waits.append(crowd.timeToNext(at: time.monotonic))
        crowd.slices.putOff(connection(3), until: time.monotonic + 7)
        waits.append(crowd.timeToNext(at: time.monotonic))
        time.advance(by: 8)
        waits.append(crowd.timeToNext(at: time.monotonic))
        #expect(waits == [nil, 1_000_000_000, MemoryRelief.patience, 7, 0])
    }

    @Test func `writes that are held back may go on once a second, all in one turn`() {
        var crowd = Crowd([], budget, stallSeconds: 4)
        var opens: [Bool] = []
        crowd.slices.beginTurn()
        for _ in 0..<2 { opens.append(crowd.opensWrites(clock)) }
        crowd.slices.beginTurn()
        opens.append(crowd.opensWrites(clock))
        let left = crowd.timeToWrites(at: time.monotonic)
        time.advance(by: left - 1)
        opens.append(crowd.opensWrites(clock))
        time.advance(by: 1)
        opens.append(crowd.opensWrites(clock))
        #expect(opens == [true, true, false, false, true])
        #expect(left == 1_000_000_000)
    }
}
