import CSyscalls
import Glibc
import KuraBytes
import KuraTestSupport
import Testing

@testable import KuraSocket

@Suite struct SocketTests {
    private let pair = Pair()

    private func receive(_ socket: borrowing Socket, into room: Int) -> (Socket.Received, [UInt8]) {
        var buffer = ByteBuffer(capacity: room)
        while buffer.capacity - buffer.count > room { buffer.append(0) }
        let filled = buffer.count
        let result = socket.receive(into: &buffer)
        if case .bytes(let count) = result { #expect(buffer.count == filled + count) }
        return (result, Array(buffer.bytes(filled..<buffer.count)))
    }

    @Test func `bytes come as they were sent, then nothing, then the end`() {
        let socket = Socket(owning: dup(pair.left))
        #expect(write(pair.right, "hello", 5) == 5)
        #expect(receive(socket, into: 3).1 == Array("hel".utf8))
        #expect(receive(socket, into: 8).1 == Array("lo".utf8))
        guard case .nothing = receive(socket, into: 8).0 else {
            Issue.record("something")
            return
        }
        shutdown(pair.right, Int32(SHUT_WR))
        guard case .end = receive(socket, into: 8).0 else {
            Issue.record("no end")
            return
        }
    }

    @Test func `a socket that takes no more says so, and one whose other side is gone too`() {
        let socket = Socket(owning: dup(pair.left))
        let chunk = [UInt8](repeating: 7, count: 1 << 16)
        var total = 0
        while let count = chunk.withBytes({ socket.send($0) }), count > 0 { total += count }
        #expect(total > 0)
        #expect(chunk.withBytes { socket.send($0) } == 0)
        shutdown(pair.right, Int32(SHUT_RD))
        #expect(chunk.withBytes { socket.send($0) } == nil)
    }

    @Test func `descriptors that come along are closed`() {
        let socket = Socket(owning: dup(pair.left))
        // Whether both ends of a pipe are closed shows at the pipe itself, whatever other tests open meanwhile.
        for count in [1, 2, 253] {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            #expect(send(descriptor: ends[1], times: count))
            close(ends[1])
            #expect(receive(socket, into: 64).1 == Array("x".utf8))
            var poll = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
            // Many are closed on a thread of their own.
            #expect(Glibc.poll(&poll, 1, 10_000) == 1)
            #expect(poll.revents & Int16(POLLHUP) != 0, "a writer is left of \(count)")
            close(ends[0])
        }
    }

    private func send(descriptor: Int32, times count: Int) -> Bool {
        KuraTestSupport.send(
            [UInt8(ascii: "x")], descriptors: Array(repeating: descriptor, count: count), to: pair.right) == 1
    }
}
