import Glibc
public import SQLite

/// Why a request to a store was refused. Nothing of the request has taken effect.
public enum EngineError: Error, Equatable, Sendable {
    /// The item's revision is not the one that was asked for; 0: it is absent.
    case conflict(currentRev: UInt64)
    /// The value is longer than `limit` bytes.
    case valueTooLarge(limit: Int)
    /// The store would grow over `limit` (bytes, or scopes when they are too many).
    case quotaExceeded(limit: Int)
    /// A quota that binds the writer would be exceeded; `limit` is in bytes, items or scopes.
    case accountFull(limit: Int, of: QuotaAccount.Measure)
    /// The disk is full.
    case noSpace
    /// There is no room on the disk to do all of it at once; `items`: how many things at once may be removed.
    case tooLargeForRoom(items: Int?)
    /// What is asked for is on the disk and not in the page cache: have it warmed (`Storage.warm`), then ask again.
    case cold
    /// Too much is waiting to be folded, or the turn is full: ask again when `Storage` says so.
    case busy
    /// The same key comes twice in one request.
    case duplicate(index: Int)
    /// What is asked for cannot be had now, through no fault of the request.
    case overloaded
    /// The tables could not be read.
    case unreadable(SQLiteError)
    /// Whoever asked does not want it any more, or the storage is closing.
    case cancelled
    /// It was ended on its client's wish.
    case interrupted
}

extension EngineError {
    /// Why something could not be read.
    public enum Unreadable: Sendable {
        /// There were no descriptors, or no memory: it may be had later.
        case want
        /// It is not what was written there, or the disk does not give it.
        case damage
        case other
    }

    /// Nil for what is no `unreadable`.
    public var unreadable: Unreadable? {
        guard case .unreadable(let error) = self else { return nil }
        return error.isWant ? .want : error.isDamageOfFile ? .damage : .other
    }
}

/// Why the storage as a whole cannot start or go on.
public enum StorageFault: Error, Sendable, CustomStringConvertible {
    case database(SQLiteError, file: String)
    case system(errno: Int32, call: String, path: String)
    case refused(String)
    case inUse(pid: Int32?, path: String)
    case damagedLog
    /// What lies in the data directory is not what was written there.
    case damaged(String)
    /// Revisions between these two are in no segment that is left.
    case hole(after: UInt64, next: UInt64)
    /// A commit or sync failed in a way that leaves the outcome unknown.
    case syncFailed(errno: Int32)

    public var description: String {
        switch self {
        case .database(let error, let file): "\(file): \(error.message) (SQLite \(error.extendedCode))"
        case .system(let errno, let call, let path): FileSystem.text(errno, call, path)
        case .refused(let why), .damaged(let why): why
        case .inUse(let pid, let path):
            pid.map { "\(path) is in use by process \($0)" } ?? "\(path) is in use by another process"
        case .damagedLog: "the log holds a record that cannot be read"
        case .hole(let rev, let next):
            "the log has a hole: revision \(next) follows \(rev). A segment is damaged or missing; nothing was changed. "
                + "Bring it back, or go back to revision \(rev) by moving the segments behind the hole out of log/"
        case .syncFailed(let errno): "the disk failed to sync: \(Self.text(errno))"
        }
    }

    /// The last line of a daemon that this ends.
    public var lastLine: StaticString {
        switch self {
        case .syncFailed: "stopped: the outcome of unsynced changes is unknown"
        case .database(let error, _) where error.isCorrupt: Self.stoppedForDamage
        case .damaged, .damagedLog, .hole: Self.stoppedForDamage
        default: "stopped: the storage failed; what was acknowledged is in the log"
        }
    }

    private static let stoppedForDamage: StaticString =
        "stopped: stored data is damaged; what was acknowledged is in the log, and the next start recovers"

    /// What a change of the log follows on cannot be read in the tables.
    static func unreadable(_ what: String, _ error: EngineError) -> StorageFault {
        let text = "\(what) could not be read during recovery: \(error)"
        return error.unreadable == .damage ? .damaged(text) : .refused(text)
    }

    /// The disk is full, and nothing else is wrong.
    public var isFull: Bool {
        switch self {
        case .database(let error, _): error.isFull || error.systemErrno == ENOSPC
        case .system(let code, _, _): code == ENOSPC || code == EDQUOT
        default: false
        }
    }

    /// The process has too many files open, or no memory: nothing is known of what lies on the disk.
    var isWant: Bool {
        switch self {
        case .database(let error, _): error.isWant
        case .system(let code, _, _): [EMFILE, ENFILE, ENOMEM].contains(code)
        default: false
        }
    }

    static func text(_ errno: Int32) -> String { Errno.text(errno) }
}

extension SQLiteError {
    /// What an armed fault point stands for.
    static func injected(_ code: Int32) -> SQLiteError {
        SQLiteError(
            extendedCode: code == ENOSPC ? 13 : 10, systemErrno: code, message: "injected fault \(code)")
    }
}
