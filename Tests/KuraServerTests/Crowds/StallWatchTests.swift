import Glibc
import KuraBytes
import KuraSocket
import Testing

@testable import KuraServer
@testable import KuraStorage

@Suite struct StallWatchTests {
    private let time = ManualTime()
    private var clock: Clock { Clock(time) }
    private let second: UInt64 = 1_000_000_000

    private func connection(_ token: UInt64, _ descriptor: Int32 = -1) -> Connection {
        Connection(
            socket: .init(owning: descriptor), token: token, lineLimit: 100,
            client: ConnectedClient(peer: nil, admission: .init(role: "admin")))
    }

    @Test func `one that takes nothing for too long is to be closed, and is watched no more`() {
        var stalls = StallWatch(seconds: 8)
        let stalled = connection(1)
        stalls.watch(stalled, clock)
        stalls.watch(stalled, clock)
        #expect(stalls.connections.count == 1)
        #expect(stalls.next == time.monotonic + 2 * second)
        time.advance(by: 2 * second)
        #expect(stalls.isDue(clock))
        #expect(stalls.takeStalled(at: time.monotonic) { _ in true }.isEmpty)
        #expect(!stalls.isDue(clock) && stalls.next == time.monotonic + 2 * second)
        time.advance(by: 6 * second)
        #expect(stalls.takeStalled(at: time.monotonic) { _ in true }.map(\.token) == [1])
        #expect(stalls.connections.isEmpty && stalls.next == .max)
        stalls.unwatch(stalled)
        #expect(stalls.connections.isEmpty)
    }

    @Test func `one that has read is not watched any more, and begins anew when it stops`() {
        var stalls = StallWatch(seconds: 8)
        let connections = (1...3).map { connection($0) }
        for connection in connections { stalls.watch(connection, clock) }
        time.advance(by: 7 * second)
        #expect(stalls.takeStalled(at: time.monotonic) { $0.token != 2 }.isEmpty)
        #expect(Set(stalls.connections.map(\.token)) == [1, 3])
        stalls.watch(connections[1], clock)
        time.advance(by: second)
        #expect(Set(stalls.takeStalled(at: time.monotonic) { _ in true }.map(\.token)) == [1, 3])
        #expect(stalls.connections.map(\.token) == [2])
    }

    @Test func `those who leave in any order leave nothing behind`() {
        var stalls = StallWatch(seconds: 8)
        let connections = (0..<5).map { connection($0) }
        for connection in connections { stalls.watch(connection, clock) }
        for index in [1, 4, 0, 3] { stalls.unwatch(connections[index]) }
        #expect(stalls.connections.map(\.token) == [2])
        stalls.unwatch(connections[2])
        #expect(stalls.connections.isEmpty)
    }

    @Test func `one that takes little by little has its time again each time`() throws {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { close(pair[1]) }
        var stalls = StallWatch(seconds: 8)
        let slow = connection(1, pair[0])
        stalls.watch(slow, clock)
        for _ in 0..<4 {
            time.advance(by: 7 * second)
            slow.output.append([UInt8](repeating: 0x20, count: 10))
            _ = slow.flush(syncedRev: .everything, BufferPool())
            #expect(stalls.takeStalled(at: time.monotonic) { _ in true }.isEmpty)
        }
        time.advance(by: 8 * second)
        #expect(stalls.takeStalled(at: time.monotonic) { _ in true }.count == 1)
    }
}
