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
        let queue = TrafficQueue(limit: 100)
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

    @Test func `a line that is longer than all room is counted, and the memory of a burst goes`() {
        let queue = TrafficQueue(limit: 1 << 20)
        #expect(!put(queue, .request, 1, String(repeating: "x", count: 1 << 20)))
        for at in UInt64(0)..<9 { #expect(put(queue, .request, at, String(repeating: "x", count: 100_000))) }
        #expect(taken(queue).dropped == 1)
        #expect(taken(queue).texts == [] && queue.footprint < 1 << 20)
        queue.bound(50)
        #expect(!put(queue, .request, 1, String(repeating: "x", count: 40)))
    }
}
