import CSQLite
import KuraBytes

// Safety: the handle is SQLite's, open from `init` to `close`, after which it is nil; statements hold the connection
// open by themselves. Texts are passed with their lengths and live until the call returns; the counter that the hook
// writes to is freed after the connection is closed.

/// One connection to one database file.
///
/// It is opened without SQLite's own mutex (SQLITE_OPEN_NOMUTEX): it may be handed from thread to thread, but one
/// thread at a time uses it and its statements. Therefore it is not Sendable; hand it over as `sending`, or as
/// `nonisolated(unsafe)` with the proof beside it. `interrupt()` alone may come from another thread.
///
/// Extended result codes are on, the schema is not trusted, and SQL cannot corrupt the file
/// (SQLITE_DBCONFIG_DEFENSIVE).
///
/// Safety: see above.
@safe
public final class Connection {
    public enum Mode: Sendable {
        case readWriteCreate, readWrite, readOnly
    }

    public enum CheckpointMode: Sendable {
        case passive, full, restart, truncate
    }

    private var handle: OpaquePointer?
    private let frames: UnsafeMutablePointer<Int32>

    /// Opens the database file at `path`.
    ///
    /// - Parameters:
    ///   - path: a file name, never a URI. Its directory decides under which role its bytes are counted.
    ///   - mode: whether it may write, and create the file.
    ///   - vfs: whether reads may wait for the disk.
    /// - Throws: SQLITE_CANTOPEN with the `errno` when the file cannot be opened. That it is no database shows when it
    ///           is first read.
    public convenience init(path: String, mode: Mode, vfs: CountingVFS.Flavor = .counting) throws(SQLiteError) {
        try self.init(path: path, mode: mode, vfs: vfs, uri: false)
    }

    /// Opens the database file at `path` for reading, as it lies there: without a lock, without its WAL, and without
    /// making a file beside it.
    /// What is read may not fit together where somebody writes to it meanwhile.
    ///
    /// - Throws: as the other.
    public convenience init(immutable path: String) throws(SQLiteError) {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/.-_".utf8)
        var uri = "file:"
        for byte in path.utf8 {
            if plain.contains(byte) {
                uri.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                uri += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
            }
        }
        try self.init(path: uri + "?immutable=1", mode: .readOnly, vfs: .counting, uri: true)
    }

    /// The same, where `path` may be a URI, whose query can say `psow=0` and the like.
    init(path: String, mode: Mode, vfs: CountingVFS.Flavor, uri: Bool) throws(SQLiteError) {
        CountingVFS.register()
        unsafe frames = .allocate(capacity: 1)
        unsafe frames.initialize(to: 0)
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
        switch mode {
        case .readWriteCreate: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        }
        if uri { flags |= SQLITE_OPEN_URI }
        var opened: OpaquePointer?
        var result = unsafe sqlite3_open_v2(path, &opened, flags, vfs.name)
        if result == SQLITE_OK {
            result = unsafe kura_sqlite3_db_config_flag(opened, SQLITE_DBCONFIG_DEFENSIVE, 1)
        }
        if result == SQLITE_OK {
            result = unsafe kura_sqlite3_db_config_flag(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        }
        guard result == SQLITE_OK else {
            let error = unsafe SQLiteError(result, database: opened, phase: .execution)
            DamageWatch.notice(error, at: path)
            // A handle comes also when opening failed.
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        unsafe handle = unsafe opened
    }

    deinit {
        close()
        unsafe frames.deallocate()
    }

    /// Closes the connection; once is enough, more does no harm.
    ///
    /// Statements still alive keep the file open until they are finalized, so finalize them first. Using the
    /// connection afterwards throws SQLITE_MISUSE.
    public func close() {
        unsafe sqlite3_close_v2(handle)
        unsafe handle = nil
    }

    /// Refuses texts, blobs and rows that are longer, with SQLITE_TOOBIG, before memory is taken for them.
    public func limit(valueBytes: Int) {
        unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(clamping: valueBytes))
    }

    // MARK: Running SQL

    /// Runs every statement in `sql`, passing over their rows.
    ///
    /// The text is the program's own: values are bound to a `Statement`, never written into it.
    public func execute(_ sql: String) throws(SQLiteError) {
        let database = try unsafe open()
        var sql = sql
        let failure: SQLiteError? = sql.withUTF8 { utf8 in
            var rest = unsafe Bytes(utf8)
            while !rest.isEmpty {
                let prepared = unsafe Self.compile(rest, on: database, flags: 0)
                guard unsafe prepared.result == SQLITE_OK else {
                    return unsafe SQLiteError(prepared.result, database: database, phase: .preparation)
                }
                rest = unsafe prepared.rest
                // White space and comments give no statement.
                guard let handle = unsafe prepared.handle else { continue }
                let statement = unsafe Statement(owning: handle)
                do throws(SQLiteError) { try statement.run() } catch { return error }
            }
            return nil
        }
        if let failure { throw failure }
    }

    /// Prepares the one statement in `sql` for being run many times (SQLITE_PREPARE_PERSISTENT).
    ///
    /// - Throws: SQLITE_MISUSE when `sql` holds no statement or more than one.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try prepare(sql, flags: UInt32(SQLITE_PREPARE_PERSISTENT))
    }

    /// The first column of the first row of `sql`, or nil when there is no row or it is NULL.
    public func scalar(_ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try prepare(sql, flags: 0)
        guard try statement.step(), !statement.isNull(0) else { return nil }
        return statement.int64(0)
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE that ended.
    public var changes: Int { unsafe handle.map { unsafe Int(sqlite3_changes64($0)) } ?? 0 }

    /// Rows changed since the connection was opened.
    public var totalChanges: Int { unsafe handle.map { unsafe Int(sqlite3_total_changes64($0)) } ?? 0 }

    /// BEGIN was run, and neither COMMIT nor a rollback since: SQLite rolls back by itself on some errors.
    public var isInTransaction: Bool { unsafe handle.map { unsafe sqlite3_get_autocommit($0) == 0 } ?? false }

    // MARK: Settings

    /// Leaves room for a checksum at the end of each page of an empty file, and of the copies that VACUUM INTO makes of any.
    public func reserveForSeals() throws(SQLiteError) {
        let database = try unsafe open()
        var value = Int32(PageSeal.length)
        try unsafe check(sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &value), database)
    }

    /// Keeps the -wal file when the last connection closes (SQLITE_FCNTL_PERSIST_WAL).
    public func setPersistWAL(_ on: Bool) throws(SQLiteError) {
        let database = try unsafe open()
        var value: Int32 = on ? 1 : 0
        try unsafe check(sqlite3_file_control(database, nil, SQLITE_FCNTL_PERSIST_WAL, &value), database)
    }

    /// Whether closing the last connection checkpoints the WAL; SQLite's default is yes.
    public func setCheckpointOnClose(_ on: Bool) throws(SQLiteError) {
        let database = try unsafe open()
        try unsafe check(kura_sqlite3_db_config_flag(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1), database)
    }

    /// Whether a transaction that outgrows the page cache writes pages to the WAL before it commits; at first it does.
    ///
    /// Writers turn it off, and keep their transactions small enough for memory. In SQLite 3.40.1 undoing a savepoint,
    /// or one statement, after pages were spilled may leave WAL checksums that do not chain (walRewriteChecksums): this
    /// and all later commits read well until the process ends, and are lost by the recovery after it.
    public func setCacheSpill(_ on: Bool) throws(SQLiteError) {
        // It reads the schema, so the locking mode is chosen before.
        try execute(on ? "PRAGMA cache_spill=ON" : "PRAGMA cache_spill=OFF")
    }

    /// Whether SQL may not write to the tables under virtual tables, nor do anything else that can corrupt the file; at first so.
    ///
    /// Changing it has every statement of the connection prepared anew when it is run next.
    public func setDefensive(_ on: Bool) throws(SQLiteError) {
        let database = try unsafe open()
        try unsafe check(kura_sqlite3_db_config_flag(database, SQLITE_DBCONFIG_DEFENSIVE, on ? 1 : 0), database)
    }

    /// How long a call waits for another connection's lock before it throws an error that `isBusy`; 0 at first.
    public func setBusyTimeout(milliseconds: Int32) throws(SQLiteError) {
        let database = try unsafe open()
        try unsafe check(sqlite3_busy_timeout(database, milliseconds), database)
    }

    // MARK: Maintenance

    /// Has `walFrames` kept. Takes the place of automatic checkpoints, so call it after `PRAGMA wal_autocheckpoint=0`.
    public func trackWALFrames() throws(SQLiteError) {
        let database = try unsafe open()
        _ = unsafe sqlite3_wal_hook(
            database,
            { context, _, _, frames in
                unsafe context?.assumingMemoryBound(to: Int32.self).pointee = frames
                return SQLITE_OK
            }, unsafe frames)
    }

    /// Frames in the WAL after this connection's last commit; 0 before it, or when they are not tracked.
    public var walFrames: Int { unsafe Int(frames.pointee) }

    /// Copies WAL frames into the database file.
    ///
    /// - Returns: frames in the WAL, and how many of them are in the database file now; both -1 when there is no WAL.
    /// - Throws: an error that `isBusy` when another connection is in the way of anything but `.passive`.
    public func checkpoint(
        _ mode: CheckpointMode
    ) throws(SQLiteError) -> (logFrames: Int, checkpointedFrames: Int) {
        let database = try unsafe open()
        let wanted =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .full: SQLITE_CHECKPOINT_FULL
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var inLog: Int32 = -1
        var done: Int32 = -1
        try unsafe check(sqlite3_wal_checkpoint_v2(database, nil, wanted, &inLog, &done), database)
        return (Int(inLog), Int(done))
    }

    /// Makes the running statement fail with SQLITE_INTERRUPT soon.
    ///
    /// May come from another thread, as long as that thread knows that `close()` is not running nor has run.
    public func interrupt() {
        if let handle = unsafe handle { unsafe sqlite3_interrupt(handle) }
    }

    /// Gives the memory of cached pages that are not in use back.
    public func releaseMemory() {
        if let handle = unsafe handle { unsafe sqlite3_db_release_memory(handle) }
    }

    // MARK: Inside

    func open() throws(SQLiteError) -> OpaquePointer {
        guard let handle = unsafe handle else {
            throw SQLiteError(extendedCode: SQLITE_MISUSE, message: "the connection is closed")
        }
        return unsafe handle
    }

    private func check(_ result: Int32, _ database: OpaquePointer) throws(SQLiteError) {
        if result != SQLITE_OK { throw unsafe SQLiteError(result, database: database, phase: .execution) }
    }

    private func prepare(_ sql: String, flags: UInt32) throws(SQLiteError) -> Statement {
        let database = try unsafe open()
        var sql = sql
        let (result, handle, more) = sql.withUTF8 { utf8 in
            let first = unsafe Self.compile(Bytes(utf8), on: database, flags: flags)
            var rest = unsafe first.rest
            var more = false
            while unsafe first.result == SQLITE_OK, !rest.isEmpty, !more {
                let next = unsafe Self.compile(rest, on: database, flags: 0)
                more = unsafe next.result != SQLITE_OK || next.handle != nil
                unsafe sqlite3_finalize(next.handle)
                rest = unsafe next.rest
            }
            return unsafe (first.result, first.handle, more)
        }
        guard result == SQLITE_OK else { throw unsafe SQLiteError(result, database: database, phase: .preparation) }
        guard let handle = unsafe handle else {
            throw SQLiteError(extendedCode: SQLITE_MISUSE, message: "no statement")
        }
        let statement = unsafe Statement(owning: handle)
        if more { throw SQLiteError(extendedCode: SQLITE_MISUSE, message: "more than one statement") }
        return statement
    }

    /// Compiles the first statement of `utf8`; `rest` is what follows it.
    private static func compile(
        _ utf8: Bytes, on database: OpaquePointer, flags: UInt32
    ) -> (result: Int32, handle: OpaquePointer?, rest: Bytes) {
        let none = Bytes()
        guard let start = unsafe utf8.baseAddress else { return (SQLITE_OK, nil, none) }
        let text = unsafe start.assumingMemoryBound(to: CChar.self)
        var handle: OpaquePointer?
        var tail: UnsafePointer<CChar>?
        let result = unsafe sqlite3_prepare_v3(database, text, Int32(clamping: utf8.count), flags, &handle, &tail)
        let used = unsafe tail.map { unsafe text.distance(to: $0) } ?? utf8.count
        return unsafe (result, handle, Bytes(rebasing: utf8[used...]))
    }
}

// The compiler would infer this by itself; written down so that nobody adds a conformance.
@available(*, unavailable)
extension Connection: Sendable {}
