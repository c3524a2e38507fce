import KuraBytes
import Glibc
import KuraProtocol
import KuraSocket
import KuraStorage

/// How a connection stands among the others.
struct CrowdState {
    /// Bytes that the budget has been charged with.
    var charged = 0
    /// The output's memory that has been counted; it is looked at again when there is more.
    var room = 0
    /// Not read from before others have given memory back.
    var isStarved = false
    /// Nanoseconds that the turn has spent on it.
    var spent: UInt64 = 0
    /// Its requests wait until then, so that others get theirs; 0: they do not.
    var deferredUntil: UInt64 = 0
    /// It is not read from for now.
    var isHeldUp: Bool { isStarved || deferredUntil > 0 }
    /// It has passed many descriptors at once lately.
    var isFlooding = false
    /// When it passed more descriptors than it may, and for how many nanoseconds it was held up then.
    var floodedAt: UInt64 = 0
    var floodHold: UInt64 = 0
    /// The turn in which it was looked at last.
    var turn: UInt32 = 0
    var queues: Queues = []
    /// The sync that released replies of it last, by the policy's count.
    var lastRound: UInt32 = 0
    /// Its output is at the bound: what had left, and since when no more has.
    var stalledAt: UInt64 = 0
    var stalledSent: UInt64 = 0
    /// Its place among those that are watched for it.
    var stalledPlace: Int?

    /// The server's lists of connections in which it stands.
    struct Queues: OptionSet {
        let rawValue: UInt8
        /// Those that this turn looks at.
        static let turn = Queues(rawValue: 1)
        /// Those that the next turn goes on with.
        static let ready = Queues(rawValue: 2)
        /// Those whose replies wait for a sync.
        static let sync = Queues(rawValue: 4)
        /// Those that read the feed.
        static let feed = Queues(rawValue: 8)
    }
}

extension Connection {
    /// Bytes that have left since it began.
    var gone: UInt64 { sending.gone }

    /// Bytes of memory that its buffers take.
    var footprint: Int {
        let buffers = input.capacity + output.capacity
        if feed.isEmpty, descriptors.isEmpty, begun == nil, client.overrides == nil { return buffers }
        return buffers + feed.footprint + descriptors.held * MemoryLayout<Int>.stride * 6
            + (begun?.progress.answer?.query.footprint ?? 0) + (client.overrides?.footprint ?? 0)
    }

    /// Reads on in a line that is being skipped: its bytes go nowhere.
    /// `scratch`: room that nobody else uses meanwhile. `limit`: bytes that are read at most.
    func skip(_ scratch: inout ByteBuffer, atMost limit: Int, _ pool: BufferPool) -> Socket.Received {
        scratch.removeAll()
        let result = socket.receive(into: &scratch, atMost: limit, queue: &descriptors)
        guard case .bytes = result, let end = scratch.bytes.firstIndex(of: 0x0A) else { return result }
        // The framer sees the line's end, and what follows.
        if input.capacity == 0 { pool.supply(&input) }
        input.append(scratch.bytes(end..<scratch.count))
        return result
    }

    /// The input may hold lines that came earlier and are not answered.
    var hasWholeLines: Bool { state.lines.hasMore || begun != nil || state.isComposing }

    /// A line has begun, has not ended, and nothing else of the input waits.
    var hasPartialLine: Bool {
        !input.isEmpty && !hasWholeLines && !state.lines.isSkipping
    }

    /// Gives the line up that has begun; what is still to come of it will be skipped.
    func abandonLine() {
        guard state.lines.abandon(in: input.bytes) else { return }
        input.releaseMemory()
        state.lines.rebase()
        descriptors.removeAll()
    }
}
