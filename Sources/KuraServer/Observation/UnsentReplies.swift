/// Why a request was not answered in the turn in which its connection came to it.
struct Waits: OptionSet {
    let rawValue: UInt8
    /// Too many changes waited to be folded, or the turn was full.
    static let room = Waits(rawValue: 1)
    /// A page was read in.
    static let page = Waits(rawValue: 2)
    /// A query was run, or something else on another thread.
    static let query = Waits(rawValue: 4)
    /// A thread of its own did the work.
    static let transfer = Waits(rawValue: 8)

    static let names: [(Waits, String)] = [
        (.room, "room"), (.page, "page"), (.query, "query"), (.transfer, "transfer"),
    ]
}

/// Replies of one connection that have not left, for their measure. Requests of one method, read at the same time, are one run.
struct UnsentReplies {
    struct Run {
        var method: Int
        /// When their bytes were read.
        var since: UInt64
        /// Position of the output behind the last one.
        var end: UInt64
        var count: UInt64
        var waits: Waits
    }

    /// Those before the last one, in the order of their ends.
    private var runs: ContiguousArray<Run> = []
    /// The one that goes on; none when its count is 0.
    private var last = Run(method: 0, since: 0, end: 0, count: 0, waits: [])

    /// A reply has been made, or a notification done with.
    mutating func note(_ method: Int, since: UInt64, end: UInt64, _ waits: Waits) {
        if last.count > 0 {
            if last.method == method, last.since == since, last.waits == waits {
                last.count += 1
                last.end = end
                return
            }
            runs.append(last)
        }
        last = Run(method: method, since: since, end: end, count: 1, waits: waits)
    }

    /// Some of them end at or before this position of the output.
    func hasAny(upTo position: UInt64) -> Bool {
        guard runs.isEmpty else { return runs[0].end <= position }
        return last.count > 0 && last.end <= position
    }

    /// Hands over those that end at or before this position.
    mutating func take(upTo position: UInt64, _ body: (Run) -> Void) {
        if !runs.isEmpty {
            var gone = 0
            while gone < runs.count, runs[gone].end <= position {
                body(runs[gone])
                gone += 1
            }
            guard gone == runs.count else {
                runs.removeFirst(gone)
                return
            }
            runs.removeAll(keepingCapacity: runs.capacity <= 64)
        }
        guard last.count > 0, last.end <= position else { return }
        body(last)
        last.count = 0
    }

    /// What is noted from now on is not one with what was before: a turn can be taken back to here.
    mutating func seal() {
        guard last.count > 0 else { return }
        runs.append(last)
        last.count = 0
    }

    /// What ends behind this position of the output is taken back.
    mutating func cut(to position: UInt64) {
        if last.count > 0, last.end > position { last.count = 0 }
        while let run = runs.last, run.end > position { runs.removeLast() }
    }
}

/// When the lines of an input were read: the time at which the loop saw the bytes that end them.
///
/// Two times are kept, that of the lines which were there first and that of what came while these waited. What comes when both are taken
/// counts as the latter: a client that sends on while it waits is measured from a little too early, never from too late.
struct Arrivals {
    private var first: UInt64 = 0
    private var later: UInt64 = 0
    /// Bytes of the input that came at `first`.
    private var boundary = Int.max

    /// Bytes have come behind the `count` that were there.
    /// `consumed`: bytes of the input that are done with. `isWaiting`: whole lines of it are not.
    mutating func note(at time: UInt64, behind count: Int, consumed: Int, isWaiting: Bool) {
        if !isWaiting {
            first = time
            boundary = .max
        } else if boundary == .max {
            boundary = count
            later = time
        } else if consumed >= boundary {
            first = later
            boundary = count
            later = time
        }
    }

    /// When the line was read that ends there.
    func time(ofLineTo end: Int) -> UInt64 { end <= boundary ? first : later }

    /// The input has lost bytes from its front.
    mutating func removed(_ count: Int) {
        if boundary != .max { boundary -= count }
    }
}

/// What the measure of a connection's requests needs: when each was read, and when its reply leaves.
struct RequestTimes {
    var arrivals = Arrivals()
    /// When the request was read that is being answered.
    private(set) var requestedAt: UInt64 = 0
    var unsent = UnsentReplies()

    /// The line that ends there is answered now.
    mutating func begin(lineTo end: Int) { requestedAt = arrivals.time(ofLineTo: end) }

    /// The request that is being answered has its reply, which ends at this position of the output.
    @inline(__always)
    mutating func noteReply(_ method: Int, end: UInt64, _ waits: Waits) {
        unsent.note(method, since: requestedAt, end: end, waits)
    }
}
