/// When the changes that are in the log are synced, and by whom.
///
/// One sync serves all who wait for it, so it pays to have those in the same sync who are about to write again: the
/// clients whose replies the last two syncs released. The policy gives them a moment, shorter than a sync, to come back,
/// and stops doing so for a while when they do not. The loop syncs by itself, without a hop to the sync thread, when all
/// of them wait anyway, nobody else has been served lately and the disk is fast. A value without I/O; times are nanoseconds.
///
/// Source: PostgreSQL's `commit_delay` and `commit_siblings`, made to follow what is seen.
struct SyncPolicy {
    /// Longest time that changes wait for others, whatever a sync takes.
    static let longestGather: UInt64 = 60_000
    /// A sync that takes longer than this would hold up the loop.
    static let longestInline: UInt64 = 2_000_000
    /// Others than those who wait count as present for so long after they were served.
    static let presence: UInt64 = 3_000_000

    /// Counts the syncs that released somebody.
    private(set) var round: UInt32 = 2
    private var released = 0
    private var releasedBefore = 0
    private var repeated = 0
    private var gatheringSince: UInt64?
    private var othersServedAt: UInt64 = 0
    /// Syncs to go without gathering, after it has been in vain.
    private var pause = 0
    private var nextPause = 1
    private let canGather: Bool

    /// `cores`: with one alone, looking without sleeping would only keep the clients from running.
    init(cores: Int) {
        canGather = cores > 1
    }

    /// Clients that may be expected to write again soon: those of the last two syncs, each once.
    var companions: Int { released + releasedBefore - repeated }

    /// Decides for `waiting` connections whose changes are in the log and not being synced.
    /// `syncTime`: what a sync takes here, as far as is known.
    mutating func decide(waiting: Int, syncTime: UInt64, at time: UInt64) -> SyncQueue.Decision {
        let isComplete = waiting >= companions
        if canGather, !isComplete, pause == 0 {
            let since = gatheringSince ?? time
            gatheringSince = since
            if time - since < min(Self.longestGather, syncTime / 2) { return .gather }
            pause = nextPause
            nextPause = min(nextPause * 2, 64)
        } else if pause > 0 {
            pause -= 1
        } else if isComplete {
            nextPause = 1
        }
        gatheringSince = nil
        let isAlone = time - othersServedAt >= Self.presence
        return isComplete && isAlone && syncTime <= Self.longestInline ? .inline : .thread
    }

    /// A connection was served that waits for no sync.
    mutating func servedOthers(at time: UInt64) { othersServedAt = time }

    /// A sync has released replies: a new round begins. Each connection keeps the round in which it was released last.
    mutating func beginRound() {
        releasedBefore = released
        released = 0
        repeated = 0
        round &+= 1
    }

    /// - Parameter lastRound: the connection's last round before this one.
    mutating func release(lastRound: UInt32) {
        released += 1
        if lastRound == round &- 1 { repeated += 1 }
    }
}

/// Who was served since the last sync without waiting for one: told apart only as far as the policy needs it.
struct OtherClients {
    private var token: UInt64 = 0
    private var areSeveral = false

    mutating func insert(_ token: UInt64) {
        if self.token != 0, self.token != token { areSeveral = true }
        self.token = token
    }

    /// Whether somebody was served who does not wait now; begins anew. A single client that reads and writes by turns is
    /// nobody else.
    mutating func takePresence(besides waiting: ContiguousArray<Connection>) -> Bool {
        defer { self = OtherClients() }
        if areSeveral { return true }
        return token != 0 && !(waiting.count == 1 && waiting[0].token == token)
    }
}
