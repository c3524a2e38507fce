import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// One client's connection: its socket and buffers. Buffers are taken when bytes come and given back when they are used
/// up, so that an idle connection costs little more than its descriptor. Belongs to the loop.
final class Connection {
    let socket: Socket
    let token: UInt64
    var client: ConnectedClient
    var phase = ConnectionPhase.new
    var state: ConnectionState
    var input = ByteBuffer()
    var output = ByteBuffer()
    var sending = SendProgress()
    /// Descriptors that the client has passed and no request has taken.
    var descriptors: DescriptorQueue
    /// When requests have come and which replies have not left, for their measure.
    var times = RequestTimes()
    /// Its subscriptions and waits for changes.
    var feed = ConnectionFeed()
    var outstanding = OutstandingWork()
    /// How it stands in a crowd: what it holds, and why it is held up.
    var crowd = CrowdState()
    var undo = TurnUndo()
    /// What epoll is asked for.
    private(set) var interest: EventLoop.Interest = .read

    init(socket: consuming Socket, token: UInt64, lineLimit: Int, client: ConnectedClient) {
        self.client = client
        descriptors = DescriptorQueue(client.use.descriptors)
        self.socket = socket
        self.token = token
        state = ConnectionState(lineLimit: lineLimit)
        // Which lines hold secrets shows when they are whole, and not of those that are none.
        input.wipes = true
    }

    var permissions: Permissions? { client.permissions }
    var begun: BegunRequest? {
        get { state.begun }
        set { state.begun = newValue }
    }
    /// Bytes of output that have not left.
    var waitingOutput: Int { output.count - sending.head }
    /// The input has the end of a line.
    var hasLine: Bool { input.bytes.firstIndex(of: 0x0A) != nil }
    /// Bytes of input that are not done with.
    var waitingInput: Int { input.count - state.lines.consumed }
    /// Where in the output the reply begins that is made next, or goes on.
    var replyStart: Int { replyStart(in: output) }

    /// The same while `output` is lent.
    func replyStart(in output: borrowing ByteBuffer) -> Int {
        state.gathering.map { sending.index(of: $0.outputPosition) } ?? output.count
    }

    /// Position behind the last byte of output.
    var outputEnd: UInt64 { sending.position(of: output.count) }

    // MARK: Turns

    /// `isTight`: memory is short. A buffer from the pool then counts as growth, so that clients that do not read get no further one.
    func beginTurn(_ pool: BufferPool, isTight: Bool) {
        if output.capacity == 0 {
            pool.supply(&output)
            crowd.room = isTight ? 0 : output.capacity
        }
        times.unsent.seal()
        state.lines.lookedAt = 0
        if state.hasOnlyLines {
            undo.begin(state.lines, output: output.count)
        } else {
            undo.begin(state, output: output.count)
        }
    }

    /// What the turn has answered so far stays, whatever becomes of the turn.
    func keepTurn() {
        undo.keep(state, output: output.count)
        if !descriptors.isEmpty { descriptors.commit() }
        times.unsent.seal()
    }

    /// Forgets what the turn has answered, so that its requests can be answered again.
    /// - Returns: transfers that were asked for and are not any more.
    func takeTurnBack(_ changes: ChangeFeed) -> Int {
        guard let undone = undo.takeBack() else { return 0 }
        state = undone.state
        descriptors.rewind()
        cutOutput(to: undone.output)
        for change in undone.feedChanges.reversed() { changes.undo(change, of: self) }
        return undone.transfers
    }

    func endTurn(_ pool: BufferPool) {
        // First: what the turn's start shares with the state would be copied.
        undo.end()
        state.barriers.endTurn()
        if state.lines.hasAnsweredAhead {
            let isInBatch = state.batch != nil
            state.lines.dropAnswered { lines in
                precondition(!isInBatch, "a batch goes on in its line")
                input.remove(lines)
                times.arrivals.removed(lines.count)
            }
        }
        if !descriptors.isEmpty { descriptors.commit() }
        // A batch that waits goes on in its line, so the line has to stay where it is.
        guard state.batch == nil else { return }
        let consumed = state.lines.consumed
        // Not each time: what is left of a long input would be moved again and again.
        guard consumed >= input.count / 2 || input.count < 32 << 10 else { return }
        let isDone = consumed == input.count
        // What goes back to the pool is wiped there, if it has to be: a long line's pages need it not.
        if !isDone { input.removeFirst(consumed) } else if input.capacity > 0 { pool.reclaim(&input) }
        times.arrivals.removed(consumed)
        state.lines.rebase()
        // Every line that they can have come for has been handled.
        if isDone, !descriptors.isEmpty { descriptors.removeAll() }
    }

    /// It is closed: nothing will be read, answered or sent.
    func releaseMemory(_ pool: BufferPool) {
        pool.reclaim(&input)
        pool.reclaim(&output)
        descriptors.giveUp()
        sending.abandon()
        begun = nil
        undo.end()
    }

    // MARK: Bytes

    /// Reads once what the socket has.
    /// `limit`: of a line. `piece`: bytes that are read at most.
    /// - Returns: nil when there is no room for it.
    func receive(
        atMost limit: Int, _ pool: BufferPool, _ budget: BufferBudget, piece: Int = 1 << 20
    ) -> Socket.Received? {
        // The pool's buffers count in the budget too: while memory is short, the budget decides below.
        if input.capacity == 0, !budget.isTight { pool.supply(&input) }
        // A line that comes in small pieces goes on where it is; a long one gets room in long steps.
        if input.capacity - input.count < 4 << 10 {
            let room = min(max(input.count, 16 << 10), 1 << 20, max(limit, 4 << 10))
            let growth = input.capacity(reserving: room) - input.capacity
            guard budget.admits(growth, holding: footprint) else { return nil }
            input.reserve(room)
        }
        return socket.receive(into: &input, atMost: piece, queue: &descriptors)
    }

    /// Sends what may leave.
    func flush(syncedRev: SyncedRev, _ pool: BufferPool) -> SendProgress.Outcome {
        guard !output.isEmpty else {
            if output.capacity > 0 { pool.reclaim(&output) }
            return .all
        }
        let end = state.sendable(syncedRev: syncedRev, end: outputEnd)
        return sending.send(&output, upTo: end, to: socket, pool)
    }

    /// Takes output back, with what would have left with it.
    func cutOutput(to end: Int) {
        output.truncate(to: end)
        times.unsent.cut(to: sending.position(of: end))
        sending.cut(to: end)
    }

    func setInterest(_ wanted: EventLoop.Interest, _ loop: EventLoop) {
        guard wanted != interest else { return }
        interest = wanted
        loop.modify(socket.descriptor, token: token, wanted)
    }

    /// Rewrites the replies that wait for a sync that has failed: whether their changes survive is not known. Their ids
    /// are read back out of the replies themselves, so that keeping them costs nothing while all goes well.
    func replaceUnsyncedReplies(syncedRev: SyncedRev) {
        let keep = sending.index(of: state.sendable(syncedRev: syncedRev, end: outputEnd))
        // An incomplete reply is dropped: its request is still in the input, and is refused there.
        if let begun = state.composingFrom { cutOutput(to: sending.index(of: begun)) }
        let waiting = Array(output.bytes[keep...])
        cutOutput(to: keep)
        for line in waiting.split(separator: 0x0A) where !line.starts(with: ReplyIDs.notification) {
            line.withBytes { line in
                let ids = ReplyIDs.read(line)
                if ids.isEmpty { return }
                let isBatch = line.first == UInt8(ascii: "[")
                if isBatch { output.append(UInt8(ascii: "[")) }
                for id in ids {
                    output.beginElement()
                    id.withBytes { output.append(error: RPCError(.outcomeUnknown), id: $0) }
                }
                if isBatch { output.append(UInt8(ascii: "]")) }
                output.append(0x0A)
            }
        }
        for wait in feed.waits {
            wait.id.withBytes { output.append(error: RPCError(.shuttingDown), id: $0) }
            output.append(0x0A)
        }
        state.abandonReplies()
        phase.stopReading()
    }
}
