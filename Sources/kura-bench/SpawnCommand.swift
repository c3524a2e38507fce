import Glibc

// Safety: signal sets and facts about children are ours and of the types that the calls fill.

/// `spawn`: starts a server, times it to its first reply, stays its parent, and tells at its end what it wrote.
///
/// The first line of output is JSON with `pid` and `firstReplyMs`, the last with `exit`, `writeBytes` and `wchar`
/// of /proc/PID/io, read when the server has ended and before it is reaped: everything up to its last write
/// counts. SIGTERM and SIGINT are handed on to the server.
enum SpawnCommand {
    static func run(_ arguments: inout Arguments) throws {
        let target = try arguments.target("--target")
        let timeout = try arguments.decimal("--timeout", default: 60, in: 0.1...3600)
        let room = try LoadOptions(&arguments).room
        try arguments.finish()
        guard !arguments.command.isEmpty else { throw BenchError.usage("spawn wants -- COMMAND…") }

        // Blocked before the server exists: a SIGTERM right now must not leave it without a parent to end it.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT, SIGCHLD] { unsafe sigaddset(&signals, signal) }
        unsafe sigprocmask(SIG_BLOCK, &signals, nil)

        let start = Clock.now()
        let pid = try Spawn.start(arguments.command)
        let reply: UInt64
        do {
            reply = try awaitFirstReply(target, room, pid: pid, until: start + UInt64(timeout * 1e9))
        } catch {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
            throw error
        }
        let milliseconds = Format.fixed(Double(reply - start) / 1e6, 2)
        Output.line(Format.object([("pid", "\(pid)"), ("firstReplyMs", milliseconds)]))

        while true {
            var signal: Int32 = 0
            unsafe sigwait(&signals, &signal)
            if signal != SIGCHLD {
                kill(pid, signal)
                continue
            }
            var information = unsafe siginfo_t()
            // WNOWAIT leaves it a zombie: its counters can still be read.
            guard unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0 else {
                throw BenchError.system("waitid")
            }
            if unsafe information.si_signo == SIGCHLD { break }
        }
        let written = ProcessFacts.number("write_bytes", in: "/proc/\(pid)/io")
        let wchar = ProcessFacts.number("wchar", in: "/proc/\(pid)/io")
        var status: Int32 = 0
        unsafe waitpid(pid, &status, 0)
        let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
        Output.line(
            Format.object([
                ("exit", "\(code)"), ("writeBytes", written.map { "\($0)" } ?? "null"),
                ("wchar", wchar.map { "\($0)" } ?? "null"),
            ]))
    }

    /// Connects as soon as it can and asks for one key, as a client would.
    private static func awaitFirstReply(
        _ target: Target, _ room: LoadOptions.Room, pid: pid_t, until end: UInt64
    ) throws -> UInt64 {
        let request = String(decoding: RequestTemplate.read(target.wire, room: room).bytes, as: UTF8.self)
        let refused =
            target.wire == .kura ? "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\"" : target.wire == .redis ? "-" : "ERROR"
        var last = BenchError.failed("not tried")
        while Clock.now() < end {
            do {
                let socket = try Socket(path: target.path)
                try socket.limitReads(toSeconds: 30)
                let reply = try Exchange.line(request, on: socket.descriptor)
                let time = Clock.now()
                if !reply.hasPrefix(refused) { return time }
                last = .failed(reply)
            } catch let failure as BenchError {
                last = failure
            }
            var status: Int32 = 0
            if unsafe waitpid(pid, &status, WNOHANG) == pid {
                throw BenchError.failed("the server ended before its first reply (status \(status))")
            }
            usleep(200)
        }
        throw BenchError.failed("no reply in time; last: \(last.message)")
    }
}
