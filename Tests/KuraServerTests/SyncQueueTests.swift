import KuraBytes
import KuraSocket
import Testing

@testable import KuraServer
@testable import KuraStorage

@Suite struct SyncQueueTests {
    private let time = ManualTime()
    private var clock: Clock { Clock(time) }
    private let sync: UInt64 = 100_000

    private func connection(_ token: UInt64) -> Connection {
        .lone(token)
    }

    /// Releases all who wait; those of `stays` wait on for a later revision.
    private func release(_ queue: inout SyncQueue, upTo rev: UInt64, staying stays: [Connection] = []) -> [UInt64] {
        guard queue.beginRelease(upTo: SyncedRev(rev)) else { return [] }
        var released: [UInt64] = []
        for connection in queue.releasing {
            if stays.contains(where: { $0 === connection }) { queue.insert(connection) }
            queue.released(connection)
            released.append(connection.token)
        }
        queue.endRelease()
        return released
    }

    private func decide(
        _ queue: inout SyncQueue, isSyncing: Bool = false, hasMore: Bool = false
    ) -> SyncQueue.Decision {
        queue.decide(isSyncing: isSyncing, hasMore: hasMore, syncTime: sync, clock)
    }

    @Test func `a connection waits once, and each sync releases those who wait once`() {
        var queue = SyncQueue(cores: 2)
        let (first, second) = (connection(1), connection(2))
        for connection in [first, second, first] { queue.insert(connection) }
        #expect(queue.count == 2)
        #expect(release(&queue, upTo: 5) == [1, 2])
        #expect(queue.count == 0)
        queue.insert(second)
        #expect(release(&queue, upTo: 5) == [], "this revision has been released")
        #expect(queue.count == 1)
        #expect(release(&queue, upTo: 6) == [2])
        #expect(queue.releasing.isEmpty)
    }

    @Test func `one whose other replies wait on stays, and is no companion of those who were released`() {
        var queue = SyncQueue(cores: 2)
        let (first, second) = (connection(1), connection(2))
        for connection in [first, second] { queue.insert(connection) }
        #expect(release(&queue, upTo: 1, staying: [second]) == [1, 2])
        #expect(queue.count == 1)
        // It alone was released, so nobody else is waited for.
        #expect(second.crowd.lastRound == 0 && first.crowd.lastRound != 0)
        #expect(decide(&queue) == .inline)
        #expect(release(&queue, upTo: 2) == [2])
    }

    @Test func `what nobody waits for goes to the sync thread, and so does what rides another sync`() {
        var queue = SyncQueue(cores: 2)
        #expect(decide(&queue) == .thread)
        queue.insert(connection(1))
        #expect(decide(&queue, isSyncing: true) == .thread)
        #expect(decide(&queue) == .inline)
    }

    @Test func `nobody is gathered for, and the loop does not sync, while connections go on at once`() {
        var queue = SyncQueue(cores: 2)
        let connections = (1...2).map { connection($0) }
        for rev: UInt64 in 1...2 {
            for connection in connections { queue.insert(connection) }
            _ = release(&queue, upTo: rev)
        }
        queue.insert(connections[0])
        #expect(decide(&queue) == .gather)
        #expect(queue.isGathering)
        #expect(decide(&queue, hasMore: true) == .thread)
        #expect(!queue.isGathering)
        queue.insert(connections[1])
        #expect(decide(&queue, hasMore: true) == .thread)
        #expect(decide(&queue) == .inline)
    }

    @Test func `gathering ends when nothing is to be synced`() {
        var queue = SyncQueue(cores: 2)
        let connections = (1...2).map { connection($0) }
        for rev: UInt64 in 1...2 {
            for connection in connections { queue.insert(connection) }
            _ = release(&queue, upTo: rev)
        }
        queue.insert(connections[0])
        #expect(decide(&queue) == .gather)
        queue.rest()
        #expect(!queue.isGathering)
    }

    @Test func `the loop does not sync while others are served who wait for nothing`() {
        var queue = SyncQueue(cores: 2)
        queue.insert(connection(1))
        // It reads and writes by turns: nobody else.
        queue.served(1)
        #expect(decide(&queue) == .inline)
        queue.served(2)
        #expect(decide(&queue) == .thread)
        time.advance(by: SyncPolicy.presence)
        #expect(decide(&queue) == .inline)
    }
}
