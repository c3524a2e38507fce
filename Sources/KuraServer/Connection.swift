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
    let peer: PeerCredentials?
    /// Where it came in; that may be closed by now.
    var door: DaemonSocket?
    /// Its role and what binds it.
    var admission: AccessControl.Admission
    /// What it may do; nil: everything.
    var permissions: Permissions? { admission.permissions }
    /// What its user has of what all share.
    let use: UserUse
    /// What the client called itself in `session.hello`.
    var clientName: [UInt8] = []
    /// Its number on the write bill; nil until it is asked for.
    var billNumber: UInt16?
    /// Which installation of the application it says to be; empty when it does not.
    var installation: [UInt8] = []
    /// Settings that it has overridden for itself; nil without.
    var overrides: SessionOverrides?
    /// The versions of collections that it knows; nil when it has declared none.
    var declaredVersions: DeclaredVersions?

    var state = ConnectionState()
    var input = ByteBuffer()
    var framer: LineFramer
    /// Up to which byte of the input this turn has looked ahead.
    var lookedAt = 0
    var output = ByteBuffer()
    /// Descriptors that the client has passed and no request has taken.
    var descriptors: DescriptorQueue
    /// Position of the output's first byte, counted since the connection began.
    private(set) var sent: UInt64 = 0
    /// Bytes at the output's front that have left already.
    private(set) var head = 0
    private(set) var interest: EventLoop.Interest = .read
    var isClosed = false
    /// In the server's list of connections to look at in this turn.
    var isInTurn = false
    /// In the server's list of connections whose replies wait for a sync.
    var isInSyncList = false
    /// In the server's list of connections to go on with in the next turn.
    var isInReadyList = false
    /// Its subscriptions and waits for changes.
    var feed = ConnectionFeed()
    /// In the feed's ring.
    var isInFeed = false
    /// It has sent something.
    var hasSpoken = false
    /// The input may hold whole lines that have not been begun.
    var hasMore = false
    /// While a request waits, lines behind it could be answered in the next turn.
    var hasAhead = false
    /// Lines behind the request that waits which the turn has answered.
    private var ahead: [Range<Int>] = []
    /// The other side is gone altogether; epoll has been told to be silent about it.
    var isHungUp = false
    /// What the other side had sent before it went is still to be read, and epoll will not say so.
    var isUnread = false
    /// The sync that released replies of this connection last, by the policy's count.
    var lastRound: UInt32 = 0
    /// The request that is answered next, when it has been begun already.
    var begun: BegunRequest?
    /// Descriptors that leave with the byte of the output at their position.
    private var passing: [(position: UInt64, descriptor: PassedDescriptor)] = []
    /// Transfers that the turn's requests have asked for; they begin when the turn is in the log.
    var starting: [Transfer] = []
    /// Those under way that `rpc.cancel` ends.
    var cancellable: [Transfer] = []
    /// Transfers that are under way.
    var transfers = 0
    /// The one that the next request waits for in its place.
    var inPlace: Transfer?
    /// It has claims that end with it, waits for some, or holds scratch namespaces.
    var holdsCaches = false
    /// Requests of it that wait for what another client fetches.
    var parked = 0
    /// How it stands in a crowd: what it holds, and why it is held up.
    var crowd = CrowdState()
    /// Reads since everything was answered and the daemon stops.
    var lateReads = 0
    /// When what the input holds was read.
    var arrivals = Arrivals()
    /// When the request was read that is being answered.
    var requestedAt: UInt64 = 0
    /// Replies that have not left, for their measure.
    var unsent = UnsentReplies()
    /// How the connection stood when the turn began, for taking the turn back.
    private var turnStart: TurnStart?
    /// A type of its own: the runtime would take a tuple apart field by field in every turn.
    private struct TurnStart {
        var framer: LineFramer
        var state: ConnectionState
        var output: Int
        /// Lines behind one that waits which stay answered.
        var ahead: [Range<Int>] = []
        var begun: BegunRequest?
    }
    /// What the turn has changed of the feed, for taking it back.
    private var feedChanges: ContiguousArray<ConnectionFeed.Change> = []

    init(
        socket: consuming Socket, token: UInt64, lineLimit: Int, peer: PeerCredentials?,
        admission: AccessControl.Admission, use: UserUse = UserUse(uid: .max)
    ) {
        self.use = use
        descriptors = DescriptorQueue(use.descriptors)
        self.peer = peer
        self.admission = admission
        self.socket = socket
        self.token = token
        framer = LineFramer(limit: lineLimit)
        // Which lines hold secrets shows when they are whole, and not of those that are none.
        input.wipes = true
    }

    /// Bytes of output that have not left.
    var waitingOutput: Int { output.count - head }
    /// The input has the end of a line.
    var hasLine: Bool { input.bytes.firstIndex(of: 0x0A) != nil }
    /// Bytes of input that are not done with.
    var waitingInput: Int { input.count - framer.consumed }
    /// Where in the output the reply begins that is made next, or goes on.
    var replyStart: Int { replyStart(in: output) }

    /// The same while `output` is lent.
    func replyStart(in output: borrowing ByteBuffer) -> Int {
        state.gathering.map { Int($0.outputPosition - sent) } ?? output.count
    }

    /// Position behind the last byte of output.
    var outputEnd: UInt64 { sent + UInt64(output.count) }

    // MARK: Turns

    /// `isTight`: memory is short, so what is taken from the pool counts as grown, and is held against the budget with the first reply. Turn
    ///   by turn, the pool would else fill the outputs of those who do not read.
    func beginTurn(_ pool: BufferPool, isTight: Bool) {
        if output.capacity == 0 {
            pool.supply(&output)
            crowd.room = isTight ? 0 : output.capacity
        }
        unsent.seal()
        turnStart = TurnStart(framer: framer, state: state, output: output.count, begun: begun)
        begun?.mark()
        lookedAt = 0
    }

    /// What the turn has answered so far stays, whatever becomes of the turn.
    func keepTurn() {
        turnStart = TurnStart(framer: framer, state: state, output: output.count, ahead: ahead, begun: begun)
        begun?.mark()
        if !descriptors.isEmpty { descriptors.commit() }
        unsent.seal()
        feedChanges.removeAll(keepingCapacity: true)
    }

    /// Forgets what the turn has answered, so that its requests can be answered again.
    func takeTurnBack(_ changes: ChangeFeed) {
        guard let start = turnStart else { return }
        (framer, state, begun) = (start.framer, start.state, start.begun)
        begun?.takeBack()
        starting = []
        ahead = start.ahead
        descriptors.rewind()
        cutOutput(to: start.output)
        for change in feedChanges.reversed() { changes.undo(change, of: self) }
        feedChanges.removeAll(keepingCapacity: true)
    }

    /// There is no feed any more to take something back of.
    func forgetFeedChanges() { feedChanges.removeAll() }

    /// A request has changed the feed, which `takeTurnBack` must undo.
    func note(_ change: ConnectionFeed.Change) { feedChanges.append(change) }

    /// A line behind the request that waits has been answered.
    func answeredAhead(_ line: Range<Int>) {
        if let last = ahead.last, last.upperBound == line.lowerBound {
            ahead[ahead.count - 1] = last.lowerBound..<line.upperBound
        } else {
            ahead.append(line)
        }
    }

    /// Whether the line that begins there has been answered while it was behind one that waited.
    func isAnsweredAhead(_ lower: Int) -> Bool { !ahead.isEmpty && ahead.contains { $0.contains(lower) } }

    private func dropAhead() {
        // Those that the turn has come to since are passed over, and leave with the rest.
        for lines in ahead.reversed() where lines.lowerBound >= framer.consumed {
            precondition(state.batch == nil, "a batch goes on in its line")
            input.remove(lines)
            state.overtaken = max(0, state.overtaken - lines.count)
            arrivals.removed(lines.count)
        }
        ahead.removeAll(keepingCapacity: true)
        framer.putBack(to: framer.consumed)
    }

    func endTurn(_ pool: BufferPool) {
        if !ahead.isEmpty { dropAhead() }
        turnStart?.begun?.endTurn()
        // First: what the two share would be copied.
        turnStart = nil
        state.endTurn()
        if !feedChanges.isEmpty { feedChanges.removeAll(keepingCapacity: feedChanges.capacity <= 64) }
        if !descriptors.isEmpty { descriptors.commit() }
        // A batch that waits goes on in its line, so the line has to stay where it is.
        guard state.batch == nil else { return }
        // Not each time: what is left of a long input would be moved again and again.
        guard framer.consumed >= input.count / 2 || input.count < 32 << 10 else { return }
        let isDone = framer.consumed == input.count
        // What goes back to the pool is wiped there, if it has to be: a long line's pages need it not.
        if !isDone { input.removeFirst(framer.consumed) } else if input.capacity > 0 { pool.reclaim(&input) }
        arrivals.removed(framer.consumed)
        framer.rebase()
        // Every line that they can have come for has been handled.
        if isDone, !descriptors.isEmpty { descriptors.removeAll() }
    }

    /// It is closed: nothing will be read, answered or sent.
    func releaseMemory(_ pool: BufferPool) {
        pool.reclaim(&input)
        pool.reclaim(&output)
        descriptors.giveUp()
        passing.removeAll()
        begun = nil
        turnStart = nil
    }

    // MARK: Bytes

    /// Reads once what the socket has.
    /// `limit`: of a line. `piece`: bytes that are read at most.
    /// - Returns: nil when there is no room for it.
    func receive(
        atMost limit: Int, _ pool: BufferPool, _ budget: BufferBudget, piece: Int = 1 << 20
    ) -> Socket.Received? {
        // What is short is asked for.
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

    enum Flushed {
        /// Everything that may leave has left.
        case all
        /// The socket takes no more for now.
        case blocked
        /// The other side is gone.
        case gone
    }

    /// Sends what may leave.
    func flush(syncedRev: UInt64, _ pool: BufferPool) -> Flushed {
        guard !output.isEmpty else {
            if output.capacity > 0 { pool.reclaim(&output) }
            return .all
        }
        let end = state.sendable(syncedRev: syncedRev, end: outputEnd)
        var done = head
        var length = Int(end - sent) - done
        var result = Flushed.all
        while length > 0 {
            let sending = passing.isEmpty ? socket.send(output.bytes(done..<done + length)) : pass(done, length)
            guard let count = sending else { return .gone }
            if count == 0 {
                result = .blocked
                break
            }
            done += count
            length -= count
        }
        guard done > head else { return result }
        head = done
        if head == output.count {
            sent += UInt64(head)
            head = 0
            pool.reclaim(&output)
            output.wipes = false
        } else if head > output.count / 2 {
            // Not each time: what is left of a long reply would be moved again and again.
            sent += UInt64(head)
            output.removeFirst(head)
            head = 0
        }
        return result
    }

    /// Sends from `start` on, up to the next byte that a descriptor goes with.
    private func pass(_ start: Int, _ length: Int) -> Int? {
        let first = Int(passing[0].position - sent)
        guard first <= start else { return socket.send(output.bytes(start..<min(first, start + length))) }
        let next = passing.count > 1 ? Int(passing[1].position - sent) : .max
        let count = socket.send(
            output.bytes(start..<min(next, start + length)), passing: passing[0].descriptor.number)
        // Once: with the first byte that the socket took.
        if let count, count > 0 { passing.removeFirst() }
        return count
    }

    /// A descriptor leaves with the byte that is at `index` of the output.
    func pass(_ descriptor: PassedDescriptor, at index: Int) {
        passing.append((sent + UInt64(index), descriptor))
    }

    /// Takes output back, with what would have left with it.
    func cutOutput(to end: Int) {
        output.truncate(to: end)
        unsent.cut(to: sent + UInt64(end))
        if !passing.isEmpty { passing.removeAll { $0.position >= sent + UInt64(end) } }
    }

    func setInterest(_ wanted: EventLoop.Interest, _ loop: EventLoop) {
        guard wanted != interest else { return }
        interest = wanted
        loop.modify(socket.descriptor, token: token, wanted)
    }

    /// Rewrites the replies that wait for a sync that has failed: whether their changes survive is not known. Their ids
    /// are read back out of the replies themselves, so that keeping them costs nothing while all goes well.
    func replaceUnsyncedReplies(syncedRev: UInt64) {
        let keep = Int(state.sendable(syncedRev: syncedRev, end: outputEnd) - sent)
        // What was begun of a reply goes with its request, which is still in the input.
        if let begun = state.batch?.outputPosition ?? state.gathering?.outputPosition {
            cutOutput(to: Int(begun - sent))
        }
        let waiting = Array(output.bytes[keep...])
        cutOutput(to: keep)
        for line in waiting.split(separator: 0x0A) where !line.starts(with: ReplyIDs.notification.utf8) {
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
        state = ConnectionState()
        state.hasEnded = true
    }
}

/// The ids in a line of replies of our own making.
enum ReplyIDs {
    /// What a line that is no reply begins with.
    static let notification = "{\"jsonrpc\":\"2.0\",\"method\":"

    /// None for a notification.
    static func read(_ line: Bytes) -> [[UInt8]] {
        if line.starts(with: notification.utf8) { return [] }
        let storage = WalkStorage()
        guard line.first == UInt8(ascii: "[") else { return [id(of: line, storage)] }
        var ids: [[UInt8]] = []
        var walk = JSONWalk(line, storage: storage)
        while let element = walk.nextElement() { ids.append(id(of: element, WalkStorage())) }
        return ids
    }

    private static func id(of reply: Bytes, _ storage: WalkStorage) -> [UInt8] {
        var walk = JSONWalk(reply, storage: storage)
        while let (name, value) = walk.nextMember() {
            if name.elementsEqual("id".utf8) { return Array(value) }
        }
        return Array("null".utf8)
    }
}

extension ByteBuffer {
    /// A notification, which is open at its parameters. It begins as `ReplyIDs` knows it.
    mutating func openNotification(_ method: StaticString) {
        openObject()
        append(.jsonrpc, word: "2.0")
        append(.method, word: method)
        openObject(.params)
    }

    /// With its line end.
    mutating func closeNotification() { append("}}\n") }

    /// The beginning of a reply whose result follows.
    mutating func appendResultHead(id: Bytes) {
        appendReplyHead(id: id)
        append(name: .result)
    }
}
