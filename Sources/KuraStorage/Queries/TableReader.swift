import Glibc
public import KuraBytes
import SQLite
import Synchronization

/// A read-only connection to the tables, for one thread that may wait for the disk.
///
/// Its snapshots are short: one that is held keeps the WAL from starting over. Whoever reads much asks `Snapshot.isStale`
/// now and then, ends the snapshot when it is, and goes on by key in the next.
public final class TableReader {
    let connection: Connection
    private let foldedRev: Statement
    let documents: DocumentStatements
    private let isCancelled: @Sendable () -> Bool

    /// `isCancelled`: asked between snapshots; what is under way then ends with `.cancelled`.
    public init(
        _ configuration: StorageConfiguration, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws(StoreError) {
        self.isCancelled = isCancelled
        do throws(SQLiteError) {
            connection = try Connection(path: configuration.tablesPath, mode: .readOnly)
            try connection.setBusyTimeout(milliseconds: 5000)
            try connection.execute("PRAGMA cache_size=-2048;")
            foldedRev = try connection.prepare("SELECT value FROM meta WHERE name = 'foldedRev'")
            documents = try DocumentStatements(connection)
        } catch { throw .unreadable(error) }
    }

    /// Reads documents into the page cache, where the loop looks for them without waiting.
    /// `scope`: what `DocumentsStore.coldScope` said.
    /// `body`: calls what it is given with each id.
    public func warm(scope: UInt32, _ body: ((Bytes) -> Void) -> Void) throws(StoreError) {
        try snapshot { (_) throws(SQLiteError) in
            var failure: SQLiteError?
            body { id in
                defer { documents.one.reset() }
                do throws(SQLiteError) {
                    try documents.one.bind(1, Int64(scope))
                    try documents.one.bind(2, utf8: id)
                    if try documents.one.step() { _ = documents.one.bytes(0) }
                } catch { failure = error }
            }
            if let failure { throw failure }
        }
    }

    /// Whoever asked does not wait any more: what is under way may end.
    var isEnding: Bool { isCancelled() }

    /// What a snapshot shows, and how long it has been held.
    struct Snapshot {
        /// The tables are as of this revision.
        let rev: UInt64
        private let until = monotonicNanoseconds() + 200_000_000
        private let walBytes = CountingVFS.snapshot()[.durable, .wal].bytesWritten

        init(rev: UInt64) {
            self.rev = rev
        }

        /// Held for 200 ms, or while 32 MiB were written behind it.
        var isStale: Bool {
            monotonicNanoseconds() >= until
                || CountingVFS.snapshot()[.durable, .wal].bytesWritten - walBytes >= 32 << 20
        }
    }

    /// Runs `body` on one state of the tables.
    func snapshot(_ body: (Snapshot) throws(SQLiteError) -> Void) throws(StoreError) {
        if isCancelled() { throw .cancelled }
        do throws(SQLiteError) {
            try connection.execute("BEGIN")
            do throws(SQLiteError) {
                let rev = try foldedRev.step() ? UInt64(foldedRev.int64(0)) : 0
                foldedRev.reset()
                try body(Snapshot(rev: rev))
                try connection.execute("COMMIT")
            } catch {
                foldedRev.reset()
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                throw error
            }
        } catch { throw .unreadable(error) }
    }
}
