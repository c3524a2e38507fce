import KuraBytes

/// Connections that do not read their replies: their output is at its bound, and one that has taken nothing of it for too long is to be
/// closed. Decides without I/O.
struct StallWatch {
    private(set) var connections: ContiguousArray<Connection> = []
    /// When it is looked next whether they have read; nil while there are none.
    private var checkAt: UInt64?
    private var log = LogThrottle()
    /// Nanoseconds that one may take nothing.
    private let longest: UInt64

    init(seconds: Int) { longest = .nanoseconds(seconds: seconds) }

    /// When there is something to do; `UInt64.max`: never.
    var next: UInt64 { checkAt ?? .max }

    /// From now on it is watched whether the connection reads.
    mutating func watch(_ connection: Connection, _ clock: Clock) {
        guard connection.crowd.stalledPlace == nil else { return }
        let time = clock.monotonic
        connection.crowd.stalledAt = time
        connection.crowd.stalledSent = connection.gone
        connection.crowd.stalledPlace = connections.count
        connections.append(connection)
        if checkAt == nil { checkAt = time + longest / 4 }
    }

    /// It is not watched any more: it reads, or it is gone, and then nothing of it may stay.
    mutating func unwatch(_ connection: Connection) {
        guard let place = connection.crowd.stalledPlace else { return }
        connection.crowd.stalledPlace = nil
        let last = connections.removeLast()
        guard last !== connection else { return }
        connections[place] = last
        last.crowd.stalledPlace = place
    }

    /// Somebody is watched.
    var isWatching: Bool { checkAt != nil }

    func isDue(_ clock: Clock) -> Bool {
        guard let checkAt else { return false }
        return clock.monotonic >= checkAt
    }

    /// Takes those out that are to be closed, and those that are watched no more.
    /// `isBacklogged`: a connection's output is at its bound still.
    mutating func takeStalled(at time: UInt64, _ isBacklogged: (Connection) -> Bool) -> ContiguousArray<Connection> {
        var stalled: ContiguousArray<Connection> = []
        for connection in connections {
            guard isBacklogged(connection) else {
                unwatch(connection)
                continue
            }
            if connection.gone != connection.crowd.stalledSent {
                connection.crowd.stalledSent = connection.gone
                connection.crowd.stalledAt = time
            }
            guard time - connection.crowd.stalledAt >= longest else { continue }
            unwatch(connection)
            stalled.append(connection)
        }
        checkAt = connections.isEmpty ? nil : time + longest / 4
        return stalled
    }

    /// One is closed.
    /// - Returns: how many have been since the log was told, when it is time to tell it again.
    mutating func noteClosed(at time: UInt64) -> Int? { log.note(at: time) }
}
