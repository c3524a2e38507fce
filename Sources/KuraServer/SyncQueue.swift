import Glibc
import KuraBytes
import KuraStorage

/// The connections whose replies wait for a sync: whether the sync is due now and who does it, and which replies it releases.
///
/// A connection enters when replies of it wait, and leaves with the next sync that releases any; it enters again when others of its replies
/// wait on. Decides without I/O; the server syncs and sends.
struct SyncQueue {
    enum Decision: Equatable {
        /// Look for more requests first, without sleeping.
        case gather
        /// On the loop.
        case inline
        /// On the sync thread.
        case thread
    }

    private(set) var waiting: ContiguousArray<Connection> = []
    /// Those of the release that is under way; kept for its memory.
    private(set) var releasing: ContiguousArray<Connection> = []
    /// Replies up to this revision have been released.
    private var releasedRev: SyncedRev = 0
    private var policy: SyncPolicy
    private var others = OtherClients()
    /// Changes are in the log whose sync has been put off so that others may join it.
    private(set) var isGathering = false

    init(cores: Int = sysconf(Int32(_SC_NPROCESSORS_ONLN))) { policy = SyncPolicy(cores: cores) }

    var count: Int { waiting.count }

    /// Replies of the connection wait for a sync.
    mutating func insert(_ connection: Connection) {
        guard !connection.crowd.queues.contains(.sync) else { return }
        connection.crowd.queues.insert(.sync)
        waiting.append(connection)
    }

    /// Requests of a connection were answered whose replies wait for no sync.
    mutating func served(_ token: UInt64) { others.insert(token) }

    /// Nothing is to be synced in this turn.
    mutating func rest() { isGathering = false }

    /// Decides for changes that are in the log and for which no sync has been asked.
    /// - Parameters:
    ///   - isSyncing: another sync is under way.
    ///   - hasMore: connections go on in the next turn, whatever happens.
    ///   - syncTime: nanoseconds that a sync takes here, as far as is known.
    ///   - clock: asked when somebody waits.
    /// - Returns: what to do now.
    @inline(__always)
    mutating func decide(isSyncing: Bool, hasMore: Bool, syncTime: UInt64, _ clock: Clock) -> Decision {
        isGathering = false
        // Rides the sync after the one that is under way.
        if isSyncing { return .thread }
        // Nobody waits: what was relaxed, or asked for nothing in return.
        if waiting.isEmpty { return .thread }
        let time = clock.monotonic
        if others.takePresence(besides: waiting) { policy.servedOthers(at: time) }
        let decision = policy.decide(waiting: waiting.count, syncTime: syncTime, at: time)
        if hasMore { return .thread }
        isGathering = decision == .gather
        return decision
    }

    // MARK: Releasing

    /// A sync has reached a revision. Those whose replies may wait for no more than that are in `releasing`; each is sent, and noted with
    /// `released`. Then the release ends.
    /// - Returns: false when the revision has been released already, or nobody waits.
    @inline(__always)
    mutating func beginRelease(upTo synced: SyncedRev) -> Bool {
        guard synced > releasedRev else { return false }
        releasedRev = synced
        guard !waiting.isEmpty else { return false }
        policy.beginRound()
        swap(&waiting, &releasing)
        for connection in releasing { connection.crowd.queues.remove(.sync) }
        return true
    }

    /// What the connection may send has been sent. One whose other replies wait on is in `waiting` again, and has not been released.
    mutating func released(_ connection: Connection) {
        guard !connection.crowd.queues.contains(.sync) else { return }
        policy.release(lastRound: connection.crowd.lastRound)
        connection.crowd.lastRound = policy.round
    }

    mutating func endRelease() { releasing.removeAll(keepingCapacity: true) }
}
