public import SQLite

/// Why the engine refused a request, whatever store it was for. Nothing of the request has taken effect.
///
/// A store that can refuse for reasons of its own has an error of its own beside it, in which one of these is a case.
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
