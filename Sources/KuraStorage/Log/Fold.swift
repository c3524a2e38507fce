import KuraBytes
import SQLite

/// The fold thread: the only writer of kura.sqlite.
///
/// A slice is one transaction, sorted so that neighbours in the tables are written together, and not synced; `foldedRev`
/// in it says what the tables are as of. A checkpoint (with sync) comes when the WAL has grown or the loop asks for one;
/// only what it covered may leave the log.
final class Folder: @unchecked Sendable {
    // What the loop may touch is behind locks and atomics: `jobs`, `measured`, `ended`, and what `wal` says of itself; the rest is the thread's.

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

    private enum Job: Sendable {
        case slice(FoldSlice)
        case checkpoint
        case purge(Purge)
        case scrub
        case tap(FoldTap)
        case compact(Compaction)
        case stop
    }

    private let jobs = Inbox<Job>()
    private let measured = Guarded(StorageMeasures())
    private let ended = Outbox<Outcome>()
    private let wake: @Sendable () -> Void
    private var thread: WorkerThread?

    private let connection: Connection
    private let clock: Clock
    private let statements: FoldStatements
    private let tender: TableTender
    private let wal: TablesWAL
    /// Overwrites what secrets have left.
    private let tableScrub: TableScrub
    private var taps = FoldTaps()

    /// `connection`: handed over; nobody else uses it from now on.
    /// `tends`: builds indexes and the like between folds.
    init(
        connection: sending Connection, configuration: StorageConfiguration, foldedRev: UInt64, tends: Bool = true,
        wake: @escaping @Sendable () -> Void
    ) throws(StorageFault) {
        clock = configuration.clock
        do throws(SQLiteError) {
            wal = try TablesWAL(
                connection, tables: configuration.tablesPath, foldedRev: foldedRev,
                pace: FoldPace(checkpointBytes: configuration.fold.checkpointBytes), clock)
            statements = try FoldStatements(FoldTables(connection, memory: configuration.fold.overlayBytes / 8))
            tender = try TableTender(statements, path: configuration.tablesPath, clock)
        } catch { throw .database(error, file: configuration.tablesPath) }
        tableScrub = TableScrub(connection, tables: configuration.tablesPath, wal)
        self.connection = connection
        self.wake = wake
        tender.shrinking.pace = wal.pace
        if !tends { tender.giveUp() }
        thread = try WorkerThread(name: "kura-fold", isBackground: true) { [unowned self] in run() }
    }

    // MARK: For the loop

    var pace: FoldPace { wal.pace }
    /// Bytes of the tables' WAL that are not in their file yet.
    var waitingBytes: Int { wal.waitingBytes }
    /// The WAL held something when the thread started.
    var hasPendingWALAtStart: Bool { wal.hadBytesAtStart }

    func submit(_ slice: FoldSlice) { jobs.append(.slice(slice)) }

    func checkpoint() { jobs.append(.checkpoint) }

    func submit(_ purge: Purge) { jobs.append(.purge(purge)) }

    /// Has what is left of removed rows of secrets overwritten: in the WAL, which is empty then, and between the cells of pages.
    func scrub() { jobs.append(.scrub) }

    /// Has every slice told that comes from now on.
    func submit(_ tap: FoldTap) { jobs.append(.tap(tap)) }

    /// Has all free pages given back to the file system.
    func submit(_ compaction: Compaction) { jobs.append(.compact(compaction)) }

    /// What has become of the jobs since it was asked last; nil when none has ended.
    func outcomes() -> [Outcome]? { ended.take() }

    /// What folds and checkpoints took so far.
    var measures: StorageMeasures {
        var measures = measured.withLock { $0 }
        (measures.checkpoints, measures.walBytes) = (wal.checkpointTimes, wal.waitingBytes)
        return measures
    }

    /// Ends after the jobs that were submitted, with a checkpoint.
    func stop() {
        jobs.append(.stop)
        thread?.join()
        thread = nil
    }

    // MARK: The thread

    private func run() {
        while true {
            switch next() {
            case .slice(let slice): take(slice)
            case .checkpoint:
                report(.checkpoint, perform { () throws(SQLiteError) in try wal.checkpoint() })
                tender.shrinking.noteChanged()
            case .purge(let purge): tender.removal.add(purge)
            case .scrub: tableScrub.ask()
            case .tap(let tap): taps.add(tap, connection, rev: wal.foldedRev)
            case .compact(let compaction): tender.shrinking.add(compaction)
            case .stop:
                tender.shrinking.end(SQLiteError(extendedCode: 9, message: "the storage ends"))
                taps.fail(.cancelled)
                _ = perform { () throws(SQLiteError) in try wal.run(.truncate) }
                return
            }
        }
    }

    /// The next job. What is not urgent is done while nobody asks for anything, in pieces.
    private func next() -> Job {
        while let wait = tableScrub.isDue ? 0 : tender.wait {
            if let job = jobs.next(until: clock.deadline(milliseconds: wait)) { return job }
            if tableScrub.isDue { scrubSome() } else { tend() }
        }
        return jobs.next()
    }

    private func take(_ slice: FoldSlice) {
        let start = clock.monotonic
        var failure = perform { () throws(SQLiteError) in try fold(slice) }
        // The WAL may have grown as far as it can, by what was not committed too: it starts over, or is written over.
        if let error = failure, error.isFull, FileSystem.size(wal.path) > 0 {
            shrinkWAL()
            failure = perform { () throws(SQLiteError) in try fold(slice, sparing: true) }
        }
        if failure == nil, !slice.items.isEmpty {
            let time = clock.monotonic - start
            measured.withLock { measured in
                measured.folds.record(time)
                measured.foldChanges.record(UInt64(slice.items.count))
            }
        }
        report(.slice(slice), failure ?? perform { () throws(SQLiteError) in try wal.runIfDue() })
    }

    private func perform(_ body: () throws(SQLiteError) -> Void) -> SQLiteError? {
        do throws(SQLiteError) { try body() } catch { return error }
        return nil
    }

    private func shrinkWAL() { _ = perform { () throws(SQLiteError) in try wal.shrink() } }

    private func report(_ work: Outcome.Work, _ error: SQLiteError?) {
        let outcome = Outcome(
            work: work, error: error, news: statements.takeNews(), longestPiece: tender.takeLongest(),
            purged: tender.removal.takeDone(), durableRev: wal.durableRev, hasPendingWAL: wal.bytes > 0)
        ended.append(outcome)
        wake()
    }

    /// `sparing`: there is no room to do it as usual: nothing is zeroed that need not be, and deletions keep no last value.
    private func fold(_ slice: FoldSlice, sparing: Bool = false) throws(SQLiteError) {
        Work.at(.folding)
        defer { Work.at(.other) }
        if let code = FaultPoints.hit(.foldSlice)?.errno { throw .injected(code) }
        let newest = slice.newest
        let isShort = sparing || wal.pace.isFull || newest.contains(where: \.hasGivenUpValue)
        let tables = statements.tables
        try tables.zero(!isShort || newest.contains { $0.pointee.store.isSealed })
        tables.rows.keepsLastValues = !sparing
        tables.history.isKeeping = !isShort
        try wal.counting { () throws(SQLiteError) in
            try connection.execute("BEGIN IMMEDIATE")
            do throws(SQLiteError) {
                try statements.write(slice, newest)
                taps.note(slice, newest)
                if let code = FaultPoints.hit(.foldCommit)?.errno { throw .injected(code) }
                try connection.execute("COMMIT")
                taps.committed(slice.rev)
            } catch {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                try statements.reload()
                throw error
            }
        }
        tender.note(slice)
        wal.noteFolded(to: slice.rev)
    }

    /// A piece of what is not urgent.
    private func tend() {
        Work.at(.upkeep)
        defer { Work.at(.other) }
        let failure = perform { () throws(SQLiteError) in
            try statements.tables.zero(!wal.pace.isFull)
            try wal.counting(tender.work)
        }
        if let failure, failure.isFull || failure.isBusy {
            if failure.isFull {
                shrinkWAL()
                report(.tending, failure)
            }
            tender.rest(after: failure)
        } else if let failure = failure ?? perform({ () throws(SQLiteError) in try wal.runIfDue() }) {
            report(.tending, failure)
            tender.giveUp()
            tender.shrinking.end(failure)
        } else if tender.isNewsDue {
            report(.tending, nil)
        } else if tender.shrinking.wantsEmptyWAL(isWALSettled: wal.bytes == 0) {
            emptyWAL()
        } else {
            tender.shrinking.settle()
        }
        // What was not due yet has no other piece to be told behind.
        if tender.isNewsLeft { report(.tending, nil) }
    }

    private func emptyWAL() {
        let failure = perform { () throws(SQLiteError) in try wal.empty() }
        tender.shrinking.emptied(failure)
        if let failure, !failure.isBusy, !failure.isFull {
            report(.tending, failure)
            tender.giveUp()
        } else {
            report(.tending, nil)
        }
    }

    /// A piece of overwriting what secrets have left.
    private func scrubSome() {
        let failure = perform { () throws(SQLiteError) in try tableScrub.work(clock) }
        // It is told of at its end, and when it goes on only if it is asked for again.
        if !tableScrub.isDue { report(.scrub, failure) }
    }
}
