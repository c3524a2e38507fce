import Glibc
import Testing

/// What the daemon measures of itself, as `storage.stats` tells it.
@Suite struct StatsScenarioTests {
    private func stats(_ client: Client, _ params: String = "{}") throws -> JSON {
        try #require(try client.result("storage.stats", params)["daemon"])
    }

    private func requests(_ daemon: JSON) -> [String: JSON] {
        (daemon["requests"]?.elements ?? []).reduce(into: [:]) { $0[$1["method"]?.text ?? ""] = $1 }
    }

    private func count(_ method: String, _ requests: [String: JSON]) -> Int {
        requests[method]?["latency"]?["count"]?.int ?? 0
    }

    private static func put(_ key: Int, id: String? = "1") -> String {
        Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\(key)\",\"value\":\(key)}", id: id)
    }

    @Test func `each request is measured once, under its method: in batches, as notifications, refused ones too`()
        throws
    {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for key in 0..<7 { client.send(Self.put(key)) }
        for key in 7..<10 { client.send(Self.put(key, id: nil)) }
        let get = String(Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k1\"}").dropLast())
        client.send("[\(get),\(get),\(String(Self.put(10).dropLast()))]\n")
        client.send(Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k1\",\"value\":0,\"ifRev\":99}"))
        client.send(Client.request("settings.put", "{\"domain\":7}"))
        client.send("{no JSON}\n")
        client.send(Client.request("changes.wait", "{\"afterRev\":11,\"timeoutMs\":1}"))
        for _ in 0..<12 { _ = try client.reply() }
        let told = try stats(client)
        let counted = requests(told)
        #expect(count("settings.put", counted) == 12)
        #expect(count("settings.get", counted) == 2)
        #expect(counted["settings.put"]?["refused"]?.int == 1)
        // It waits for something to happen: how long says nothing of the daemon.
        #expect(count("changes.wait", counted) == 0)
        #expect(
            told["refusals"]?.members == [
                "conflict": .number("1"), "invalidParams": .number("1"), "parseError": .number("1"),
            ])
        #expect(told["commits"]?["changes"]?["sum"]?.int == 11)
        #expect(told["syncs"]?["revisions"]?["sum"]?.int == 11)
        #expect((told["syncs"]?["time"]?["count"]?.int ?? 0) == (told["syncs"]?["revisions"]?["count"]?.int ?? -1))
        #expect(told["queues"]?["transfers"]?.int == 0)
    }

    @Test func `a durable write's time has the sync in it, and so has that of a read behind it`() throws {
        let daemon = try TemporaryDaemon(faults: "log.sync:sleep=60:1+")
        let client = try daemon.connect()
        try client.result("storage.ping")
        client.send(Self.put(1) + Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k1\"}"))
        _ = try (client.reply(), client.reply())
        let told = try stats(client, "{\"histograms\":true}")
        let counted = requests(told)
        for method in ["settings.put", "settings.get"] {
            let latency = try #require(counted[method]?["latency"])
            let sum = latency["sumMicroseconds"]?.int ?? 0
            #expect(sum >= 60_000, "\(method): \(latency)")
            #expect((latency["p50Nanoseconds"]?.int ?? 0) >= 60_000_000)
            #expect(latency["p50Nanoseconds"]?.int ?? 0 <= latency["maxNanoseconds"]?.int ?? 0)
            // One value: the bucket that it is in is the only one, and ends above it.
            let buckets = try #require(latency["buckets"]?.members)
            #expect(buckets.count == 1 && (Int(buckets.keys.first ?? "") ?? 0) >= (sum - 1) * 1000)
        }
        #expect((told["syncs"]?["time"]?["maxNanoseconds"]?.int ?? 0) >= 60_000_000)
    }

    @Test func `a turn that is taken back is measured as what came of it`() throws {
        let daemon = try TemporaryDaemon(faults: "log.append:full:2")
        let client = try daemon.connect()
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"a\",\"value\":1}")
        // In one turn: the write is refused after its commit has failed, the read is answered a second time.
        client.send(
            Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"a\"}") + Self.put(2)
                + Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"a\"}"))
        _ = try client.reply()
        #expect(try client.reply()["error"]?["data"]?["kind"]?.text == "noSpace")
        _ = try client.reply()
        let counted = requests(try stats(client))
        #expect(count("settings.put", counted) == 2 && count("settings.get", counted) == 2)
        #expect(counted["settings.put"]?["refused"]?.int == 1)
    }

    @Test func `what waits for a query or a thread of its own is measured as a whole`() throws {
        let daemon = try TemporaryDaemon(faults: "backup.write:sleep=80:1+,fold.slice:sleep=80:1+")
        let client = try daemon.connect()
        // Together: by itself a fold might come between them.
        client.send(
            Client.request("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
                + Client.request("documents.find", "{\"collection\":\"c\"}"))
        _ = try (client.reply(), client.reply())
        try client.result("storage.backup", "{\"name\":\"one\"}")
        let counted = requests(try stats(client))
        for method in ["documents.find", "storage.backup"] {
            #expect(count(method, counted) == 1)
            #expect((counted[method]?["latency"]?["sumMicroseconds"]?.int ?? 0) >= 50_000, "\(method): \(counted)")
        }
    }

    @Test func `looking documents up is told by where they were`() throws {
        let daemon = try TemporaryDaemon()
        var client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect((try stats(client)["documents"]?["hits"]?.int ?? 0) >= 1)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        client = try daemon.connect()
        for _ in 0..<3 { try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"a\"}") }
        let documents = try #require(try stats(client)["documents"])
        #expect(documents["misses"]?.int == 1 && documents["hits"]?.int == 2, "\(documents)")
    }

    @Test func `only an administrator is told of what others do`() throws {
        let daemon = try RoleDaemon([
            "reader": RoleDaemon.role(RoleDaemon.grant("storage", "*", "read")),
            "monitor": RoleDaemon.role(RoleDaemon.grant("storage", "*", "monitor")),
        ])
        let reader = try daemon.connect("reader").result("storage.stats", "{\"histograms\":true}")
        #expect(reader["daemon"] == nil && reader["sizes"] != nil)
        #expect(try daemon.connect("monitor").result("storage.stats")["daemon"]?["requests"] != nil)
    }
}
