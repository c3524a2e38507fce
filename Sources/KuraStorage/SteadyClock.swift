import KuraBytes

/// A wall clock that never goes back: it goes on as time does when the system's clock is put back, and with that one when it leaps ahead.
struct SteadyClock {
    private var base: Int64 = 0
    private let clock: Clock
    private let start: UInt64

    init(_ clock: Clock) { (self.clock, start) = (clock, clock.monotonic) }

    /// Milliseconds since 1970. `now`: what the system's clock says.
    mutating func time(_ now: Int64) -> Int64 {
        let elapsed = Int64((clock.monotonic - start) / 1_000_000)
        base = max(base, now - elapsed)
        return base + elapsed
    }
}
