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
        /// As by a power cut: nobody was told anything.
        case cut
    }

    let loop: EventLoop
    let storage: Storage
    /// The buffers', which is asked for in every step of a turn: a chain of references would be counted each time.
    let pool: BufferPool
    let facts: ServerFacts
    let call: Call
    let reader: RequestReader
    let supervision: Supervision

    var connections = ConnectionTable()
    var turn: TurnQueue
    /// The connections whose next request waits.
    var waits = WaitTable()
    /// The connections whose replies wait for a sync.
    var syncs = SyncQueue()
    /// What goes on out of band.
    var transfers = TransferTable()
    /// What keeps the many from each other's way.
    var crowd: Crowd
    var jobs: BackgroundJobs
    var drain = Drain()

    var clock: Clock { facts.clock }
    var limits: ServerLimits { facts.limits }
    var access: AccessControl { facts.access }
    var journal: Journal { jobs.journal }
    var sockets: [DaemonSocket] { crowd.doors.sockets }
    /// Everything up to this revision is on the disk, as of the turn's beginning.
    var syncedRev: SyncedRev { turn.syncedRev }

    /// Requests that a client makes in one turn when it does not pipeline.
    private static let fewRequests: UInt64 = 4
    private static let signalsToken: UInt64 = 1
    /// All sockets'. Below all tokens of connections, as is the other.
    static let socketsToken: UInt64 = 2
    /// All clients' that were refused and are still there.
    static let lingeringToken: UInt64 = 3

    /// `reload`: what SIGHUP has read again, and what it found first.
    init(
        loop: EventLoop, storage: Storage, sockets: [DaemonSocket], access: AccessControl, journal: Journal,
        limits: ServerLimits, version: String, importRoots: [String] = [], reload: Reload,
        supervision: Supervision = Supervision(ServiceManager()), faultDesk: FaultDesk? = nil
    ) throws {
        self.loop = loop
        self.storage = storage
        jobs = BackgroundJobs(reload, journal)
        self.supervision = supervision
        let table = MethodTable.standard
        reader = RequestReader(table: table)
        turn = TurnQueue(table)
        facts = ServerFacts(
            version: version, clock: storage.clock, limits: limits, profile: storage.configuration.profile.rawValue,
            importRoots: try ImportRoots(importRoots, dataDirectory: storage.configuration.dataDirectory),
            access: access, table: table, faultDesk: faultDesk)
        pool = facts.buffers.pool
        crowd = Crowd(sockets, facts.buffers, stallSeconds: limits.stallSeconds)
        call = Call(reader: reader, server: facts)
        facts.present = { [unowned self] in present }
        try crowd.doors.watch(loop)
        try supervision.watch(loop, token: Self.signalsToken)
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
            $0.bill.setOperations(MethodTable.standard.methods.map(\.name))
            $0.judgeMigrations(MigrationJudge.of)
            CollectionRules.judgeDeletions($0)
            $0.secrets.audit.inbox.judgesRefusal = AuditRule.judge
            unsafe server.apply(server.jobs.reload.first, $0)
        }
        supervision.ready(clock, "serving, \(sockets.count) sockets")
        var failure: StorageFault?
        var isCut = false
        repeat {
            // Many turns for one entry: it makes a closure. The actor's jobs run in between.
            storage.assumeIsolated { storage in
                repeat {
                    unsafe server.takeTurn(timeout, storage)
                    unsafe server.supervision.turnEnded(server.clock)
                    if unsafe server.facts.methods.faultDesk?.outage == .powerCut {
                        isCut = true
                        return
                    }
                    if let found = storage.failure {
                        failure = found
                        return unsafe server.failAll(storage)
                    }
                    if !serves {
                        serves = true
                        storage.start.boot.serves()
                    }
                    timeout = unsafe server.nextTimeout(storage)
                } while unsafe !server.loop.hasJobs && !server.isDrained
            }
            loop.runJobs()
        } while failure == nil && !isCut && !isDrained
        if failure == nil, !isCut, !connections.isEmpty {
            failure = storage.assumeIsolated { unsafe server.sendLast($0) }
        }
        call.changes.live.stop()
        stopTransfers()
        jobs.stop()
        if isCut { return .cut }
        if let failure { return .failed(failure) }
        let isClean = storage.assumeIsolated { $0.close() }
        if !isClean {
            journal.log(.warning, "stopped with changes that are only in the log; the next start takes them over")
        }
        return .drained
    }

    func takeTurn(_ timeout: Int32, _ storage: isolated Storage) {
        crowd.slices.beginTurn()
        turn.begin()
        loop.wait(timeout: timeout) { event in dispatch(event, storage) }
        if supervision.isToStop, !drain.hasBegun { beginDrain(storage) }
        storage.beginTurn()
        if drain.hasNewcomers { endNewcomers() }
        takeReload(storage)
        turn.syncedRev = storage.syncedRev
        wakeWaiting(storage)
        takeAnswers(storage)
        if waits.next != .max { endOverdue(at: clock.monotonic, storage) }
        wakeBatches()
        if drain.hasBegun, drain.beginsLastTurn(at: clock.monotonic) { endWaits(storage) }
        if !turn.next.isEmpty {
            turn.beginResuming()
            for connection in turn.resuming {
                if connection.phase.isUnread, reads(connection) { _ = receive(connection) }
                enter(connection)
            }
            turn.endResuming()
        }
        var time = clock.monotonic
        wakeDeferred(time)
        for (position, connection) in turn.connections.enumerated() {
            turn.moveOn(to: position)
            let before = facts.traffic.requests
            crowd.slices.beginSlice(at: time)
            process(connection, storage)
            let answered = facts.traffic.requests - before
            time = crowd.slices.noteSlice(of: connection, since: time, answered: answered, clock)
            if connection.state.barriers.dependsOnTurn || connection.isWaiting {
                turn.hold(connection)
                continue
            }
            // Nothing of the turn is in its replies: they leave while the others are being answered. Not those to a client
            // that pipelines: it has more under way, and to wake it for each of them costs more than it gains.
            if answered > Self.fewRequests { turn.hold(connection) } else { leave(connection) }
            if answered > 0 { syncs.served(connection.token) }
        }
        turn.endAnswers()
        storeBatch(storage)
        finishTurn(storage)
        // The replies of a turn whose commit has failed have no barrier: nobody may send them.
        guard storage.failure == nil else { return }
        if !transfers.isEmpty { tellTransfers(storage) }
        if jobs.backups != nil { tendBackups(storage) }
        if jobs.checks != nil { tendChecks(storage) }
        tellDamage(storage.start.damage)
        tellRewrapping(storage)
        tellClaims(storage)
        call.connection = nil
        if crowd.doors.isDue { accept() }
        crowd.drainLingering(loop, clock)
        relievePressure()
        if let outage = facts.methods.faultDesk?.outage { beginOutage(outage, storage) }
    }

    private func dispatch(_ event: EventLoop.Event, _ storage: isolated Storage) {
        switch event.token {
        // Those who are here come first.
        case Self.socketsToken: crowd.doors.isDue = true
        case Self.signalsToken: takeSignals(storage)
        case Self.lingeringToken: crowd.doors.isLingeringDue = true
        default:
            guard let connection = connections[event.token] else { return }
            if event.isClosed { connection.phase.leave() }
            if event.isReadable {
                guard receive(connection) else { return }
            } else if event.isClosed {
                hangUp(connection)
            }
            // What is left of an earlier turn comes behind those who ask now.
            if !turn.goesOn(with: connection) { enter(connection) }
        }
    }

    /// Puts a connection into the turn, once.
    func enter(_ connection: Connection) {
        guard turn.insert(connection) else { return }
        connection.crowd.turn = crowd.slices.turn
        connection.beginTurn(pool, isTight: facts.buffers.isTight)
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
            // It asks for nothing that a query fails in.
            if case .engine(let error)? = answer.error, let signal = answer.query as? FoldSignal {
                signal.release(error)
            }
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
        facts.transfers.end(dropped)
        connection.client.use.transfers -= dropped
        // What it has begun to wait for in the turn is asked for again.
        if let ticket, ticket != connection.begun?.ticket { storage.forget(ticket) }
    }

    private func finishTurn(_ storage: isolated Storage) {
        switch storage.commitTurn() {
        case .nothing, .committed: transfers.judgeStaged(isStored: true)
        case .noSpace:
            transfers.judgeStaged(isStored: false)
            // Nothing of the turn was stored: its requests are answered again, and those that would change something are
            // refused.
            storage.setRefusingChanges(true)
            for connection in turn.held {
                takeTurnBack(of: connection, storage)
                process(connection, storage)
                // It waited when the turn began, and its request has been answered now.
                if !connection.isWaiting { waits.remove(connection.token) }
            }
            storage.saveAudit()
            storage.setRefusingChanges(false)
        case .failed: return
        }
        for connection in turn.held {
            if connection.state.barriers.awaitsLog { connection.state.barriers.isInLog(storage.committedRev) }
            if connection.begun?.isCalledOff == true { resume(connection) }
            leave(connection)
            if connection.isWaiting { noteWait(of: connection) }
        }
        turn.end()
        syncIfDue(storage)
        release(storage.syncedRev)
        serveChanges(storage)
    }

    /// The turn is over for this connection: what may be sent is sent.
    private func leave(_ connection: Connection) {
        connection.endTurn(pool)
        turn.leave(connection)
        crowd.slices.judgeSlice(of: connection)
        if !connection.undo.starting.isEmpty { beginTransfers(of: connection) }
        settle(connection, syncedRev)
    }

    // MARK: Syncing

    private func syncIfDue(_ storage: isolated Storage) {
        guard storage.needsSync else { return syncs.rest() }
        let decision = syncs.decide(
            isSyncing: storage.isSyncing, hasMore: !turn.next.isEmpty, syncTime: storage.syncTime, clock)
        if decision != .gather { storage.sync(inline: decision == .inline) }
    }

    /// Sends the replies that a sync has made true.
    private func release(_ synced: SyncedRev) {
        guard syncs.beginRelease(upTo: synced) else { return }
        for connection in syncs.releasing {
            settle(connection, synced)
            syncs.released(connection)
        }
        syncs.endRelease()
    }

    func nextTimeout(_ storage: isolated Storage) -> Int32 {
        // One look at the clock for all: what upkeep takes of it is little, and comes too early at worst.
        let time = clock.monotonic
        var wait = storage.upkeep(at: time)
        if syncs.isGathering { return 0 }
        if !turn.next.isEmpty || waits.awaits(.room) && storage.admitsChanges { return 0 }
        if isDrained || hasBatch(storage) || pool.isReturning { return 0 }
        if call.changes.isBehind(caches: storage.caches.changes.rev) { return 0 }
        if let next = call.changes.timeToNext(at: time, requests: facts.traffic.requests) {
            wait = min(wait ?? .max, next)
        }
        if let next = drain.timeToNext(at: time) { wait = min(wait ?? .max, next) }
        if let next = facts.uploads.dropExpired() { wait = min(wait ?? .max, next) }
        if !drain.hasBegun, let next = jobs.timeToNext(at: time) { wait = min(wait ?? .max, next) }
        if waits.next != .max { wait = min(wait ?? .max, waits.next > time ? waits.next - time : 0) }
        if let next = supervision.timeToNext(at: time) { wait = min(wait ?? .max, next) }
        if waits.awaits(.slot) { wait = min(wait ?? .max, crowd.timeToWrites(at: time)) }
        if let next = crowd.timeToNext(at: time) { wait = min(wait ?? .max, next) }
        if let next = timeToClaims(at: time, storage) { wait = min(wait ?? .max, next) }
        guard let wait else { return -1 }
        return Int32(clamping: wait.later(by: 999_999) / 1_000_000)
    }

    /// Sends what may leave, and decides what the connection waits for next.
    func settle(_ connection: Connection, _ synced: SyncedRev) {
        guard !connection.phase.isClosed else { return }
        var wanted: EventLoop.Interest = []
        if facts.traffic.isTapped { tellRecordings(of: connection, leavingAt: synced) }
        switch connection.flush(syncedRev: synced, pool) {
        case .all: break
        case .blocked: wanted.insert(.write)
        case .gone:
            close(connection)
            return
        }
        if connection.times.unsent.hasAny(upTo: connection.gone) { measure(connection) }
        charge(connection)
        if connection.state.barriers.awaitsSync { syncs.insert(connection) }
        let isBacklogged = isBacklogged(connection)
        if isBacklogged { noteStall(connection) }
        if connection.feed.isBlocked, !connection.state.isComposing, connection.waitingOutput <= call.changes.backlog {
            connection.feed.isBlocked = false
            call.changes.wake()
        }
        let isHeld = connection.state.lines.hasMore || connection.isWaiting
        let isServed = connection.feed.waits.isEmpty && connection.outstanding.isEmpty
        if !isHeld, isServed, connection.phase.hasEnded, connection.output.isEmpty {
            guard drain.hasBegun, refuseLate(connection) else { return close(connection) }
            return settle(connection, synced)
        }
        if connection.state.lines.hasMore, connection.crowd.deferredUntil == 0, !isBacklogged {
            turn.goOn(with: connection)
        }
        let isReading = reads(connection, isHeld: isHeld, isBacklogged: isBacklogged)
        if isReading { wanted.insert(.read) }
        if !connection.phase.isUnwatched {
            connection.setInterest(wanted, loop)
        } else if isReading {
            turn.goOn(with: connection)
        }
    }

    /// The client leaves so many replies unread that no further request is begun. A reply that is under way is completed.
    @inline(__always)
    private func isBacklogged(_ connection: Connection) -> Bool {
        connection.waitingOutput >= outputRoom(connection) && !connection.state.isComposing
    }

    /// Whether what the client sends is read. While requests wait, later ones are read ahead up to a bound and not begun.
    @inline(__always)
    private func reads(_ connection: Connection, isHeld: Bool, isBacklogged: Bool) -> Bool {
        let isFull = isHeld && connection.waitingInput >= limits.inputBytes
        return !connection.phase.hasEnded && !isBacklogged && !isFull && !connection.crowd.isHeldUp
    }

    private func reads(_ connection: Connection) -> Bool {
        let isHeld = connection.state.lines.hasMore || connection.isWaiting
        return reads(connection, isHeld: isHeld, isBacklogged: isBacklogged(connection))
    }
}
