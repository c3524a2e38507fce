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
import Synchronization

/// How the link's thread comes to a connection that calls can be sent on.
extension Link {
    /// Connects and introduces the client. Then calls are sent.
    func open() throws(KuraError) {
        let shared = SharedSocket(try connection())
        forgetInput()
        let answer = try hello(shared)
        try restore(shared)
        lock.withLock { _ in
            guard phase != .closed else { return }
            server = answer
            lineLimit.store(Int(clamping: answer.limits["lineBytes"] ?? 0), ordering: .relaxed)
            lastFailure = nil
            phase = .connected
            socket = shared
            resolveFirst(nil)
            for subscription in subscriptions.values { subscribe(subscription) }
            pump()
        }
        tellFirst()
        flush()
    }

    /// Longest between two attempts at a daemon that has not taken those who came before.
    private static let longestWait: Int64 = 50_000_000

    /// A connection, waited for as long as for a reply. A daemon that is stopped takes none, and once its queue of them is full connect(2) would block, and with it
    /// all that this thread does. The kernel does not tell when there is room, so it is asked.
    private func connection() throws(KuraError) -> Socket {
        let limit = Clock.deadline(after: timeout, from: Clock.now())
        var wait: Int64 = 1_000_000
        while true {
            do throws(PeerCheck.Failure) { return try check.connect(to: path) } catch {
                switch error {
                case .stranger(let error): throw KuraError(.notAllowed, error.message, advice: error.hint)
                case .system(let error): guard error.code == EAGAIN else { throw Self.unreachable(error, path) }
                }
            }
            // Calls wait for this connection, and not for longer than they were given.
            expire(Clock.now())
            try checkOpening(limit)
            let until = min(limit, Clock.deadline(after: wait, from: Clock.now()), lock.withLock { _ in sleepsUntil })
            _ = sleep(nil, until: until)
            wait = min(wait * 2, Self.longestWait)
        }
    }

    private func hello(_ shared: SharedSocket) throws(KuraError) -> KuraServer {
        var line = ByteBuffer()
        line.append("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"session.hello\",\"params\":{")
        if let name = options.name {
            line.append("\"client\":")
            line.append(quoted: name)
            if let version = options.version {
                line.append(",\"version\":")
                line.append(quoted: version)
            }
            if options.launch, lock.withLock({ _ in server == nil }) { line.append(",\"launch\":true") }
            line.append(",")
        }
        if let installation = options.installation {
            line.append("\"installation\":")
            line.append(quoted: installation)
            line.append(",")
        }
        line.append("\"enable\":[\"outOfOrder\"]}}\n")
        // A daemon that refuses a connection says why before it closes it: the answer is looked for all the same.
        return try KuraServer(answer: try exchange(line, on: shared), path: path)
    }

    /// One call on a connection that nobody else uses yet.
    /// - Returns: the answer's line.
    func ask(_ shared: SharedSocket, _ method: String, _ params: [UInt8]) throws(KuraError) -> [UInt8] {
        var line = ByteBuffer()
        line.append("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"")
        line.append(text: method)
        line.append("\",\"params\":")
        line.append(params)
        line.append("}\n")
        return try exchange(line, on: shared)
    }

    private func exchange(_ line: borrowing ByteBuffer, on shared: SharedSocket) throws(KuraError) -> [UInt8] {
        let limit = Clock.deadline(after: timeout, from: Clock.now())
        // Calls wait for this connection, and not for longer than they were given.
        expire(Clock.now())
        var sent = 0
        while sent < line.count, let count = shared.socket.send(line.bytes(sent..<line.count)) {
            sent += count
            guard count == 0 else { continue }
            try checkOpening(limit)
            var room = pollfd(fd: shared.socket.descriptor, events: Int16(POLLOUT), revents: 0)
            // Safety: there is one of them.
            _ = unsafe poll(&room, 1, 100)
        }
        while true {
            if let newline = received.bytes.firstIndex(of: 0x0A, from: scanned) {
                let text = Array(received.bytes(0..<newline))
                received.removeFirst(newline + 1)
                scanned = 0
                return text
            }
            scanned = received.count
            try checkLine(scanned)
            try checkOpening(limit)
            let until = min(limit, lock.withLock { _ in sleepsUntil })
            if sleep(shared, until: until), !receive(shared) {
                throw KuraError(
                    .serverGone, "the daemon at \(path) closes connections at once", advice: "Look at its log.")
            }
            if Clock.now() >= until { expire(Clock.now()) }
        }
    }

    private func checkOpening(_ limit: Int64) throws(KuraError) {
        if lock.withLock({ _ in phase == .closed }) { throw KuraError(.closed, "the client was closed") }
        guard Clock.now() < limit else {
            throw KuraError(
                .serverGone, "somebody listens at \(path) and does not answer",
                advice: "The daemon may be stopped, or it is none of ours.")
        }
    }

    /// What a failed connect(2) means to the one who asked.
    private static func unreachable(_ error: SystemError, _ path: String) -> KuraError {
        let known = LineConnection.connectError(error, path: path)
        switch known.code {
        case .notAllowed: return KuraError(.notAllowed, known.message)
        case .badPath where isForGood(error.code): return KuraError(.badPath, known.message)
        case .badPath:
            return KuraError(
                .serverGone, known.message, advice: "It is tried again; see what the process or the system is short of."
            )
        default: return KuraError(.serverGone, known.message)
        }
    }

    /// Whether it is the path that is wrong, and not something that is wanting now: descriptors, memory, room in the daemon's queue.
    static func isForGood(_ code: Int32) -> Bool {
        switch code {
        case ENAMETOOLONG, ENOTSOCK, EPROTOTYPE, ELOOP, EINVAL: true
        default: false
        }
    }
}
