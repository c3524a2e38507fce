import Glibc
import KuraBytes
import KuraSocket
import KuraTransport
import Testing

@testable import KuraServer

@Suite struct SendProgressTests {
    private let pool = BufferPool(limit: 4, largest: 1 << 10)

    private func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private func read(_ descriptor: Int32, _ count: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = max(0, recv(descriptor, &bytes, count, Int32(MSG_DONTWAIT)))
        return String(decoding: bytes[..<got], as: UTF8.self)
    }

    @Test func `positions stay true while the buffer moves on`() throws {
        let (ours, theirs) = try pair()
        defer { close(theirs) }
        let socket = Socket(owning: ours)
        var sending = SendProgress()
        var outcome: SendProgress.Outcome
        var output = ByteBuffer()
        output.append(text: "abcdefgh")
        outcome = sending.send(&output, upTo: 3, to: socket, pool)
        #expect(outcome == .all)
        #expect(sending.gone == 3 && sending.head == 3)
        #expect(read(theirs, 100) == "abc")
        // More than half has left: the rest moves to the front.
        outcome = sending.send(&output, upTo: 6, to: socket, pool)
        #expect(outcome == .all)
        #expect(sending.gone == 6 && sending.head == 0)
        #expect(sending.position(of: 0) == 6 && sending.index(of: 8) == 2)
        output.append(text: "ij")
        outcome = sending.send(&output, upTo: 10, to: socket, pool)
        #expect(outcome == .all)
        #expect(output.isEmpty && sending.gone == 10)
        #expect(read(theirs, 100) == "defghij")
    }

    @Test func `a descriptor leaves with its byte, and goes with output that is taken back`() throws {
        let (ours, theirs) = try pair()
        defer { close(theirs) }
        let socket = Socket(owning: ours)
        var sending = SendProgress()
        var outcome: SendProgress.Outcome
        var output = ByteBuffer()
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        var bytesWritten = Array("through the pipe".utf8)
        _ = write(ends[1], &bytesWritten, bytesWritten.count)
        close(ends[1])
        output.append(text: "first")
        sending.pass(PassedDescriptor(owning: ends[0]), at: 5)
        output.append(text: "second")
        let again = dup(ends[0])
        sending.pass(PassedDescriptor(owning: again), at: 8)
        output.truncate(to: 8)
        sending.cut(to: 8)
        #expect(fcntl(again, F_GETFD) == -1, "it would have left with what is taken back")
        outcome = sending.send(&output, upTo: 8, to: socket, pool)
        #expect(outcome == .all)
        let peer = Socket(owning: dup(theirs))
        var input = ByteBuffer()
        input.reserve(100)
        var queue = DescriptorQueue()
        while input.count < 8 {
            guard case .bytes = peer.receive(into: &input, atMost: 100, queue: &queue) else { break }
            #expect(queue.count == (input.count > 5 ? 1 : 0))
        }
        #expect(String(decoding: Array(input.bytes), as: UTF8.self) == "firstsec")
        guard case .descriptor(let passed) = queue.take() else {
            Issue.record("none has come")
            return
        }
        #expect(read(pipe: passed.number) == "through the pipe")
    }

    private func read(pipe descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 100)
        let got = max(0, Glibc.read(descriptor, &bytes, bytes.count))
        return String(decoding: bytes[..<got], as: UTF8.self)
    }

    @Test func `a socket that takes no more says so, and one whose other side is gone too`() throws {
        let (ours, theirs) = try pair()
        let socket = Socket(owning: ours)
        _ = fcntl(ours, F_SETFL, O_NONBLOCK)
        var sending = SendProgress()
        var outcome: SendProgress.Outcome
        var output = ByteBuffer()
        for _ in 0..<2000 { output.append(text: String(repeating: "x", count: 1000)) }
        outcome = sending.send(&output, upTo: 2_000_000, to: socket, pool)
        #expect(outcome == .blocked)
        #expect(sending.gone > 0 && sending.gone < 2_000_000)
        close(theirs)
        outcome = sending.send(&output, upTo: 2_000_000, to: socket, pool)
        #expect(outcome == .gone)
    }
}
