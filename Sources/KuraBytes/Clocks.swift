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
public func nowMilliseconds() -> Int64 {
    let time = look(at: CLOCK_REALTIME)
    return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
}

// The kernel keeps its clocks in 63 bits of nanoseconds.
private func nanoseconds(of clock: clockid_t) -> UInt64 {
    let time = look(at: clock)
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec)
}

private func look(at clock: clockid_t) -> timespec {
    var time = timespec()
    // Safety: the kernel fills one `timespec`, which is ours.
    unsafe clock_gettime(clock, &time)
    return time
}
