import CSyscalls
import Glibc
import KuraBytes

// Safety: the kernel reads and fills arrays of this object's, with their lengths; Swift lends the path as a C string for the call.

/// A connection of a replay: lines out and in, without waiting.
final class ReplayConnection {
    let descriptor: Int32
    private var output: [UInt8] = []
    private var sent = 0
    /// Descriptors to pass, each with the byte at its place in the output.
    private var passing: [(place: Int, descriptor: Int32)] = []
    private var input: [UInt8] = []
    private var looked = 0
    private(set) var isGone = false

    /// - Throws: when nobody listens there.
    init(to path: String) throws(Failure) {
        descriptor = csys_stream_socket()
        guard descriptor >= 0 else { throw .file("cannot make a socket") }
        guard unsafe csys_connect_unix(descriptor, path) == 0 else {
            let failure = Failure.file("cannot connect to \(path)")
            throw Failure(status: .noDaemon, message: failure.message)
        }
    }

    deinit {
        close(descriptor)
        for (_, passed) in passing { close(passed) }
    }

    /// Something waits to be sent.
    var wantsRoom: Bool { sent < output.count && !isGone }

    /// The daemon has not read all of what it was sent.
    var hasUnread: Bool { !isGone && (wantsRoom || csys_has_unread(descriptor) != 0) }

    /// Sends nothing any more.
    func end() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Puts a line behind what waits, and sends what the socket takes. The descriptors go along with its first bytes, and are closed when they
    /// have left.
    func send(_ line: [UInt8], passing descriptors: [Int32]) {
        for (offset, descriptor) in descriptors.enumerated() { passing.append((output.count + offset, descriptor)) }
        output += line
        output.append(0x0A)
        flush()
    }

    func flush() {
        while wantsRoom {
            let end = passing.first { $0.place > sent }?.place ?? output.count
            let carried = passing.first.flatMap { $0.place == sent ? $0.descriptor : nil }
            let count = output[sent..<end].withBytes { bytes in
                if let carried {
                    unsafe csys_send_descriptor(descriptor, bytes.baseAddress, bytes.count, carried)
                } else {
                    unsafe csys_send(descriptor, bytes.baseAddress, bytes.count)
                }
            }
            guard count >= 0 else {
                if errno == EINTR { continue }
                if errno != EAGAIN { isGone = true }
                return
            }
            sent += count
            if let carried, count > 0 {
                close(carried)
                passing.removeFirst()
            }
        }
        output.removeAll(keepingCapacity: output.count < 1 << 20)
        sent = 0
    }

    /// Reads what there is, and calls `body` with each whole line.
    func receive(_ body: ([UInt8]) -> Void) {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        var passed = [Int32](repeating: -1, count: Int(CSYS_MAX_DESCRIPTORS))
        while !isGone {
            var (count, flags): (Int32, Int32) = (0, 0)
            let size = unsafe csys_recvmsg(
                descriptor, &chunk, chunk.count, &passed, Int32(passed.count), &count, &flags)
            for number in passed[..<Int(max(0, count))] { close(number) }
            if size < 0, errno == EINTR { continue }
            if size < 0, errno == EAGAIN { return }
            guard size > 0 else {
                isGone = true
                return
            }
            input += chunk[..<size]
            var start = 0
            while let end = input[looked...].firstIndex(of: 0x0A) {
                body(Array(input[start..<end]))
                start = end + 1
                looked = start
            }
            input.removeFirst(start)
            looked = input.count
            if size < chunk.count { return }
        }
    }
}
