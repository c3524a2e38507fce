import SQLite

/// Reading the change feed.
extension Storage {
    /// The smallest revision after which every change can still be read.
    public var oldestRev: UInt64 { history.oldestRev }

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
        page.begin(after: rev)
        let synced = syncedRev.rev
        while page.rev < synced, !page.isFull {
            let from = page.rev
            let chunk: ChangeChunk
            do throws(ChangesError) { chunk = try history.chunk(after: from) } catch {
                guard from > rev else { throw error }
                // What has been read already is an answer; the rest is read meanwhile.
                if error == .cold { history.prefetch() }
                return
            }
            do throws(StorageFault) {
                try page.take(chunk, upTo: synced, filter, limits, values: values, secrets: secrets)
            } catch {
                page.clear()
                throw .damagedLog
            }
            guard page.rev > from || page.isFull else { throw .damagedLog }
        }
    }

    /// Nothing is to be read in for the last `.cold` after all.
    public func dismissCold() { history.dismiss() }
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
