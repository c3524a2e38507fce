/// How far a connection's life has come: what is still read from it, and whether its client is there.
enum ConnectionPhase: Equatable {
    /// It has sent nothing yet.
    case new
    /// Its requests are read.
    case open
    /// Nothing more is read, by the daemon's will; the client is there.
    /// `reads`: how often something that came too late has been refused.
    case draining(reads: Int)
    /// The client has sent everything it will, and takes replies.
    case halfClosed
    /// The client takes no replies any more.
    /// `isRead`: everything it had sent has been read. `isWatched`: epoll tells of it.
    case gone(isRead: Bool, isWatched: Bool)
    /// The daemon is done with it.
    case closed

    /// Nothing more is read.
    var hasEnded: Bool {
        switch self {
        case .new, .open, .gone(isRead: false, _): false
        case .draining, .halfClosed, .gone(isRead: true, _), .closed: true
        }
    }
    var isClosed: Bool { self == .closed }
    var isGone: Bool { if case .gone = self { true } else { false } }
    /// epoll is silent about it.
    var isUnwatched: Bool { if case .gone(_, isWatched: false) = self { true } else { false } }
    /// What it had sent before it went has to be read, and epoll does not tell.
    var isUnread: Bool { self == .gone(isRead: false, isWatched: false) }

    /// Bytes have come.
    mutating func receive() {
        if self == .new { self = .open }
    }

    /// The client's last byte has been read.
    mutating func endInput() {
        switch self {
        case .new, .open, .draining: self = .halfClosed
        case .gone(_, let isWatched): self = .gone(isRead: true, isWatched: isWatched)
        case .halfClosed, .closed: break
        }
    }

    /// The daemon reads no more from it.
    mutating func stopReading() {
        switch self {
        case .new, .open: self = .draining(reads: 0)
        case .gone(false, let isWatched): self = .gone(isRead: true, isWatched: isWatched)
        case .draining, .halfClosed, .gone(isRead: true, _), .closed: break
        }
    }

    /// What has come since the daemon reads no more is read once more, to be refused.
    /// - Parameter limit: how often at most.
    /// - Returns: false when that was often enough, or nobody is there to be told.
    mutating func mayRefuse(atMost limit: Int) -> Bool {
        guard case .draining(let reads) = self, reads < limit else { return false }
        self = .draining(reads: reads + 1)
        return true
    }

    /// The other side is closed altogether.
    mutating func leave() {
        switch self {
        case .new, .open: self = .gone(isRead: false, isWatched: true)
        case .draining, .halfClosed: self = .gone(isRead: true, isWatched: true)
        case .gone, .closed: break
        }
    }

    /// epoll, which would tell in every turn that the client has gone, is silent from now on.
    mutating func unwatch() {
        leave()
        if case .gone(let isRead, _) = self { self = .gone(isRead: isRead, isWatched: false) }
    }

    /// - Returns: whether epoll is still to be told.
    mutating func close() -> Bool {
        defer { self = .closed }
        return !isUnwatched && !isClosed
    }
}
