package import KuraBytes

/// What looks through the rows that the log has, from the oldest to the newest.
///
/// The rows of the segment that is written lie in memory and are looked through on the loop; the housekeeper reads closed segments, one a job.
package protocol RowSearch: TableQuery {
    /// Rows up to here have been looked through.
    var reached: UInt64 { get }
    /// Nobody waits for it any more.
    var mustStop: Bool { get }

    /// Looks through a row that follows those before. `previous`: the revision before the row's first; when it is above `reached`, rows are missing.
    /// Throws: `StorageFault.damagedLog`.
    func take(_ records: Bytes, rev: UInt64, previous: UInt64, at: Int64) throws(StorageFault)

    /// All rows have been looked through.
    func finish()

    /// The tables may have what the log did not: it is run on them after `finish`.
    var wantsTables: Bool { get }
}
