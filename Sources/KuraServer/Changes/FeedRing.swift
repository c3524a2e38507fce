/// The connections that read the feed, in the order in which they are looked at; in a round each is looked at once. A value without I/O.
struct FeedRing {
    private var connections: ContiguousArray<Connection> = []
    /// Position of the one that comes next.
    private var next = 0
    /// Connections that have still to be looked at.
    private(set) var left = 0
    /// Numbers the rounds.
    private(set) var round: UInt64 = 0

    var isEmpty: Bool { connections.isEmpty }

    /// The one whose turn it is; nil when all have been looked at.
    mutating func current() -> Connection? {
        guard left > 0, !connections.isEmpty else { return nil }
        if next >= connections.count { next = 0 }
        return connections[next]
    }

    /// The connection has subscriptions or waits.
    mutating func insert(_ connection: Connection) {
        guard !connection.crowd.queues.contains(.feed) else { return }
        connection.crowd.queues.insert(.feed)
        connections.append(connection)
        // It may stand before one that has yet to be looked at.
        if left > 0 { left += 1 }
    }

    /// The one whose turn it is reads no more. One that has been looked at may take its place: its share of `left` pays for that.
    mutating func removeCurrent() {
        connections[next].crowd.queues.remove(.feed)
        connections.swapAt(next, connections.count - 1)
        connections.removeLast()
        if connections.isEmpty { (left, next) = (0, 0) }
    }

    /// The one whose turn it is has been looked at.
    /// `isDone`: all of it; otherwise the round comes back to it.
    mutating func moveOn(isDone: Bool) {
        next += 1
        if isDone { left -= 1 } else { left = connections.count + 1 }
    }

    /// Everybody is to be looked at again.
    mutating func wake() {
        round += 1
        left = connections.count + 1
    }
}
