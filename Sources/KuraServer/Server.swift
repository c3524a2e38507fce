import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
public import KuraStorage
import KuraTransport

/// Where the layers meet: takes connections, turns their bytes into calls to the storage, and sends the replies when what
/// they show is on the disk.
///
/// Runs on the event loop's thread from `run` to its end. A turn: wait for descriptors; read; answer whole lines, in order,
/// each connection within its budget; commit once; sync; send.
public final class Server {
    /// How `run` ended.
    public enum Ending: Sendable {
        /// Drained: everything answered, synced and folded.
        case drained
        /// A sync or commit failed: outcomes are unknown, and the clients concerned were told so.
        case failed(StorageFault)
    }

    let loop: EventLoop
    let storage: Storage
    /// Where clients come in; none any more once the daemon drains.
    var sockets: [DaemonSocket]
    let access: AccessControl
    let journal: Journal
    let limits: ServerLimits
    let facts: ServerFacts
    var clock: Clock { facts.clock }
    let call: Call
    let reader: RequestReader
    let signals: Int32

    var connections = ConnectionTable()
    let pool: BufferPool
    /// Connections that this turn concerns.
    private(set) var turn: ContiguousArray<Connection> = []
    /// Which of them is being answered.
    private(set) var turnPosition = 0
    let glance = KeyGlance()
    /// By the methods' positions in the table.
    let keyRules: ContiguousArray<KeyRule>
    /// What keeps the many from each other's way.
    var crowd = Crowd()
    /// Those of them whose replies depend on the turn's commit, or that wait.
    private var pending: ContiguousArray<Connection> = []
    /// Connections whose input holds more requests than their budget allowed.
    private(set) var ready: ContiguousArray<Connection> = []
    /// The connections whose next request waits; those whose replies wait for a sync are in `awaitingSync`.
    var waits = WaitTable()
    var throttle = WriteThrottle()
    private(set) var awaitingSync: ContiguousArray<Connection> = []
    /// Those of `ready` and of `awaitingSync` whose turn it is; kept for their memory.
    private var again: ContiguousArray<Connection> = []
    private var releasing: ContiguousArray<Connection> = []
    /// What goes on out of band.
    var transfers: [Transfer] = []
    var nextTransfer = 0
    var nextTransferTicket: UInt64 = 0
    /// The import whose batch is in the turn, and the batch's revision.
    var storedBatch: (transfer: Transfer, rev: UInt64)?
    var drainDeadline: UInt64?
    /// Connections that had sent nothing when the drain began, and until when their first request is waited for.
    var newcomers: ContiguousArray<Connection> = []
    var newcomersDeadline: UInt64 = 0
    /// Connections that are gone and had to do with what others fetch.
    var departed: [UInt64] = []
    /// Bytes that the request which is being answered has written and taken back: they cost as much as those that stay.
    var discardedBytes = 0
    let reload: Reload
    let supervision: Supervision
    /// How a daemon is ended that gets no signals; nil for one that does.
    var stopRequest: StopRequest?
    /// nil when none are configured.
    var scheduledBackups: ScheduledBackups?
    /// nil when none are wanted.
    var idleChecks: IdleChecks?

    private var policy = SyncPolicy(cores: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    private var others = OtherClients()
    /// Changes are in the log whose sync has been put off so that others may join it.
    private var isGathering = false
    /// Replies up to this revision have been released.
    private var releasedRev: UInt64 = 0

    /// When the turn began to read from connections; 0 before.
    var readAt: UInt64 = 0

    /// Everything up to this revision is on the disk, as of the turn's beginning.
    private(set) var syncedRev: UInt64 = 0

    /// Requests that a client makes in one turn when it does not pipeline.
    private static let fewRequests: UInt64 = 4
    private static let signalsToken: UInt64 = 1
    /// All sockets'. Below all tokens of connections, as is the other.
    static let socketsToken: UInt64 = 2
    /// All clients' that were refused and are still there.
    static let lingeringToken: UInt64 = 3

    /// `signals`: a signalfd, or -1. `reload`: what SIGHUP has read again, and what it found first.
    init(
        loop: EventLoop, storage: Storage, sockets: [DaemonSocket], access: AccessControl, journal: Journal,
        limits: ServerLimits, version: String, signals: Int32, importRoots: [String] = [], reload: Reload,
        supervision: Supervision = Supervision(ServiceManager())
    ) throws {
        self.loop = loop
        self.storage = storage
        self.journal = journal
        self.limits = limits
        // What is kept between uses counts against the bound: a small part of it.
        let block = min(64 << 10, limits.bufferBytes / 64)
        pool = BufferPool(limit: max(2, min(64, limits.bufferBytes / 32 / block)), largest: block)
        self.signals = signals
        self.reload = reload
        self.supervision = supervision
        self.sockets = sockets
        self.access = access
        let table = MethodTable.standard
        reader = RequestReader(table: table)
        keyRules = ContiguousArray(table.methods.map(KeyRule.init))
        facts = ServerFacts(
            version: version, clock: storage.clock, limits: limits, profile: storage.configuration.profile.rawValue,
            importRoots: try ImportRoots(importRoots, dataDirectory: storage.configuration.dataDirectory),
            accessRules: ContiguousArray(table.methods.map(AccessRule.init)),
            auditRules: ContiguousArray(table.methods.map(AuditRule.init)), access: access, table: table)
        facts.sockets = sockets
        precondition(
            allHandlers.map(\.method) == table.methods.map(\.name),
            "Generated/Handlers.swift is stale: run scripts/docs")
        call = Call(reader: reader, server: facts, handlers: ContiguousArray(allHandlers.map(\.handler)))
        facts.queues = { [unowned self] in queueDepths }
        try watchSockets()
        if signals >= 0 { try loop.add(signals, token: Self.signalsToken, .read) }
        call.changes.live.start { [loop] in loop.wake() }
    }

    // MARK: The loop

    /// Serves until a signal ends it or the storage fails.
    public func run() -> Ending {
        loop.adoptThread()
        var timeout: Int32 = 0
        var serves = false
        // Safety: the server lives on the loop's thread, which is the actor's executor: inside and outside of the turn it is the
        // same thread that uses it.
        nonisolated(unsafe) let server = self
        storage.assumeIsolated {
            $0.setBilledOperations(MethodTable.standard.methods.map(\.name))
            $0.judgeMigrations(MigrationJudge.of)
            CollectionRules.judgeDeletions($0)
            $0.secrets.judgesRefusal = AuditRule.judge
            unsafe server.apply(server.reload.first, $0)
        }
        supervision.ready(clock, "serving, \(sockets.count) sockets")
        while true {
            var ending: Ending?
            // Many turns for one entry: it makes a closure. The actor's jobs run in between.
            storage.assumeIsolated { storage in
                repeat {
                    unsafe server.takeTurn(timeout, storage)
                    unsafe server.supervision.turnEnded(server.clock)
                    if let failure = storage.failure {
                        unsafe server.failAll(storage)
                        ending = .failed(failure)
                        return
                    }
                    if !serves {
                        serves = true
                        storage.boot.serves()
                    }
                    timeout = unsafe server.nextTimeout(storage)
                } while unsafe !server.loop.hasJobs && !server.isDrained
            }
            loop.runJobs()
            if let ending {
                call.changes.live.stop()
                stopTransfers()
                scheduledBackups?.stop()
                idleChecks?.stop()
                reload.stop()
                return ending
            }
            if isDrained {
                if !connections.isEmpty {
                    journal.log(
                        .warning, "the time for draining is over", [("connections", String(connections.count))])
                }
                break
            }
        }
        call.changes.live.stop()
        stopTransfers()
        scheduledBackups?.stop()
        idleChecks?.stop()
        reload.stop()
        let isClean = storage.assumeIsolated { $0.close() }
        if !isClean {
            journal.log(.warning, "stopped with changes that are only in the log; the next start takes them over")
        }
        return .drained
    }

    func takeTurn(_ timeout: Int32, _ storage: isolated Storage) {
        crowd.beginTurn()
        readAt = 0
        loop.wait(timeout: timeout) { event in dispatch(event, storage) }
        if let stopRequest, stopRequest.isMade, drainDeadline == nil { drain(storage) }
        storage.beginTurn()
        if !newcomers.isEmpty { endNewcomers() }
        takeReload(storage)
        syncedRev = storage.syncedRev
        wakeWaiting(storage)
        takeAnswers(storage)
        if waits.next != .max { endOverdue(at: clock.monotonic, storage) }
        wakeBatches()
        swap(&ready, &again)
        for connection in again {
            connection.crowd.queues.remove(.ready)
            if connection.phase.isUnread, reads(connection) { _ = receive(connection) }
            enter(connection)
        }
        if !again.isEmpty { again.removeAll(keepingCapacity: true) }
        var time = clock.monotonic
        wakeDeferred(time)
        for (position, connection) in turn.enumerated() {
            turnPosition = position
            let before = facts.requests
            crowd.beginSlice(at: time)
            process(connection, storage)
            let answered = facts.requests - before
            time = crowd.noteSlice(of: connection, since: time, answered: answered, clock)
            if connection.state.barriers.dependsOnTurn || connection.isWaiting {
                pending.append(connection)
                continue
            }
            // Nothing of the turn is in its replies: they leave while the others are being answered. Not those to a client
            // that pipelines: it has more under way, and to wake it for each of them costs more than it gains.
            if answered > Self.fewRequests { pending.append(connection) } else { leave(connection) }
            if answered > 0 { others.insert(connection.token) }
        }
        turn.removeAll(keepingCapacity: true)
        storeBatch(storage)
        finishTurn(storage)
        // The replies of a turn whose commit has failed have no barrier: nobody may send them.
        guard storage.failure == nil else { return }
        if !transfers.isEmpty { tellTransfers(storage) }
        if scheduledBackups != nil { tendBackups(storage) }
        if idleChecks != nil { tendChecks(storage) }
        tellDamage(storage.damage)
        tellRewrapping(storage)
        tellClaims(storage)
        call.connection = nil
        if crowd.isAcceptDue { accept() }
        drainLingering()
        relievePressure()
    }

    private func dispatch(_ event: EventLoop.Event, _ storage: isolated Storage) {
        switch event.token {
        // Those who are here come first.
        case Self.socketsToken: crowd.isAcceptDue = true
        case Self.signalsToken: takeSignals(storage)
        case Self.lingeringToken: crowd.isLingeringDue = true
        default:
            guard let connection = connections[event.token] else { return }
            if event.isClosed { connection.phase.leave() }
            if event.isReadable {
                guard receive(connection) else { return }
            } else if event.isClosed {
                hangUp(connection)
            }
            // What is left of an earlier turn comes behind those who ask now.
            if !connection.crowd.queues.contains(.ready) { enter(connection) }
        }
    }

    /// Puts a connection into the turn, once.
    func enter(_ connection: Connection) {
        guard !connection.crowd.queues.contains(.turn), !connection.phase.isClosed else { return }
        connection.crowd.queues.insert(.turn)
        connection.crowd.turn = crowd.turn
        connection.beginTurn(pool, isTight: facts.buffers.isTight)
        turn.append(connection)
    }

    private func wakeWaiting(_ storage: isolated Storage) {
        if waits.awaits(.room), storage.admitsChanges { wakeAll(.room) }
        wakeHeldBack()
        for ticket in storage.takeWarmed() where !call.changes.take(ticket) {
            if let connection = wake(waits.take(.page(ticket)), from: .page(ticket)) { enter(connection) }
        }
    }

    private func takeAnswers(_ storage: isolated Storage) {
        for answer in storage.takeAnswers() {
            if let error = answer.error, let signal = answer.query as? FoldSignal { signal.release(error) }
            if call.changes.live.take(answer, at: clock.monotonic) {
                call.changes.wake()
                continue
            }
            let cause = WaitTable.Cause.answer(answer.ticket)
            guard let connection = wake(waits.take(cause), from: cause, answer) else { continue }
            keepWithinBudget(answerOf: connection)
            enter(connection)
        }
    }

    /// What the connection has been answered in the turn is to be answered again.
    private func takeTurnBack(of connection: Connection, _ storage: isolated Storage) {
        let ticket = connection.begun?.ticket
        let dropped = connection.takeTurnBack(call.changes)
        facts.transfers -= dropped
        connection.client.use.transfers -= dropped
        // What it has begun to wait for in the turn is asked for again.
        if let ticket, ticket != connection.begun?.ticket { storage.forget(ticket) }
    }

    private func finishTurn(_ storage: isolated Storage) {
        switch storage.commitTurn() {
        case .nothing, .committed: judgeBatch(isStored: true)
        case .noSpace:
            judgeBatch(isStored: false)
            // Nothing of the turn was stored: its requests are answered again, and those that would change something are
            // refused.
            storage.setRefusingChanges(true)
            for connection in pending {
                takeTurnBack(of: connection, storage)
                process(connection, storage)
                // It waited when the turn began, and its request has been answered now.
                if !connection.isWaiting { waits.remove(connection.token) }
            }
            storage.saveAudit()
            storage.setRefusingChanges(false)
        case .failed: return
        }
        for connection in pending {
            if connection.state.barriers.awaitsLog { connection.state.barriers.isInLog(storage.committedRev) }
            if connection.begun?.isCalledOff == true { resume(connection) }
            leave(connection)
            if connection.isWaiting { noteWait(of: connection) }
        }
        if !pending.isEmpty { pending.removeAll(keepingCapacity: true) }
        syncIfDue(storage)
        release(storage.syncedRev)
        serveChanges(storage)
    }

    /// The turn is over for this connection: what may be sent is sent.
    private func leave(_ connection: Connection) {
        connection.endTurn(pool)
        connection.crowd.queues.remove(.turn)
        crowd.judgeSlice(of: connection)
        if !connection.undo.starting.isEmpty { beginTransfers(of: connection) }
        settle(connection, syncedRev)
    }

    // MARK: Syncing

    private func syncIfDue(_ storage: isolated Storage) {
        isGathering = false
        guard storage.needsSync else { return }
        guard !storage.isSyncing else {
            // Rides the sync after the one that is under way.
            storage.sync(inline: false)
            return
        }
        // Nobody waits: what was relaxed, or asked for nothing in return.
        guard !awaitingSync.isEmpty else {
            storage.sync(inline: false)
            return
        }
        let time = clock.monotonic
        if others.takePresence(besides: awaitingSync) { policy.servedOthers(at: time) }
        switch policy.decide(waiting: awaitingSync.count, syncTime: storage.syncTime, at: time) {
        case .gather where ready.isEmpty: isGathering = true
        case .inline where ready.isEmpty: storage.sync(inline: true)
        case .gather, .inline, .thread: storage.sync(inline: false)
        }
    }

    /// Sends the replies that a sync has made true.
    private func release(_ synced: UInt64) {
        guard synced > releasedRev else { return }
        releasedRev = synced
        guard !awaitingSync.isEmpty else { return }
        policy.beginRound()
        // Those that go on waiting enter the list again.
        swap(&awaitingSync, &releasing)
        for connection in releasing {
            connection.crowd.queues.remove(.sync)
            settle(connection, synced)
            guard !connection.crowd.queues.contains(.sync) else { continue }
            policy.release(lastRound: connection.crowd.lastRound)
            connection.crowd.lastRound = policy.round
        }
        releasing.removeAll(keepingCapacity: true)
    }

    func nextTimeout(_ storage: isolated Storage) -> Int32 {
        // One look at the clock for all: what upkeep takes of it is little, and comes too early at worst.
        let time = clock.monotonic
        var wait = storage.upkeep(at: time)
        if isGathering { return 0 }
        if !ready.isEmpty || waits.awaits(.room) && storage.admitsChanges { return 0 }
        if isDrained || hasBatch(storage) || pool.isReturning { return 0 }
        if call.changes.isBehind(caches: storage.caches.changes.rev) { return 0 }
        if let next = call.changes.timeToNext(at: time, requests: facts.requests) { wait = min(wait ?? .max, next) }
        if let drainDeadline {
            let next = newcomers.isEmpty ? drainDeadline : min(newcomersDeadline, drainDeadline)
            wait = min(wait ?? .max, next > time ? next - time : 0)
        }
        if let next = facts.uploads.dropExpired() { wait = min(wait ?? .max, next) }
        if drainDeadline == nil, let next = scheduledBackups?.timeToNext(at: time) { wait = min(wait ?? .max, next) }
        if drainDeadline == nil, let next = idleChecks?.timeToNext(at: time) { wait = min(wait ?? .max, next) }
        if waits.next != .max { wait = min(wait ?? .max, waits.next > time ? waits.next - time : 0) }
        if let next = supervision.timeToNext(at: time) { wait = min(wait ?? .max, next) }
        if waits.awaits(.slot) { wait = min(wait ?? .max, throttle.timeToNext(at: time)) }
        if let next = crowd.timeToNext(at: time) { wait = min(wait ?? .max, next) }
        if let next = timeToClaims(at: time, storage) { wait = min(wait ?? .max, next) }
        guard let wait else { return -1 }
        return Int32(clamping: wait.later(by: 999_999) / 1_000_000)
    }

    /// Sends what may leave, and decides what the connection waits for next.
    func settle(_ connection: Connection, _ synced: UInt64) {
        guard !connection.phase.isClosed else { return }
        var wanted: EventLoop.Interest = []
        switch connection.flush(syncedRev: synced, pool) {
        case .all: break
        case .blocked: wanted.insert(.write)
        case .gone:
            close(connection)
            return
        }
        if connection.times.unsent.hasAny(upTo: connection.gone) { measure(connection) }
        charge(connection)
        if connection.state.barriers.awaitsSync, !connection.crowd.queues.contains(.sync) {
            connection.crowd.queues.insert(.sync)
            awaitingSync.append(connection)
        }
        let isBacklogged = isBacklogged(connection)
        if isBacklogged { noteStall(connection) }
        if connection.feed.isBlocked, !connection.state.isComposing, connection.waitingOutput <= call.changes.backlog {
            connection.feed.isBlocked = false
            call.changes.wake()
        }
        let isHeld = connection.state.lines.hasMore || connection.isWaiting
        let isServed = connection.feed.waits.isEmpty && connection.outstanding.isEmpty
        if !isHeld, isServed, connection.phase.hasEnded, connection.output.isEmpty {
            guard facts.isDraining, refuseLate(connection) else { return close(connection) }
            return settle(connection, synced)
        }
        if connection.state.lines.hasMore, connection.crowd.deferredUntil == 0, !isBacklogged { goOn(connection) }
        let isReading = reads(connection)
        if isReading { wanted.insert(.read) }
        if !connection.phase.isUnwatched {
            connection.setInterest(wanted, loop)
        } else if isReading {
            goOn(connection)
        }
    }

    /// The next turn goes on with the connection.
    private func goOn(_ connection: Connection) {
        guard !connection.crowd.queues.contains(.ready) else { return }
        connection.crowd.queues.insert(.ready)
        ready.append(connection)
    }

    /// The client leaves so many replies unread that no further request is begun. A reply that is under way is completed.
    private func isBacklogged(_ connection: Connection) -> Bool {
        connection.waitingOutput >= outputRoom(connection) && !connection.state.isComposing
    }

    /// Whether what the client sends is read. While requests wait, later ones are read ahead up to a bound and not begun.
    private func reads(_ connection: Connection) -> Bool {
        let isHeld = connection.state.lines.hasMore || connection.isWaiting
        let isFull = isHeld && connection.waitingInput >= limits.inputBytes
        return !connection.phase.hasEnded && !isBacklogged(connection) && !isFull && !connection.crowd.isHeldUp
    }
}
