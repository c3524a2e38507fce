import Glibc
public import SQLite

/// Why a request to a store was refused. Nothing of the request has taken effect.
public enum StoreError: Error, Equatable, Sendable {
    /// The item's revision is not the one that was asked for; 0: it is absent.
    case conflict(currentRev: UInt64)
    /// Another document has the key in a unique index.
    case uniqueViolation(UniqueViolation)
    /// The document is not deleted: others refer to it.
    case referenced(ReferencedDocument)
    /// The document is not deleted: what would lose its reference to it would not be what its collection's schema asks for.
    case unfit(UnfitDocument)
    /// More documents would be deleted or changed in one transaction than this.
    case tooManyDocuments(limit: Int)
    /// Which documents of this collection refer to one cannot be told yet: the index of their reference, of this name, is being built.
    case referencesBuilding(collection: [UInt8], index: [UInt8])
    /// The value is longer than `limit` bytes.
    case valueTooLarge(limit: Int)
    /// The store would grow over `limit` (bytes, or scopes when they are too many).
    case quotaExceeded(limit: Int)
    /// A quota that binds the writer would be exceeded; `limit` is in bytes, items or scopes.
    case accountFull(limit: Int, of: QuotaAccount.Measure)
    /// There is no such item to change; `shownRev` is the revision of its tombstone, which the answer gives away.
    case absent(shownRev: UInt64)
    /// A document may not have more attachments, or bytes of them.
    case attachmentsFull(limit: Int, of: QuotaAccount.Measure)
    /// The stored value is no integer.
    case typeMismatch
    /// The sum is no safe integer.
    case outOfRange
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
    /// The changes after that revision are no longer kept: `oldestRev` is the smallest that still has all of them.
    case compacted(oldestRev: UInt64)
    /// What is asked for cannot be had now, through no fault of the request.
    case overloaded
    /// A closed segment could not be read.
    case damagedLog
    /// The tables could not be read.
    case unreadable(SQLiteError)
    /// Whoever asked does not want it any more, or the storage is closing.
    case cancelled
    /// A query took longer than it was allowed to.
    case timeout(milliseconds: Int)
    /// A query was ended on its client's wish.
    case interrupted
    /// Holding a text against a regular expression would take too long.
    case patternTooComplex(at: String)
    /// The index that a query was to walk over, or that a position stands in, is no longer there, or its collection.
    case indexGone
    /// The collection has no search fields.
    case searchNotDeclared
    /// The collection's full text index has so many of its documents, deleted ones counted.
    case searchBuilding(done: Int, total: Int)
    /// No index fits, and more than `limit` documents would have to be looked at.
    case indexNeeded(limit: Int, IndexAdvice)
    /// More groups, or more bytes of them, than a query may hold.
    case tooManyGroups(limit: Int)
    /// The document is to be migrated, and that cannot be done ahead of the run: ask again when it has come to it.
    case migrating
    /// The secrets are sealed: no key is at hand.
    case sealed
    /// What is there is being checked: ask again in the next turn.
    case preparing
    /// What is on the disk is not what was written there.
    case integrity
    /// keys/host.key is not the one that this is sealed with besides: nothing is damaged.
    case otherHostKey
    /// There is no such version of the secret; `shownRev` is the item's revision, which the answer gives away.
    case noSuchVersion(shownRev: UInt64)
    /// Nothing can be sealed to that public key, or what is sealed was not sealed to ours.
    case unusableKey
    /// The secret is no key, or none for this.
    case wrongKind
    /// What a key was to open was not sealed with it, for this, or has changed.
    case forged
    /// A token leads to nothing.
    case unusableToken(UnusableToken)
    /// What a client has passed did not answer in time.
    case unresponsive
    /// So many reads of what the user has passed hang that no other is begun.
    case hanging
    /// A live query would keep more documents than this, or more bytes.
    case liveQueryTooLarge(limit: Int, isBytes: Bool)
}

extension StoreError {
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
    static func unreadable(_ what: String, _ error: StoreError) -> StorageFault {
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
