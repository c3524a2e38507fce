import CSyscalls
import Glibc
import KuraBytes
import SQLite

/// One file of the log: a SQLite database whose rows all lie in its WAL.
///
/// `log/NNNNNN.sqlite` holds the empty table, `log/NNNNNN.sqlite-wal` the changes. The WAL is filled with zeros before it
/// is used, so that a commit overwrites and `fdatasync` has no metadata to write. It is never checkpointed: a segment is
/// read as it stands until it is retired, which saves writing every change a third time. The connection holds the file
/// exclusively (the wal-index lies in memory, no locks are taken per commit).
///
/// Made and closed by the housekeeper, written by the loop, synced through its own descriptor by the log-sync thread.
final class Segment: @unchecked Sendable {
    // Handed from the housekeeper to the loop and back, one at a time; the descriptor is only ever passed to fdatasync.

    let number: Int
    let path: String
    /// The -wal file, for fdatasync.
    let descriptor: Int32
    /// Bytes that the WAL had in advance; beyond them the file grows and a sync costs twice as much.
    let capacity: Int
    private let connection: Connection
    private let insert: StatementBox
    /// Made by a version that kept no `synced`: it is read, and not gone on with.
    let isOfOldLayout: Bool
    /// Revision of the first commit in here; 0 while there is none.
    private(set) var firstRev: UInt64 = 0
    private(set) var lastRev: UInt64 = 0
    /// When the last commit in here was made, milliseconds since 1970; 0 for a segment of an earlier run.
    private(set) var lastAt: Int64 = 0
    /// Bytes of the WAL in use.
    var used: Int { 32 + connection.walFrames * Self.frameSize }

    static let applicationID: Int32 = 0x4B_55_4C_47  // "KULG"
    static let pageSize = 4096
    /// What a segment gets in advance when there is hardly any room.
    static let leastCapacity = 16 << 10
    static let frameSize = pageSize + 24
    static let schema = Migrator(steps: [
        .init(
            version: 1,
            sql: """
                CREATE TABLE log(rev INTEGER PRIMARY KEY, at INTEGER NOT NULL, records BLOB NOT NULL);
                """),
        // What had been synced when the row was appended: tells changes that were lost before anybody was told of them from
        // changes that are missing.
        .init(version: 2, sql: "ALTER TABLE log ADD COLUMN synced INTEGER NOT NULL DEFAULT 0"),
    ])

    static func path(_ directory: String, _ number: Int) -> String {
        let digits = String(number)
        return directory + "/" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ".sqlite"
    }

    /// The number in a segment file's name; nil for other files.
    static func number(ofFile name: String) -> Int? {
        guard name.hasSuffix(".sqlite") else { return nil }
        return Int(name.dropLast(7))
    }

    /// Makes a segment: file, schema, zero-filled WAL, all of it synced, the directory too.
    /// `recycled`: a retired segment's WAL to use again instead of writing zeros; it is renamed.
    /// `capacity`: bytes of the WAL.
    convenience init(creating number: Int, in directory: String, capacity: Int, recycled: String?) throws(StorageFault)
    {
        let path = Self.path(directory, number)
        let wal = path + "-wal"
        if let action = FaultPoints.hit(.logPrepare), let code = action.errno {
            throw .system(errno: code, call: "prepare", path: path)
        }
        try FileSystem.remove(wal)
        try FileSystem.remove(path)
        let connection: Connection
        do {
            do {
                let maker = try Connection(path: path, mode: .readWriteCreate)
                try maker.execute("PRAGMA page_size=\(Self.pageSize); PRAGMA journal_mode=DELETE;")
                _ = try Self.schema.migrate(maker, applicationID: Self.applicationID)
                try maker.execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA locking_mode=NORMAL;")
                _ = try maker.checkpoint(.truncate)
                maker.close()
            }
            try FileSystem.remove(wal)
            try FileSystem.sync(path)
            try Self.fill(wal, capacity: capacity, recycled: recycled)
            try FileSystem.syncDirectory(directory)
            connection = try Self.open(path)
        } catch let error as StorageFault {
            throw error
        } catch let error as SQLiteError {
            throw .database(error, file: path)
        } catch Migrator.Failure.sqlite(let error) {
            throw .database(error, file: path)
        } catch let error as Migrator.Failure {
            throw .refused("\(path): \(error)")
        } catch { throw .refused("\(path): \(error)") }
        try self.init(number: number, path: path, capacity: capacity, connection: connection)
    }

    /// Opens a segment that an earlier run left, for reading its rows and, if it has none, for going on with it.
    convenience init(opening number: Int, in directory: String) throws(StorageFault) {
        let path = Self.path(directory, number)
        // SQLite takes an empty file for a new database, and deletes its WAL. A segment is synced before its first commit, so
        // this is damage.
        if FileSystem.exists(path), FileSystem.size(path) == 0, try !WALCommits(path: path + "-wal").ends.isEmpty {
            throw .damaged(
                "\(path) is empty, though it has changes in its WAL: the file is damaged. Nothing was changed")
        }
        let connection: Connection
        let first: Int64
        let last: Int64
        do throws(SQLiteError) {
            connection = try Self.open(path)
            first = try connection.scalar("SELECT min(rev) FROM log") ?? 0
            last = try connection.scalar("SELECT max(rev) FROM log") ?? 0
        } catch { throw .database(error, file: path) }
        try self.init(number: number, path: path, capacity: FileSystem.size(path + "-wal"), connection: connection)
        firstRev = UInt64(first)
        lastRev = UInt64(last)
    }

    private init(number: Int, path: String, capacity: Int, connection: Connection) throws(StorageFault) {
        self.number = number
        self.path = path
        self.capacity = capacity
        self.connection = connection
        do throws(SQLiteError) {
            isOfOldLayout = try connection.scalar("PRAGMA user_version") ?? 0 < 2
            insert = StatementBox(
                try connection.prepare(
                    isOfOldLayout
                        ? "INSERT INTO log(rev, at, records) VALUES(?1, ?2, ?3)"
                        : "INSERT INTO log(rev, at, records, synced) VALUES(?1, ?2, ?3, ?4)"))
        } catch { throw .database(error, file: path) }
        descriptor = try FileSystem.open(path + "-wal", O_RDWR | O_CREAT)
    }

    deinit {
        Glibc.close(descriptor)
        connection.close()
    }

    private static func open(_ path: String) throws(SQLiteError) -> Connection {
        let connection = try Connection(path: path, mode: .readWrite)
        try connection.setCheckpointOnClose(false)
        try connection.setPersistWAL(true)
        try connection.execute(
            """
            PRAGMA locking_mode=EXCLUSIVE;
            PRAGMA journal_mode=WAL;
            PRAGMA synchronous=OFF;
            PRAGMA wal_autocheckpoint=0;
            PRAGMA cache_size=-512;
            PRAGMA temp_store=MEMORY;
            """)
        // SQLite 3.40.1 can lose commits in a crash after pages were spilled to the WAL and a statement was undone.
        try connection.setCacheSpill(false)
        try connection.trackWALFrames()
        return connection
    }

    /// Gives the WAL its bytes in advance: overwriting and syncing them later changes no metadata.
    private static func fill(_ wal: String, capacity: Int, recycled: String?) throws(StorageFault) {
        // A page at a time: one large write would lie in large folios of the page cache, each of which the kernel counts as
        // written whole whenever a commit touches it.
        var page = ByteBuffer(capacity: 4096)
        for _ in 0..<4096 { page.append(0) }
        let descriptor = try FileSystem.open(recycled ?? wal, O_RDWR | O_CREAT)
        defer { Glibc.close(descriptor) }
        var offset = 0
        if let recycled {
            // Without its header no frame counts: SQLite writes a new one with other salts. Durable before the file gets
            // its new name, so that no old frame is ever seen under it.
            try FileSystem.write(descriptor, page.bytes, at: 0, path: recycled)
            CountingVFS.count(role: .log, part: .wal, writes: 1, bytesWritten: 4096, syncs: 1)
            guard fdatasync(descriptor) == 0 else { throw FileSystem.fail("fdatasync", recycled) }
            offset = FileSystem.size(recycled)
            try FileSystem.rename(recycled, wal)
        }
        var pacing = PacedWriting()
        while offset < capacity {
            let length = min(page.count, capacity - offset)
            try FileSystem.write(descriptor, page.bytes(0..<length), at: offset, path: wal)
            CountingVFS.count(role: .log, part: .room, writes: 1, bytesWritten: length)
            // The sync below is through the same descriptor, and would not tell again.
            guard pacing.wrote(length, at: Int64(offset), to: { descriptor }) else {
                throw FileSystem.fail("sync_file_range", wal)
            }
            offset += length
        }
        CountingVFS.count(role: .log, part: .room, syncs: 1)
        guard fdatasync(descriptor) == 0 else { throw FileSystem.fail("fdatasync", wal) }
    }

    // MARK: Writing

    /// Whether a commit of that many bytes should go to the next segment.
    func isFull(for bytes: Int) -> Bool {
        used + Self.cost(of: bytes) > capacity
    }

    /// What a commit takes in the WAL at most: the pages of a long row, two leaves and their parents when one is split, the
    /// database's first page.
    private static func cost(of bytes: Int) -> Int {
        (bytes / (pageSize - 4) + 6) * frameSize
    }

    /// Appends one row in a transaction of its own. Not synced.
    /// `rev`: the revision of the last record in `records`.
    /// `synced`: the revision up to which everything is on the disk now.
    func append(rev: UInt64, at: Int64, records: Bytes, synced: UInt64) throws(SQLiteError) {
        try insert.statement.bind(1, Int64(rev))
        try insert.statement.bind(2, at)
        try insert.statement.bind(3, bytes: records)
        if !isOfOldLayout { try insert.statement.bind(4, Int64(synced)) }
        try insert.statement.run()
        if firstRev == 0 { firstRev = rev }
        lastRev = rev
        lastAt = at
    }

    /// Has the appends until `endTransaction` share one transaction: a page that many rows lie on is written once.
    func beginTransaction() throws(SQLiteError) { try connection.execute("BEGIN") }

    func endTransaction() throws(SQLiteError) { try connection.execute("COMMIT") }

    /// Gives back what an unfinished transaction holds, so that the next one starts clean.
    func abandon() {
        if connection.isInTransaction { try? connection.execute("ROLLBACK") }
    }

    // MARK: Giving room back

    /// Cuts off what the segment's WAL has behind its last commit: what it has in advance, frames of a former life, and those
    /// of a commit that found no room. Nobody may have the segment open.
    static func trim(_ number: Int, in directory: String) throws(StorageFault) {
        let wal = path(directory, number) + "-wal"
        let commits = try WALCommits(path: wal)
        let end = commits.ends.last ?? 0
        guard commits.isReadable, end < FileSystem.size(wal) else { return }
        try FileSystem.truncate(wal, to: end)
    }

    /// Takes all rows from a segment, which keeps its number. Nobody may have it open.
    static func empty(_ number: Int, in directory: String) throws(StorageFault) {
        let wal = path(directory, number) + "-wal"
        let descriptor = try FileSystem.open(wal, O_RDWR)
        defer { Glibc.close(descriptor) }
        guard ftruncate(descriptor, 0) == 0 else { throw FileSystem.fail("ftruncate", wal) }
        guard fsync(descriptor) == 0 else { throw FileSystem.fail("fsync", wal) }
    }

    /// The rows first: what a kill leaves between the two is an empty segment, not rows without their file, which would be damage.
    static func remove(_ number: Int, in directory: String) throws(StorageFault) {
        let path = path(directory, number)
        try FileSystem.remove(path + "-wal")
        try FileSystem.remove(path)
    }

    /// Has the file follow its rows, when these are gone: where they could not be removed both stay, and the next start removes them.
    static func removeFile(_ path: String) {
        if !FileSystem.exists(path + "-wal") { FileSystem.tryToRemove(path) }
    }

    // MARK: Reading

    /// The greatest revision that is known from here to have been on the disk; 0 when none is.
    func greatestSynced() throws(StorageFault) -> UInt64 {
        guard !isOfOldLayout else { return lastRev }
        do throws(SQLiteError) { return UInt64(try connection.scalar("SELECT max(synced) FROM log") ?? 0) } catch {
            throw .database(error, file: path)
        }
    }

    /// The first change in here; nil when there is none.
    /// `body`: gets it; its bytes are good until it returns.
    func first<R>(_ body: (LogRecord) -> R) throws(StorageFault) -> R? {
        var result: R?
        try someRows(after: 0) { (_, _, records) throws(StorageFault) in
            var offset = 0
            result = try LogRecord.next(in: records, at: &offset).map(body)
            return false
        }
        return result
    }

    /// Calls `body` for each row above `rev`, in order, with its newest revision, its time and its records.
    func rows(after rev: UInt64, _ body: (UInt64, Int64, Bytes) throws(StorageFault) -> Void) throws(StorageFault) {
        try someRows(after: rev) { (rev, at, records) throws(StorageFault) in
            try body(rev, at, records)
            return true
        }
    }

    /// The same, until `body` returns false.
    func someRows(
        after rev: UInt64, _ body: (UInt64, Int64, Bytes) throws(StorageFault) -> Bool
    ) throws(StorageFault) {
        do {
            let select = try connection.prepare("SELECT rev, at, records FROM log WHERE rev > ?1 ORDER BY rev")
            try select.bind(1, Int64(rev))
            while try select.step() {
                guard try body(UInt64(select.int64(0)), select.int64(1), select.bytes(2)) else { break }
            }
        } catch let error as SQLiteError {
            throw .database(error, file: path)
        } catch let error as StorageFault {
            throw error
        } catch { throw .damagedLog }
    }
}

/// Keeps a statement (which is not copyable) inside a class.
final class StatementBox {
    let statement: Statement

    init(_ statement: consuming Statement) {
        self.statement = statement
    }
}
