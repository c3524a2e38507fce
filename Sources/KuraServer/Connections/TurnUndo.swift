/// What takes a connection's turn back: how it stood when the turn began, and what the turn has done besides.
struct TurnUndo {
    /// A type of its own: the runtime would take a tuple apart field by field in every turn.
    private struct Start {
        var state: ConnectionState
        /// Bytes that the output had.
        var output: Int
        /// Transfers that stay asked for.
        var transfers: Int
    }
    private var start: Start?
    /// Transfers that the turn's requests have asked for; they begin when the turn is in the log.
    private(set) var starting: [Transfer] = []
    /// What its requests have changed of the feed, in their order.
    private(set) var feedChanges: ContiguousArray<ConnectionFeed.Change> = []

    /// The turn begins; what it does from now on can be taken back.
    mutating func begin(_ state: ConnectionState, output: Int) {
        state.begun?.mark()
        start = Start(state: state, output: output, transfers: starting.count)
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
        guard let start else { return nil }
        start.state.begun?.takeBack()
        let dropped = starting.count - start.transfers
        starting.removeLast(dropped)
        defer { feedChanges.removeAll() }
        return Undone(state: start.state, output: start.output, transfers: dropped, feedChanges: feedChanges)
    }

    /// The turn is over.
    mutating func end() {
        start?.state.begun?.endTurn()
        start = nil
        if !feedChanges.isEmpty { feedChanges.removeAll(keepingCapacity: feedChanges.capacity <= 64) }
    }
}
