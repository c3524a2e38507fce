/// The revisions that a ledger has given out, and how far each has come: staged, in the log, on the disk, in the tables.
struct LedgerRevisions {
    /// Newest given out, staged ones included.
    private(set) var newest: UInt64
    /// Newest in the log.
    private(set) var committed: UInt64
    /// The tables are as of this one.
    private(set) var folded: UInt64
    /// Newest of a strict transaction: one with a change that is durable before it is acknowledged.
    private(set) var strict: StrictRev
    /// The newest of them in the log.
    private(set) var committedStrict: StrictRev
    /// Everything up to this one is on the disk, as of the turn's beginning.
    var synced: SyncedRev
    /// What has this revision or an earlier one came from a seed bundle; 0 without one.
    var seeded: UInt64 = 0

    /// `rev`: of the tables, with which a start begins.
    init(_ rev: UInt64) {
        (newest, committed, folded) = (rev, rev, rev)
        (strict, committedStrict, synced) = (StrictRev(rev), StrictRev(rev), SyncedRev(rev))
    }

    /// The turn has changes that are not in the log.
    var isAhead: Bool { newest > committed }

    /// Gives out the next one, to a transaction that has ended.
    mutating func next(isStrict: Bool) -> UInt64 {
        newest += 1
        if isStrict { strict = StrictRev(newest) }
        return newest
    }

    /// Takes the newest back, so that what follows joins its transaction, and gives it out again.
    mutating func reopen() { newest -= 1 }
    mutating func close() { newest += 1 }

    /// What was staged is in the log.
    mutating func commit() { (committed, committedStrict) = (newest, strict) }

    /// What was staged is taken back.
    mutating func takeBack() { (newest, strict) = (committed, committedStrict) }

    /// A start has found a change of this revision in the log, on the disk.
    mutating func replay(_ rev: UInt64) {
        newest = max(newest, rev)
        (committed, strict, synced) = (newest, StrictRev(newest), SyncedRev(newest))
        committedStrict = strict
    }

    mutating func fold(_ rev: UInt64) { folded = max(folded, rev) }
}
