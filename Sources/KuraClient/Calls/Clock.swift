#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A clock that never goes back, in nanoseconds.
enum Clock {
    static func now() -> Int64 {
        var time = timespec()
        // Safety: the kernel fills one `timespec`, which is ours.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// A duration in nanoseconds; what does not fit is for ever.
    static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        guard seconds < 1 << 32 else { return .max }
        return max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// So long from now.
    static func deadline(after nanoseconds: Int64, from now: Int64) -> Int64 {
        nanoseconds > .max - now ? .max : now + nanoseconds
    }
}
