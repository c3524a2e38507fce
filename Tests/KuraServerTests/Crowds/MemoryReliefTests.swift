import KuraBytes
import KuraSocket
import Testing

@testable import KuraServer

@Suite struct MemoryReliefTests {
    private let time = ManualTime()
    private var clock: Clock { Clock(time) }
    private let budget = BufferBudget(limit: 64 << 20)

    private func connection(_ token: UInt64, input: Int = 0) -> Connection {
        let connection = Connection.lone(token, lineLimit: 1 << 20)
        if input > 0 { connection.input.append([UInt8](repeating: 0x20, count: input)) }
        return connection
    }

    @Test func `while there is enough there is nothing to do`() {
        var memory = MemoryRelief(budget)
        #expect(memory.next == .max)
        let isShort = memory.isShort(turn: 1, clock)
        #expect(!isShort && memory.next == .max)
        #expect(!memory.isReclaimDue(clock))
    }

    @Test func `one that starves is in the list once, and memory is taken when nobody gives any back in time`() {
        var memory = MemoryRelief(budget)
        budget.charge(budget.full)
        let starving = connection(1)
        // The log is told of the first, and at most once a second.
        #expect(memory.starve(starving, turn: 1, clock) == 1)
        #expect(memory.starve(starving, turn: 1, clock) == nil)
        #expect(memory.starve(connection(2), turn: 1, clock) == nil)
        #expect(memory.starved.count == 2 && budget.pauses == 2)
        #expect(memory.next == time.monotonic + MemoryRelief.patience)
        time.advance(by: MemoryRelief.patience - 1)
        #expect(!memory.isReclaimDue(clock))
        time.advance(by: 1)
        #expect(memory.isReclaimDue(clock))
        memory.endReclaim(turn: 2, clock)
        #expect(!memory.isReclaimDue(clock))
        #expect(memory.next == time.monotonic + MemoryRelief.patienceBetween, "it is as full as it was")
        budget.charge(-budget.full)
        memory.endReclaim(turn: 2, clock)
        #expect(memory.next == time.monotonic + MemoryRelief.patience)
    }

    @Test func `those for whom there is room are read from again, the small ones first, and the others wait on`() {
        var memory = MemoryRelief(budget)
        budget.charge(budget.full)
        let (small, large, gone) = (connection(1), connection(2, input: 1 << 20), connection(3))
        for connection in [small, large, gone] { _ = memory.starve(connection, turn: 1, clock) }
        _ = gone.phase.close()
        #expect(memory.takeFed(clock).isEmpty)
        #expect(memory.starved.count == 2, "the one that is closed has left")
        #expect(!memory.hasLessInUse)
        // Room for small ones alone.
        budget.charge(budget.ordinary - budget.full)
        #expect(memory.hasLessInUse)
        time.advance(by: 7)
        #expect(memory.takeFed(clock).map(\.token) == [1])
        #expect(!small.crowd.isStarved && large.crowd.isStarved)
        #expect(memory.next == time.monotonic + MemoryRelief.patience, "some memory was found")
        budget.charge(budget.relaxed - budget.ordinary)
        #expect(memory.takeFed(clock).map(\.token) == [2])
        let isShort = memory.isShort(turn: 2, clock)
        #expect(!isShort && memory.next == .max)
    }

    @Test func `one whose line was given up starves no more`() {
        var memory = MemoryRelief(budget)
        let (first, second) = (connection(1), connection(2))
        for connection in [first, second] { _ = memory.starve(connection, turn: 1, clock) }
        memory.feed(first)
        #expect(!first.crowd.isStarved && memory.starved.map(\.token) == [2])
        memory.feed(first)
        #expect(memory.starved.count == 1)
    }

    @Test func `the biggest lose first, those that starve behind those that only stand still, and none that moves`() {
        var memory = MemoryRelief(budget)
        memory.endReclaim(turn: 5, clock)
        let (moving, still, bigger, starving) = (
            connection(1, input: 100_000), connection(2, input: 10_000), connection(3, input: 50_000),
            connection(4, input: 200_000)
        )
        let idle = connection(5)
        for connection in [moving, still, bigger, starving, idle] { connection.crowd.turn = 5 }
        moving.crowd.turn = 6
        _ = memory.starve(starving, turn: 5, clock)
        let losers = memory.losers(among: [moving, still, bigger, starving, idle])
        #expect(losers.map(\.token) == [3, 2, 4])
        let many = (0..<200).map { connection(UInt64($0), input: 100) }
        #expect(memory.losers(among: ContiguousArray(many)).count == MemoryRelief.mostAtOnce)
    }

    @Test func `the heap is trimmed once when a crowd has been gone for a while`() {
        var memory = MemoryRelief(budget)
        var due: [Bool] = []
        budget.charge(MemoryRelief.trimBytes + 4)
        due.append(memory.isTrimDue(clock))
        budget.charge(-MemoryRelief.trimBytes)
        due.append(memory.isTrimDue(clock))
        #expect(memory.next == time.monotonic + MemoryRelief.trimPause)
        time.advance(by: MemoryRelief.trimPause - 1)
        due.append(memory.isTrimDue(clock))
        time.advance(by: 1)
        due.append(memory.isTrimDue(clock))
        due.append(memory.isTrimDue(clock))
        #expect(due == [false, false, false, true, false])
        #expect(memory.next == .max)
    }
}
