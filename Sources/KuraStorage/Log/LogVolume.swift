/// Sums over all rows that have been appended to the log since the start.
struct LogVolume {
    private(set) var commits: UInt64 = 0
    /// Bytes of the records as they lie in the log.
    private(set) var appended: UInt64 = 0
    /// Bytes that patches have saved: the records would have been longer by so much without them.
    private(set) var saved: UInt64 = 0

    /// Counts one row. `whole`: bytes of its records without patches, `logged`: with them.
    mutating func note(whole: Int, logged: Int) {
        commits += 1
        appended += UInt64(logged)
        saved += UInt64(whole - logged)
    }
}
