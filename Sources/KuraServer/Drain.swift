import KuraBytes

/// The end of serving: nobody is let in any more, what has come is answered, and each connection is closed when it has its replies.
///
/// A client that has come in and said nothing yet has a moment for its first request; those that do not read their replies have
/// longer, and hold up the end no further. Requests that wait then are told so in the last turn. A value without I/O; times are
/// nanoseconds.
struct Drain {
    /// When it is over whoever is left; nil before it has begun.
    private var deadline: UInt64?
    /// The time is over, and with the turn that has begun everything ends.
    private(set) var isLast = false
    /// Connections that had sent nothing when it began.
    private var newcomers: ContiguousArray<Connection> = []
    /// Until when their first request is waited for.
    private var newcomersDeadline: UInt64 = 0

    static let time: UInt64 = 5_000_000_000
    static let newcomersTime: UInt64 = 250_000_000

    var hasBegun: Bool { deadline != nil }
    var hasNewcomers: Bool { !newcomers.isEmpty }

    mutating func begin(at time: UInt64) {
        deadline = time + Self.time
        newcomersDeadline = time + Self.newcomersTime
    }

    /// The connection has said nothing yet, and still may.
    mutating func expect(_ newcomer: Connection) { newcomers.append(newcomer) }

    /// Takes those out that are waited for no longer: all when their time is over.
    /// `isDone`: the first request of a connection is there, or comes no more.
    mutating func takeNewcomers(at time: UInt64, _ isDone: (Connection) -> Bool) -> ContiguousArray<Connection> {
        if time >= newcomersDeadline {
            defer { newcomers = [] }
            return newcomers
        }
        var done: ContiguousArray<Connection> = []
        newcomers.removeAll { newcomer in
            guard isDone(newcomer) else { return false }
            done.append(newcomer)
            return true
        }
        return done
    }

    /// Whether the time is over: the turn that begins is the last one then. Says so once.
    mutating func beginsLastTurn(at time: UInt64) -> Bool {
        guard let deadline, !isLast, time >= deadline else { return false }
        isLast = true
        return true
    }

    /// Whether the drain ends: no connection is open, or the last turn has begun.
    func isOver(connections: Int) -> Bool { hasBegun && (connections == 0 || isLast) }

    /// Nanoseconds until it may go on; nil before it has begun.
    func timeToNext(at time: UInt64) -> UInt64? {
        guard let deadline else { return nil }
        let next = newcomers.isEmpty ? deadline : min(newcomersDeadline, deadline)
        return next > time ? next - time : 0
    }
}
