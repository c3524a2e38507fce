import KuraBytes
import KuraProtocol

/// The order in which a connection's lines are answered, apart from any I/O: one after the other, and while a request waits, those behind it
/// that may be answered ahead of it.
///
/// Lines are ranges of the connection's input. A line that is answered ahead stays there until the turn is over, so that a copy of this value
/// undoes the turn.
struct LineOrder {
    private var framer: LineFramer
    /// Lines behind the waiting request that have been answered, in their order.
    private var answered: [Range<Int>] = []
    /// Bytes from the waiting request's first on that have been looked through.
    private var passed = 0
    /// A request has to wait behind the one that waits: no further one is answered ahead of both.
    private(set) var isStuck = false
    /// The client takes replies in any order.
    var isUnordered = false
    /// The next turn can answer lines: those that come next, or some behind the request that waits.
    var hasMore = false
    /// Where in the input the last frame of `next` begins.
    private(set) var frameStart = 0
    /// Up to which byte of the input this turn has looked for keys.
    var lookedAt = 0

    init(limit: Int) {
        framer = LineFramer(limit: limit)
    }

    /// Bytes from the input's start that are done with.
    var consumed: Int { framer.consumed }
    /// The rest of a line is passed over that is too long, or was given up.
    var isSkipping: Bool { framer.isSkipping }

    // MARK: In order

    /// No request waits: the lines are answered in their order.
    mutating func begin() {
        passed = 0
        isStuck = false
    }

    /// The next line that has not been answered.
    @inline(__always)
    mutating func next(in bytes: Bytes) -> LineFramer.Frame {
        while true {
            frameStart = framer.consumed
            let frame = framer.next(in: bytes)
            guard !answered.isEmpty, case .line(let lower, _) = frame, isAnswered(lower) else { return frame }
        }
    }

    /// The last line when the client has said everything: it may lack its end.
    mutating func last(in bytes: Bytes) -> LineFramer.Frame { framer.last(in: bytes) }

    /// The line that begins at `lower` could not be answered: it is the next one again.
    mutating func putBack(to lower: Int) { framer.putBack(to: lower) }

    /// Gives up the line that has begun and not ended.
    /// - Returns: false when no line has begun.
    mutating func abandon(in bytes: Bytes) -> Bool { framer.abandon(in: bytes) }

    // MARK: Ahead of a request that waits

    /// Begins, or goes on, with the lines behind the request that waits.
    /// - Returns: what cuts these lines; nil when the request's own line is not there.
    mutating func linesBehind(in bytes: Bytes) -> LineFramer? {
        var behind = framer
        if passed == 0 {
            guard case .line = behind.next(in: bytes) else { return nil }
            pass(to: behind.consumed)
        } else {
            behind.skip(to: framer.consumed + passed)
        }
        return behind
    }

    /// Any line may be answered now, whatever its method.
    var mayAnswerAny: Bool { isUnordered && !isStuck }

    /// Everything before `end` is answered or keeps its turn.
    mutating func pass(to end: Int) { passed = end - framer.consumed }

    /// The line that ends at `end` has to wait as well.
    mutating func stick(to end: Int) {
        isStuck = true
        pass(to: end)
    }

    /// A line has been answered ahead.
    mutating func answer(_ line: Range<Int>) {
        pass(to: line.upperBound)
        if let last = answered.last, last.upperBound == line.lowerBound {
            answered[answered.count - 1] = last.lowerBound..<line.upperBound
        } else {
            answered.append(line)
        }
    }

    /// Whether the line that begins at `lower` has been answered ahead.
    func isAnswered(_ lower: Int) -> Bool { !answered.isEmpty && answered.contains { $0.contains(lower) } }

    // MARK: Ends of turns

    var hasAnsweredAhead: Bool { !answered.isEmpty }

    /// The turn's replies stay: what was answered ahead leaves the input.
    /// - Parameter remove: takes a range out of the input; called from its end to its start.
    mutating func dropAnswered(_ remove: (Range<Int>) -> Void) {
        // The turn may have come to some of them since: those leave with the lines before them.
        for lines in answered.reversed() where lines.lowerBound >= framer.consumed {
            remove(lines)
            passed = max(0, passed - lines.count)
        }
        answered.removeAll(keepingCapacity: true)
        framer.putBack(to: framer.consumed)
    }

    /// The input has lost its first `consumed` bytes.
    mutating func rebase() { framer.rebase() }
}
