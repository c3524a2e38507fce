import Glibc
public import KuraBytes
import SQLite

/// The one writer: every durable store of the daemon, behind one revision.
///
/// Runs on the event loop's thread, which is its executor; it is entered once a turn. Nothing in here waits for the disk,
/// except the inline sync that `commitTurn` is told to make. A turn: `beginTurn`, any number of calls to the rooms,
/// `commitTurn`; then `upkeep` once in a while. Replies that show a revision above `syncedRev` must wait.
public actor Storage {
    // MARK: Executor

    nonisolated let host: StorageHost
    // Safety: the actor keeps its executor as long as it is there.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe host.executor.asUnownedSerialExecutor() }

    // MARK: Rooms

    public let settings: SettingsStore
    public let documents: DocumentsStore
    public let requests: RequestKeys
    public let configurations: ConfigurationStore
    public let secrets: SecretsStore
    public let caches: Caches
    public let models: ModelsStore
    public let blobs: BlobsStore
    public var bill: BillKeeper { chores.bill }

    // MARK: Parts

    /// What was opened, and what was found there.
    public nonisolated let start: StorageStart
    public nonisolated var configuration: StorageConfiguration { start.configuration }
    public nonisolated var clock: Clock { start.configuration.clock }
    package let ledger: Ledger
    package let log: LogKeeper
    package let tables: TablesKeeper
    let desk: TicketDesk
    let chores: Chores

    /// Opens the data directory, recovers what the last run left, and starts the threads.
    /// `executor`: the event loop.
    /// `wake`: makes the loop take another turn; called from any thread.
    /// `remark`: takes lines on what has ended well; called on the loop.
    /// `report`: takes lines on what the operator should look at; called on the loop.
    /// Throws: what keeps the storage from starting; then nothing was changed beyond a recovery that is safe to repeat.
    public init(
        _ configuration: StorageConfiguration, executor: any SerialExecutor, wake: @escaping @Sendable () -> Void,
        remark: @escaping @Sendable (String) -> Void = { _ in },
        report: @escaping @Sendable (String) -> Void
    ) throws(StorageFault) {
        let host = StorageHost(executor: executor, wake: wake, remark: remark, report: report)
        let (start, recovery, folder) = try StorageStart.open(configuration, host)
        (self.host, self.start) = (host, start)
        ledger = recovery.ledger
        log = LogKeeper(recovery, start, host)
        let keys = KeyKeeper(recovery.ledger, start, host)
        settings = recovery.settings
        documents = recovery.documents
        requests = RequestKeys(ledger: ledger, digestKey: recovery.digestKey)
        configurations = ConfigurationStore(ledger: ledger)
        secrets = SecretsStore(recovery, keys.ring, start, host)
        start.begin()
        caches = Caches(
            configuration, tables: [ModelsStore.tables, BlobsStore.tables], boot: start.boot,
            housekeeper: start.housekeeper, wake: wake, report: report)
        models = ModelsStore(caches, boot: start.boot)
        blobs = BlobsStore(caches)
        desk = TicketDesk(configuration, log.history, documents, secrets.rows, host)
        tables = TablesKeeper(recovery, folder, caches, log, desk, start, host)
        let scrub = SecretsScrub(secrets.scrubNote, ledger, log, tables, desk, start, host)
        let bill = BillKeeper(configuration, ledger, caches, start.housekeeper, report: report)
        let tender = SecretsTender(secrets, keys, scrub, log, desk, clock: configuration.clock, report: report)
        chores = Chores(documents, configurations, bill, tender, tables, desk, host)
        do throws(StorageFault) {
            try log.begin()
            try caches.begin()
            try desk.begin()
        } catch {
            Self.endThreads(start, desk, tables, keys, caches, log)
            start.boot.ended()
            throw error
        }
    }

    // MARK: Revisions

    /// Newest revision given out.
    public var rev: UInt64 { ledger.rev }
    /// Everything up to this revision is on the disk.
    public var syncedRev: SyncedRev { log.syncedRev }
    /// Everything up to this revision is in the log.
    public var committedRev: UInt64 { ledger.committedRev }
    /// Newest revision with a change that is durable before it is acknowledged: what a reply shows above it is relaxed.
    public var strictRev: StrictRev { ledger.revisions.strict }
    public var foldedRev: UInt64 { ledger.foldedRev }

    /// Why the storage must stop: a sync or a commit whose outcome is not known. Replies that waited for it say so.
    public var failure: StorageFault? { log.failure }

    // MARK: Turns

    public func beginTurn() {
        ledger.now = clock.wall
        ledger.revisions.synced = log.syncedRev
        caches.beginTurn()
        chores.beginTurn()
    }

    /// Milliseconds since 1970, as of the turn's beginning.
    public var now: Int64 { ledger.now }

    /// The requests of a turn that found no space are answered again: whatever would change something gets `.noSpace`.
    public func setRefusingChanges(_ on: Bool) {
        ledger.room.isRefusingChanges = on
    }

    public var isRefusingChanges: Bool { ledger.room.isRefusingChanges }

    /// A transaction over all rooms that has begun. It ends in the same turn, by `end` or by `abandon`.
    public struct Transaction {
        fileprivate var mark: Ledger.Mark
        fileprivate var sums: (bytes: Int, count: Int)
        fileprivate var noted: Int
    }

    /// Begins a transaction: all changes until its end get one revision. An item can be changed once in it.
    public func beginTransaction(by author: Author) -> Transaction {
        Transaction(mark: ledger.begin(by: author), sums: settings.sums, noted: secrets.audit.trail.entries.count)
    }

    /// - Returns: the transaction's revision, or nil when nothing was changed.
    public func end(_ transaction: Transaction) -> UInt64? {
        ledger.end(transaction.mark)
    }

    /// Ends the transaction as if it had never begun.
    public func abandon(_ transaction: Transaction) {
        ledger.abandon(transaction.mark)
        secrets.audit.trail.abandon(to: transaction.noted)
        settings.sums = transaction.sums
        tables.attachments.letGo(above: ledger.rev)
    }

    public enum TurnOutcome {
        case nothing
        /// Appended; replies wait for the sync.
        case committed
        /// The disk is full, nothing of the turn is stored: answer its requests again, refusing changes.
        case noSpace
        /// `failure` says why; nothing more can be promised.
        case failed
    }

    /// Appends the turn's changes to the log.
    public func commitTurn() -> TurnOutcome {
        chores.secrets.stageAudit()
        switch ledger.commit(to: log.segments, syncedRev: log.syncedRev) {
        case .nothing:
            secrets.endTurn(isStored: true)
            return .nothing
        case .committed:
            secrets.endTurn(isStored: true)
            if let made = secrets.audit.binding.takeMark() { log.note(mark: made) }
            tables.noteUnfolded()
            if let seconds = ledger.takeFlushSeconds() { log.noteRelaxed(seconds: seconds) }
            return .committed
        case .noSpace:
            settings.recount()
            tables.attachments.letGo(above: ledger.rev)
            chores.migrations.takeBack()
            secrets.endTurn(isStored: false)
            secrets.takeBackRewrapping()
            tables.noticeFullLog()
            return .noSpace
        case .unknown(let error):
            log.fail(error)
            return .failed
        }
    }

    /// Whether revisions wait for a sync that nobody has asked for: strict ones, relaxed ones whose time has come or that somebody waits to
    /// find in the tables, or so many that they have to be folded.
    public var needsSync: Bool {
        log.needsSync(foldBytes: tables.room.foldBytes, wantedRev: tables.wantedRev(chores.secrets.scrub))
    }
    public var isSyncing: Bool { log.isSyncing }
    /// What a sync takes on this disk, nanoseconds, smoothed; 0 before the first.
    public var syncTime: UInt64 { log.syncTime }

    /// Has everything appended so far synced.
    /// - Parameter inline: on this thread, now; allowed only while `isSyncing` is false.
    public func sync(inline: Bool) { log.sync(inline: inline) }

    /// The same, here and now, behind a sync that is under way.
    public func syncNow() {
        var pause = Pause()
        while log.isSyncing { pause.rest() }
        sync(inline: true)
    }

    // MARK: Waiting

    /// Whether a write that was refused as `.busy` may be tried again.
    public var admitsChanges: Bool {
        if ledger.room.isFoldOutOfSpace { return true }
        return ledger.room.isRefusingForReserve ? ledger.overlay.bytes < ledger.room.removalsEnd : !ledger.isOverlayFull
    }

    /// Has the page, or the chunk of the log, read in that the last `.cold` was about.
    /// - Returns: a ticket that `takeWarmed` gives back when it is.
    public func warm() -> UInt64 { desk.warm() }

    public func takeWarmed() -> [UInt64] { desk.takeWarmed() }

    // MARK: Stopping

    /// Folds and checkpoints everything, then ends the threads. The storage is not used afterwards.
    /// - Returns: whether all is in the tables.
    public func close() -> Bool {
        if failure == nil, (try? secrets.audit.stage(all: true)) != nil { _ = commitTurn() }
        secrets.audit.inbox.tellUnkept()
        if failure == nil, needsSync || !syncedRev.has(ledger.committedRev) { syncNow() }
        if failure == nil { tables.drain(chores.secrets.scrub) }
        Self.endThreads(start, desk, tables, chores.secrets.keys, caches, log)
        chores.bill.close()
        if failure == nil, syncedRev.has(ledger.committedRev), RelaxedDurability.isNoted(ledger) {
            RelaxedDurability.noteCleanStop(configuration, rev: ledger.rev)
        }
        start.boot.ended()
        return failure == nil && ledger.overlay.items == 0
    }

    private static func endThreads(
        _ start: StorageStart, _ desk: TicketDesk, _ tables: TablesKeeper, _ keys: KeyKeeper, _ caches: Caches,
        _ log: LogKeeper
    ) {
        start.damage.end()
        desk.stop()
        tables.attachments.stop()
        keys.stop()
        caches.stop()
        log.stop()
        tables.folder.stop()
        start.housekeeper.stop()
    }

    /// Loses what is not synced, as when the power goes; the tables and the caches' files stay as they are, which a power cut may leave so as well.
    /// The process ends then, or `close` is called.
    public func cutPower() throws(StorageFault) { try log.cut() }

    /// From now on the disk is full, for so long or until `emptyDisk`; found so at once, and not when something is written next.
    public func fillDisk(milliseconds: Int?) {
        DiskLimit.fill(beneath: configuration.wholeDataDirectory, milliseconds: milliseconds)
        tables.noticeFullLog()
    }

    /// There is again the room that there was.
    public func emptyDisk() {
        DiskLimit.empty()
        tables.room.lookAgain()
    }

    /// Lets another daemon have the directory. After `close`.
    public func letGo() { start.letGo() }
}
