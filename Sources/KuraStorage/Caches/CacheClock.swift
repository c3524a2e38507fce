import KuraBytes

/// The clock of the caches, and how much time a turn has left for what can as well be done in a later one. Belongs to the loop.
final class CacheClock {
    private let clock: Clock
    /// Milliseconds since 1970, as of the turn; 0 when nobody has asked yet.
    private var moment: Int64 = 0
    private var base: Int64
    private let start: UInt64
    /// When the time of the turn is over; 0 when nobody has asked yet.
    private var effortEnd: UInt64 = 0
    private var hasShownExpired = false
    private var writtenAt: UInt64 = 0

    /// Nanoseconds of a turn for what can as well be done in a later one, of all rooms together.
    private static let effortTime: UInt64 = 2_000_000

    init(_ clock: Clock) {
        self.clock = clock
        base = clock.wall
        start = clock.monotonic
    }

    func beginTurn() {
        moment = 0
        effortEnd = 0
    }

    /// Milliseconds since 1970, as of the turn. It never goes back, neither when the system's clock does nor from one run to the next, so that
    /// nothing that has expired comes back; and it goes on with the system's when that leaps ahead.
    var now: Int64 {
        if moment == 0 {
            let elapsed = Int64((clock.monotonic - start) / 1_000_000)
            let wall = clock.wall
            if wall > base + elapsed { base = wall - elapsed }
            moment = base + elapsed
        }
        return moment
    }

    /// What an earlier run had come to.
    func was(_ milliseconds: Int64) {
        if milliseconds > now {
            base += milliseconds - now
            moment = 0
        }
    }

    /// Whether there is still some of the turn's time.
    func hasTime() -> Bool {
        let time = clock.monotonic
        if effortEnd == 0 { effortEnd = time + Self.effortTime }
        return time < effortEnd
    }

    // MARK: Writing it

    /// Somebody has been told that something is not there since its time is over: how far the clock has come is written, so that a kill and an
    /// earlier clock after it do not bring it back.
    func noteExpired() { hasShownExpired = true }

    /// - Returns: nanoseconds until the clock is to be written; nil when it need not be.
    func waitForWriting(_ time: UInt64) -> UInt64? {
        guard hasShownExpired else { return nil }
        let due = writtenAt + 1_000_000_000
        return due > time ? due - time : 0
    }

    func noteWritten(_ time: UInt64) { (hasShownExpired, writtenAt) = (false, time) }
}
