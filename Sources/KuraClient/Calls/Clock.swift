import KuraBytes

/// A clock that never goes back, in nanoseconds.
enum Clock {
    static func now() -> Int64 { Int64(clamping: monotonicNanoseconds()) }

    /// A duration in nanoseconds; what does not fit is for ever, and less than nothing is nothing.
    static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return Int64(clamping: UInt64.nanoseconds(seconds: seconds).later(by: UInt64(attoseconds / 1_000_000_000)))
    }

    /// So long from now.
    static func deadline(after nanoseconds: Int64, from now: Int64) -> Int64 { now.later(by: nanoseconds) }
}
