import KuraBytes
import KuraStorage

/// How long a request that waits still may, and how often it has been begun anew. It begins with the request and ends with its reply, whatever
/// the request waits for meanwhile.
struct Patience {
    /// Nanoseconds on the monotonic clock; 0 while none is set.
    private(set) var deadline: UInt64 = 0
    /// How long the request has said that it takes at most.
    private(set) var milliseconds = 0
    private var beginnings = 0

    /// A request that is begun so often finds what it needs gone each time.
    static let mostBeginnings = 10_000
    static let spent: StaticString = "what it needs changes faster than it can be read; try again"

    /// Sets the deadline when the request is begun first.
    /// - Returns: nanoseconds that are left.
    mutating func left(of milliseconds: Int, _ clock: Clock) -> UInt64 {
        let now = clock.monotonic
        self.milliseconds = milliseconds
        if deadline == 0 { deadline = now.later(by: .nanoseconds(milliseconds: milliseconds)) }
        return deadline > now ? deadline - now : 0
    }

    /// The request has said how long it takes at most, and that is over.
    func isOver(_ clock: Clock) -> Bool { deadline > 0 && clock.monotonic >= deadline }

    /// It waits for a query, and is begun anew behind it.
    /// - Returns: false when that has been too often.
    mutating func begins() -> Bool {
        beginnings += 1
        return beginnings <= Self.mostBeginnings
    }
}
