import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// One client's live query: where in the log it stands, what it shows there, and what its client has of that.
///
/// Like a subscription it has no queue: while its client does not read, it stays where it is, and goes on from there. Belongs to
/// the loop.
final class LiveSubscription {
    enum Phase {
        /// The state it begins with is told, from this position on; it stays what it is meanwhile.
        case beginning(Int)
        case following
        /// Its documents are being read anew, by the query with this ticket.
        case reading(ticket: UInt64)
        /// The same is to be begun, not before this time.
        case wanting(since: UInt64)
    }
    /// Why it ends without its client's wish.
    enum Ending {
        case forbidden
        case error(RPCError)
    }

    let number: Int
    let collection: LiveCollection
    let shape: LiveShape
    /// Bytes that it takes, as its connection was charged with them.
    var charged = 0
    private(set) var window: LiveWindow
    var phase = Phase.beginning(0)
    /// The client has been told the whole of a state.
    var hasBegun = false
    var ending: Ending?
    /// Everything up to this revision has been taken in.
    var cursor: UInt64
    /// The window shows one state of the collection from this revision on.
    private(set) var exactFrom: UInt64
    /// Documents that are not newer are as the client has them; 0: it has none.
    private(set) var since: UInt64
    /// What the client has been told last, and when.
    var toldRev: UInt64
    var toldAt: UInt64
    /// The turn in which it was told something last.
    var toldInTurn: UInt32?
    /// Readings that have failed one after the other.
    var failures = 0

    /// The first state has just been read. `since`: the revision whose state the client says it has; nil without.
    init(
        number: Int, _ collection: LiveCollection, _ shape: LiveShape, _ snapshot: LiveSnapshot, since: UInt64?,
        at time: UInt64
    ) {
        self.number = number
        self.collection = collection
        self.shape = shape
        window = snapshot.window
        cursor = snapshot.rev
        exactFrom = snapshot.exactFrom
        self.since = since ?? 0
        toldRev = snapshot.exactFrom
        toldAt = time
        collection.users += 1
    }

    deinit {
        collection.users -= 1
    }

    /// Bytes of memory that it takes, about.
    var footprint: Int { 512 + window.footprint }

    /// Its documents have been read anew. The client is told how what it has becomes that.
    func take(_ snapshot: LiveSnapshot) {
        if hasBegun { snapshot.window.succeed(window) }
        phase = hasBegun ? .following : .beginning(0)
        window = snapshot.window
        exactFrom = max(exactFrom, snapshot.exactFrom, toldRev)
        cursor = snapshot.rev
        failures = 0
    }

    /// All values are to be told.
    func forgetSince() { since = 0 }

    /// Whether the client has the values of documents that are not newer than `since`. With a limit one that has not changed may
    /// have come in for another: only when nothing has changed it is what it was.
    func leavesOut(_ storage: isolated Storage) -> Bool {
        guard since > 0 else { return false }
        return window.limit == nil || !collection.hasChanged(after: since, storage)
    }
}
