import KuraStorage

/// What an answer shows, as the newest revisions of it: decides what has to be on the disk before the answer may leave.
struct ShownRev: Equatable {
    /// Newest revision shown, but for relaxed changes.
    private(set) var rev: UInt64 = 0
    /// Newest revision of a relaxed change that is shown: it may leave when that is in the log.
    private(set) var relaxedRev: UInt64 = 0

    init() {}
    init(_ rev: UInt64) { self.rev = rev }

    mutating func add(_ rev: UInt64) { self.rev = max(self.rev, rev) }

    /// `isRelaxed`: the revision is that of a change which may be shown before it is synced.
    mutating func add(_ rev: UInt64, isRelaxed: Bool) {
        if isRelaxed { relaxedRev = max(relaxedRev, rev) } else { add(rev) }
    }

    /// What a part of the answer shows.
    mutating func add(_ part: Self) {
        add(part.rev)
        add(part.relaxedRev, isRelaxed: true)
    }

    /// What lies above `rev` has been taken back, or is shown otherwise.
    mutating func forget(above rev: UInt64) {
        self.rev = min(self.rev, rev)
        relaxedRev = min(relaxedRev, rev)
    }

    /// What has to be on the disk before the answer may leave. What lies above the newest strict transaction may be lost by agreement.
    func needed(given newest: StrictRev) -> StrictRev { StrictRev(min(rev, newest.rev)) }

    /// Whether everything shown is on the disk, what may be lost included.
    func isCovered(by synced: SyncedRev) -> Bool { synced.has(max(rev, relaxedRev)) }

    /// Whether something shown is not in the log: it may be taken back with the turn.
    func isAbove(committed: UInt64) -> Bool { max(rev, relaxedRev) > committed }
}
