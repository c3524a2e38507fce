#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import KuraBytes
import KuraProtocol
import KuraSocket

/// A connection that sends lines and waits for lines. It blocks the calling thread and belongs to one at a time.
public struct LineConnection: ~Copyable {
    private let socket: Socket
    private let timeout: Int32
    /// When nothing is sent or awaited any more, by `milliseconds()`.
    private var deadline: Int64?
    /// When the answer that is awaited has to be there; nil: whenever.
    private var answerDeadline: Int64?
    /// Received and not handed out yet.
    private var received = ByteBuffer()
    /// Bytes of `received` that are known to hold no LF.
    private var scanned = 0
    /// Descriptors that have come and were not handed out yet.
    private var descriptors = DescriptorQueue()

    /// Connects to the daemon that listens under `path`.
    /// - Parameters:
    ///   - path: a Unix socket's, at most 100 bytes.
    ///   - check: who has to be at the other end; nil: as the path and the environment say.
    ///   - timeoutMilliseconds: longest time until it is connected, until more of a line can be sent, and until a line is there; nil waits for
    ///     ever.
    ///   - tick: called now and then while a daemon that listens takes no connection.
    /// - Returns: the connection, over which nothing has been sent.
    /// - Throws: `noDaemon` with a hint on how to start one, `notAllowed`, `badPath`, `timedOut`.
    static func open(
        path: String, check: PeerCheck? = nil, timeoutMilliseconds: Int32? = nil, tick: (() -> Void)? = nil
    ) throws(ClientError) -> LineConnection {
        let check = if let check { check } else { try PeerCheck(path: path, named: nil) }
        let start = milliseconds()
        var wait: Int64 = 1
        while true {
            do throws(PeerCheck.Failure) {
                return LineConnection(try check.connect(to: path), timeoutMilliseconds: timeoutMilliseconds)
            } catch {
                let error = try error.system()
                // A daemon that is stopped takes none, and its queue of them is full. The kernel does not tell when there is room, so it is asked.
                guard error.code == EAGAIN else { throw connectError(error, path: path) }
                let left = timeoutMilliseconds.map { Int64($0) - (milliseconds() - start) } ?? wait
                guard left > 0 else {
                    throw ClientError(
                        .timedOut,
                        "somebody listens at \(path) and took no connection within \(timeoutMilliseconds ?? 0) ms",
                        hint: "the daemon may be stopped, or have more to do than it can; its log may tell",
                        cause: error)
                }
                usleep(UInt32(min(wait, left)) * 1000)
                wait = min(wait * 2, longestWait)
                tick?()
            }
        }
    }

    /// Longest between two attempts at a daemon that takes no connection, in milliseconds.
    private static let longestWait: Int64 = 50

    private init(_ socket: consuming Socket, timeoutMilliseconds: Int32?) {
        self.socket = socket
        timeout = timeoutMilliseconds ?? -1
    }

    /// Takes a connected stream socket over.
    init(owning descriptor: Int32, timeoutMilliseconds: Int32? = nil) {
        self.init(Socket(owning: descriptor), timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Nothing is sent or awaited for longer than this from now on, however much comes meanwhile.
    mutating func end(within milliseconds: Int32) { deadline = Self.milliseconds() + Int64(milliseconds) }

    /// An answer has the time that this connection allows from now on, whatever else comes meanwhile.
    mutating func beginAnswer() { answerDeadline = moment(after: timeout) }

    /// nil: it waits for ever.
    private func moment(after limit: Int32) -> Int64? { limit < 0 ? nil : Self.milliseconds() + Int64(limit) }

    /// What a failed connect(2) means to the one who asked.
    static func connectError(_ error: SystemError, path: String) -> ClientError {
        let start = """
            start one with 'kurad --socket \(path) &' (in the source tree: scripts/run --socket \(path)), \
            or name another socket with --socket or $KURA_SOCKET
            """
        switch error.code {
        case ENOENT, ENOTDIR:
            return ClientError(.noDaemon, "no daemon listens at \(path)", hint: start, cause: error)
        case ECONNREFUSED:
            return ClientError(
                .noDaemon, "nobody answers at \(path): its daemon is gone, or it is no socket", hint: start,
                cause: error)
        case EACCES, EPERM:
            return ClientError(
                .notAllowed, "this user may not connect to \(path)",
                hint: "run as the user who runs the daemon, or start one of your own with 'kurad'", cause: error)
        case ENAMETOOLONG:
            return ClientError(
                .badPath, "the socket path is too long: \(path)", hint: "at most 100 bytes, see unix(7)", cause: error)
        default:
            return ClientError(.badPath, error.description, cause: error)
        }
    }

    /// Sends `line`, which holds no LF, and its line end.
    /// - Parameters:
    ///   - line: the request.
    ///   - descriptor: goes along with the line's first byte (SCM_RIGHTS); it stays open here.
    /// - Throws: `connectionLost` or `timedOut`.
    public mutating func send(line: [UInt8], passing descriptor: Int32? = nil) throws(ClientError) {
        var descriptor = descriptor
        var rest = (line + [0x0A])[...]
        while !rest.isEmpty {
            let sent = rest.withBytes { bytes in
                descriptor.map { socket.send(bytes, passing: $0) } ?? socket.send(bytes)
            }
            guard let count = sent else {
                throw ClientError(.connectionLost, "the daemon closed the connection while the request was sent")
            }
            rest = rest.dropFirst(count)
            if count > 0 { descriptor = nil } else { try wait(for: POLLOUT, until: moment(after: timeout), timeout) }
        }
    }

    /// Waits for the next line.
    /// - Parameters:
    ///   - isTimed: false waits as long as `limit` says, whatever time this connection allows.
    ///   - limit: milliseconds; -1 waits for ever.
    ///   - tick: called about ten times a second while nothing comes.
    /// - Returns: the line without its line end.
    /// - Throws: `connectionLost` when the other side closes before the line ends, `timedOut`, or `badReply` when it is longer than any of a
    ///   daemon's: what has come of it is let go, and the connection is of no more use.
    public mutating func readLine(
        isTimed: Bool = true, within limit: Int32 = -1, tick: (() -> Void)? = nil
    ) throws(ClientError) -> [UInt8] {
        let limit = isTimed ? timeout : limit
        // Parts of a line give no more time.
        let end = (isTimed ? answerDeadline : nil) ?? moment(after: limit)
        while true {
            if let newline = received.bytes.firstIndex(of: 0x0A, from: scanned) {
                var line = Array(received.bytes(0..<newline))
                if line.last == 0x0D { line.removeLast() }
                received.removeFirst(newline + 1)
                scanned = 0
                return line
            }
            scanned = received.count
            guard scanned <= WireLimits.replyLineBytes else {
                received.releaseMemory()
                scanned = 0
                socket.shutdown()
                throw ClientError(.badReply, Self.endlessLine)
            }
            try wait(for: POLLIN, until: end, limit, tick)
            try receive()
        }
    }

    /// What a line is that does not end.
    static let endlessLine =
        "more than \(WireLimits.replyLineBytes >> 20) MiB came without a line end, which no daemon sends"

    /// The oldest descriptor that has come and was not taken yet, open for the caller, who closes it; nil when none has.
    public mutating func takeDescriptor() -> Int32? {
        guard case .descriptor(let passed) = descriptors.take() else { return nil }
        defer { descriptors.commit() }
        let own = fcntl(passed.number, F_DUPFD_CLOEXEC, 3)
        return own >= 0 ? own : nil
    }

    /// Keeps the bytes that have come.
    private mutating func receive() throws(ClientError) {
        received.reserve(256 << 10)
        switch socket.receive(into: &received, queue: &descriptors) {
        case .bytes, .nothing: break
        case .end, .failed:
            throw ClientError(.connectionLost, "the daemon closed the connection before it answered")
        }
    }

    /// Waits until the socket is ready.
    /// - Parameters:
    ///   - events: for what.
    ///   - end: when that has to be, by `milliseconds()`; nil waits for ever.
    ///   - limit: how long that is, for who is told.
    ///   - tick: called about ten times a second.
    /// - Throws: `timedOut`, or `connectionLost`.
    private func wait(
        for events: Int32, until end: Int64?, _ limit: Int32, _ tick: (() -> Void)? = nil
    ) throws(ClientError) {
        var request = pollfd(fd: socket.descriptor, events: Int16(events), revents: 0)
        while true {
            let now = Self.milliseconds()
            if let deadline, now >= deadline { throw ClientError(.timedOut, "the daemon did not answer in time") }
            if let end, now >= end { throw ClientError(.timedOut, "the daemon did not answer within \(limit) ms") }
            var slice: Int64 = tick == nil ? -1 : 100
            for time in [end, deadline] {
                if let time { slice = slice < 0 ? time - now : min(slice, time - now) }
            }
            // Safety: there is one of them.
            let count = unsafe poll(&request, 1, Int32(clamping: slice))
            if count > 0 { return }
            if count == 0 {
                tick?()
                continue
            }
            guard errno == EINTR else {
                let cause = SystemError("poll")
                throw ClientError(.connectionLost, cause.description, cause: cause)
            }
        }
    }

    private static func milliseconds() -> Int64 { Int64(clamping: monotonicNanoseconds() / 1_000_000) }
}
