import Glibc
import Testing

/// What goes wrong at an ephemeral daemon because a test has asked for it.
@Suite struct InjectionScenarioTests {
    private static func ephemeral(_ more: String...) throws -> (TemporaryDaemon, Client) {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launchEphemeral(more: ["--profile", "small"] + more)
        return (daemon, try daemon.connect())
    }

    private static func put(_ value: String, ifRev: Int? = nil, key: String = "k") -> String {
        let condition = ifRev.map { ",\"ifRev\":\($0)" } ?? ""
        return "{\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(value)\(condition)}"
    }

    @discardableResult
    private func inject(_ client: Client, _ kind: String, _ more: String = "") throws -> Int {
        try #require(try client.result("fault.inject", "{\"kind\":\"\(kind)\"\(more)}")["id"]?.int)
    }

    /// A client of the daemon that is there again.
    private func again(_ daemon: TemporaryDaemon) throws -> Client {
        let deadline = now() + 60
        while now() < deadline {
            if let client = try? daemon.connect(), (try? client.result("storage.ping")) != nil { return client }
            usleep(2000)
        }
        Issue.record("the daemon does not come back: \(daemon.log)")
        return try daemon.connect()
    }

    @Test func `a daemon that keeps its data has no faults`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for (method, params) in [
            ("fault.inject", "{\"kind\":\"full\"}"), ("fault.inject", "{\"kind\":\"powerCut\"}"), ("fault.list", "{}"),
            ("fault.clear", "{}"),
        ] {
            let refusal = try client.refusal(method, params)
            #expect(refusal["kind"]?.text == "notSupported" && refusal["hint"]?.text?.contains("--ephemeral") == true)
        }
        try client.result("settings.put", Self.put("1"))
    }

    @Test(arguments: [
        ("{\"kind\":\"full\",\"count\":1}", "count"), ("{\"kind\":\"sync\",\"method\":\"settings.put\"}", "method"),
        ("{\"kind\":\"conflict\",\"millis\":5}", "millis"), ("{\"kind\":\"slow\"}", "millis"),
        ("{\"kind\":\"gone\"}", "millis"), ("{\"kind\":\"conflict\",\"method\":\"settings.get\"}", "method"),
        ("{\"kind\":\"overloaded\",\"method\":\"fault.clear\"}", "method"),
        ("{\"kind\":\"overloaded\",\"method\":\"settings.none\"}", "method"), ("{\"kind\":\"fire\"}", "kind"),
    ])
    private func `what makes no sense of a kind is refused by name`(params: String, parameter: String) throws {
        let (daemon, client) = try Self.ephemeral()
        let refusal = try client.refusal("fault.inject", params)
        #expect(refusal["kind"]?.text == "invalidParams" && refusal["parameter"]?.text == parameter)
        #expect(try client.result("fault.list")["faults"]?.elements.isEmpty == true)
        _ = daemon
    }

    @Test func `a conflict changes nothing, tells the true revision, and is over`() throws {
        let (daemon, client) = try Self.ephemeral()
        let rev = try #require(try client.result("settings.put", Self.put("1"))["rev"]?.int)
        try inject(client, "conflict", ",\"method\":\"settings.put\",\"count\":2")
        // Neither another method's, nor what has no condition, nor what is wrong besides.
        try client.result("settings.put", Self.put("1"))
        let wrong = try client.refusal("settings.put", "{\"domain\":\"\",\"key\":\"k\",\"value\":1,\"ifRev\":1}")
        #expect(wrong["kind"]?.text == "invalidParams")
        for _ in 0..<2 {
            let refusal = try client.refusal("settings.put", Self.put("2", ifRev: rev))
            #expect(refusal["kind"]?.text == "conflict" && refusal["currentRev"]?.int == rev)
            #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
        }
        #expect(try client.result("fault.list")["faults"]?.elements.isEmpty == true)
        try client.result("settings.put", Self.put("2", ifRev: rev))
        _ = daemon
    }

    @Test func `an item that is to be made has been made by nobody`() throws {
        let (daemon, client) = try Self.ephemeral()
        try inject(client, "conflict")
        let refusal = try client.refusal("documents.put", "{\"collection\":\"c\",\"id\":\"i\",\"value\":1,\"ifRev\":0}")
        #expect(refusal["kind"]?.text == "conflict" && refusal["currentRev"]?.int == 0)
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"i\",\"value\":1,\"ifRev\":0}")
        _ = daemon
    }

    @Test func `an operation's conflict is its transaction's`() throws {
        let (daemon, client) = try Self.ephemeral()
        let rev = try #require(try client.result("settings.put", Self.put("1"))["rev"]?.int)
        try inject(client, "conflict", ",\"method\":\"settings.put\"")
        let operations =
            "{\"operations\":[{\"method\":\"settings.put\",\"params\":\(Self.put("5", key: "other"))},"
            + "{\"method\":\"settings.put\",\"params\":\(Self.put("2", ifRev: rev))}]}"
        let refusal = try client.refusal("transaction.apply", operations)
        #expect(refusal["kind"]?.text == "conflict" && refusal["operation"]?.int == 1)
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"other\"}")["rev"]?.int == 0)
        try client.result("transaction.apply", operations)
        _ = daemon
    }

    @Test func `requests are refused, and those that clear it are not`() throws {
        let (daemon, client) = try Self.ephemeral()
        try inject(client, "overloaded", ",\"count\":1000")
        for _ in 0..<3 { #expect(try client.refusal("settings.put", Self.put("1"))["kind"]?.text == "overloaded") }
        try client.result("session.hello")
        #expect(try client.result("fault.list")["faults"]?.elements.first?["left"]?.int == 997)
        #expect(try client.result("fault.clear")["cleared"]?.int == 1)
        try client.result("settings.put", Self.put("1"))
        _ = daemon
    }

    @Test func `a slow request holds nobody else up, and is answered once`() throws {
        let (daemon, slow) = try Self.ephemeral()
        let other = try daemon.connect()
        try inject(other, "slow", ",\"method\":\"settings.increment\",\"millis\":400,\"count\":1")
        let begun = now()
        slow.send(Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"n\"}"))
        for _ in 0..<20 { try other.result("settings.put", Self.put("1")) }
        let served = now() - begun
        #expect(try slow.reply()["result"]?["value"]?.int == 1)
        #expect(now() - begun >= 0.4 && served < now() - begun)
        #expect(try other.result("settings.get", "{\"domain\":\"d\",\"key\":\"n\"}")["value"]?.int == 1)
        #expect(try slow.result("settings.increment", "{\"domain\":\"d\",\"key\":\"n\"}")["value"]?.int == 2)
    }

    @Test func `a full disk refuses what takes room until it is cleared, and lets go what takes some away`() throws {
        let (daemon, client) = try Self.ephemeral()
        try client.result("settings.put", Self.put("1"))
        let id = try inject(client, "full")
        #expect(try client.refusal("settings.put", Self.put("2"))["kind"]?.text == "noSpace")
        #expect(try client.refusal("documents.put", "{\"collection\":\"c\",\"value\":1}")["kind"]?.text == "noSpace")
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
        let reasons = try client.result("storage.health")["reasons"]?.elements ?? []
        #expect(reasons.contains(.string("diskFull")))
        try client.result("settings.delete", "{\"domain\":\"d\",\"key\":\"k\"}")
        #expect(try client.result("fault.clear", "{\"id\":\(id)}")["cleared"]?.int == 1)
        try client.result("settings.put", Self.put("2"))
        #expect(try daemon.connect().result("storage.status")["space"]?["full"]?.bool == false)
    }

    @Test func `a full disk has room again when its time is over`() throws {
        let (daemon, client) = try Self.ephemeral()
        try inject(client, "full", ",\"millis\":300")
        #expect(try client.refusal("settings.put", Self.put("2"))["kind"]?.text == "noSpace")
        try daemon.waitUntil { $0["space"]?["full"]?.bool == false }
        try client.result("settings.put", Self.put("2"))
        #expect(try client.result("fault.list")["faults"]?.elements.isEmpty == true)
    }

    @Test func `a daemon that is gone is there again with everything`() throws {
        let (daemon, client) = try Self.ephemeral()
        let (pid, other) = (daemon.pid, try daemon.connect())
        try client.result("settings.put", Self.put("1"))
        let begun = now()
        try inject(client, "gone", ",\"millis\":400")
        #expect(try other.line() == nil)
        #expect(throws: (any Error).self) { try daemon.connect() }
        let back = try again(daemon)
        #expect(now() - begun >= 0.4 && daemon.pid == pid && daemon.isRunning)
        #expect(try back.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a daemon that is gone can be ended`() throws {
        let (daemon, client) = try Self.ephemeral()
        try inject(client, "gone", ",\"millis\":60000")
        #expect(try client.line() == nil)
        #expect(daemon.terminate() == 0)
        #expect(access(daemon.socket, F_OK) != 0)
    }

    @Test(arguments: [[], ["--memory"]])
    func `after a power cut the process has what was synced, and nothing that was not`(more: [String]) throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launchEphemeral(more: ["--profile", "small"] + more)
        let client = try daemon.connect()
        try client.result("settings.configure", "{\"domain\":\"r\",\"durability\":\"relaxed\",\"flushSeconds\":3600}")
        let epoch = try client.result("session.hello")["epoch"]
        try client.result("settings.put", Self.put("1"))
        for key in ["a", "b"] {
            let reply = try client.result("settings.put", "{\"domain\":\"r\",\"key\":\"\(key)\",\"value\":1}")
            #expect(reply["durable"]?.bool == false)
        }
        let status = try client.result("storage.status")
        #expect(status["inMemory"]?.bool == (more.isEmpty ? nil : true))
        let directory = try #require(status["dataDirectory"]?.text)
        #expect(directory.hasPrefix("/dev/shm/kurad-memory-") == !more.isEmpty)
        let pid = daemon.pid
        try inject(client, "powerCut")
        #expect(try client.line() == nil)
        let back = try again(daemon)
        #expect(daemon.pid == pid && daemon.isRunning)
        #expect(try back.result("session.hello")["epoch"] == epoch)
        #expect(try back.result("storage.status")["dataDirectory"]?.text == directory)
        #expect(try back.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
        for key in ["a", "b"] {
            #expect(try back.result("settings.get", "{\"domain\":\"r\",\"key\":\"\(key)\"}")["rev"]?.int == 0)
        }
        #expect(try back.result("storage.check")["problemCount"]?.int == 0)
        try back.result("settings.put", Self.put("2"))
        #expect(daemon.terminate() == 0)
        #expect(access(directory, F_OK) != 0)
    }

    @Test func `a failed sync tells that nothing is known, and the daemon starts anew`() throws {
        let (daemon, client) = try Self.ephemeral()
        try client.result("settings.put", Self.put("1"))
        try inject(client, "sync")
        #expect(try client.refusal("settings.put", Self.put("2"))["kind"]?.text == "outcomeUnknown")
        let back = try again(daemon)
        #expect(daemon.isRunning && daemon.log.contains("failed to sync"))
        let value = try back.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int
        #expect(value == 1 || value == 2)
        #expect(try back.result("fault.list")["faults"]?.elements.isEmpty == true)
        #expect(daemon.terminate() == 0)
    }

    @Test func `memory is for data that goes with the daemon`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        #expect(try daemon.run(["--memory", "--data-dir", daemon.data, "--socket", daemon.socket]) == 2)
        #expect(daemon.log.contains("--ephemeral"))
    }
}
