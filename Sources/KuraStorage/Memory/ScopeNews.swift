/// What the tables have not been told of a scope: they learn that it is there with its first change, or with the first thing configured for it
/// that they go by. 0 for none.
struct ScopeNews {
    private var changedRev: UInt64 = 0
    private var definedRev: UInt64 = 0

    /// A change was staged.
    @inline(__always)
    mutating func noteChange(_ rev: UInt64) { if changedRev == 0 { changedRev = rev } }

    /// The first change was taken back.
    mutating func takeBackChange() { changedRev = 0 }

    /// Something was configured that the tables go by.
    /// - Returns: whether it is the first.
    mutating func noteDefinition(_ rev: UInt64) -> Bool {
        guard definedRev == 0 else { return false }
        definedRev = rev
        return true
    }

    /// The first of them was taken back.
    mutating func takeBackDefinition() { definedRev = 0 }

    /// The tables are told with the changes up to this revision.
    func isDue(upTo rev: UInt64) -> Bool { changedRev > 0 && changedRev <= rev || definedRev > 0 && definedRev <= rev }
}
