import KuraBytes

/// What a connection has decided, apart from any I/O: which of its replies may leave, whether it goes on, why it waits.
///
/// A value whose mutating functions take what happened; `Connection` performs. Positions count the bytes of output since
/// the connection began, so that they stay true while the buffer moves on.
struct ConnectionState {
    /// Bytes from `position` on may only leave when `rev` is synced.
    private struct Barrier {
        var position: UInt64
        var rev: UInt64
    }

    /// The batch that is under way: where its next member stands in the line at `lower..<upper`.
    struct Batch {
        var lower: Int
        var upper: Int
        var offset: Int
        var left: Int
        /// A member's reply has been written, so the bracket is open.
        var hasOutput = false
        /// Position in the output where it began. Nothing from there on leaves before the batch is complete, so that a
        /// failed sync can still replace the whole of it.
        var outputPosition: UInt64
    }

    /// A long reply that is made over several turns: what it has so far stands at the output's end, and nothing of it leaves before
    /// it is complete.
    struct Gathering {
        /// Position in the output where the reply begins.
        var outputPosition: UInt64
        /// Revision when it was begun: everything in it is as of then.
        var rev: UInt64
        /// Bytes of the reply before its first element.
        var opened = 0
        /// Times that it was begun anew, because something had changed meanwhile.
        var restarts = 0
        /// What it was made by besides the elements; another one makes it begin anew.
        var basis: AnyObject?
        /// Elements of the request's list that are done with.
        var done = 0
        /// Nothing has been found yet.
        var isFirst = true
        /// Text that follows the list.
        var aside: [UInt8] = []
        /// Newest revisions that it shows.
        var shownRev: UInt64 = 0
        var relaxedRev: UInt64 = 0
    }

    private var barriers: ContiguousArray<Barrier> = []
    private var firstBarrier = 0
    /// The barrier of the turn that is under way: one is enough, since the turn is synced as a whole.
    private var turnPosition: UInt64 = 0
    private var turnRev: UInt64 = 0
    private var awaitsCommit = false
    private var commitPosition: UInt64 = 0
    /// Replies wait for what the turn's end puts into the log about them.
    private(set) var awaitsLog = false
    private var logPosition: UInt64 = 0

    /// While a request waits: bytes behind its start that have been looked through for requests that may overtake it.
    var overtaken = 0
    /// Another request has to wait behind the one that waits, and none is answered ahead of both.
    var isStuck = false
    /// The client takes replies in any order.
    var isUnordered = false
    var batch: Batch?
    var gathering: Gathering?
    /// A reply has been begun and is not complete: nothing may come between.
    var isComposing: Bool { batch != nil || gathering != nil }
    /// The client has said all that it will (half-close), or the daemon is draining.
    var hasEnded = false
    /// The client has said all that it will.
    var isHalfClosed = false
    /// The other side is closed altogether, and reads no more either.
    var isGone = false

    /// The reply that begins at `position` shows `rev`.
    mutating func shows(_ rev: UInt64, at position: UInt64) {
        if turnRev == 0 { turnPosition = position }
        turnRev = max(turnRev, rev)
    }

    /// The reply that begins at `position` shows a change of the turn, which may need no sync.
    mutating func dependsOnCommit(at position: UInt64) {
        if !awaitsCommit { commitPosition = position }
        awaitsCommit = true
    }

    /// The reply that begins at `position` leaves when all of the turn is on the disk, whatever it shows itself.
    mutating func awaitsLog(at position: UInt64) {
        if !awaitsLog { logPosition = position }
        awaitsLog = true
    }

    /// The turn is in the log, up to this revision.
    mutating func isInLog(_ rev: UInt64) {
        awaitsLog = false
        turnPosition = turnRev > 0 ? min(turnPosition, logPosition) : logPosition
        turnRev = max(turnRev, rev)
    }

    /// The turn's commit has failed: nothing that shows its changes may leave, not even what needs no sync.
    mutating func commitFailed() {
        guard awaitsCommit || awaitsLog else { return }
        if awaitsLog { commitPosition = awaitsCommit ? min(commitPosition, logPosition) : logPosition }
        turnPosition = turnRev > 0 ? min(turnPosition, commitPosition) : commitPosition
        turnRev = .max
    }

    /// Replies of the turn show what only its commit makes true.
    var dependsOnTurn: Bool { turnRev > 0 || awaitsCommit || awaitsLog }

    /// The turn's changes are in the log.
    mutating func endTurn() {
        awaitsCommit = false
        awaitsLog = false
        guard turnRev > 0 else { return }
        if barriers.count > firstBarrier, barriers[barriers.count - 1].rev >= turnRev {
            turnRev = 0
            return
        }
        barriers.append(Barrier(position: turnPosition, rev: turnRev))
        turnRev = 0
    }

    /// How far the output may leave, given what is synced and how long it is.
    mutating func sendable(syncedRev: UInt64, end: UInt64) -> UInt64 {
        var end = batch.map { min(end, $0.outputPosition) } ?? end
        if let gathering { end = min(end, gathering.outputPosition) }
        while firstBarrier < barriers.count, barriers[firstBarrier].rev <= syncedRev { firstBarrier += 1 }
        guard firstBarrier < barriers.count else {
            if firstBarrier > 0 {
                barriers.removeAll(keepingCapacity: barriers.capacity <= 64)
                firstBarrier = 0
            }
            return end
        }
        return min(end, barriers[firstBarrier].position)
    }

    /// Whether replies wait for a sync.
    var awaitsSync: Bool { firstBarrier < barriers.count }
}
