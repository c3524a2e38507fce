import KuraBytes
import KuraStorage

/// How long a request that waits still may, and how often it has been begun anew. It begins with the request and ends with its reply, whatever
/// the request waits for meanwhile.
struct Patience {
    /// Nanoseconds on the monotonic clock; 0 while none is set.
    private(set) var deadline: UInt64 = 0
    private var beginnings = 0

    /// A request that is begun so often finds what it needs gone each time.
    static let mostBeginnings = 10_000
    static let spent: StaticString = "what it needs changes faster than it can be read; try again"

    /// Sets the deadline when the request is begun first.
    /// - Returns: nanoseconds that are left.
    mutating func left(of milliseconds: Int, _ clock: Clock) -> UInt64 {
        let now = clock.monotonic
        if deadline == 0 { deadline = now.later(by: .nanoseconds(milliseconds: milliseconds)) }
        return deadline > now ? deadline - now : 0
    }

    /// It waits for a query, and is begun anew behind it.
    /// - Returns: false when that has been too often.
    mutating func begins() -> Bool {
        beginnings += 1
        return beginnings <= Self.mostBeginnings
    }
}

/// Deadlines of the requests that wait for a query's answer, so that a query which is stuck, or has not begun, holds none up for longer.
struct RequestDeadlines {
    private var entries: [(at: UInt64, ticket: UInt64)] = []
    /// When to look next.
    private(set) var next: UInt64 = .max

    /// Nanoseconds between two looks: many requests end in between, and each look goes through all.
    private static let pause: UInt64 = 20_000_000

    /// So many entries are looked through for those that nobody waits for any more.
    private var pruneAt = 64

    /// `isWaiting`: whether somebody still waits for a ticket.
    mutating func add(_ deadline: UInt64, ticket: UInt64, _ isWaiting: (UInt64) -> Bool) {
        if entries.count >= pruneAt {
            // Most requests are answered long before: else a busy daemon would have seconds of them to go through at once.
            entries.removeAll { !isWaiting($0.ticket) }
            pruneAt = max(64, 2 * entries.count)
        }
        entries.append((deadline, ticket))
        next = min(next, deadline.later(by: Self.pause))
    }

    /// - Returns: tickets whose time is over. `isWaiting`: whether somebody still waits for one.
    mutating func takeOverdue(at time: UInt64, _ isWaiting: (UInt64) -> Bool) -> [UInt64] {
        guard time >= next else { return [] }
        entries.removeAll { !isWaiting($0.ticket) }
        let overdue = entries.filter { $0.at <= time }
        entries.removeAll { $0.at <= time }
        let least = entries.reduce(UInt64.max) { min($0, $1.at) }
        next = entries.isEmpty ? .max : max(least, time).later(by: Self.pause)
        return overdue.map(\.ticket)
    }
}

extension Server {
    /// Begins the requests anew whose time is over while they wait: they find that it is, and say so.
    func endOverdue(at time: UInt64, _ storage: isolated Storage) {
        for ticket in deadlines.takeOverdue(at: time, { awaitingAnswer[$0] != nil }) {
            guard let token = awaitingAnswer.removeValue(forKey: ticket) else { continue }
            storage.cancel(query: ticket)
            guard let connection = connections[token], connection.state.wait == .answer(ticket) else { continue }
            connection.state.wait = .none
            connection.waiting.ticket = nil
            enter(connection)
        }
    }
}
