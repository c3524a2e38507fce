import Glibc
public import SQLite

/// Why the storage as a whole cannot start or go on.
public enum StorageFault: Error, Sendable, CustomStringConvertible {
    case database(SQLiteError, file: String)
    case system(errno: Int32, call: String, path: String)
    case refused(String)
    /// Tables and log do not belong together. Neither is damaged, so no start sets anything aside for it.
    case foreign(String)
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
        case .refused(let why), .foreign(let why), .damaged(let why): why
        case .inUse(let pid, let path):
            pid.map { "\(path) is in use by process \($0)" } ?? "\(path) is in use by another process"
        case .damagedLog: "the log holds a record that cannot be read"
        case .hole(let rev, let next):
            "the log has a hole: revision \(next) follows \(rev). A segment is damaged or missing; nothing was changed. "
                + "Bring it back, or go back to revision \(rev) by moving the segments behind the hole out of log/"
        case .syncFailed(let errno): "the disk failed to sync: \(Self.text(errno))"
        }
    }

    /// What helps, for people; empty where the description says it.
    public var help: String {
        switch self {
        case .system(EROFS, _, _): Self.readOnly
        case .database(let error, _) where error.systemErrno == EROFS: Self.readOnly
        default: ""
        }
    }

    private static let readOnly =
        ". A disk that fails is mounted so: look at the kernel's log, then mount it writable (mount -o remount,rw) and start kurad again"

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
        let text = "\(what) could not be read during recovery"
        // What the error is decides what it is a sign of.
        if case .unreadable(let error) = error, !error.isGone { return .database(error, file: text) }
        return error.unreadable == .damage ? .damaged("\(text): \(error)") : .refused("\(text): \(error)")
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
    package var isWant: Bool {
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
