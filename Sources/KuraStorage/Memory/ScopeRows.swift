/// The rows of a scope: which numbers are given out, and what the tables may have under them.
struct ScopeRows {
    /// Row of the next new item. Rows of a scope are `id << 40 | n`, so that they lie side by side.
    private(set) var next: Int64
    /// Tombstones from before are forgotten, milliseconds since 1970.
    private(set) var purgedBefore: Int64 = 0
    /// A slice has been cut since the scope came to be: the tables may have rows of it.
    var mayExist = false

    /// `id`: the scope's number; 0 while it has none.
    init(of id: UInt32) { next = Int64(id) << 40 | 1 }

    /// The row of a new item.
    @inline(__always)
    mutating func take() -> Int64 {
        defer { next += 1 }
        return next
    }

    /// How many were given out.
    var given: Int { Int(next & (1 << 40 - 1)) - 1 }

    /// Those below this one are given out.
    mutating func reserve(below row: Int64) { next = max(next, row) }

    /// Tombstones from before a moment have gone from the tables.
    mutating func purge(before moment: Int64) { purgedBefore = max(purgedBefore, moment) }
}
