import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import Sodium

// Safety: the kernel fills one `stat`, which is ours; `poll` gets one request; `write` gets an address and a count of the same bytes.

/// Writes a recording to what a client has passed, on a thread of its own, for `storage.record`.
final class RecordingWork: TransferWork, @unchecked Sendable {
    // Made on the loop, then the thread's alone, but for `tap`, which stays the loop's, and the queue.

    let tap: TrafficTap
    var need: (verbs: Verbs, collection: [UInt8]) { (.admin, []) }
    var store: Method.Store { .storage }
    var isCancellable: Bool { true }
    private let queue = TrafficQueue()
    private let end: TransferEnd
    private let text: RecordingText
    private let deadline: Deadline?

    /// Milliseconds that the last lines have, once somebody has ended the recording.
    private static let patience: Int32 = 500
    /// Milliseconds between two looks whether somebody has.
    private static let look: Int32 = 100
    private static let pendingBytes = 256 << 10

    /// - Parameters:
    ///   - end: where it goes.
    ///   - seconds: how long; nil: until somebody ends it.
    ///   - call: what asks for it.
    ///   - rev: the newest revision.
    /// - Throws: that there is no key to replace secrets with.
    init(to end: TransferEnd, seconds: Int64?, _ call: Call, rev: UInt64) throws(SodiumError) {
        self.end = end
        let clock = call.clock
        deadline = seconds.map { clock.deadline(after: .nanoseconds(seconds: $0)) }
        tap = TrafficTap(queue, asking: call.connection?.token ?? 0, clock, startedAt: clock.monotonic)
        text = try RecordingText(
            call.reader.table, batchLimit: call.server.limits.batchItems, version: call.server.description.version,
            startedAt: clock.wall,
            rev: rev)
    }

    func mayGoOn(_ permissions: Permissions) -> Bool { permissions.verbs(onWhole: .storage).contains(.admin) }

    func cancel() { queue.wake() }

    func run(_ channel: TransferChannel) -> TransferOutcome {
        do throws(RPCError) {
            let descriptor = try end.open(flags: O_WRONLY)
            let isOver = { [deadline] in channel.interruption.isInterrupted || deadline?.isOver == true }
            while true {
                try write(to: descriptor.number, until: isOver)
                channel.hold(queue.footprint + text.footprint)
                if isOver() { break }
                queue.wait(until: deadline)
                try takeTraffic(to: descriptor.number, until: isOver)
            }
            try takeTraffic(to: descriptor.number, until: isOver)
            text.appendEnd()
            var looks = Self.patience / Self.look
            try write(to: descriptor.number) {
                looks -= 1
                return looks < 0
            }
            text.abandonPending()
        } catch { return TransferOutcome(answer: .error(error)) }
        var result = ByteBuffer()
        result.openObject()
        text.appendCounts(to: &result)
        return TransferOutcome(answer: .result(Array(result.bytes)))
    }

    /// Turns what has come into text, and writes that as soon as there is much of it: it is longer than what it is made of.
    private func takeTraffic(to descriptor: Int32, until isOver: () -> Bool) throws(RPCError) {
        let dropped = try queue.take { (entry, bytes, passed) throws(RPCError) in
            if text.pending.count >= Self.pendingBytes { try write(to: descriptor, until: isOver) }
            // What takes nothing when it is over gets no more.
            if text.pending.count < Self.pendingBytes {
                text.append(entry, bytes, passed)
            } else {
                text.drop(entry, bytes)
            }
        }
        if dropped > 0 { text.append(dropped: dropped) }
    }

    /// Writes what is pending.
    /// - Parameters:
    ///   - descriptor: where to.
    ///   - isOver: asked while the descriptor takes nothing; the rest stays pending then.
    /// - Throws: `transferFailed` when it takes nothing any more.
    private func write(to descriptor: Int32, until isOver: () -> Bool) throws(RPCError) {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else { throw ExportWork.failure(errno) }
        // A pipe that is said to be writable takes a page without waiting, and may make a longer write wait (pipe(7)).
        let piece = information.st_mode & S_IFMT == S_IFREG ? 256 << 10 : 4096
        while !text.pending.isEmpty {
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&request, 1, Self.look) > 0 else {
                if isOver() { return }
                continue
            }
            let bytes = text.pending.extracting(0..<min(piece, text.pending.count))
            let count = unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            if count >= 0 {
                text.written(count)
            } else if errno != EINTR, errno != EAGAIN {
                throw ExportWork.failure(errno)
            }
        }
    }
}
