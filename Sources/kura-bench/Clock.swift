import Glibc

// Safety: the kernel fills one `timespec`, which is ours.

/// The two clocks of a run.
enum Clock {
    /// Nanoseconds of the monotonic clock; about 20 ns a call.
    @inline(__always)
    static func now() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Microseconds of the wall clock: where the write counter starts, see `DecimalCounter`.
    static func wallMicroseconds() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(time.tv_sec) &* 1_000_000 &+ UInt64(time.tv_nsec) / 1000
    }

    static func sleep(seconds: Double) {
        guard seconds > 0 else { return }
        usleep(UInt32(seconds * 1_000_000))
    }
}
