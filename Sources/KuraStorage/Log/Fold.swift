import Glibc
import KuraBytes
import SQLite
import Synchronization

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
            /// Work between folds.
            case tending
            /// What the tables had left of secrets that are gone has been overwritten.
            case scrub
        }
        var work: Work
        var error: SQLiteError?
        /// What stores are told of the work that their folders have.
        var news: [any FoldNews] = []
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
    private var walBytes: Int {
        didSet { pendingBytes.store(walBytes, ordering: .relaxed) }
    }
    private let pendingBytes = Atomic<Int>(0)
    let pace: FoldPace
    private var isZeroing = true
    /// The WAL held something when the thread started.
    let hasPendingWALAtStart: Bool

    /// `connection`: handed over; nobody else uses it from now on.
    /// `tends`: builds indexes and the like between folds.
    init(
        connection: sending Connection, configuration: StorageConfiguration, foldedRev: UInt64, tends: Bool = true,
        wake: @escaping @Sendable () -> Void
    ) throws(StorageFault) {
        do throws(SQLiteError) {
            let tables = try FoldTables(connection, memory: configuration.overlayBytes / 8)
            statements = try FoldStatements(tables)
            tender = try TableTender(statements, path: configuration.tablesPath, configuration.clock)
            holdsSecrets = try connection.prepare(
                "SELECT 1 FROM scopes WHERE store IN (\(Store.secrets.rawValue), \(Store.secretVersions.rawValue)) LIMIT 1"
            )
            if !tends { tender.giveUp() }
        } catch { throw .database(error, file: configuration.tablesPath) }
        self.connection = connection
        self.configuration = configuration
        self.foldedRev = foldedRev
        self.wake = wake
        pace = FoldPace(checkpointBytes: configuration.checkpointBytes)
        durableRev = 0
        // What an earlier run left there is checkpointed with what comes.
        walBytes = FileSystem.size(configuration.tablesPath + "-wal")
        hasPendingWALAtStart = walBytes > 0
        pendingBytes.store(walBytes, ordering: .relaxed)
        tender.shrinking.pace = pace
        let bytes = walBytes
        measured.withLock { $0.walBytes = bytes }
        thread = WorkerThread(name: "kura-fold", isBackground: true) { [unowned self] in run() }
    }

    // MARK: For the loop

    /// Bytes of the tables' WAL that are not in their file yet.
    var waitingBytes: Int { pendingBytes.load(ordering: .relaxed) }

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
                guard pending.wait(until: configuration.clock.deadline(milliseconds: wait)) else {
                    if isScrubbing { scrubSome() } else { tend() }
                    continue
                }
            } else {
                pending.wait()
            }
            let job = state.withLock { $0.jobs.removeFirst() }
            switch job {
            case .slice(let slice):
                let start = configuration.clock.monotonic
                var failure = perform { () throws(SQLiteError) in try fold(slice) }
                // The WAL may have grown as far as it can, by what was not committed too: it starts over, or is written over.
                if let error = failure, error.isFull, FileSystem.size(configuration.tablesPath + "-wal") > 0 {
                    _ = shrinkWAL()
                    failure = perform { () throws(SQLiteError) in try fold(slice, sparing: true) }
                }
                if failure == nil { note(slice, since: start) }
                report(.slice(slice), failure ?? checkpointIfDue())
            case .checkpoint:
                report(.checkpoint, checkpoint())
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
        let time = configuration.clock.monotonic - start
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
        guard walBytes >= pace.checkpointBytes else { return nil }
        return checkpoint().flatMap { $0.isFull || $0.isBusy ? nil : $0 }
    }

    private func checkpoint() -> SQLiteError? {
        pace.isShort ? shrinkWAL() : perform { () throws(SQLiteError) in try runCheckpoint(.passive) }
    }

    /// Has everything in the database file, and gives the WAL's bytes back unless somebody reads it.
    private func shrinkWAL() -> SQLiteError? {
        perform { () throws(SQLiteError) in
            try runCheckpoint(.passive)
            guard walBytes == 0 else { return }
            try connection.setBusyTimeout(milliseconds: 0)
            defer { try? connection.setBusyTimeout(milliseconds: Tables.busyMilliseconds) }
            do throws(SQLiteError) { try runCheckpoint(.truncate) } catch {
                if !error.isBusy { throw error }
            }
        }
    }

    private func report(_ work: Outcome.Work, _ error: SQLiteError?) {
        let outcome = Outcome(
            work: work, error: error, news: statements.takeNews(), longestPiece: tender.takeLongest(),
            purged: tender.removal.takeDone(), durableRev: durableRev, hasPendingWAL: walBytes > 0)
        ended.append(outcome)
        wake()
    }

    /// `sparing`: there is no room to do it as usual: nothing is zeroed that need not be, and deletions keep no last value.
    private func fold(_ slice: FoldSlice, sparing: Bool = false) throws(SQLiteError) {
        Work.at(.folding)
        defer { Work.at(.other) }
        if let code = FaultPoints.hit(.foldSlice)?.errno { throw .injected(code) }
        let before = CountingVFS.count(.durable, .wal).bytesWritten
        let newest = Self.newestOfEachKey(slice.items)
        let isShort = sparing || pace.isFull || newest.contains(where: \.hasGivenUpValue)
        try zeroes(!isShort || newest.contains { $0.pointee.store.isSealed })
        statements.tables.rows.keepsLastValues = !sparing
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
            try statements.reload()
            throw error
        }
        tender.note(slice)
        foldedRev = max(foldedRev, slice.rev)
        walBytes += CountingVFS.count(.durable, .wal).bytesWritten - before
    }

    /// Whether pages that become free are overwritten with zeros, which takes as much of the WAL as they have: ten times what the
    /// deletion of a large document takes otherwise. On a full disk only secrets are worth that.
    private func zeroes(_ on: Bool) throws(SQLiteError) {
        guard on != isZeroing else { return }
        try connection.execute(on ? "PRAGMA secure_delete=ON" : "PRAGMA secure_delete=FAST")
        isZeroing = on
    }

    /// A piece of what is not urgent.
    private func tend() {
        Work.at(.upkeep)
        defer { Work.at(.other) }
        let before = CountingVFS.count(.durable, .wal).bytesWritten
        let failure = perform { () throws(SQLiteError) in
            try zeroes(!pace.isFull)
            try tender.work()
        }
        walBytes += CountingVFS.count(.durable, .wal).bytesWritten - before
        if let failure, failure.isFull || failure.isBusy {
            if failure.isFull {
                _ = shrinkWAL()
                report(.tending, failure)
            }
            tender.rest(after: failure)
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
        // What was not due yet has no other piece to be told behind.
        if tender.isNewsLeft { report(.tending, nil) }
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
                // After a start nothing is known to be durable; with an empty WAL nothing else would tell.
                if durableRev < foldedRev { try runCheckpoint(.full) }
            }
            isDone = try scrub.work(configuration.clock)
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
        let start = configuration.clock.monotonic
        let (frames, done) = try connection.checkpoint(mode)
        let time = configuration.clock.monotonic - start
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
