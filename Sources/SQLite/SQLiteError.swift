import CSQLite
import Glibc

/// Why SQLite refused.
///
/// Two errors are equal when their primary codes are. The message names what SQLite names (tables, columns,
/// constraints, and at preparation a word of the program's own SQL) and never a bound or stored value.
/// Source: https://sqlite.org/rescode.html
public struct SQLiteError: Error, Sendable {
    /// The primary result code, such as SQLITE_FULL (13).
    public let code: Int32
    /// The extended result code, such as SQLITE_IOERR_WRITE (778).
    public let extendedCode: Int32
    /// `errno` of the system call that failed, for I/O and open errors, else 0.
    public let systemErrno: Int32
    public let message: String

    public init(extendedCode: Int32, systemErrno: Int32 = 0, message: String) {
        self.code = extendedCode & 0xff
        self.extendedCode = extendedCode
        self.systemErrno = systemErrno
        self.message = message
    }

    /// The disk or the quota is full and the transaction was rolled back whole.
    ///
    /// SQLITE_FULL, or SQLITE_IOERR_WRITE with ENOSPC: the counting VFS answers so where only an I/O error makes SQLite
    /// roll back the whole transaction (see `CountedFile`). A sync that failed with ENOSPC is not `isFull`.
    public var isFull: Bool {
        code == SQLITE_FULL
            || (extendedCode == ResultCode.ioErrorWrite && (systemErrno == ENOSPC || systemErrno == EDQUOT))
    }

    /// There were no descriptors, or no memory: nothing is wrong with the file.
    public var isWant: Bool { code == SQLITE_NOMEM || [EMFILE, ENFILE, ENOMEM].contains(systemErrno) }

    /// A file beside the database could not be opened for want of descriptors.
    public static let tooManyFiles = SQLiteError(
        extendedCode: SQLITE_CANTOPEN, systemErrno: EMFILE, message: "too many files are open")

    public var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }
    public var isIOError: Bool { code == SQLITE_IOERR }
    public var isCorrupt: Bool { code == SQLITE_CORRUPT || code == SQLITE_NOTADB }
    /// A value is longer than `Connection.limit` has it.
    public var isTooLong: Bool { code == SQLITE_TOOBIG }
    public var isInterrupted: Bool { code == SQLITE_INTERRUPT }
    public var isConstraint: Bool { code == SQLITE_CONSTRAINT }

    /// The disk did not give what the file should have.
    public var isUnreadable: Bool {
        extendedCode == ResultCode.ioErrorShortRead || extendedCode == ResultCode.ioErrorRead && systemErrno == EIO
    }

    /// The bytes were read, and are not those that were written.
    public var isOfContents: Bool {
        extendedCode == ResultCode.ioErrorData || extendedCode == ResultCode.ioErrorShortRead
    }

    /// There is no file of that name.
    public var isGone: Bool { code == SQLITE_CANTOPEN && systemErrno == ENOENT }

    /// A read of a connection opened with `.nonBlockingReads` would have had to wait for the disk.
    ///
    /// Nothing is wrong: ask again on a connection that may wait.
    public var wouldBlock: Bool { extendedCode == ResultCode.ioErrorRead && systemErrno == EAGAIN }
}

extension SQLiteError: Equatable {
    public static func == (left: SQLiteError, right: SQLiteError) -> Bool { left.code == right.code }
}

extension SQLiteError: CustomStringConvertible {
    public var description: String {
        systemErrno == 0
            ? "SQLite \(extendedCode): \(message)"
            : "SQLite \(extendedCode), errno \(systemErrno): \(message)"
    }
}

extension SQLiteError {
    /// Which text goes into the message.
    enum Phase {
        /// The words are those of the SQL text, which the program wrote itself.
        case preparation
        /// The words can be values (`json_extract` names a bad path), but never a failed constraint's.
        case execution
    }

    /// The error of the call on `database` that has just returned `result` on this thread.
    init(_ result: Int32, database: OpaquePointer?, phase: Phase) {
        let primary = result & 0xff
        // Safety: SQLite keeps both texts at least until the next call on the connection, and they are copied at once.
        let showsDetail = unsafe database != nil && (phase == .preparation || primary == SQLITE_CONSTRAINT)
        let text = unsafe showsDetail ? sqlite3_errmsg(database) : sqlite3_errstr(result)
        unsafe self.init(
            extendedCode: result,
            systemErrno: LastErrno.take(of: result),
            message: text.map { unsafe String(cString: $0) } ?? "no message")
        unsafe DamageWatch.notice(self, database)
    }
}

/// Extended codes are macros of expressions, which Swift does not import.
enum ResultCode {
    static let ioErrorRead: Int32 = SQLITE_IOERR | (1 << 8)
    /// A page is not what was written.
    static let ioErrorData: Int32 = SQLITE_IOERR | (32 << 8)
    static let ioErrorCorruptFileSystem: Int32 = SQLITE_IOERR | (33 << 8)
    static let ioErrorShortRead: Int32 = SQLITE_IOERR | (2 << 8)
    static let ioErrorWrite: Int32 = SQLITE_IOERR | (3 << 8)
    static let ioErrorSync: Int32 = SQLITE_IOERR | (4 << 8)
}
