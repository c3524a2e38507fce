import Glibc

/// Whether to look for events again and again for a moment before the thread goes to sleep, as `SO_BUSY_POLL` does for sockets.
///
/// To be woken up costs tens of microseconds where processors are virtual, as much as several requests. A client that asks one
/// thing after the other comes back sooner than that. So the loop looks for a moment while that has paid lately, and sleeps at once
/// when it has not: a loop that nobody asks anything costs nothing, and one that is asked in vain a few percent.
struct BusyPolling {
    /// Nanoseconds that it looks for at most; 0: it always sleeps.
    let span: UInt64
    /// Of the last waits, about how many were short, less what those that were not count.
    private var credit = 0

    private static let most = 16
    private static let enough = 8
    /// What waking up takes besides, in nanoseconds: a sleep that was longer than both would have been looked through in vain.
    private static let wakeUp: UInt64 = 60_000

    /// `microseconds`: 0 to 1,000.
    init(microseconds: Int) {
        // With one processor the client cannot do anything meanwhile.
        span = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1 ? UInt64(microseconds) * 1000 : 0
    }

    var isWorthwhile: Bool { credit >= Self.enough }

    /// It looked, and found something in time or not.
    mutating func note(found: Bool) {
        credit = found ? min(credit + 1, Self.most) : max(credit - 4, 0)
    }

    /// It slept for so many nanoseconds.
    mutating func note(slept: UInt64) {
        guard span > 0 else { return }
        credit = slept < span + Self.wakeUp ? min(credit + 1, Self.most) : max(credit - 2, 0)
    }
}
