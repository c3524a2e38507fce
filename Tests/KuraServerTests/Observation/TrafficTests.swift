import Testing

@testable import KuraServer

/// What has come in since the daemon started.
@Suite struct TrafficTests {
    @Test func `a request that waits twice is one request`() {
        var traffic = Traffic()
        for _ in 0..<2 {
            traffic.begin()
            traffic.putOff()
        }
        #expect(traffic.requests == 0 && traffic.attempts == 2)
        traffic.begin()
        traffic.beginSlice()
        #expect(traffic.attempts == 4)
        #expect(traffic.requests == 1 && traffic.connections == 0 && traffic.launches == 0)
    }

    @Test func `clients and starts are counted apart`() {
        var traffic = Traffic()
        traffic.letIn()
        traffic.letIn()
        traffic.launched()
        #expect(traffic.connections == 2 && traffic.launches == 1 && traffic.requests == 0)
    }
}
