import KuraBytes

/// What a ledger has counted since the start.
struct LedgerCounts {
    /// Writes that changed nothing.
    private(set) var noOps: UInt64 = 0
    /// Changes of each commit.
    private(set) var commitSizes = Histogram()

    mutating func noteNoOp() { noOps += 1 }
    mutating func note(commit changes: Int) { commitSizes.record(UInt64(changes)) }
}
