import SQLite

/// Reading the change feed.
extension Storage {
    /// The smallest revision after which every change can still be read.
    public var oldestRev: UInt64 { log.history.oldestRev }

    /// Fills a page with what follows `rev`: durable changes only, until its limits, what is synced, or what can be had
    /// without waiting is used up.
    ///
    /// A page whose `rev` is below `syncedRev` was not the last; it may be empty all the same, when the filter kept out what it
    /// covers.
    /// `rev`: at most the newest revision.
    /// `values`: whether values count towards the limit of bytes.
    /// - Throws: `.compacted`, `.cold` (then `warm`), `.damagedLog`, `.overloaded`; the page is empty then.
    public func fill(
        _ page: ChangePage, after rev: UInt64, _ filter: ChangeFilter, _ limits: ChangePage.Limits, values: Bool
    ) throws(ChangesError) {
        try log.history.fill(page, after: rev, upTo: syncedRev.rev, filter, limits, values: values, secrets: secrets)
    }

    /// Has all rows of the log looked through.
    /// - Returns: a ticket that `takeAnswers` gives back.
    /// - Throws: `.overloaded`.
    package func read(_ search: some RowSearch) throws(ChangesError) -> UInt64 { try desk.read(search) }

    /// Nothing is to be read in for the last `.cold` after all.
    public func dismissCold() { log.history.dismiss() }
}

extension ChangeHistory {
    /// What the tables know of changes that the log no longer has: what was recorded, and segments that they list and that
    /// are gone because the run that let them go was killed before it could say so.
    static func compactedRev(_ connection: Connection, _ configuration: StorageConfiguration) throws(StorageFault)
        -> UInt64
    {
        do throws(SQLiteError) {
            var rev = UInt64(try connection.scalar("SELECT value FROM meta WHERE name = 'compactedRev'") ?? 0)
            let select = try connection.prepare("SELECT number, lastRev FROM segments")
            while try select.step() {
                let number = Int(select.int64(0))
                if !LogFiles.exists(number, in: configuration.logDirectory) { rev = max(rev, UInt64(select.int64(1))) }
            }
            return rev
        } catch { throw .database(error, file: configuration.tablesPath) }
    }
}
