/// How many refusals of a user are in the audit before they are answered: 32 at once, and 16 a second in the long run.
///
/// Each of them has the disk synced and takes room there, and whoever may do nothing at all can ask for as many as they like. Those beyond are
/// in the audit some seconds later, the same ones counted. Belongs to the loop.
struct RefusalBudgets {
    /// When all of a user's is there again, nanoseconds.
    private var fullAt: [UInt32: UInt64] = [:]

    static let burst: UInt64 = 32
    /// Nanoseconds after which there is one more.
    static let interval: UInt64 = 62_500_000
    /// Users after which those are forgotten who have all of theirs.
    private static let sweepsAt = 1024

    /// - Parameters:
    ///   - user: who is refused.
    ///   - time: monotonic, nanoseconds.
    /// - Returns: whether this one is among them.
    mutating func take(_ user: UInt32, at time: UInt64) -> Bool {
        if fullAt.count >= Self.sweepsAt { fullAt = fullAt.filter { $0.value > time } }
        let next = max(fullAt[user] ?? 0, time) + Self.interval
        guard next - time <= Self.burst * Self.interval else { return false }
        fullAt[user] = next
        return true
    }
}
