import KuraBytes
import KuraStorage

/// Which of a connection's replies may leave, apart from any I/O: each waits until what it shows is synced.
///
/// Positions count the bytes of output since the connection began, so that they stay true while the buffer moves on.
struct ReplyBarriers {
    /// Bytes from `position` on may only leave when `rev` is synced.
    private struct Barrier {
        var position: UInt64
        var rev: StrictRev
    }

    private var barriers: ContiguousArray<Barrier> = []
    private var firstBarrier = 0
    /// The barrier of the turn that is under way: one is enough, since the turn is synced as a whole.
    private var turnPosition: UInt64 = 0
    private var turnRev: StrictRev = 0
    private var awaitsCommit = false
    private var commitPosition: UInt64 = 0
    /// Replies wait for what the turn's end puts into the log about them.
    private(set) var awaitsLog = false
    private var logPosition: UInt64 = 0

    /// The reply that begins at `position` shows strict transactions up to `rev`.
    mutating func shows(_ rev: StrictRev, at position: UInt64) {
        turnPosition = turnRev == 0 ? position : min(turnPosition, position)
        turnRev = max(turnRev, rev)
    }

    /// The reply that begins at `position` shows a change of the turn, which may need no sync.
    mutating func dependsOnCommit(at position: UInt64) {
        commitPosition = awaitsCommit ? min(commitPosition, position) : position
        awaitsCommit = true
    }

    /// The reply that begins at `position` leaves when all of the turn is on the disk, whatever it shows itself.
    mutating func awaitsLog(at position: UInt64) {
        logPosition = awaitsLog ? min(logPosition, position) : position
        awaitsLog = true
    }

    /// The turn is in the log, up to this revision.
    mutating func isInLog(_ rev: UInt64) {
        awaitsLog = false
        turnPosition = turnRev > 0 ? min(turnPosition, logPosition) : logPosition
        turnRev = max(turnRev, StrictRev(rev))
    }

    /// The turn's commit has failed: nothing that shows its changes may leave, not even what needs no sync.
    mutating func commitFailed() {
        guard awaitsCommit || awaitsLog else { return }
        if awaitsLog { commitPosition = awaitsCommit ? min(commitPosition, logPosition) : logPosition }
        turnPosition = turnRev > 0 ? min(turnPosition, commitPosition) : commitPosition
        turnRev = .never
    }

    /// Nothing is held back: all is as at the beginning.
    var isEmpty: Bool { barriers.isEmpty && !dependsOnTurn }

    /// Replies of the turn show what only its commit makes true.
    var dependsOnTurn: Bool { turnRev > 0 || awaitsCommit || awaitsLog }

    /// The turn's changes are in the log.
    @inline(__always)
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
    @inline(__always)
    mutating func sendable(syncedRev: SyncedRev, end: UInt64) -> UInt64 {
        while firstBarrier < barriers.count, syncedRev.covers(barriers[firstBarrier].rev) { firstBarrier += 1 }
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
