import Glibc
import KuraBytes
import SQLite

/// A droppable SQLite file beneath DATA/cache. What cannot be read is begun anew and empty, without anybody being asked.
///
/// A file of ours that is damaged, or has another layout, is removed; one that is somebody else's is set aside. While it is written nothing is synced
/// (`synchronous=OFF`): a kill loses nothing that was committed, a power cut may damage the file, and the check after an unclean stop finds
/// that. Each page has a seal (`PageSeal`), so that a byte that the disk has changed is found when it is read. Only the thread that opened the file
/// touches it.
final class CacheFile {
    let name: String
    let path: String
    let connection: Connection
    /// There was nothing, or what was there has been dropped.
    let isNew: Bool
    /// What was dropped had been damaged.
    let replacesDamaged: Bool
    /// Reading or writing has found it damaged.
    private(set) var isDamaged = false
    private var kept: [ObjectIdentifier: AnyObject] = [:]

    static let applicationID: Int64 = 0x4B_55_43_41  // "KUCA"

    /// What tables a file has. Any other version of them is dropped, not migrated.
    struct Layout: Sendable {
        var version: Int64
        /// The version with the same tables and without seals, which stays as it is until the file is written anew.
        var unsealed: Int64?
        /// CREATE statements.
        var sql: String

        func has(_ version: Int64?) -> Bool { version == self.version || version != nil && version == unsealed }
    }

    /// Opens the file for the one thread that writes it.
    /// `isDoubtful`: the last run did not end well, so all of it is checked.
    /// `quarantine`: a directory for what is not ours.
    /// Throws: what keeps an empty file from being made.
    static func openForWriting(
        _ path: String, _ layout: Layout, isDoubtful: Bool, _ configuration: StorageConfiguration
    ) throws(SQLiteError) -> CacheFile {
        let found = state(of: path, layout, isDoubtful)
        switch found {
        case .good: break
        case .foreign: setAside(path, configuration)
        case .unusable, .damaged: remove(path)
        }
        let isNew = FileSystem.size(path) == 0
        let connection = try Connection(path: path, mode: .readWriteCreate)
        try connection.setBusyTimeout(milliseconds: 5000)
        if isNew {
            try connection.execute("PRAGMA page_size=4096;")
            try connection.reserveForSeals()
            try connection.execute("PRAGMA auto_vacuum=INCREMENTAL;")
        }
        try connection.execute(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-2048; PRAGMA temp_store=MEMORY;")
        if isNew {
            try connection.execute("BEGIN; \(layout.sql)")
            try connection.execute(
                "PRAGMA application_id=\(applicationID); PRAGMA user_version=\(layout.version); COMMIT;")
        }
        return CacheFile(path, connection, isNew: isNew, replacesDamaged: found == .damaged)
    }

    /// Opens the file for a thread that only reads it. There has to be one that the writer has made.
    static func openForReading(_ path: String) throws(SQLiteError) -> CacheFile {
        let connection = try Connection(path: path, mode: .readOnly)
        try connection.setBusyTimeout(milliseconds: 5000)
        try connection.execute("PRAGMA cache_size=-2048;")
        return CacheFile(path, connection, isNew: false)
    }

    private init(_ path: String, _ connection: Connection, isNew: Bool, replacesDamaged: Bool = false) {
        self.path = path
        self.connection = connection
        (self.isNew, self.replacesDamaged) = (isNew, replacesDamaged)
        name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    // MARK: Using

    /// What a room keeps with an open file: its prepared statements. Made when it is first asked for.
    func keep<Kept: AnyObject>(_ make: (Connection) throws(SQLiteError) -> Kept) throws(SQLiteError) -> Kept {
        if let kept = kept[ObjectIdentifier(Kept.self)] as? Kept { return kept }
        let made = try make(connection)
        kept[ObjectIdentifier(Kept.self)] = made
        return made
    }

    /// Runs `body` in one transaction, which is undone when it throws.
    func transaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try noticing { () throws(SQLiteError) in
            try connection.execute("BEGIN IMMEDIATE")
            do throws(SQLiteError) {
                let value = try body()
                try connection.execute("COMMIT")
                return value
            } catch {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                throw error
            }
        }
    }

    /// Runs `body`, and notes when it has found damage.
    func noticing<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        do throws(SQLiteError) { return try body() } catch {
            if error.isCorrupt { isDamaged = true }
            throw error
        }
    }

    /// Gives free pages back to the file system, in a transaction of its own.
    /// - Returns: pages that it gave back, and whether that was all.
    func giveBack(
        until deadline: Deadline, keeping spare: (FreePages.Count) -> Int
    ) throws(SQLiteError) -> (pages: Int, isThrough: Bool) {
        let pages = try freePages()
        let count = try noticing { () throws(SQLiteError) in try pages.count() }
        guard count.free > spare(count) else { return (0, true) }
        return try transaction { () throws(SQLiteError) in
            try pages.giveBack(until: deadline, keeping: spare(count))
        }
    }

    func freePages() throws(SQLiteError) -> FreePages {
        try noticing { () throws(SQLiteError) in
            try keep { (connection) throws(SQLiteError) in try FreePages(connection) }
        }
    }

    /// Takes the WAL's bytes back, and what the file has been cut off by.
    func emptyWAL() throws(SQLiteError) {
        try noticing { () throws(SQLiteError) in _ = try connection.checkpoint(.truncate) }
    }

    /// Gives free pages back to the file system, `pages` at most, and takes the WAL's bytes back.
    func shrink(pages: Int) throws(SQLiteError) {
        try noticing { () throws(SQLiteError) in
            try connection.execute("PRAGMA incremental_vacuum(\(pages))")
            _ = try connection.checkpoint(.truncate)
        }
    }

    func close() {
        kept = [:]
        connection.close()
    }

    // MARK: Dropping

    /// Removes a file that nobody has open, with all that belongs to it: an unlink, however large it is.
    static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { FileSystem.tryToRemove(path + suffix) }
    }

    private static func setAside(_ path: String, _ configuration: StorageConfiguration) {
        try? FileSystem.makeDirectory(configuration.quarantineDirectory)
        let name = path.split(separator: "/").last.map(String.init) ?? "cache"
        let place = "\(configuration.quarantineDirectory)/\(configuration.clock.wall)-\(name)"
        for suffix in ["-wal", "-shm"] { FileSystem.tryToRename(path + suffix, place + suffix) }
        FileSystem.tryToRename(path, place)
    }

    enum State {
        case good, foreign, damaged
        /// Of another version, or one whose making a kill has ended.
        case unusable
    }

    static func state(of path: String, _ layout: Layout, _ isDoubtful: Bool) -> State {
        guard FileSystem.size(path) > 0 else {
            // SQLite would take a WAL without its file for another one's.
            remove(path)
            return .good
        }
        do throws(SQLiteError) {
            let connection = try Connection(path: path, mode: .readWrite)
            defer { connection.close() }
            let id = try connection.scalar("PRAGMA application_id") ?? 0
            guard id == applicationID else {
                let hasTables = try connection.scalar("SELECT count(*) FROM sqlite_schema") ?? 0 > 0
                return id != 0 || hasTables ? .foreign : .unusable
            }
            guard layout.has(try connection.scalar("PRAGMA user_version")) else { return .unusable }
            if isDoubtful {
                let isSound = try isSound(connection)
                if !isSound { return .damaged }
            }
            return .good
        } catch {
            // That there is no room, no memory or no descriptor says nothing about the file.
            return error.isFull || error.isWant || error.systemErrno == ENOSPC
                ? .good : error.isCorrupt ? .damaged : .unusable
        }
    }

    private static func isSound(_ connection: Connection) throws(SQLiteError) -> Bool {
        let statement = try connection.prepare("PRAGMA quick_check(1)")
        guard try statement.step() else { return false }
        return statement.text(0) == "ok"
    }
}
