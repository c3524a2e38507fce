/// When a slice of the feed may begin: while requests come in, three times as long after the last one as that took. A value without I/O; times
/// are nanoseconds.
struct FeedPace {
    private var pausedUntil: UInt64 = 0
    private var seenRequests: UInt64 = 0

    /// How long it is until then. `requests`: that have been answered so far.
    func pause(at time: UInt64, requests: UInt64) -> UInt64 {
        requests == seenRequests || pausedUntil <= time ? 0 : pausedUntil - time
    }

    mutating func endSlice(began: UInt64, at time: UInt64, requests: UInt64) {
        seenRequests = requests
        pausedUntil = time + 3 * (time - began)
    }
}
