/// Keeps an event that comes in crowds to one line a second, which says how often it has come.
struct LogThrottle {
    private var nextAt: UInt64 = 0
    private var count = 0

    /// The event has come.
    /// - Returns: how often it has come since the last line when it is time for another, else nil.
    mutating func note(at time: UInt64) -> Int? {
        count += 1
        guard time >= nextAt else { return nil }
        nextAt = time + 1_000_000_000
        defer { count = 0 }
        return count
    }
}
