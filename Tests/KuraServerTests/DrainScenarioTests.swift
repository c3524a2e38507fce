import Glibc
import Testing

/// Who has come in, or waits to, when the daemon begins to drain.
@Suite struct DrainScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
    }

    /// Stops the daemon's threads where they are, until SIGCONT.
    private func stop() throws {
        Glibc.kill(daemon.pid, SIGSTOP)
        let deadline = now() + 30
        func isStopped() -> Bool {
            (TemporaryDaemon.names("/proc/\(daemon.pid)/task") ?? []).allSatisfy { task in
                let text = TemporaryDaemon.contents("/proc/\(daemon.pid)/task/\(task)/stat") ?? []
                let words = String(decoding: text, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
                return words?.first == "T"
            }
        }
        while !isStopped(), now() < deadline { usleep(1000) }
        #expect(isStopped())
    }

    @Test func `who waits at the daemon's own socket is let in and answered`() throws {
        try daemon.connect().result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try stop()
        let clients = try (0..<100).map { _ in try daemon.connect() }
        for client in clients {
            client.send(Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}"))
        }
        Glibc.kill(daemon.pid, SIGTERM)
        Glibc.kill(daemon.pid, SIGCONT)
        var values: Set<Int> = []
        for client in clients {
            if let value = try client.reply()["result"]?["value"]?.int { values.insert(value) }
            #expect(try client.line() == nil, "and then it is closed")
        }
        #expect(values == Set(2...101))
        #expect(daemon.wait() == 0)
    }

    /// Ten times at most: a machine that lets nobody run for a quarter of a second makes this client late.
    @Test func `a client that has come in and said nothing yet has a moment to ask`() throws {
        for attempt in 1...10 {
            if attempt > 1 { try daemon.start() }
            let client = try daemon.connect()
            let other = try daemon.connect()
            let deadline = now() + 30
            while try other.result("storage.status")["connections"]?["open"]?.int ?? 0 < 2, now() < deadline {
                usleep(1000)
            }
            Glibc.kill(daemon.pid, SIGTERM)
            func drains() -> Int { daemon.log.ranges(of: "draining").count }
            while drains() < attempt, now() < deadline { usleep(1000) }
            client.send(Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}"))
            let line = try client.line()
            #expect(daemon.wait() == 0)
            guard let line else { continue }
            #expect(try JSON(line)["result"]?["value"]?.int == 1, "what is not answered has not been done: \(line)")
            #expect(try client.line() == nil && other.line() == nil)
            return
        }
        Issue.record("nobody was answered")
    }

    @Test func `that somebody does not read and had it wait for all of its time is said in the log`() throws {
        let deaf = try daemon.connect()
        let value = String(repeating: "x", count: 60_000)
        try deaf.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(value)\"}")
        let get = Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")
        deaf.send(String(repeating: get, count: 50))
        let began = now()
        #expect(daemon.terminate() == 0)
        #expect(now() - began > 4.9)
        #expect(daemon.log.contains(TemporaryDaemon.overtime), "\(daemon.log)")
        withExtendedLifetime(deaf) {}
    }

    @Test func `who says nothing is not waited for`() throws {
        let silent = try (0..<20).map { _ in try daemon.connect() }
        let half = try daemon.connect()
        half.send("{\"jsonrpc\":\"2.0\",")
        try daemon.connect().result("storage.ping")
        #expect(daemon.terminate() == 0)
        for client in silent { #expect(try client.line() == nil) }
        #expect(try half.reply()["error"]?["data"]?["kind"]?.text == "parseError")
        #expect(try half.line() == nil)
    }
}
