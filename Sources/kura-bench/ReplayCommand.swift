import Glibc

/// `replay`: requests that were rendered into a file, over and over, by as many connections.
///
/// For loads that a template with a key cannot say: queries, patches, batches. Each connection takes the next line of the
/// file; every reply must be a result.
enum ReplayCommand {
    static func run(_ arguments: inout Arguments) throws {
        let target = try arguments.target("--target")
        guard target.wire == .kura else { throw BenchError.usage("replay wants kura:SOCKET") }
        guard let path = arguments.text("--requests") else {
            throw BenchError.usage("--requests FILE is needed: a request a line, each with id 1")
        }
        let connections = try arguments.integer("--connections", default: 1, in: 1...1000)
        let depth = try arguments.integer("--depth", default: 1, in: 1...1000)
        let seconds = try arguments.decimal("--seconds", default: 3, in: 0.01...86_400)
        let isOnce = arguments.flag("--once")
        let asJSON = arguments.flag("--json")
        try arguments.finish()

        let lines = try RequestLines(path)
        let replay = try Replay(lines, target: target, connections: connections, depth: depth)
        let tally = try replay.run(seconds: isOnce ? nil : seconds)
        let rate = tally.operationsPerSecond
        let quantiles = [("p50Us", 0.5), ("p99Us", 0.99), ("p999Us", 0.999), ("maxUs", 1.0)]
            .map { ($0.0, Format.microseconds(tally.reads.quantile($0.1))) }
        if asJSON {
            let head = [
                ("operations", "\(tally.operations)"), ("seconds", Format.fixed(Double(tally.elapsed) / 1e9, 3)),
                ("opsPerSecond", Format.fixed(rate, 1)), ("replyBytes", "\(replay.replyBytes)"),
            ]
            Output.line(Format.object(head + quantiles))
        } else {
            Output.line("kura: \(path), \(connections) connections × \(depth)")
            Output.line("  \(Format.fixed(rate, 0)) ops/s over \(Format.fixed(Double(tally.elapsed) / 1e9, 2)) s")
            Output.line("  latency " + quantiles.map { "\($0.0.dropLast(2)) \($0.1)" }.joined(separator: "  ") + "  µs")
        }
    }
}

/// A file of requests in memory, and where its lines are.
///
/// Safety: the block is as long as the file and stays as long as the program runs: a replay has one.
@safe
struct RequestLines {
    let bytes: UnsafeMutablePointer<UInt8>
    /// Where each line begins, and behind them where the last one ends; a line has its line end.
    let offsets: [Int]

    var count: Int { offsets.count - 1 }

    init(_ path: String) throws {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw BenchError.system("open \(path)") }
        defer { close(file) }
        let size = Int(lseek(file, 0, SEEK_END))
        let block = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, size))
        var done = 0
        while done < size {
            let count = unsafe pread(file, block + done, size - done, off_t(done))
            guard count > 0 else { throw BenchError.system("read \(path)") }
            done += count
        }
        var offsets = [0]
        for index in 0..<size where unsafe block[index] == 0x0A { offsets.append(index + 1) }
        guard offsets.count > 1, offsets.last == size else {
            throw BenchError.failed("\(path) has no lines, or its last one does not end")
        }
        unsafe bytes = block
        self.offsets = offsets
    }
}

/// The connections of a replay: a closed loop of `depth` requests each, on one thread.
///
/// Safety: a line is written within its offsets, replies are looked for within the bytes that have come.
final class Replay {
    private struct Client {
        var descriptor: Int32
        var input = [UInt8](repeating: 0, count: 1 << 16)
        var inputCount = 0
        /// Bytes that hold no line end.
        var searched = 0
        /// The line that is being sent, and how much of it has left.
        var line = 0
        var sent = 0
        var waitsForRoom = false
        /// When the requests under way were begun, oldest first.
        var since: [UInt64] = []
        var toSend = 0
    }

    private let lines: RequestLines
    private let poller: Poller
    private let depth: Int
    private var clients: [Client] = []
    private var nextLine = 0
    private var limit = Int.max
    private var issued = 0
    private var tally = Tally()
    private var deadline = UInt64.max
    private(set) var replyBytes = 0
    private let success = Array(ReplyScanner.success.utf8)

    init(_ lines: RequestLines, target: Target, connections: Int, depth: Int) throws {
        self.lines = lines
        self.depth = depth
        poller = try Poller(blocking: false)
        for index in 0..<connections {
            clients.append(Client(descriptor: try poller.open(target.path, index: index)))
        }
    }

    deinit {
        for client in clients { close(client.descriptor) }
    }

    /// `seconds`: nil for every line once.
    func run(seconds: Double?) throws -> Tally {
        let start = Clock.now()
        if let seconds { deadline = start + UInt64(seconds * 1e9) } else { limit = lines.count }
        for index in clients.indices { try begin(index, at: start) }
        var silentSince = start
        while clients.contains(where: { !$0.since.isEmpty }) {
            let ready = try poller.wait(nanoseconds: 1_000_000_000)
            let now = Clock.now()
            if ready == 0 {
                if now - silentSince > 120_000_000_000 { throw BenchError.failed("no reply for 120 s") }
                continue
            }
            silentSince = now
            for event in 0..<ready {
                let index = poller.index(event)
                if clients[index].waitsForRoom { try send(index) }
                try receive(index)
                if clients[index].since.isEmpty, Clock.now() < deadline { try begin(index, at: Clock.now()) }
            }
        }
        tally.elapsed = min(Clock.now(), deadline) - start
        return tally
    }

    /// The next batch of a connection that has all its replies.
    private func begin(_ index: Int, at now: UInt64) throws {
        let count = min(depth, limit - issued)
        guard count > 0 else { return }
        issued += count
        clients[index].since = Array(repeating: now, count: count)
        clients[index].toSend = count
        takeLine(index)
        try send(index)
    }

    private func takeLine(_ index: Int) {
        clients[index].line = nextLine
        clients[index].sent = 0
        nextLine = nextLine + 1 == lines.count ? 0 : nextLine + 1
    }

    private func send(_ index: Int) throws {
        while clients[index].toSend > 0 {
            let start = lines.offsets[clients[index].line] + clients[index].sent
            let rest = lines.offsets[clients[index].line + 1] - start
            let count = unsafe write(clients[index].descriptor, lines.bytes + start, rest)
            if count == rest {
                clients[index].toSend -= 1
                if clients[index].toSend > 0 { takeLine(index) }
            } else if count > 0 {
                clients[index].sent += count
            } else if errno == EAGAIN {
                try watch(index, true)
                return
            } else if errno != EINTR {
                throw BenchError.system("write")
            }
        }
        try watch(index, false)
    }

    private func watch(_ index: Int, _ isWaiting: Bool) throws {
        guard clients[index].waitsForRoom != isWaiting else { return }
        clients[index].waitsForRoom = isWaiting
        try poller.watchRoom(clients[index].descriptor, index: index, isWaiting)
    }

    private func receive(_ index: Int) throws {
        if clients[index].inputCount == clients[index].input.count {
            clients[index].input += [UInt8](repeating: 0, count: clients[index].input.count)
        }
        let have = clients[index].inputCount
        let descriptor = clients[index].descriptor
        let count = unsafe clients[index].input.withUnsafeMutableBytes {
            unsafe read(descriptor, $0.baseAddress! + have, $0.count - have)
        }
        guard count > 0 else {
            if count == 0 { throw BenchError.failed("the server closed the connection") }
            if errno == EAGAIN || errno == EINTR { return }
            throw BenchError.system("read")
        }
        let now = Clock.now()
        let whole = have + count
        var start = 0
        var from = clients[index].searched
        while let end = lineEnd(in: clients[index].input, from: from, to: whole) {
            guard !clients[index].since.isEmpty else { throw BenchError.failed("more replies than requests") }
            guard clients[index].input[start..<end].starts(with: success) else {
                throw BenchError.failed(
                    "the server answered: "
                        + String(decoding: clients[index].input[start..<min(end, start + 500)], as: UTF8.self))
            }
            tally.reads.record(now - clients[index].since.removeFirst())
            if now <= deadline { tally.operations += 1 }
            replyBytes += end + 1 - start
            start = end + 1
            from = start
        }
        if start > 0 {
            clients[index].input.replaceSubrange(0..<whole - start, with: clients[index].input[start..<whole])
        }
        clients[index].inputCount = whole - start
        clients[index].searched = whole - start
    }

    private func lineEnd(in bytes: borrowing [UInt8], from start: Int, to end: Int) -> Int? {
        guard start < end else { return nil }
        return unsafe bytes.withUnsafeBytes { buffer in
            let base = buffer.baseAddress!
            return unsafe memchr(base + start, 0x0A, end - start).map { unsafe UnsafeRawPointer($0) - base }
        }
    }
}
