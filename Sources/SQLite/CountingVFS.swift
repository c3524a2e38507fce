import CSQLite
import Glibc

// Safety: this is a table of C functions. SQLite calls them with a file of the size that was registered, a path that
// ends with a zero, and places that it wants filled; the VFS itself and its name are never freed.

/// A thin VFS over SQLite's unix VFS that counts what goes to disk, joins a commit's writes into one, and holds fault
/// points.
///
/// Source: https://sqlite.org/vfs.html
public enum CountingVFS {
    /// Under which of its two names a connection uses the VFS.
    public enum Flavor: Sendable {
        /// Reads wait for the disk as usual.
        case counting
        /// Reads of the database and WAL files never wait for the disk: a page that is not in the page cache makes the
        /// call throw an error that `wouldBlock`. For read-only connections of a thread that must not wait. Opening one
        /// may wait.
        case nonBlockingReads

        var name: String {
            switch self {
            case .counting: "kura-counting"
            case .nonBlockingReads: "kura-nonblocking"
            }
        }
    }

    /// Makes both flavors known to SQLite; every connection does so by itself, and once is enough.
    public static func register() {
        _ = registered
    }

    /// Closes the descriptors that were kept for reading without waiting, of files beneath a directory.
    /// `directory`: as the kernel names it, without links; no connection is open to a file in it, nor will be.
    public static func letGo(beneath directory: String) { NonBlockingReads.letGo(beneath: directory) }

    /// What was counted since the process started.
    public static func snapshot() -> WriteCounts {
        var counts = WriteCounts()
        for role in FileRole.allCases {
            for part in FilePart.allCases { counts[role, part] = Counter.of(role, part).value }
        }
        return counts
    }

    /// The same of one kind of file alone.
    public static func count(_ role: FileRole, _ part: FilePart) -> WriteCounts.Count { Counter.of(role, part).value }

    /// Adds what was written or synced past SQLite, on a descriptor of the caller's own.
    public static func count(
        role: FileRole, part: FilePart, writes: Int = 0, bytesWritten: Int = 0, syncs: Int = 0
    ) {
        let counter = Counter.of(role, part)
        counter.add(writes: writes, bytes: bytesWritten)
        if syncs > 0 { counter.add(syncs: syncs) }
    }

    /// How many syncs were counted of one kind of file.
    public static func syncs(_ role: FileRole, _ part: FilePart) -> Int { Counter.of(role, part).syncCount }

    /// What became of a file's name past SQLite.
    public enum NameChange: Sendable { case made, renamed, removed }

    /// Counts a file that was made, renamed or removed past SQLite.
    public static func count(_ change: NameChange, path: String) {
        let counter = Counter.of(FileRole(path: path), FilePart(path: path))
        switch change {
        case .made: counter.addCreate()
        case .renamed: counter.addRename()
        case .removed: counter.addDelete()
        }
    }

    /// Counts what was written to a file of the daemon's own, or synced of it, past SQLite; its name says which kind it is of.
    public static func count(path: String, writes: Int = 0, bytesWritten: Int = 0, syncs: Int = 0) {
        let counter = Counter.of(FileRole(path: path), FilePart(path: path))
        counter.add(writes: writes, bytes: bytesWritten)
        counter.add(syncs: syncs)
    }

    private static let registered: Void = {
        // Counting every allocation takes a global lock, and nobody asks for the sums. Refused, without harm, when
        // the library was in use before.
        _ = kura_sqlite3_config_int(SQLITE_CONFIG_MEMSTATUS, 0)
        guard let unix = unsafe sqlite3_vfs_find("unix") else { preconditionFailure("SQLite has no unix VFS") }
        _ = unsafe kura_sqlite3_map_with_room(unix)
        for flavor in [Flavor.counting, .nonBlockingReads] {
            let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
            unsafe vfs.initialize(to: description(of: flavor, over: unix))
            let result = unsafe sqlite3_vfs_register(vfs, 0)
            precondition(result == SQLITE_OK, "sqlite3_vfs_register: \(result)")
        }
    }()

    private static func description(of flavor: Flavor, over unix: UnsafeMutablePointer<sqlite3_vfs>) -> sqlite3_vfs {
        var vfs = unsafe sqlite3_vfs()
        // Version 3 is about replacing system calls, which is left to the real one.
        unsafe vfs.iVersion = 2
        unsafe vfs.szOsFile = unsafe Int32(MemoryLayout<kura_sqlite3_file>.stride) + unix.pointee.szOsFile
        unsafe vfs.mxPathname = unsafe unix.pointee.mxPathname
        // SQLite keeps the address for ever.
        unsafe vfs.zName = unsafe UnsafePointer(strdup(flavor.name))
        unsafe vfs.pAppData = UnsafeMutableRawPointer(unix)
        switch flavor {
        case .counting:
            unsafe vfs.xOpen = { vfs, path, file, flags, outFlags in
                unsafe openFile(real(vfs), path, file!, flags, outFlags, waits: true)
            }
        case .nonBlockingReads:
            unsafe vfs.xOpen = { vfs, path, file, flags, outFlags in
                unsafe openFile(real(vfs), path, file!, flags, outFlags, waits: false)
            }
        }
        unsafe vfs.xDelete = { vfs, path, syncsDirectory in
            let result = unsafe real(vfs).pointee.xDelete(real(vfs), path, syncsDirectory)
            if result != SQLITE_OK {
                LastErrno.note(result, errno: errno)
            } else if let path = unsafe path, let part = unsafe FilePart(deleted: path) {
                unsafe Counter.of(FileRole(path: path), part).addDelete()
            }
            return result
        }
        unsafe vfs.xAccess = { vfs, path, flags, result in
            unsafe real(vfs).pointee.xAccess(real(vfs), path, flags, result)
        }
        unsafe vfs.xFullPathname = { vfs, path, count, full in
            if let path = unsafe path, let full = unsafe full, let length = unsafe heldLength(path), length < count {
                unsafe memcpy(full, path, length + 1)
                return SQLITE_OK
            }
            let result = unsafe real(vfs).pointee.xFullPathname(real(vfs), path, count, full)
            if result != SQLITE_OK { LastErrno.note(result, errno: errno) }
            return result
        }
        unsafe vfs.xDlOpen = { vfs, path in unsafe real(vfs).pointee.xDlOpen(real(vfs), path) }
        unsafe vfs.xDlError = { vfs, count, text in unsafe real(vfs).pointee.xDlError(real(vfs), count, text) }
        unsafe vfs.xDlSym = { vfs, library, symbol in unsafe real(vfs).pointee.xDlSym(real(vfs), library, symbol) }
        unsafe vfs.xDlClose = { vfs, library in unsafe real(vfs).pointee.xDlClose(real(vfs), library) }
        unsafe vfs.xRandomness = { vfs, count, bytes in unsafe real(vfs).pointee.xRandomness(real(vfs), count, bytes) }
        unsafe vfs.xSleep = { vfs, microseconds in unsafe real(vfs).pointee.xSleep(real(vfs), microseconds) }
        unsafe vfs.xCurrentTime = { vfs, time in unsafe real(vfs).pointee.xCurrentTime(real(vfs), time) }
        unsafe vfs.xCurrentTimeInt64 = { vfs, time in unsafe real(vfs).pointee.xCurrentTimeInt64(real(vfs), time) }
        unsafe vfs.xGetLastError = { _, _, _ in LastErrno.value }
        return unsafe vfs
    }
}

// C function pointers cannot be made of closures that use a type's own functions, so these are of the file.

private func real(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> UnsafeMutablePointer<sqlite3_vfs> {
    unsafe vfs!.pointee.pAppData.assumingMemoryBound(to: sqlite3_vfs.self)
}

/// The length of a path that begins with a directory that is held open; nil for others. SQLite would follow the kernel's link, and go by the
/// path that the directory has now: somebody may have put another one there by the time it opens the file.
private func heldLength(_ path: UnsafePointer<CChar>) -> Int? {
    let held = "/proc/self/fd/"
    guard unsafe strncmp(path, held, held.utf8.count) == 0 else { return nil }
    return unsafe strlen(path)
}

private func openFile(
    _ unix: UnsafeMutablePointer<sqlite3_vfs>, _ path: UnsafePointer<CChar>?,
    _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?, waits: Bool
) -> Int32 {
    // Without methods SQLite does not call xClose.
    unsafe file.pointee.pMethods = nil
    let real = unsafe UnsafeMutableRawPointer(file)
        .advanced(by: MemoryLayout<kura_sqlite3_file>.stride)
        .assumingMemoryBound(to: sqlite3_file.self)
    unsafe real.pointee.pMethods = nil
    let part = FilePart(openFlags: flags)
    let role = unsafe FileRole(path: path)
    let isNew = unsafe path.map { unsafe flags & SQLITE_OPEN_CREATE != 0 && access($0, F_OK) != 0 } ?? true
    let writes = unsafe isToWrite(part, path, flags)
    var opened: Int32 = 0
    errno = 0
    var result = unsafe unix.pointee.xOpen(unix, path, real, flags, &opened)
    unsafe outFlags?.pointee = opened
    // SQLite opens for reading what it cannot open for writing, and says so to whoever writes next.
    if result == SQLITE_OK, writes, opened & SQLITE_OPEN_READONLY != 0 { result = SQLITE_CANTOPEN }
    guard result == SQLITE_OK else {
        LastErrno.note(result, errno: errno)
        if let methods = unsafe real.pointee.pMethods { _ = unsafe methods.pointee.xClose(real) }
        return result
    }
    var reading = CountedFile.Reading.real
    if !waits, let path = unsafe path, part == .database || part == .wal {
        let descriptor =
            unsafe part == .database
            ? NonBlockingReads.keptDescriptor(path: path) : NonBlockingReads.ownDescriptor(path: path)
        guard descriptor >= 0 else {
            LastErrno.note(SQLITE_CANTOPEN, errno: errno)
            _ = unsafe real.pointee.pMethods.pointee.xClose(real)
            return SQLITE_CANTOPEN
        }
        reading = .withoutWaiting(descriptor: descriptor, isOwn: part == .wal)
    }
    if isNew { Counter.of(role, part).addCreate() }
    // The tables are written in bulk, beside a log whose syncs clients wait for.
    let isPaced = waits && role == .durable && (part == .database || part == .wal)
    let state = unsafe CountedFile(
        real: real, role: role, part: part, reading: reading, writes: writes,
        pacedPath: isPaced ? path.map { unsafe String(cString: $0) } : nil,
        sums: role == .durable && part == .wal ? path.map { unsafe FrameSums.of(String(cString: $0)) } : nil)
    let header = unsafe FileMethods.header(file)
    unsafe header.pointee.real = unsafe real
    unsafe header.pointee.state = unsafe Unmanaged.passRetained(state).toOpaque()
    unsafe header.pointee.base.pMethods = unsafe FileMethods.table
    return SQLITE_OK
}

/// Whether a file is opened by a connection that is to write: SQLite asks for its WAL to be written by those that only read, too.
private func isToWrite(_ part: FilePart, _ path: UnsafePointer<CChar>?, _ flags: Int32) -> Bool {
    guard part == .wal, let path = unsafe path else { return flags & SQLITE_OPEN_READWRITE != 0 }
    let database = unsafe FileMethods.header(sqlite3_database_file_object(path))
    return unsafe Unmanaged<CountedFile>.fromOpaque(database.pointee.state).takeUnretainedValue().writes
}

extension FilePart {
    fileprivate init(openFlags flags: Int32) {
        if flags & SQLITE_OPEN_MAIN_DB != 0 {
            self = .database
        } else if flags & SQLITE_OPEN_WAL != 0 {
            self = .wal
        } else if flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL) != 0 {
            self = .journal
        } else {
            self = .temporary
        }
    }

    /// The part that SQLite deletes at `path`, or nil for shared memory.
    fileprivate init?(deleted path: UnsafePointer<CChar>) {
        let path = unsafe String(cString: path)
        if path.hasSuffix("-shm") { return nil }
        self = path.hasSuffix("-wal") ? .wal : path.hasSuffix("-journal") ? .journal : .temporary
    }
}
