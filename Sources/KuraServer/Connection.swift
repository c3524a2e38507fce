import Glibc
import KuraProtocol
import KuraTransport

/// One client's connection: its socket and buffers. Buffers are taken when bytes come and given back when they are used
/// up, so that an idle connection costs little more than its descriptor. Belongs to the loop.
final class Connection {
    let socket: Socket
    let token: UInt64
    let peer: PeerCredentials?
    /// What the client called itself in `session.hello`.
    var clientName: [UInt8] = []
    /// Settings that it has overridden for itself; nil without.
    var overrides: SessionOverrides?
    /// The check that `settings.configure` has begun and goes on with.
    var schemaCheck: SchemaCheck?

    var state = ConnectionState()
    var input = ByteBuffer()
    var framer: LineFramer
    var output = ByteBuffer()
    /// Bytes that have left since the connection began; `output` starts with the next one.
    private(set) var sent: UInt64 = 0
    private(set) var interest: EventLoop.Interest = .read
    var isClosed = false
    /// In the server's list of connections to look at in this turn.
    var isInTurn = false
    /// In the server's list of connections whose replies wait for a sync.
    var isInSyncList = false
    /// In the server's list of connections to go on with in the next turn.
    var isInReadyList = false
    /// The input may hold whole lines that have not been begun.
    var hasMore = false
    /// The other side is gone altogether; epoll has been told to be silent about it.
    var isHungUp = false
    /// The sync that released replies of this connection last, by the policy's count.
    var lastRound: UInt32 = 0
    /// How the connection stood when the turn began, for taking the turn back.
    private var turnStart: (framer: LineFramer, state: ConnectionState, output: Int)?

    init(socket: consuming Socket, token: UInt64, lineLimit: Int) {
        peer = PeerCredentials(of: socket.descriptor)
        self.socket = socket
        self.token = token
        framer = LineFramer(limit: lineLimit)
    }

    /// Position behind the last byte of output.
    var outputEnd: UInt64 { sent + UInt64(output.count) }

    // MARK: Turns

    func beginTurn(_ pool: BufferPool) {
        if output.capacity == 0 { pool.supply(&output) }
        turnStart = (framer, state, output.count)
    }

    /// Forgets what the turn has answered, so that its requests can be answered again.
    func takeTurnBack() {
        guard let start = turnStart else { return }
        (framer, state) = (start.framer, start.state)
        output.truncate(to: start.output)
    }

    func endTurn(_ pool: BufferPool) {
        state.endTurn()
        turnStart = nil
        // A batch that waits goes on in its line, so the line has to stay where it is.
        guard state.batch == nil else { return }
        input.removeFirst(framer.consumed)
        framer.rebase()
        if input.isEmpty, input.capacity > 0 { pool.reclaim(&input) }
    }

    // MARK: Bytes

    /// Reads once what the socket has.
    func receive(atMost limit: Int, _ pool: BufferPool) -> Socket.Received {
        if input.capacity == 0 { pool.supply(&input) }
        let room = input.isEmpty ? 16 << 10 : min(max(input.count, 16 << 10), 1 << 20)
        input.reserve(min(room, limit))
        let result = socket.receive(into: input.spare)
        if case .bytes(let count) = result { input.commit(count) }
        return result
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
        var length = Int(end - sent)
        var result = Flushed.all
        var done = 0
        while length > 0 {
            let bytes = UnsafeRawBufferPointer(rebasing: output.bytes[done..<done + length])
            guard let count = socket.send(bytes) else { return .gone }
            if count == 0 {
                result = .blocked
                break
            }
            done += count
            length -= count
        }
        guard done > 0 else { return result }
        sent += UInt64(done)
        if done == output.count {
            pool.reclaim(&output)
        } else {
            output.removeFirst(done)
        }
        return result
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
        let waiting = Array(output.bytes[keep...])
        output.truncate(to: keep)
        for line in waiting.split(separator: 0x0A) {
            line.withUnsafeBytes { line in
                let isBatch = line.first == UInt8(ascii: "[")
                if isBatch { output.append(UInt8(ascii: "[")) }
                var isFirst = true
                for id in ReplyIDs.read(line) {
                    if !isFirst { output.append(UInt8(ascii: ",")) }
                    isFirst = false
                    id.withUnsafeBytes { output.append(error: RPCError(.outcomeUnknown), id: $0) }
                }
                if isBatch { output.append(UInt8(ascii: "]")) }
                output.append(0x0A)
            }
        }
        state = ConnectionState()
        state.hasEnded = true
    }
}

/// The ids in a line of replies of our own making.
enum ReplyIDs {
    static func read(_ line: UnsafeRawBufferPointer) -> [[UInt8]] {
        let storage = WalkStorage()
        guard line.first == UInt8(ascii: "[") else { return [id(of: line, storage)] }
        var ids: [[UInt8]] = []
        var walk = JSONWalk(line, storage: storage)
        while let element = walk.nextElement() { ids.append(id(of: element, WalkStorage())) }
        return ids
    }

    private static func id(of reply: UnsafeRawBufferPointer, _ storage: WalkStorage) -> [UInt8] {
        var walk = JSONWalk(reply, storage: storage)
        while let (name, value) = walk.nextMember() {
            if name.elementsEqual("id".utf8) { return Array(value) }
        }
        return Array("null".utf8)
    }
}
