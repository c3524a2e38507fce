public import KuraBytes

/// Cuts a connection's bytes into lines: the framing law, as a value that does no I/O.
///
/// A line ends with LF; a CR before it belongs to the line end. Blank lines are passed over. A line longer than
/// `limit` bytes is reported once and skipped up to its LF, whatever its length, in constant memory.
public struct LineFramer: Sendable {
    public enum Frame: Equatable, Sendable {
        /// A line's bytes are `lower..<upper` of the buffer, without its end; the next one is looked for behind it.
        case line(lower: Int, upper: Int)
        /// A line has grown over the limit; it is being skipped. Said once a line.
        case oversize
        /// No whole line is left: `consumed` bytes are done with.
        case incomplete
    }

    /// Longest line in bytes, its end not counted.
    public let limit: Int
    /// Bytes from the buffer's start that are done with.
    public private(set) var consumed = 0
    /// Bytes that are known to hold no LF.
    private var scanned = 0
    public private(set) var isSkipping = false

    public init(limit: Int) {
        self.limit = limit
    }

    /// The next frame of `bytes`, which starts with the same byte as at the last call, or has had `consumed` bytes taken
    /// off its front and `rebase` called.
    public mutating func next(in bytes: Bytes) -> Frame {
        while true {
            let from = max(consumed, scanned)
            guard from < bytes.count, let newline = bytes.firstIndex(of: 0x0A, from: from) else {
                scanned = bytes.count
                if isSkipping {
                    consumed = bytes.count
                } else if bytes.count - consumed > limit + 1 {
                    // One byte of grace: it may be the CR of a line of exactly `limit` bytes.
                    isSkipping = true
                    consumed = bytes.count
                    return .oversize
                }
                return .incomplete
            }
            let lower = consumed
            consumed = newline + 1
            if isSkipping {
                isSkipping = false
                continue
            }
            var upper = newline
            if upper > lower, bytes[upper - 1] == 0x0D { upper -= 1 }
            if upper - lower > limit { return .oversize }
            if upper > lower, !isBlank(bytes, lower, upper) { return .line(lower: lower, upper: upper) }
        }
    }

    /// At end of input: the last line may lack its LF.
    public mutating func last(in bytes: Bytes) -> Frame {
        let lower = consumed
        consumed = bytes.count
        scanned = bytes.count
        guard !isSkipping, bytes.count > lower else { return .incomplete }
        var upper = bytes.count
        if bytes[upper - 1] == 0x0D { upper -= 1 }
        if upper - lower > limit { return .oversize }
        return upper > lower && !isBlank(bytes, lower, upper) ? .line(lower: lower, upper: upper) : .incomplete
    }

    /// The caller has dropped the first `consumed` bytes of its buffer.
    public mutating func rebase() {
        scanned = max(0, scanned - consumed)
        consumed = 0
    }

    /// Passes over everything before `position`, a line's first byte.
    public mutating func skip(to position: Int) {
        consumed = position
        scanned = max(scanned, position)
    }

    /// Gives the line up that has begun and not ended: what is there of it is done with, and the rest is skipped.
    /// - Returns: false when no line has begun.
    public mutating func abandon(in bytes: Bytes) -> Bool {
        guard !isSkipping, bytes.count > consumed else { return false }
        isSkipping = true
        consumed = bytes.count
        scanned = bytes.count
        return true
    }

    /// Takes a line back that was handed out but not begun; `lower` is its first byte. It is the next one again.
    public mutating func putBack(to lower: Int) {
        consumed = lower
        scanned = min(scanned, lower)
    }

    private func isBlank(_ bytes: Bytes, _ lower: Int, _ upper: Int) -> Bool {
        guard bytes[lower] <= 0x20 else { return false }
        return bytes[lower..<upper].allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    }
}
