import KuraBytes
import Testing

@testable import KuraServer

@Suite struct TrafficQueueTests {
    private func taken(_ queue: TrafficQueue) -> (texts: [String], dropped: UInt64) {
        var texts: [String] = []
        let dropped = queue.take { entry, bytes, _ in
            texts.append("\(entry.kind) \(entry.connection) \(entry.at) \(String(bytes))")
        }
        return (texts, dropped)
    }

    private func put(_ queue: TrafficQueue, _ kind: TrafficQueue.Kind, _ at: UInt64, _ text: String, lines: Int = 1)
        -> Bool
    {
        text.withBytes { queue.append(.init(kind: kind, connection: 7, at: at), $0, lines: lines) }
    }

    @Test func `what was put in comes out in its order, once`() {
        let queue = TrafficQueue()
        #expect(put(queue, .opened, 1, "admin") && put(queue, .request, 2, "{}") && put(queue, .closed, 3, ""))
        #expect(taken(queue).texts == ["opened 7 1 admin", "request 7 2 {}", "closed 7 3 "])
        #expect(taken(queue).texts == [])
    }

    @Test func `what there is no room for is counted, and there is room again when all was taken`() {
        let queue = TrafficQueue(limit: 100)
        let long = String(repeating: "x", count: 60)
        #expect(put(queue, .request, 1, long))
        #expect(!put(queue, .request, 2, long) && !put(queue, .replies, 3, long, lines: 4))
        let first = taken(queue)
        #expect(first.texts.count == 1 && first.dropped == 5)
        #expect(put(queue, .request, 4, long))
        #expect(taken(queue).dropped == 0)
    }

    @Test func `a line that is longer than all room is taken when nothing else waits, and its memory goes`() {
        let queue = TrafficQueue(limit: 100)
        #expect(put(queue, .request, 1, String(repeating: "x", count: 10_000)))
        #expect(!put(queue, .request, 2, "y"))
        #expect(taken(queue).texts.count == 1)
        #expect(queue.footprint < 10_000)
    }
}
