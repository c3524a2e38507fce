import Glibc
import KuraBytes
import SQLite

/// The changes that the fold thread writes in one transaction: all up to a revision.
final class FoldSlice: @unchecked Sendable {
    // Made on the loop, read by the fold thread, taken apart on the loop again when the thread has handed it back. The items
    // are retained by it, and their fields that are read on the thread never change.

    struct NewScope {
        var id: UInt32
        var store: Store
        var name: [UInt8]
    }
    /// What else the changes mean for the tables, in the order of revisions.
    struct Event {
        enum Kind {
            /// The collection has these indexes and no others: the definitions' list, empty for none.
            case indexes([UInt8])
            /// The collection is searched so: the definition, empty for not at all.
            case search([UInt8])
            /// The collection is gone; what has its name from now on is another.
            case drop
        }
        var rev: UInt64
        var collection: UInt32
        var kind: Kind
    }
    /// The tables are as of this revision when the slice is in; 0 when it has no changes.
    var rev: UInt64 = 0
    /// In the order of revisions; a key may come several times.
    var items: ContiguousArray<ItemRef> = []
    var newScopes: [NewScope] = []
    var events: [Event] = []
    /// Numbers of indexes that are unique if nothing in the slice says otherwise.
    var confirmed: [Int64] = []
    var closed: [Log.Closed] = []
    var retired: [Int] = []
    /// With `retired`: the greatest revision that the log no longer has.
    var compactedRev: UInt64 = 0
    /// Contents that were removed: the tables may forget them.
    var forgotten: [ContentDigest] = []
    /// Contents that nobody uses any more, as of the slice.
    var unused: [ContentDigest] = []
    /// How many items the loop has let go of since the slice came back.
    var settled = 0
}

/// The fold thread: the only writer of kura.sqlite.
///
/// A slice is one transaction, sorted so that neighbours in the tables are written together, and not synced; `foldedRev`
/// in it says what the tables are as of. A checkpoint (with sync) comes when the WAL has grown or the loop asks for one;
/// only what it covered may leave the log.
final class Folder: @unchecked Sendable {
    // The connection and statements belong to the fold thread; the rest is behind `state`.

    struct Outcome: Sendable {
        enum Work: Sendable {
            case slice(FoldSlice)
            case checkpoint
            /// Indexes were built, or what is gone was removed.
            case tending
            /// What the tables had left of secrets that are gone has been overwritten.
            case scrub
        }
        var work: Work
        var error: SQLiteError?
        /// How all indexes stand; nil when nothing has changed.
        var indexes: [IndexStatus]?
        /// The same of full text indexes.
        var searches: [SearchStatus]?
        /// Nanoseconds of the longest piece of tending since the outcome before.
        var longestPiece: UInt64 = 0
        /// Purges that are through.
        var purged: [Purge] = []
        /// Everything up to this revision lies checkpointed and synced in the database file.
        var durableRev: UInt64
        var hasPendingWAL: Bool
    }

    private enum Job {
        case slice(FoldSlice)
        case checkpoint
        case purge(Purge)
        case scrub
        case tap(FoldTap)
        case compact(Compaction)
        case stop
    }

    private struct State {
        var jobs: [Job] = []
    }
    private let state = Guarded(State())
    private let measured = Guarded(StorageMeasures())
    private let ended = Outbox<Outcome>()
    private let pending = Semaphore()
    private let wake: @Sendable () -> Void
    private var thread: WorkerThread?

    private let connection: Connection
    private let configuration: StorageConfiguration
    private let statements: FoldStatements
    private let indexes: IndexKeeper
    private let searches: SearchKeeper
    private let tender: TableTender
    /// What secrets have left is being overwritten, or was when something came in the way.
    private var tableScrub: TableScrub?
    private var isScrubbing = false
    /// Has a row when there are secrets.
    private let holdsSecrets: Statement
    /// Backups that are under way.
    private var taps: [FoldTap] = []
    private var durableRev: UInt64
    private var foldedRev: UInt64
    private var walBytes: Int
    /// The WAL held something when the thread started.
    let hasPendingWALAtStart: Bool

    /// `connection`: handed over; nobody else uses it from now on.
    /// `tends`: builds indexes and the like between folds.
    init(
        connection: sending Connection, configuration: StorageConfiguration, foldedRev: UInt64, tends: Bool = true,
        wake: @escaping @Sendable () -> Void
    ) throws(StorageFault) {
        do throws(SQLiteError) {
            indexes = try IndexKeeper(connection, memory: configuration.overlayBytes / 8)
            searches = try SearchKeeper(connection)
            statements = try FoldStatements(connection, indexes, searches)
            tender = try TableTender(
                connection, path: configuration.tablesPath, indexes, searches, statements.uses)
            holdsSecrets = try connection.prepare(
                "SELECT 1 FROM scopes WHERE store IN (\(Store.secrets.rawValue), \(Store.secretVersions.rawValue)) LIMIT 1"
            )
            if !tends { tender.giveUp() }
        } catch { throw .database(error, file: configuration.tablesPath) }
        self.connection = connection
        self.configuration = configuration
        self.foldedRev = foldedRev
        self.wake = wake
        durableRev = 0
        // What an earlier run left there is checkpointed with what comes.
        walBytes = FileSystem.size(configuration.tablesPath + "-wal")
        hasPendingWALAtStart = walBytes > 0
        let bytes = walBytes
        measured.withLock { $0.walBytes = bytes }
        thread = WorkerThread(name: "kura-fold", isBackground: true) { [unowned self] in run() }
    }

    // MARK: For the loop

    func submit(_ slice: FoldSlice) { post(.slice(slice)) }

    func checkpoint() { post(.checkpoint) }

    func submit(_ purge: Purge) { post(.purge(purge)) }

    /// Has what is left of removed rows of secrets overwritten: in the WAL, which is empty then, and between the cells of pages.
    func scrub() { post(.scrub) }

    /// Has every slice told that comes from now on.
    func submit(_ tap: FoldTap) { post(.tap(tap)) }

    /// Has all free pages given back to the file system.
    func submit(_ compaction: Compaction) { post(.compact(compaction)) }

    /// What has become of the jobs since it was asked last; nil when none has ended.
    func outcomes() -> [Outcome]? { ended.take() }

    /// What folds and checkpoints took so far.
    var measures: StorageMeasures { measured.withLock { $0 } }

    /// Ends after the jobs that were submitted, with a checkpoint.
    func stop() {
        post(.stop)
        thread?.join()
        thread = nil
    }

    private func post(_ job: Job) {
        state.withLock { $0.jobs.append(job) }
        pending.signal()
    }

    // MARK: The thread

    private func run() {
        while true {
            // What is not urgent is done while nobody asks for anything, in pieces.
            if let wait = isScrubbing ? 0 : tender.wait {
                guard pending.wait(milliseconds: wait) else {
                    if isScrubbing { scrubSome() } else { tend() }
                    continue
                }
            } else {
                pending.wait()
            }
            let job = state.withLock { $0.jobs.removeFirst() }
            switch job {
            case .slice(let slice):
                let start = monotonicNanoseconds()
                let failure = perform { () throws(SQLiteError) in try fold(slice) }
                if failure == nil { note(slice, since: start) }
                report(.slice(slice), failure ?? checkpointIfDue())
            case .checkpoint:
                report(.checkpoint, perform { () throws(SQLiteError) in try runCheckpoint(.passive) })
                tender.shrinking.noteChanged()
            case .purge(let purge): tender.removal.add(purge)
            case .scrub: isScrubbing = true
            case .tap(let tap):
                tap.begin(connection, rev: foldedRev)
                taps.append(tap)
            case .compact(let compaction): tender.shrinking.add(compaction)
            case .stop:
                tender.shrinking.end(SQLiteError(extendedCode: 9, message: "the storage ends"))
                for tap in taps { tap.fail(.cancelled) }
                _ = perform { () throws(SQLiteError) in try runCheckpoint(.truncate) }
                return
            }
        }
    }

    private func note(_ slice: FoldSlice, since start: UInt64) {
        let time = monotonicNanoseconds() - start
        measured.withLock { measured in
            measured.walBytes = walBytes
            guard !slice.items.isEmpty else { return }
            measured.folds.record(time)
            measured.foldChanges.record(UInt64(slice.items.count))
        }
    }

    private func perform(_ body: () throws(SQLiteError) -> Void) -> SQLiteError? {
        do throws(SQLiteError) { try body() } catch { return error }
        return nil
    }

    private func checkpointIfDue() -> SQLiteError? {
        guard walBytes >= configuration.checkpointBytes else { return nil }
        let failure = perform { () throws(SQLiteError) in try runCheckpoint(.passive) }
        return failure.flatMap { $0.isFull || $0.isBusy ? nil : $0 }
    }

    private func report(_ work: Outcome.Work, _ error: SQLiteError?) {
        let outcome = Outcome(
            work: work, error: error, indexes: indexes.hasNews ? indexes.takeNews() : nil,
            searches: searches.hasNews ? searches.takeNews() : nil, longestPiece: tender.takeLongest(),
            purged: tender.removal.takeDone(), durableRev: durableRev,
            hasPendingWAL: walBytes > 0)
        ended.append(outcome)
        wake()
    }

    private func fold(_ slice: FoldSlice) throws(SQLiteError) {
        if let code = FaultPoints.hit(.foldSlice)?.errno { throw .injected(code) }
        let before = CountingVFS.count(.durable, .wal).bytesWritten
        let newest = Self.newestOfEachKey(slice.items)
        try connection.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            try statements.write(slice, newest)
            if !taps.isEmpty {
                taps.removeAll(where: \.isClosed)
                for tap in taps { tap.note(slice, newest) }
            }
            if let code = FaultPoints.hit(.foldCommit)?.errno { throw .injected(code) }
            try connection.execute("COMMIT")
            for tap in taps { tap.committed(slice.rev) }
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            try indexes.reload()
            try searches.reload()
            throw error
        }
        tender.note(slice)
        foldedRev = max(foldedRev, slice.rev)
        walBytes += CountingVFS.count(.durable, .wal).bytesWritten - before
    }

    /// A piece of what is not urgent.
    private func tend() {
        let before = CountingVFS.count(.durable, .wal).bytesWritten
        let failure = perform { () throws(SQLiteError) in try tender.work() }
        walBytes += CountingVFS.count(.durable, .wal).bytesWritten - before
        if let failure, failure.isFull || failure.isBusy {
            // Nothing is lost, and nobody waits who could not wait longer, but for a compaction.
            tender.rest()
            tender.shrinking.end(failure)
        } else if let failure = failure ?? checkpointIfDue() {
            report(.tending, failure)
            tender.giveUp()
            tender.shrinking.end(failure)
        } else if tender.isNewsDue {
            report(.tending, nil)
        } else if tender.shrinking.wantsEmptyWAL(isWALSettled: walBytes == 0) {
            emptyWAL()
        } else {
            tender.shrinking.settle()
        }
    }

    /// Has everything in the database file, which is cut off where it ends now, and takes the WAL's bytes back; not while somebody reads.
    private func emptyWAL() {
        let failure = perform { () throws(SQLiteError) in
            try connection.setBusyTimeout(milliseconds: 0)
            defer { try? connection.setBusyTimeout(milliseconds: Tables.busyMilliseconds) }
            // What destroyed secrets have left there is to be overwritten, which the file system's blocks could not be.
            if try holdsSecrets.step() {
                holdsSecrets.reset()
                try runCheckpoint(.restart)
                do throws(StorageFault) { try LogScrub.zero(configuration.tablesPath + "-wal", from: 0) } catch {
                    throw .injected(error.isFull ? ENOSPC : EIO)
                }
            }
            holdsSecrets.reset()
            try runCheckpoint(.truncate)
        }
        tender.shrinking.emptied(failure)
        if let failure, !failure.isBusy, !failure.isFull {
            report(.tending, failure)
            tender.giveUp()
        } else {
            report(.tending, nil)
        }
    }

    /// Hot keys fold once: sorted as the trees have them, and only the newest change of each key.
    static func newestOfEachKey(_ items: ContiguousArray<ItemRef>) -> ContiguousArray<ItemRef> {
        var sorted = items
        sorted.sort(by: precedes)
        var kept = 0
        for position in sorted.indices {
            let item = sorted[position]
            if kept > 0, sorted[kept - 1].pointee.scope == item.pointee.scope,
                sorted[kept - 1].pointee.row == item.pointee.row, sorted[kept - 1].key.equals(item.key)
            {
                sorted[kept - 1] = item
            } else {
                sorted[kept] = item
                kept += 1
            }
        }
        sorted.removeLast(sorted.count - kept)
        return sorted
    }

    /// Documents in the order of their rows, settings in that of their keys, changes of one key in that of revisions.
    private static func precedes(_ left: ItemRef, _ right: ItemRef) -> Bool {
        if left.pointee.scope != right.pointee.scope { return left.pointee.scope < right.pointee.scope }
        if left.pointee.row != right.pointee.row { return left.pointee.row < right.pointee.row }
        if left.pointee.row == 0, !left.key.equals(right.key) { return left.key.precedes(right.key) }
        if left.pointee.rev != right.pointee.rev { return left.pointee.rev < right.pointee.rev }
        // Lists of attachments may change several times in a transaction.
        return left.pointee.version < right.pointee.version
    }

    /// A piece of overwriting what secrets have left.
    private func scrubSome() {
        var isDone = false
        let failure = perform { () throws(SQLiteError) in
            let scrub: TableScrub
            if let known = tableScrub {
                scrub = known
            } else {
                scrub = try TableScrub(connection, path: configuration.tablesPath) {
                    [unowned self] (mode) throws(SQLiteError) in try runCheckpoint(mode)
                }
                tableScrub = scrub
            }
            isDone = try scrub.work()
        }
        guard isDone || failure != nil else { return }
        isScrubbing = false
        // What was not at its end goes on when it is asked for again.
        if isDone { tableScrub = nil }
        report(.scrub, failure)
    }

    private func runCheckpoint(_ mode: Connection.CheckpointMode) throws(SQLiteError) {
        if let code = FaultPoints.hit(.foldCheckpoint)?.errno { throw .injected(code) }
        tableScrub?.noteCheckpoint()
        let start = monotonicNanoseconds()
        let (frames, done) = try connection.checkpoint(mode)
        let time = monotonicNanoseconds() - start
        // With all frames in the database file, the next writer starts the WAL from its front.
        if frames <= done {
            durableRev = foldedRev
            walBytes = 0
        }
        measured.withLock { measured in
            measured.checkpoints.record(time)
            measured.walBytes = walBytes
        }
    }
}
