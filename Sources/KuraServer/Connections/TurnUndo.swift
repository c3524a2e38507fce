/// What takes a connection's turn back: how it stood when the turn began, and what the turn has done besides.
struct TurnUndo {
    /// How the lines stood when the turn began; nil outside of a turn.
    private var lines: LineOrder?
    /// All of the state, where more than the lines was under way: to copy it is what a turn of one request would cost most.
    private var state: ConnectionState?
    /// Bytes that the output had.
    private var output = 0
    /// Transfers that stay asked for.
    private var transfers = 0
    /// Transfers that the turn's requests have asked for; they begin when the turn is in the log.
    private(set) var starting: [Transfer] = []
    /// What its requests have changed of the feed, in their order.
    private(set) var feedChanges: ContiguousArray<ConnectionFeed.Change> = []

    /// The turn begins; what it does from now on can be taken back.
    mutating func begin(_ state: ConnectionState, output: Int) {
        begin(state.lines, output: output)
        guard !state.hasOnlyLines else { return }
        state.begun?.mark()
        self.state = state
    }

    /// The turn begins where the connection's state has only lines.
    @inline(__always)
    mutating func begin(_ lines: LineOrder, output: Int) {
        self.lines = lines
        if state != nil { state = nil }
        self.output = output
        transfers = starting.count
    }

    /// What the turn has done so far stays, whatever becomes of the rest.
    mutating func keep(_ state: ConnectionState, output: Int) {
        feedChanges.removeAll(keepingCapacity: true)
        begin(state, output: output)
    }

    /// A request asks for a transfer.
    mutating func start(_ transfer: Transfer) { starting.append(transfer) }

    /// The turn is in the log: its transfers begin.
    mutating func takeStarting() -> [Transfer] {
        defer { starting = [] }
        return starting
    }

    /// A request has changed the feed.
    mutating func note(_ change: ConnectionFeed.Change) { feedChanges.append(change) }

    /// There is no feed any more of which something could be taken back.
    mutating func forgetFeedChanges() { feedChanges.removeAll() }

    struct Undone {
        var state: ConnectionState
        var output: Int
        /// Transfers that nobody asks for any more.
        var transfers: Int
        /// What the turn has changed of the feed, in its order.
        var feedChanges: ContiguousArray<ConnectionFeed.Change>
    }

    /// What there is to undo; nil outside of a turn. The turn goes on from its start.
    mutating func takeBack() -> Undone? {
        guard let lines else { return nil }
        state?.begun?.takeBack()
        let dropped = starting.count - transfers
        starting.removeLast(dropped)
        defer { feedChanges.removeAll() }
        return Undone(
            state: state ?? ConnectionState(lines: lines), output: output, transfers: dropped, feedChanges: feedChanges)
    }

    /// The turn is over.
    mutating func end() {
        if state != nil {
            state?.begun?.endTurn()
            state = nil
        }
        lines = nil
        if !feedChanges.isEmpty { feedChanges.removeAll(keepingCapacity: feedChanges.capacity <= 64) }
    }
}
