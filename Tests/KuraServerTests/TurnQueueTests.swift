import KuraBytes
import KuraSocket
import Testing

@testable import KuraProtocol
@testable import KuraServer

@Suite struct TurnQueueTests {
    private func connection(_ token: UInt64) -> Connection {
        .lone(token)
    }

    private func insert(_ connection: Connection, into turn: inout TurnQueue) -> Bool { turn.insert(connection) }

    /// Enters those with which the turn goes on.
    private func resume(_ turn: inout TurnQueue) -> [UInt64] {
        turn.beginResuming()
        var entered: [UInt64] = []
        for connection in turn.resuming where turn.insert(connection) { entered.append(connection.token) }
        turn.endResuming()
        return entered
    }

    @Test func `a connection is in a turn once, and in none when it is closed`() {
        var turn = TurnQueue(.standard)
        let (first, closed) = (connection(1), connection(2))
        _ = closed.phase.close()
        #expect(insert(first, into: &turn) == true)
        #expect(insert(first, into: &turn) == false)
        #expect(insert(closed, into: &turn) == false)
        #expect(turn.connections.map(\.token) == [1])
        // It is answered, and what it gets waits for the commit: it is in the turn still.
        turn.hold(first)
        turn.endAnswers()
        #expect(insert(first, into: &turn) == false)
        turn.leave(first)
        turn.end()
        #expect(turn.held.isEmpty)
        #expect(insert(first, into: &turn) == true)
    }

    @Test func `what is left of a turn goes on in the next one, behind those who ask then, and once`() {
        var turn = TurnQueue(.standard)
        let connections = (1...3).map { connection($0) }
        for index in [0, 1, 0] { turn.goOn(with: connections[index]) }
        #expect(turn.next.count == 2)
        #expect(turn.goesOn(with: connections[0]) && !turn.goesOn(with: connections[2]))
        _ = turn.insert(connections[2])
        #expect(resume(&turn) == [1, 2])
        #expect(turn.connections.map(\.token) == [3, 1, 2])
        #expect(turn.next.isEmpty && turn.resuming.isEmpty)
        // Those who have more still are for the turn behind it.
        turn.goOn(with: connections[1])
        #expect(turn.next.map(\.token) == [2])
        #expect(turn.connections.count == 3)
    }

    @Test func `the last one has nobody behind it`() {
        var turn = TurnQueue(.standard)
        #expect(turn.isLast)
        for token: UInt64 in 1...2 { _ = turn.insert(connection(token)) }
        turn.moveOn(to: 0)
        #expect(!turn.isLast)
        turn.moveOn(to: 1)
        #expect(turn.isLast)
        turn.endAnswers()
        #expect(turn.isLast, "those who are answered once more come one by one")
    }

    @Test func `a turn reads at one time, which the next one does not have`() {
        let time = ManualTime()
        var turn = TurnQueue(.standard)
        turn.begin()
        #expect(turn.readAt == 0)
        turn.beginReading(Clock(time))
        let first = turn.readAt
        #expect(first == time.monotonic)
        time.advance(by: 5)
        turn.beginReading(Clock(time))
        #expect(turn.readAt == first)
        turn.begin()
        turn.beginReading(Clock(time))
        #expect(turn.readAt == first + 5)
    }
}
