import CSyscalls
import Glibc
import KuraBytes
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
        let head = MemoryLayout<cmsghdr>.size
        let control = UnsafeMutableRawBufferPointer.allocate(byteCount: head + (count * 4 + 7) / 8 * 8, alignment: 8)
        defer { control.deallocate() }
        // cmsghdr by its fields: length, level, SCM_RIGHTS.
        control.storeBytes(of: head + count * 4, as: Int.self)
        control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
        control.storeBytes(of: 1, toByteOffset: 12, as: Int32.self)
        for index in 0..<count { control.storeBytes(of: descriptor, toByteOffset: head + index * 4, as: Int32.self) }
        var byte = UInt8(ascii: "x")
        return withUnsafeMutablePointer(to: &byte) { byte in
            var part = iovec(iov_base: byte, iov_len: 1)
            return withUnsafeMutablePointer(to: &part) { part in
                var message = msghdr()
                message.msg_iov = part
                message.msg_iovlen = 1
                message.msg_control = control.baseAddress
                message.msg_controllen = control.count
                return sendmsg(pair.right, &message, 0) == 1
            }
        }
    }
}

/// A pair of connected stream sockets.
final class Pair {
    let left: Int32
    let right: Int32

    init() {
        var ends: [Int32] = [0, 0]
        let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        precondition(result == 0, "socketpair: \(errno)")
        (left, right) = (ends[0], ends[1])
    }

    deinit {
        close(left)
        close(right)
    }
}
