import Glibc

// Safety: the kernel fills one `rlimit`, which is ours.

/// `connections`: what many idle connections cost a server, and whether each of them still answers.
enum ConnectionsCommand {
    static func run(_ arguments: inout Arguments) throws {
        let target = try arguments.target("--target")
        let count = try arguments.integer("--count", default: 10_000, in: 1...1_000_000)
        let pid = try arguments.integer("--pid", default: 0, in: 1...Int(Int32.max))
        guard pid > 0 else { throw BenchError.usage("--pid of the server is needed") }
        let json = arguments.flag("--json")
        try arguments.finish()
        try raiseDescriptorLimit(to: count + 64)

        let before = try ProcessFacts.residentKiB(pid)
        var descriptors: [Int32] = []
        descriptors.reserveCapacity(count)
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<count {
            let socket = try Socket(path: target.path)
            try socket.limitReads(toSeconds: 30)
            descriptors.append(socket.release())
        }
        // The last reply shows that the server has accepted all of them.
        try ping(target, descriptors[count - 1])
        let open = try ProcessFacts.residentKiB(pid)

        var latencies = Histogram()
        for descriptor in descriptors {
            let start = Clock.now()
            try ping(target, descriptor)
            latencies.record(Clock.now() - start)
        }
        let after = try ProcessFacts.residentKiB(pid)
        let p50 = Format.microseconds(latencies.quantile(0.5))
        let p99 = Format.microseconds(latencies.quantile(0.99))
        if json {
            Output.line(
                Format.object([
                    ("target", Format.string(target.wire.rawValue)), ("connections", "\(count)"),
                    ("rssBeforeKiB", "\(before)"), ("rssOpenKiB", "\(open)"), ("rssPingedKiB", "\(after)"),
                    ("pingP50Us", p50), ("pingP99Us", p99),
                ]))
        } else {
            Output.line(
                "\(target.wire.rawValue): \(count) connections: RSS \(before) KiB before, \(open) KiB with them idle, "
                    + "\(after) KiB after a ping on each; ping p50 \(p50) p99 \(p99) µs")
        }
    }

    static func raiseDescriptorLimit(to wanted: Int) throws {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { throw BenchError.system("getrlimit") }
        if limit.rlim_cur >= UInt(wanted) { return }
        limit.rlim_cur = UInt(wanted)
        limit.rlim_max = max(limit.rlim_max, UInt(wanted))
        guard unsafe setrlimit(resource, &limit) == 0 else {
            throw BenchError.system("raising the limit of open files to \(wanted)")
        }
    }

    private static func ping(_ target: Target, _ descriptor: Int32) throws {
        let request = target.wire == .kura ? RequestTemplate.call("storage.ping", "{}") : "*1\r\n$4\r\nPING\r\n"
        let expected = target.wire == .kura ? ReplyScanner.success : "+PONG"
        let reply = try Exchange.line(request, on: descriptor)
        guard reply.hasPrefix(expected) else { throw BenchError.failed("the server answered a ping with \(reply)") }
    }
}
