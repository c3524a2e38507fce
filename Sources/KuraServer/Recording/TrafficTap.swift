import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage

/// The loop's side of a recording: tells its queue of each line that has come whole, of replies as they may leave, and of connections that end.
///
/// Belongs to the loop, which has it in `Traffic` while the recording goes on.
final class TrafficTap {
    private struct Trace {
        /// Counts connections, in the order in which they are heard of.
        let number: UInt32
        /// It has been told that there is such a connection.
        var isTold = false
        /// Bytes at the input's end that are the beginning of a line; nil: of one that is passed over, or nobody knows.
        var begun: Int?
        /// Position up to which its output has been told.
        var told: UInt64
    }

    let queue: TrafficQueue
    /// The connection that asked for the recording: what it says is no part of it.
    private let own: UInt64
    private let clock: Clock
    private let startedAt: UInt64
    private var traces: [UInt64: Trace] = [:]
    private var lastNumber: UInt32 = 0

    init(_ queue: TrafficQueue, asking own: UInt64, _ clock: Clock, startedAt: UInt64) {
        (self.queue, self.own, self.clock, self.startedAt) = (queue, own, clock, startedAt)
    }

    /// The connection has sent so many bytes more, and so many descriptors.
    func received(_ connection: Connection, added: Int, descriptors: Int) {
        guard connection.token != own else { return }
        let input = connection.input.bytes
        // What is skipped was never put into the input.
        let from = max(0, input.count - added)
        var trace = trace(of: connection, before: from)
        let at = clock.monotonic - startedAt
        for descriptor in connection.descriptors.newest(descriptors) {
            if tell(connection, &trace) {
                queue.append(entry(.descriptor, trace, at), Bytes(), descriptor)
            }
        }
        var start = trace.begun.map { from - $0 }
        var position = from
        while let end = input.firstIndex(of: 0x0A, from: position) {
            if let start, start >= 0, tell(connection, &trace) {
                let line = input.extracting(start..<(end > start && input[end - 1] == 0x0D ? end - 1 : end))
                // What the framer passes over asks for nothing.
                if !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) {
                    queue.append(entry(.request, trace, at), line, lines: 1)
                }
            }
            position = end + 1
            start = position
        }
        trace.begun = start.flatMap { $0 >= 0 ? input.count - $0 : nil }
        traces[connection.token] = trace
    }

    /// The connection's output may leave up to this position.
    func leaves(_ connection: Connection, upTo end: UInt64) {
        guard connection.token != own else { return }
        var trace = trace(of: connection, before: connection.input.count)
        if end > trace.told {
            let range = connection.sending.index(of: trace.told)..<connection.sending.index(of: end)
            let replies = connection.output.bytes(range)
            if tell(connection, &trace) {
                let at = clock.monotonic - startedAt
                queue.append(entry(.replies, trace, at), replies, lines: replies.count(where: { $0 == 0x0A }))
            }
            trace.told = end
        }
        traces[connection.token] = trace
    }

    func closed(_ connection: Connection) {
        guard let trace = traces.removeValue(forKey: connection.token), trace.isTold else { return }
        queue.append(entry(.closed, trace, clock.monotonic - startedAt))
    }

    private func entry(_ kind: TrafficQueue.Kind, _ trace: Trace, _ at: UInt64) -> TrafficQueue.Entry {
        TrafficQueue.Entry(kind: kind, connection: trace.number, at: at)
    }

    /// `count`: bytes of the input that were there before.
    private func trace(of connection: Connection, before count: Int) -> Trace {
        if var trace = traces[connection.token] {
            if connection.state.lines.isSkipping { trace.begun = nil }
            return trace
        }
        lastNumber += 1
        // A line that has begun is told when it is whole; those before it came before the recording.
        let lineStart = connection.input.bytes[..<count].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return Trace(
            number: lastNumber, begun: connection.state.lines.isSkipping ? nil : count - lineStart,
            told: connection.gone)
    }

    /// - Returns: whether the recording knows of the connection.
    private func tell(_ connection: Connection, _ trace: inout Trace) -> Bool {
        if !trace.isTold {
            trace.isTold = connection.client.admission.role.withBytes {
                queue.append(entry(.opened, trace, clock.monotonic - startedAt), $0)
            }
        }
        return trace.isTold
    }
}
