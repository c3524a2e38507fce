import KuraBytes

/// Which slice is folded when, and when the tables are checkpointed; no I/O. Times are of the monotonic clock, in nanoseconds.
///
/// One slice is away at a time: the fold thread has it, or has handed it back and the loop lets go of its items (`settling`), or it found
/// no room and is tried again (`retrying`). Where room is short a slice is folded in parts, the others wait in `rest`.
final class FoldSchedule {
    private enum State {
        case idle
        case folding(FoldSlice)
        case retrying(FoldSlice, at: UInt64)
        case settling(FoldSlice)
    }
    private var state = State.idle
    /// What is left of the slice that is away, the next part last.
    private var rest: [FoldSlice] = []
    /// Since when there are changes that no slice has taken; nil while there are none, 0 when they are folded at once.
    private var unfoldedSince: UInt64?
    /// The tables are as of this revision; what left memory for them may be let go of later (`foldedRev`).
    private(set) var tablesRev: UInt64
    /// Everything up to this revision lies checkpointed and synced in the database file.
    private(set) var durableRev: UInt64 = 0
    private var hasPendingWAL: Bool
    /// The log's sums when the last slice was cut.
    private var logAtCut = LogVolume()
    private(set) var isCheckpointing = false
    /// The earliest time of the next checkpoint, after one that made no progress.
    private var checkpointAt: UInt64 = 0
    private var lastFoldAt: UInt64 = 0

    /// Nanoseconds without a fold until the WAL goes into the database file.
    static let idleInterval: UInt64 = 10_000_000_000
    /// Nanoseconds between a checkpoint that made no progress and the next.
    static let checkpointPause: UInt64 = 100_000_000

    init(tablesRev: UInt64, unfoldedSince: UInt64?, hasPendingWAL: Bool) {
        self.tablesRev = tablesRev
        self.unfoldedSince = unfoldedSince
        self.hasPendingWAL = hasPendingWAL
    }

    // MARK: Changes

    var hasUnfolded: Bool { unfoldedSince != nil }

    /// Changes have come into the log at this time.
    func noteUnfolded(at time: UInt64) { unfoldedSince = unfoldedSince ?? time }

    /// What is not folded is folded at once, whatever the pace is.
    func hasten() { if unfoldedSince != nil { unfoldedSince = 0 } }

    /// Whether a fold of so many bytes should wait. The log has short patches where a fold writes whole values, so a fold pays once the log has grown
    /// by a quarter of the fold's bytes.
    func isWaste(folding bytes: Int, _ log: LogVolume) -> Bool {
        let logged = log.appended - logAtCut.appended
        return log.saved - logAtCut.saved > 3 * logged && bytes > 4 * logged && unfoldedSince != 0
    }

    // MARK: Slices

    /// A slice is away.
    var hasSlice: Bool { if case .idle = state { false } else { true } }
    var isIdle: Bool { !hasSlice && rest.isEmpty }
    /// A slice has found no room and waits to be tried again.
    var isRetrying: Bool { if case .retrying = state { true } else { false } }
    /// The slice whose items the loop lets go of.
    var settling: FoldSlice? { if case .settling(let slice) = state { slice } else { nil } }

    /// The slice that is to be tried again now, or the next part.
    func takeWaiting(_ time: UInt64) -> FoldSlice? {
        switch state {
        case .idle: return rest.popLast()
        case .retrying(let slice, let at) where time >= at:
            state = .folding(slice)
            return slice
        case .folding, .retrying, .settling: return nil
        }
    }

    /// When the next slice is cut by itself; nil while one is away, or there is nothing to fold.
    /// `hasConfirmations`: a slice without changes has something to tell.
    func nextCut(afterMilliseconds pace: Int, hasConfirmations: @autoclosure () -> Bool) -> UInt64? {
        guard !hasSlice, let since = unfoldedSince ?? (hasConfirmations() ? 0 : nil) else { return nil }
        return since.later(by: .nanoseconds(milliseconds: pace))
    }

    /// A slice has been cut.
    func noteCut(_ time: UInt64, leavesChanges: Bool, _ log: LogVolume = LogVolume()) {
        unfoldedSince = leavesChanges ? time : nil
        logAtCut = log
    }

    /// - Returns: what the fold thread gets now: the slice, or its beginning of so many bytes.
    func begin(_ slice: FoldSlice, bytes: Int?) -> FoldSlice {
        var next = slice
        if let bytes, let head = slice.cut(bytes: bytes) {
            rest.append(slice)
            next = head
        }
        state = .folding(next)
        return next
    }

    /// The tables have the slice.
    func noteFolded(_ slice: FoldSlice) {
        state = .settling(slice)
        tablesRev = max(tablesRev, slice.rev)
    }

    /// The slice has found no room.
    func retry(_ slice: FoldSlice, at time: UInt64) { state = .retrying(slice, at: time) }

    /// Its items are let go of.
    func noteSettled(_ time: UInt64) {
        state = .idle
        lastFoldAt = time
    }

    // MARK: Checkpoints

    /// Nanoseconds until a checkpoint may be asked for; 0 for now, nil while one is under way or would come in a fold's way.
    func timeToCheckpoint(_ time: UInt64) -> UInt64? {
        switch state {
        case .folding, .retrying: nil
        case .idle, .settling: isCheckpointing ? nil : time < checkpointAt ? checkpointAt - time : 0
        }
    }

    /// A checkpoint has been asked for.
    func noteCheckpointing() { isCheckpointing = true }

    /// Nanoseconds until the WAL goes into the database file, so that the log can be let go of; 0 for now, nil when it does not.
    func timeToIdleCheckpoint(_ time: UInt64) -> UInt64? {
        guard hasPendingWAL, !isCheckpointing else { return nil }
        let due = lastFoldAt + Self.idleInterval
        return time < due ? due - time : 0
    }

    /// Takes in how the tables stand after a piece of the fold thread's work. What becomes of a slice is told apart from that.
    func note(_ outcome: Folder.Outcome, _ time: UInt64) {
        let gains = outcome.durableRev > durableRev && outcome.error == nil
        durableRev = max(durableRev, outcome.durableRev)
        hasPendingWAL = outcome.hasPendingWAL
        switch outcome.work {
        case .slice, .scrub: break
        case .checkpoint:
            isCheckpointing = false
            lastFoldAt = time
            if !gains { checkpointAt = time + Self.checkpointPause }
        case .tending: lastFoldAt = time
        }
    }

    // MARK: Waiting

    /// How long the loop may wait; `.max` until the fold thread or a sync wakes it, nil when there is nothing to fold.
    func wait(_ time: UInt64, pace milliseconds: Int) -> UInt64? {
        switch state {
        case .settling: return 0
        case .retrying(_, let at): return at > time ? at - time : 0
        case .folding: return .max
        case .idle: break
        }
        if !rest.isEmpty { return 0 }
        guard let unfoldedSince else { return nil }
        let due = unfoldedSince.later(by: .nanoseconds(milliseconds: milliseconds))
        // What is not synced cannot be folded, and a sync may hang.
        return due > time ? due - time : .max
    }
}
