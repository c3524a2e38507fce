#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Nanoseconds on a clock that never goes back, and stands still while the machine sleeps.
public func monotonicNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }

#if os(Linux)
    /// The same on one that goes on while the machine sleeps.
    public func boottimeNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_BOOTTIME) }
#endif

/// Milliseconds since 1970, by the system's clock.
public func nowMilliseconds() -> Int64 { Int64(clamping: nanoseconds(of: CLOCK_REALTIME) / 1_000_000) }

private func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    // Safety: the kernel fills one `timespec`, which is ours.
    unsafe clock_gettime(clock, &time)
    return UInt64.nanoseconds(seconds: time.tv_sec).later(by: UInt64(time.tv_nsec))
}
