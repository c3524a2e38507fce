import Glibc
import KuraBytes
import SQLite

/// `durable/kura.sqlite`: what the log folds to. This file holds its layout; `Folder` writes it, `DocumentReader` reads it.
///
/// Documents of all collections share one table. A document's row number is `collection << 40 | n`, so a collection is one
/// unbroken range of the table: it is walked, indexed and dropped by slices of row numbers, and an update touches one
/// leaf. `documents_id` leads from (collection, id) to the row. Settings are small and read into memory whole, so they
/// lie under their key without a second tree.
enum Tables {
    static let applicationID: Int32 = 0x4B_55_52_41  // "KURA"

    static let migrator = Migrator(steps: [
        .init(
            version: 1,
            sql: """
                CREATE TABLE meta(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
                CREATE TABLE scopes(
                    id INTEGER PRIMARY KEY, store INTEGER NOT NULL, name TEXT NOT NULL,
                    count INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
                    lastRev INTEGER NOT NULL DEFAULT 0, nextRow INTEGER NOT NULL DEFAULT 0,
                    configuration TEXT, UNIQUE(store, name));
                CREATE TABLE settings(
                    scope INTEGER NOT NULL, key TEXT NOT NULL, rev INTEGER NOT NULL, updatedAt INTEGER NOT NULL,
                    value TEXT NOT NULL, PRIMARY KEY(scope, key)) WITHOUT ROWID;
                CREATE TABLE documents(
                    row INTEGER PRIMARY KEY, collection INTEGER NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL,
                    version INTEGER NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL,
                    isDeleted INTEGER NOT NULL, body TEXT NOT NULL);
                CREATE UNIQUE INDEX documents_id ON documents(collection, id);
                CREATE TABLE segments(
                    number INTEGER PRIMARY KEY, firstRev INTEGER NOT NULL, lastRev INTEGER NOT NULL,
                    bytes INTEGER NOT NULL);
                """),
        .init(
            version: 2,
            sql: """
                CREATE TABLE contents(digest TEXT PRIMARY KEY, uses INTEGER NOT NULL) WITHOUT ROWID;
                CREATE INDEX contents_unused ON contents(digest) WHERE uses = 0;
                """),
    ])

    /// The one connection that writes and checkpoints.
    static func openWriter(_ path: String, cacheKibibytes: Int) throws(StorageFault) -> Connection {
        do {
            let isNew = FileSystem.size(path) == 0
            let connection = try Connection(path: path, mode: .readWriteCreate)
            try connection.setCheckpointOnClose(false)
            try connection.setPersistWAL(true)
            try connection.setBusyTimeout(milliseconds: 5000)
            // Only in an empty file: setting auto_vacuum is a commit each time, synced, which needs room, and which
            // SQLite's own checkpoint would follow before it is turned off.
            if isNew { try connection.execute("PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL;") }
            try connection.execute(
                """
                PRAGMA journal_mode=WAL;
                PRAGMA synchronous=NORMAL;
                PRAGMA wal_autocheckpoint=0;
                PRAGMA journal_size_limit=-1;
                PRAGMA cache_size=-\(cacheKibibytes);
                PRAGMA temp_store=MEMORY;
                """)
            // SQLite 3.40.1 can lose commits in a crash after pages were spilled to the WAL and a statement was undone.
            try connection.setCacheSpill(false)
            _ = try migrator.migrate(connection, applicationID: applicationID)
            return connection
        } catch let error as SQLiteError {
            throw .database(error, file: path)
        } catch Migrator.Failure.newerSchema(let found, let known) {
            throw .refused("\(path) was written by a newer version (layout \(found), this one knows \(known))")
        } catch Migrator.Failure.foreignDatabase {
            throw .refused("\(path) is no database of Kura")
        } catch Migrator.Failure.sqlite(let error) {
            throw .database(error, file: path)
        } catch { throw .refused("\(path): \(error)") }
    }
}

/// Point reads of documents that are not in memory, on the loop: a read-only connection that never waits for the disk.
///
/// When a page is not in the page cache, `find` throws `.cold`; a reader thread then performs the same look-up waiting
/// (`PageWarmer`), and the request is begun again.
final class DocumentReader {
    private let connection: Connection
    private let select: StatementBox

    /// `mayWait`: for the reader thread, which waits for the disk.
    /// `cacheKibibytes`: memory for pages, given back with the reader.
    init(path: String, mayWait: Bool, cacheKibibytes: Int = 512) throws(StorageFault) {
        do throws(SQLiteError) {
            connection = try Connection(path: path, mode: .readOnly, vfs: mayWait ? .counting : .nonBlockingReads)
            try connection.setBusyTimeout(milliseconds: mayWait ? 1000 : 0)
            try connection.execute("PRAGMA cache_size=-\(cacheKibibytes);")
            select = StatementBox(
                try connection.prepare(
                    """
                    SELECT row, rev, version, createdAt, updatedAt, isDeleted, body FROM documents
                    WHERE collection = ?1 AND id = ?2
                    """))
        } catch { throw .database(error, file: path) }
    }

    /// Sees the tables as they are at its next look-up, for good: no lock and no check of the WAL each time. For a short
    /// life while nobody writes.
    func freeze() throws(SQLiteError) {
        try connection.execute("BEGIN")
    }

    /// Reads the document's pages and throws them away: from now on they are in the page cache.
    func warm(scope: UInt32, id: Bytes) throws(SQLiteError) {
        defer { select.statement.reset() }
        try select.statement.bind(1, Int64(scope))
        try select.statement.bind(2, utf8: id)
        if try select.statement.step() { _ = select.statement.bytes(6) }
    }

    /// The document as a new item with one reference; nil when the tables do not have it.
    func find(scope: UInt32, id: Bytes) throws(StoreError) -> ItemRef? {
        defer { select.statement.reset() }
        do throws(SQLiteError) {
            try select.statement.bind(1, Int64(scope))
            try select.statement.bind(2, utf8: id)
            guard try select.statement.step() else { return nil }
            let item = ItemRef.make(key: id, value: select.statement.bytes(6))
            item.pointee.row = select.statement.int64(0)
            item.pointee.rev = UInt64(select.statement.int64(1))
            item.pointee.version = UInt32(truncatingIfNeeded: select.statement.int64(2))
            item.pointee.createdAt = select.statement.int64(3)
            item.pointee.updatedAt = select.statement.int64(4)
            item.pointee.scope = scope
            item.pointee.store = .documents
            item.pointee.isDeleted = select.statement.int64(5) != 0
            return item
        } catch {
            if error.wouldBlock || error.isBusy { throw .cold }
            throw .unreadable(error)
        }
    }
}
