import SQLite

/// How far a start has come, in order; at last what became of it.
package enum BootPhase: String, Sendable, CaseIterable {
    /// The data directory is locked, and nothing in it has been read.
    case lock
    /// What a recovery goes on with is being made.
    case rebuild
    /// A seed bundle is being laid down, where there is nothing.
    case bundle
    /// The tables are being opened, then brought to this version's layout, looked through after an unclean stop, and read in.
    case open, migrate, integrity, tables
    /// The log's changes are being taken in.
    case log
    case keys, caches, listen
    /// The loop has taken its first turn.
    case serving
    /// It has ended, one way or the other; nothing is left to be counted.
    case ended

    /// What fails here fails for what tables and log hold.
    package var isDurable: Bool {
        switch self {
        case .rebuild, .open, .migrate, .integrity, .tables, .log: true
        case .lock, .bundle, .keys, .caches, .listen, .serving, .ended: false
        }
    }

    var faultPoint: FaultPoint? { FaultPoint(rawValue: "boot.\(rawValue)") }
}

extension StorageFault {
    /// What lies in tables or log is the reason, not the disk's room, rights, memory, or somebody else.
    package var isDamage: Bool {
        switch self {
        case .damaged, .damagedLog, .hole: true
        case .database(let error, _): error.isDamage
        case .system, .refused, .foreign, .inUse, .syncFailed: false
        }
    }
}

extension SQLiteError {
    /// What a look through a file has found.
    static func damaged(_ problem: String) -> SQLiteError { SQLiteError(extendedCode: 11, message: problem) }

    /// The file is not what was written, or cannot be read any more. SQLITE_ERROR is what a table that is missing gives.
    package var isDamage: Bool {
        isCorrupt || code == 1 || isUnreadable
    }
}
