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

    private nonisolated let executor: any SerialExecutor
    // Safety: the actor keeps its executor as long as it is there.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    // MARK: Rooms

    public let settings: SettingsStore
    public let documents: DocumentsStore
    public let requests: RequestKeys
    public let configurations: ConfigurationStore
    public let secrets: SecretsStore
    public let caches: Caches
    public let models: ModelsStore
    public let blobs: BlobsStore
    private let directory: DataDirectory
    /// Counts this start.
    public nonisolated let boot: Boot
    /// What reads meet that is damaged.
    public nonisolated let damage: DamageBook
    let ledger: Ledger
    let log: Log
    let history: ChangeHistory
    let logSync: LogSync
    let folder: Folder
    let aging: Aging
    let launches = Launches()
    let migrations: Migrations
    let housekeeper: Housekeeper
    private let warmer: PageWarmer
    let queries: QueryPool
    /// For queries that are run on the loop; nil before the first.
    var quickTables: TableReader?
    /// Requests that wait for what the loop brings about.
    var waits = TicketWaits()
    var builds = IndexBuilds()
    let contents: ContentPool
    let attachments: AttachmentFiles
    let keyKeeper: KeyKeeper
    let wake: @Sendable () -> Void
    let scrub = SecretsScrub()
    var rewrapping = RewrapSchedule()
    public nonisolated let configuration: StorageConfiguration
    public nonisolated var clock: Clock { configuration.clock }

    /// Names the history that revisions belong to.
    public nonisolated let epoch: String
    public nonisolated let startedAt: Int64
    /// Changes that an unclean stop had left in the log only.
    public nonisolated let replayedChanges: Int
    /// The revision counter was raised at the start, since an unclean stop may have lost relaxed changes.
    public nonisolated let hasRaisedRevision: Bool
    var folding: FoldSchedule
    /// When what need not be looked at in every turn was, and when it is due.
    var tending: (lastAt: UInt64, nextAt: UInt64) = (0, 0)
    var billing: Billing
    var nextTicket: UInt64 = 1
    var fault: StorageFault?
    var syncing: SyncSchedule
    /// Called with one line for the log when something happened that the operator should know.
    let remark: @Sendable (String) -> Void
    let report: @Sendable (String) -> Void
    let room: RoomKeeper

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
        try PathWalk.checkWay(to: configuration.dataDirectory, report: report)
        directory = try DataDirectory.open(
            configuration.dataDirectory, configuration: configuration, report: report)
        let housekeeper = Housekeeper()
        let boot = Boot(configuration, remark: remark, report: report)
        let recovery: Recovery
        let folder: Folder
        let compactedRev: UInt64
        do throws(StorageFault) {
            try boot.begin()
            try boot.layBundle()
            recovery = try Recovery.start(configuration, housekeeper: housekeeper, boot: boot, report: report)
            compactedRev = try ChangeHistory.compactedRev(recovery.writer, configuration)
            // Safety: the connection's only other user, the recovery, ends with this initialiser.
            nonisolated(unsafe) let writer = recovery.writer
            folder = try unsafe Folder(
                connection: writer, configuration: configuration, foldedRev: recovery.ledger.foldedRev, wake: wake)
        } catch {
            housekeeper.stop()
            boot.failed(error)
            throw error
        }
        do throws(StorageFault) {
            try boot.enter(.keys)
            try KeyKeeper.check(configuration, holdsSecrets: recovery.ledger.holdsSecrets)
            // From here on what was recovered is the data, whatever else keeps the daemon from serving.
            try boot.confirm()
            try boot.enter(.caches)
        } catch {
            folder.stop()
            housekeeper.stop()
            boot.failed(error)
            throw error
        }
        self.boot = boot
        self.folder = folder
        self.configuration = configuration
        self.executor = executor
        self.housekeeper = housekeeper
        self.remark = remark
        self.report = report
        epoch = recovery.epoch
        replayedChanges = recovery.replayedChanges
        hasRaisedRevision = recovery.hasRaisedRevision
        startedAt = configuration.clock.wall
        ledger = recovery.ledger
        log = recovery.log
        keyKeeper = KeyKeeper(
            configuration,
            holdsSecrets: { [unowned ledger = recovery.ledger] in
                ledger.holdsSecrets || boot.mayHaveSetSecretsAside
            }, seal: { [unowned ledger = recovery.ledger] in StoreSeal(ledger) }, wake: wake,
            report: report)
        log.compact(to: compactedRev)
        history = ChangeHistory(log: log, housekeeper: housekeeper, wake: wake, report: report)
        settings = recovery.settings
        documents = recovery.documents
        requests = RequestKeys(ledger: ledger, digestKey: recovery.digestKey)
        configurations = ConfigurationStore(ledger: ledger)
        let reader = recovery.documents.reader
        secrets = SecretsStore(
            ledger: ledger, ring: keyKeeper.ring,
            look: { (scope, key) throws(StoreError) in try reader.find(scope: scope, id: key, isSealed: true) },
            lookBehind: { (scope, key) throws(StoreError) in try reader.id(behind: key, scope: scope) },
            report: report)
        secrets.audit.reserve = AuditReserve(configuration)
        secrets.audit.binding.mark = SecretsMark(sealed: recovery.acknowledgedMark)
        aging = Aging(ledger: ledger, configurations: configurations, documents: documents)
        migrations = Migrations(ledger: ledger, configurations: configurations, documents: documents)
        var note: AcknowledgedNote?
        do throws(StorageFault) {
            note = try AcknowledgedNote(
                configuration.acknowledgedPath, epoch: recovery.epoch, rev: recovery.ledger.rev,
                mark: recovery.acknowledgedMark)
        } catch {
            report("what was acknowledged is not noted, so a log that is cut short would not be noticed: \(error)")
        }
        logSync = LogSync(
            syncedRev: recovery.ledger.revisions.synced, note: note, clock: configuration.clock, wake: wake)
        syncing = SyncSchedule(requestedRev: recovery.ledger.revisions.synced)
        self.wake = wake
        damage = DamageBook(configuration, housekeeper: housekeeper, boot: boot, wake: wake)
        damage.begin()
        boot.reads(CacheStore.allCases)
        let caches = Caches(
            configuration, tables: [ModelsStore.tables, BlobsStore.tables], boot: boot, housekeeper: housekeeper,
            wake: wake, report: report)
        self.caches = caches
        models = ModelsStore(caches, boot: boot)
        blobs = BlobsStore(caches)
        warmer = PageWarmer(path: configuration.tablesPath, wake: wake)
        queries = QueryPool(configuration, wake: wake)
        contents = ContentPool(configuration, wake: wake, report: report)
        attachments = AttachmentFiles(configuration, housekeeper: housekeeper, recovered: recovery.ledger)
        folding = FoldSchedule(
            tablesRev: recovery.ledger.foldedRev,
            unfoldedSince: recovery.ledger.hasUnfolded ? configuration.clock.monotonic : nil,
            hasPendingWAL: folder.hasPendingWALAtStart)
        billing = Billing(configuration)
        caches.bill = recovery.ledger.bill
        room = RoomKeeper(
            recovery.ledger, pace: folder.pace, space: caches.space, housekeeper: housekeeper, wake: wake,
            report: report
        ) {
            FileSystem.room(configuration.dataDirectory).map { Int($0.f_bavail) * Int($0.f_frsize) }
        }
        room.begin(wasFull: recovery.wasDiskFull, wal: folder.waitingBytes)
    }

    // MARK: Revisions

    /// Newest revision given out.
    public var rev: UInt64 { ledger.rev }
    /// Everything up to this revision is on the disk.
    public var syncedRev: SyncedRev { logSync.syncedRev }
    /// Everything up to this revision is in the log.
    public var committedRev: UInt64 { ledger.committedRev }
    /// Newest revision with a change that is durable before it is acknowledged: what a reply shows above it is relaxed.
    public var strictRev: StrictRev { ledger.revisions.strict }
    public var foldedRev: UInt64 { ledger.foldedRev }

    /// Why the storage must stop: a sync or a commit whose outcome is not known. Replies that waited for it say so.
    public var failure: StorageFault? {
        if let fault { return fault }
        return logSync.failure.map { .syncFailed(errno: $0) }
    }

    // MARK: Turns

    public func beginTurn() {
        ledger.now = clock.wall
        ledger.revisions.synced = logSync.syncedRev
        caches.beginTurn()
        if migrations.hasFound { storeMigrated() }
        sweepSecrets()
        noteScrubbed()
        if rewrapping.isWanted { rewrapSecrets() }
        if aging.hasFound, admitsBulk, let next = aging.deleteSome() { aging.begun(submit(next)) }
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
        attachments.letGo(above: ledger.rev)
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
        stageAudit()
        switch ledger.commit(to: log, syncedRev: logSync.syncedRev) {
        case .nothing:
            secrets.endTurn(isStored: true)
            return .nothing
        case .committed:
            secrets.endTurn(isStored: true)
            if let made = secrets.audit.binding.takeMark() { syncing.mark = made }
            if !folding.hasUnfolded { folding.noteUnfolded(at: clock.monotonic) }
            if let seconds = ledger.takeFlushSeconds() { syncing.noteRelaxed(seconds: seconds, clock.monotonic) }
            return .committed
        case .noSpace:
            settings.recount()
            attachments.letGo(above: ledger.rev)
            migrations.takeBack()
            secrets.endTurn(isStored: false)
            secrets.takeBackRewrapping()
            noticeFullLog()
            return .noSpace
        case .unknown(let error):
            fault = error
            return .failed
        }
    }

    /// Whether revisions wait for a sync that nobody has asked for: strict ones, relaxed ones whose time has come or that somebody waits to
    /// find in the tables, or so many that they have to be folded.
    public var needsSync: Bool {
        guard !log.unsynced.isEmpty else { return false }
        if syncing.isDue(strictRev: ledger.revisions.committedStrict, clock.monotonic) { return true }
        return ledger.overlay.bytes >= room.foldBytes || !syncing.requestedRev.has(foldWantedRev)
    }
    /// The revision up to which somebody waits for the tables; 0 when nobody does.
    var foldWantedRev: UInt64 { max(scrub.wantedRev, waits.wantedRev) }
    public var isSyncing: Bool { logSync.isBusy }
    /// What a sync takes on this disk, nanoseconds, smoothed; 0 before the first.
    public var syncTime: UInt64 { logSync.syncTime }

    /// Has everything appended so far synced.
    /// - Parameter inline: on this thread, now; allowed only while `isSyncing` is false.
    public func sync(inline: Bool) {
        let segments = log.takeUnsynced()
        guard !segments.isEmpty else { return }
        syncing.request(ledger.committedRev)
        if inline {
            logSync.syncInline(to: ledger.committedRev, segments: segments, mark: syncing.mark)
        } else {
            logSync.sync(to: ledger.committedRev, segments: segments, mark: syncing.mark)
        }
    }

    // MARK: Waiting

    /// Whether a write that was refused as `.busy` may be tried again.
    public var admitsChanges: Bool {
        if ledger.room.isFoldOutOfSpace { return true }
        return ledger.room.isRefusingForReserve ? ledger.overlay.bytes < ledger.room.removalsEnd : !ledger.isOverlayFull
    }

    /// Has the page, or the chunk of the log, read in that the last `.cold` was about.
    /// - Returns: a ticket that `takeWarmed` gives back when it is.
    public func warm() -> UInt64 {
        let ticket = nextTicket
        nextTicket += 1
        if history.fetch(ticket) { return ticket }
        // With nothing to read the ticket comes back at once: whoever has it begins again.
        warmer.warm(ticket, secrets.rows.takeColdLook() ?? documents.coldLook ?? .several([]))
        return ticket
    }

    public func takeWarmed() -> [UInt64] {
        var tickets = warmer.takeDone() ?? []
        if let read = history.takeDone() { tickets += read }
        return tickets
    }

    // MARK: Stopping

    /// Folds and checkpoints everything, then ends the threads. The storage is not used afterwards.
    /// - Returns: whether all is in the tables.
    public func close() -> Bool {
        if failure == nil, (try? secrets.audit.stage(all: true)) != nil { _ = commitTurn() }
        secrets.audit.inbox.tellUnkept()
        if failure == nil, needsSync || !syncedRev.has(ledger.committedRev) {
            while logSync.isBusy { usleep(200) }
            sync(inline: true)
        }
        if failure == nil { drainFold() }
        damage.end()
        queries.stop()
        stopContents()
        keyKeeper.stop()
        caches.stop()
        warmer.stop()
        logSync.stop()
        log.finish()
        folder.stop()
        housekeeper.stop()
        closeBill()
        if failure == nil, syncedRev.has(ledger.committedRev), RelaxedDurability.isNoted(ledger) {
            RelaxedDurability.noteCleanStop(configuration, rev: ledger.rev)
        }
        boot.ended()
        return failure == nil && ledger.overlay.items == 0
    }

    /// Lets another daemon have the directory. After `close`.
    public func letGo() { directory.unlock() }

    private func drainFold() {
        var attempts = 0
        while attempts < 3, failure == nil {
            if folding.isRetrying { attempts += 1 }
            if let waiting = folding.takeWaiting(.max) {
                submit(waiting)
            } else if !folding.hasSlice {
                guard let cut = ledger.cutSlice(syncedRev: syncedRev, log: log) else { return }
                submit(cut)
            }
            while folding.hasSlice, !folding.isRetrying, failure == nil {
                for outcome in folder.outcomes() ?? [] { take(outcome, clock.monotonic) }
                if let slice = folding.settling {
                    while !ledger.settle(slice, budget: 100_000) {}
                    folding.noteSettled(clock.monotonic)
                } else {
                    usleep(500)
                }
            }
        }
    }
}
