import KuraBytes
import KuraSocket
import KuraTransport

/// How much of a connection's output has left, and which descriptors leave with it.
///
/// A position counts the bytes of output since the connection began; an index counts those of the buffer.
struct SendProgress {
    enum Outcome {
        /// Everything that may leave has left.
        case all
        /// The socket takes no more for now.
        case blocked
        /// The other side is gone.
        case gone
    }

    /// Position of the buffer's first byte.
    private var start: UInt64 = 0
    /// Bytes at the buffer's front that have left already.
    private(set) var head = 0
    /// Descriptors that leave with the byte at their position, in their order.
    private var passing: [(position: UInt64, descriptor: PassedDescriptor)] = []

    /// Bytes that have left since the connection began.
    var gone: UInt64 { start + UInt64(head) }

    func position(of index: Int) -> UInt64 { start + UInt64(index) }

    func index(of position: UInt64) -> Int { Int(position - start) }

    /// A descriptor leaves with the byte that is at `index`.
    mutating func pass(_ descriptor: PassedDescriptor, at index: Int) {
        passing.append((position(of: index), descriptor))
    }

    /// The output from `index` on is taken back, with the descriptors that would have left with it.
    mutating func cut(to index: Int) {
        guard !passing.isEmpty else { return }
        let end = position(of: index)
        passing.removeAll { $0.position >= end }
    }

    /// Nothing will be sent any more.
    mutating func abandon() { passing.removeAll() }

    /// Sends the output up to the position `end`.
    @inline(__always)
    mutating func send(
        _ output: inout ByteBuffer, upTo end: UInt64, to socket: borrowing Socket, _ pool: BufferPool
    ) -> Outcome {
        var done = head
        var length = index(of: end) - done
        var outcome = Outcome.all
        while length > 0 {
            let sent =
                passing.isEmpty ? socket.send(output.bytes(done..<done + length)) : pass(output, done, length, socket)
            guard let sent else { return .gone }
            if sent == 0 {
                outcome = .blocked
                break
            }
            done += sent
            length -= sent
        }
        guard done > head else { return outcome }
        head = done
        if head == output.count {
            start += UInt64(head)
            head = 0
            pool.reclaim(&output)
            output.wipes = false
        } else if head > output.count / 2 {
            // Not each time: what is left of a long reply would be moved again and again.
            start += UInt64(head)
            output.removeFirst(head)
            head = 0
        }
        return outcome
    }

    /// Sends from the index `from` on, up to the next byte that a descriptor goes with.
    private mutating func pass(
        _ output: borrowing ByteBuffer, _ from: Int, _ length: Int, _ socket: borrowing Socket
    ) -> Int? {
        let first = index(of: passing[0].position)
        guard first <= from else { return socket.send(output.bytes(from..<min(first, from + length))) }
        let next = passing.count > 1 ? index(of: passing[1].position) : .max
        let count = socket.send(
            output.bytes(from..<min(next, from + length)), passing: passing[0].descriptor.number)
        // Once: with the first byte that the socket took.
        if let count, count > 0 { passing.removeFirst() }
        return count
    }
}
