import Glibc

// Safety: `read` gets a buffer with its length; words are loaded from within the bytes that were checked to be there.

/// `changes`: how long it takes until subscribers know of a write, and what they cost those who write.
///
/// The writes come from another process, at a fixed rate, each to a key of its own; when each was due is in memory that
/// both processes see. A delivery's latency counts from then, as the write's own does.
enum ChangesCommand {
    static let writerName = "changes-writer"

    static func run(_ arguments: inout Arguments) throws {
        let target = try arguments.target("--target")
        let count = try arguments.integer("--subscribers", default: 1, in: 0...10_000)
        let rate = try arguments.integer("--rate", default: 5000, in: 1...1_000_000)
        let seconds = try arguments.integer("--seconds", default: 5, in: 1...3600)
        let json = arguments.flag("--json")
        try arguments.finish()
        try ConnectionsCommand.raiseDescriptorLimit(to: count + 64)

        let writes = rate * seconds
        let path = "/dev/shm/kura-bench-\(getpid())"
        defer { unsafe unlink(path) }
        let times = try SendTimes(path: path, count: writes)
        if target.wire == .redis { try enableNotifications(target) }
        var subscribers = try Subscribers.connect(target, count: count)
        let results = try ChildProcesses.pipe()
        defer { close(results.read) }
        let pid = try Spawn.start(
            [
                try Spawn.ownPath(), writerName, "--target", target.text, "--rate", "\(rate)", "--requests",
                "\(writes)",
                "--times", path,
            ], descriptors: [0, results.write])
        close(results.write)
        defer {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        _ = fcntl(results.read, F_SETFL, O_NONBLOCK)

        // Until the writer is done, and everything has come or nothing more does.
        let expected = UInt64(count * writes)
        var tally: Tally?
        var words: [UInt8] = []
        var lastCount: UInt64 = 0
        var quietSince = Clock.now()
        while tally == nil || subscribers.delivered < expected {
            try subscribers.receive(nanoseconds: 5_000_000, times)
            if tally == nil { tally = try receive(results.read, &words) }
            let now = Clock.now()
            if subscribers.delivered != lastCount || tally == nil {
                lastCount = subscribers.delivered
                quietSince = now
            } else if now - quietSince > 5_000_000_000 {
                break
            }
        }
        report(
            target, count, rate, tally!, subscribers.latencies, delivered: subscribers.delivered, expected, json: json)
    }

    private static func enableNotifications(_ target: Target) throws {
        let socket = try Socket(path: target.path)
        let reply = try Exchange.line("CONFIG SET notify-keyspace-events K$\r\n", on: socket.descriptor)
        guard reply == "+OK" else { throw BenchError.failed("CONFIG SET: \(reply)") }
    }

    private static func receive(_ descriptor: Int32, _ bytes: inout [UInt8]) throws -> Tally? {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe read(descriptor, &chunk, chunk.count)
        if count < 0 { return nil }
        guard count > 0 else { throw BenchError.failed("the writer failed") }
        bytes += chunk[..<count]
        guard bytes.count == Tally.wordCount * 8 else { return nil }
        return unsafe Tally(
            words: bytes.withUnsafeBytes { bytes in
                (0..<Tally.wordCount).map { unsafe bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
            })
    }

    /// The other process: writes and hands its tally over.
    static func runWriter(_ arguments: inout Arguments) throws {
        guard let path = arguments.text("--times") else { throw BenchError.usage("--times is needed") }
        let target = try arguments.target("--target")
        var options = try LoadOptions(&arguments)
        try arguments.finish()
        options.mix = .write
        options.connections = 64
        options.keys = options.requests
        var plan = Plan(target: target, options: options)
        plan.keyOrder = .ascending
        plan.sendTimes = try SendTimes(path: path, count: options.requests)
        var generator = try Generator.prepare(plan)
        try ChildProcesses.send(try generator.run())
    }

    private static func report(
        _ target: Target, _ count: Int, _ rate: Int, _ tally: Tally, _ latencies: Histogram, delivered: UInt64,
        _ expected: UInt64, json: Bool
    ) {
        func time(_ histogram: Histogram, _ fraction: Double) -> String {
            Format.microseconds(histogram.quantile(fraction))
        }
        let share = expected == 0 ? 1 : Double(delivered) / Double(expected)
        if json {
            Output.line(
                Format.object([
                    ("target", Format.string(target.wire.rawValue)), ("subscribers", "\(count)"), ("rate", "\(rate)"),
                    ("writes", "\(tally.acknowledgedWrites)"), ("unserved", "\(tally.unserved)"),
                    ("writesPerSecond", Format.fixed(tally.operationsPerSecond, 0)),
                    ("writeP50Us", time(tally.writes, 0.5)), ("writeP99Us", time(tally.writes, 0.99)),
                    ("deliveredShare", Format.fixed(share, 4)),
                    ("deliveryP50Us", time(latencies, 0.5)), ("deliveryP99Us", time(latencies, 0.99)),
                ]))
        } else {
            Output.line(
                """
                \(target.wire.rawValue): \(count) subscribers, \(rate) writes/s due
                  writes    \(Format.fixed(tally.operationsPerSecond, 0))/s, p50 \(time(tally.writes, 0.5)) p99 \
                \(time(tally.writes, 0.99)) µs, never sent \(tally.unserved)
                  delivery  \(Format.fixed(share * 100, 2)) % of \(expected), p50 \(time(latencies, 0.5)) p99 \
                \(time(latencies, 0.99)) µs
                """)
        }
    }
}
