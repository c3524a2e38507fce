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
        try waitFor("all are stopped") { daemon.areThreads(in: "T") }
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

    @Test func `a client that has come in and said nothing yet has a moment to ask`() throws {
        let client = try daemon.connect()
        let other = try daemon.connect()
        try waitFor("both are in") { try other.result("storage.status")["connections"]?["open"]?.int ?? 0 >= 2 }
        let began = now()
        Glibc.kill(daemon.pid, SIGTERM)
        try waitFor("it drains") { daemon.log.contains("draining") }
        client.send(Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}"))
        let line = try client.line()
        // On a busy machine this client may be late for the quarter of a second that it has.
        #expect(line != nil || now() - began > 0.24)
        #expect(daemon.wait() == 0)
        guard let line else { return }
        #expect(try JSON(line)["result"]?["value"]?.int == 1, "what is not answered has not been done: \(line)")
        #expect(try client.line() == nil && other.line() == nil)
    }

    @Test func `that somebody does not read and had it wait for all of its time is said in the log`() throws {
        let daemon = try TemporaryDaemon(movesTime: true)
        let deaf = try daemon.connect()
        let value = String(repeating: "x", count: 60_000)
        try deaf.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(value)\"}")
        let get = Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")
        deaf.send(String(repeating: get, count: 50))
        Glibc.kill(daemon.pid, SIGTERM)
        try waitFor("it drains") { daemon.log.contains("draining") }
        try daemon.advance(seconds: 5)
        #expect(daemon.wait() == 0)
        #expect(daemon.log.contains(TemporaryDaemon.overtime), "\(daemon.log)")
        withExtendedLifetime(deaf) {}
    }

    @Test func `who still waits when the time is over is told so, with all that came behind`() throws {
        let daemon = try TemporaryDaemon(movesTime: true, starts: false)
        try daemon.start(faults: daemon.pause(at: "fold.slice"))
        let list = "{\"collection\":\"c\"}"
        try daemon.connect().result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        try daemon.waitUntilPaused(at: "fold.slice")
        let plain = try daemon.connect()
        plain.send(
            Client.request("documents.list", list, id: "1")
                + Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: "2")
                + Client.request("documents.list", list, id: "3"))
        let batch = try daemon.connect()
        batch.send(
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"documents.list\",\"params\":\(list)},"
                + "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"storage.ping\"}]\n")
        // In the turn of the second one what was sent before the first has been read.
        let other = try daemon.connect()
        for _ in 0..<2 { try other.result("storage.ping") }
        Glibc.kill(daemon.pid, SIGTERM)
        try waitFor("it drains") { daemon.log.contains("draining") }
        try daemon.advance(seconds: 5)
        let replies = try (0..<3).map { _ in try plain.reply() }
        #expect(replies.map { $0["id"]?.int } == [1, 2, 3])
        #expect(replies[1]["result"]?["value"]?.int == 1, "\(replies)")
        for reply in [replies[0], replies[2]] {
            #expect(reply["error"]?["data"]?["kind"]?.text == "shuttingDown", "\(replies)")
        }
        let members = try batch.reply().elements
        #expect(members.map { $0["id"]?.int } == [1, 2])
        #expect(members.first?["error"]?["data"]?["kind"]?.text == "shuttingDown", "\(members)")
        try daemon.goOn(at: "fold.slice")
        #expect(daemon.wait() == 0)
        #expect(daemon.log.contains(TemporaryDaemon.overtime))
    }

    @Test func `who waits for an index so long at most is told how far it is`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: daemon.pause(at: "tend.slice"))
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":{\"n\":1}}")
        try client.result(
            "documents.configure", "{\"collection\":\"c\",\"indexes\":[{\"name\":\"n\",\"fields\":[\"n\"]}]}")
        client.send(Client.request("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}"))
        try daemon.waitUntilPaused(at: "tend.slice")
        Glibc.kill(daemon.pid, SIGTERM)
        let reply = try client.reply()
        #expect(reply["result"]?["indexes"]?[0]?["state"]?.text == "building", "\(reply)")
        try daemon.goOn(at: "tend.slice")
        #expect(daemon.wait() == 0)
    }

    @Test func `who says nothing is not waited for`() throws {
        let silent = try (0..<20).map { _ in try daemon.connect() }
        let half = try daemon.connect()
        half.send("{\"jsonrpc\":\"2.0\",")
        try daemon.connect().result("storage.ping")
        #expect(daemon.terminate() == 0)
        for client in silent { #expect(try client.line() == nil) }
        #expect(try half.reply()["error"]?["data"]?["kind"]?.text == "shuttingDown")
        #expect(try half.line() == nil)
    }

    @Test func `what comes while the daemon stops is answered too, and a wait that ends so is no miss`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: daemon.pause(at: "fold.slice"))
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        let winner = try daemon.connect()
        let won = try winner.result(
            "models.get", "{\"namespace\":\"m\",\"key\":\"k\",\"claim\":true,\"leaseSeconds\":3600}")
        #expect(won["token"] != nil)
        let waiter = try daemon.connect()
        waiter.send(
            Client.request(
                "models.get", "{\"namespace\":\"m\",\"key\":\"k\",\"claim\":true,\"waitMs\":600000}", id: "1")
                + Client.request("storage.ping", id: "2"))
        // It is answered ahead of what waits.
        #expect(try waiter.reply()["id"]?.int == 2)
        // It waits for the fold, and the connection stays open for it.
        client.send(
            Client.request("documents.list", "{\"collection\":\"c\"}", id: "1")
                + "{\"jsonrpc\":\"2.0\",\"id\":2,\"params\":[\"")
        // In the turn of the second one what was sent before the first has been read.
        for _ in 0..<2 { try winner.result("storage.ping") }
        try daemon.waitUntilPaused(at: "fold.slice")
        let began = now()
        Glibc.kill(daemon.pid, SIGTERM)
        try waitFor("it drains") { daemon.log.contains("draining") }
        let late = (3...49).map {
            Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: "\($0)")
        }
        client.send("\"]}\n" + late.joined())
        try daemon.goOn(at: "fold.slice")
        let seconds = now() - began
        var ids: [Int] = []
        var done = 0
        var kinds: Set<String> = []
        while let line = try client.line() {
            let reply = try JSON(line)
            if let id = reply["id"]?.int { ids.append(id) }
            // What was read as the drain began is done.
            if reply["result"] != nil { done += 1 } else { kinds.insert(reply["error"]?["data"]?["kind"]?.text ?? "") }
            if ids.last == 1 { #expect(reply["result"] != nil, "\(reply)") }
        }
        let status = daemon.wait()
        // All of the five seconds may pass before a busy machine comes to this.
        if daemon.log.contains(TemporaryDaemon.overtime), seconds > 1 || !daemon.hasDrainedOvertime { return }
        #expect(ids == Array(1...49))
        #expect(kinds.isSubset(of: ["shuttingDown", "invalidRequest"]), "\(kinds)")
        #expect(try waiter.reply()["error"]?["data"]?["kind"]?.text == "shuttingDown")
        #expect(status == 0)
        try daemon.start()
        let value = try daemon.connect().call("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["result"]?["value"]
        #expect(value?.int ?? 0 == done - 1)
    }
}
