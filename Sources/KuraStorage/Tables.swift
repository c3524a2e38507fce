import Glibc
import KuraBytes
package import SQLite

/// `durable/kura.sqlite`: what the log folds to. This file holds its layout; `Folder` writes it, `DocumentReader` and `TableReader` read it.
///
/// Documents of all collections share one table. A document's row number is `collection << 40 | n`, so a collection is one
/// unbroken range of the table: it is walked, indexed and dropped by slices of row numbers, and an update touches one
/// leaf. `documents_id` leads from (collection, id) to the row. Settings are small and read into memory whole, so they
/// lie under their key without a second tree.
package enum Tables {
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
        // Indexes are tables of their own, `index_N` (`IndexTable`), made when they are configured. `reached` and `builtTo` are rows.
        // Tombstones are found by their age.
        .init(
            version: 2,
            sql: """
                CREATE TABLE indexes(
                    number INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL, name TEXT NOT NULL,
                    definition TEXT NOT NULL, state INTEGER NOT NULL, reached INTEGER NOT NULL,
                    builtTo INTEGER NOT NULL, entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
                    first TEXT, second TEXT);
                CREATE TABLE drops(collection INTEGER PRIMARY KEY);
                CREATE INDEX documents_tombstones ON documents(collection, updatedAt) WHERE isDeleted = 1;
                """),
        // Contents of attachments and how many lists name them. A collection that is dropped may be one of such lists.
        .init(
            version: 3,
            sql: """
                CREATE TABLE contents(digest TEXT PRIMARY KEY, uses INTEGER NOT NULL) WITHOUT ROWID;
                CREATE INDEX contents_unused ON contents(digest) WHERE uses = 0;
                ALTER TABLE drops ADD COLUMN isLists INTEGER NOT NULL DEFAULT 0;
                """),
        // Full text indexes are tables of their own, `search_N` (`SearchTable`).
        .init(
            version: 4,
            sql: """
                CREATE TABLE searches(
                    number INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL, definition TEXT NOT NULL,
                    version INTEGER NOT NULL, state INTEGER NOT NULL, builtTo INTEGER NOT NULL,
                    entries INTEGER NOT NULL DEFAULT 0);
                """),
        // Revisions that a damaged log has lost, as it was told: the next start does not miss them again. Releases before this one do not
        // know the log's layout 3.
        .init(version: 5, sql: "CREATE TABLE lost(firstRev INTEGER PRIMARY KEY, lastRev INTEGER NOT NULL);"),
        // What documents were before (`HistoryTable`), in the order in which it was replaced, about.
        .init(
            version: 6,
            sql: """
                CREATE TABLE histories(
                    collection INTEGER PRIMARY KEY, definition TEXT, bytes INTEGER NOT NULL, erasedTo INTEGER NOT NULL);
                CREATE TABLE history(
                    number INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL, row INTEGER NOT NULL,
                    rev INTEGER NOT NULL, until INTEGER NOT NULL, version INTEGER NOT NULL, writtenAt INTEGER NOT NULL,
                    replacedAt INTEGER NOT NULL, isDeleted INTEGER NOT NULL, bytes INTEGER NOT NULL, body TEXT);
                CREATE UNIQUE INDEX history_row ON history(row, rev);
                CREATE INDEX history_collection ON history(collection);
                """),
    ])

    /// What a reader of the tables has met. Where one of them is missing, the file has been emptied or exchanged since the start: that is damage, and
    /// told as such.
    package static func judged(_ error: SQLiteError, _ path: String) -> SQLiteError {
        guard error.code == 1 else { return error }
        DamageWatch.notice(damageIn: path, error.message)
        return .damaged(error.message)
    }

    /// How long the writer waits for readers.
    static let busyMilliseconds: Int32 = 5000

    /// The one connection that writes and checkpoints.
    /// `willMigrate`: called before anything of the layout is looked at.
    /// `report`: takes a line when the header's numbers were damaged, and are repaired.
    static func openWriter(
        _ path: String, cacheKibibytes: Int, report: (String) -> Void = { _ in },
        willMigrate: () throws(StorageFault) -> Void = {}
    ) throws(StorageFault) -> Connection {
        do {
            let isNew = try FileSystem.length(path) == 0
            if !isNew { try mendHeader(path, LayoutRecord.read(beside: path), report: report) }
            let connection = try Connection(path: path, mode: .readWriteCreate)
            try connection.setCheckpointOnClose(false)
            try connection.setPersistWAL(true)
            try connection.setBusyTimeout(milliseconds: busyMilliseconds)
            // Only in an empty file: setting auto_vacuum is a commit each time, synced, which needs room, and which
            // SQLite's own checkpoint would follow before it is turned off.
            if isNew {
                try connection.execute("PRAGMA page_size=4096;")
                try connection.reserveForSeals()
                try connection.execute("PRAGMA auto_vacuum=INCREMENTAL;")
            }
            try connection.execute(
                """
                PRAGMA journal_mode=WAL;
                PRAGMA synchronous=NORMAL;
                PRAGMA wal_autocheckpoint=0;
                PRAGMA journal_size_limit=-1;
                PRAGMA cache_size=-\(cacheKibibytes);
                PRAGMA temp_store=MEMORY;
                PRAGMA secure_delete=ON;
                """)
            // SQLite 3.40.1 can lose commits in a crash after pages were spilled to the WAL and a statement was undone.
            try connection.setCacheSpill(false)
            try willMigrate()
            let newest = migrator.newestVersion
            let record = LayoutRecord.read(beside: path)
            let version = try settleLayout(connection, path, record, report: report)
            if !isNew, version < newest { try LayoutRecord(from: version, to: newest).write(beside: path) }
            _ = try migrator.migrate(connection, applicationID: applicationID)
            let settled = LayoutRecord(from: newest, to: newest)
            if record != settled {
                // The file's own tables say it too: on a full disk the next start writes it.
                do throws(StorageFault) { try settled.write(beside: path) } catch {
                    guard error.isFull else { throw error }
                }
            }
            return connection
        } catch let error as SQLiteError {
            throw .database(error, file: path)
        } catch let error as StorageFault {
            throw error
        } catch Migrator.Failure.newerSchema(let found, let known) {
            throw .refused("\(path) was written by a newer version (layout \(found), this one knows \(known))")
        } catch Migrator.Failure.foreignDatabase {
            throw .damaged("\(path) is no database of Kura")
        } catch Migrator.Failure.sqlite(let error) {
            throw .database(error, file: path)
        } catch { throw .refused("\(path): \(error)") }
    }
}
