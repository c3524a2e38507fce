import Glibc
import Testing

/// Domains whose changes are acknowledged before they are synced.
@Suite struct RelaxedDurabilityScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon()
    }

    /// A client of the daemon, started anew with these faults, in which `r` is relaxed.
    private func relaxed(
        _ daemon: TemporaryDaemon? = nil, flushSeconds: Int = 3600, faults: String? = nil
    ) throws -> Client {
        let daemon = daemon ?? self.daemon
        try daemon.connect().result(
            "settings.configure", "{\"domain\":\"r\",\"durability\":\"relaxed\",\"flushSeconds\":\(flushSeconds)}")
        guard let faults else { return try daemon.connect() }
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: faults)
        return try daemon.connect()
    }

    private func put(_ client: Client, _ key: String, _ value: Int, domain: String = "r") throws -> JSON {
        try client.result("settings.put", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\",\"value\":\(value)}")
    }

    private func get(_ client: Client, _ key: String) throws -> JSON {
        try client.result("settings.get", "{\"domain\":\"r\",\"key\":\"\(key)\"}")
    }

    private func syncs(_ client: Client) throws -> Int {
        try #require(try client.result("storage.status")["log"]?["syncs"]?.int)
    }

    private func rev(_ client: Client) throws -> Int { try #require(try client.result("storage.status")["rev"]?.int) }

    @Test func `a relaxed write is answered and read without a sync, a strict one waits`() throws {
        let client = try relaxed(faults: "log.sync:sleep=600:1+")
        let before = try syncs(client)
        #expect(try put(client, "a", 1)["durable"]?.bool == false)
        #expect(try get(client, "a")["value"]?.int == 1)
        #expect(try put(client, "a", 1)["durable"]?.bool == false)
        for (method, params) in [
            ("settings.increment", "{\"domain\":\"r\",\"key\":\"n\"}"),
            ("settings.putMany", "{\"domain\":\"r\",\"values\":{\"x\":1,\"y\":2}}"),
            ("settings.delete", "{\"domain\":\"r\",\"key\":\"y\"}"),
            ("settings.import", "{\"values\":{\"r\":{\"z\":1}}}"),
            (
                "transaction.apply",
                "{\"operations\":[{\"method\":\"settings.increment\",\"params\":{\"domain\":\"r\",\"key\":\"n\"}}]}"
            ),
        ] {
            let result = try client.result(method, params)
            #expect(result["durable"]?.bool == false, "\(method)")
            #expect(result["results"]?[0]?["durable"] == nil)
        }
        for method in ["settings.list", "settings.count"] { try client.result(method, "{\"domain\":\"r\"}") }
        // Had one waited, there would have been a sync.
        #expect(try syncs(client) == before)
        // A strict change waits, and takes the others with it.
        let started = now()
        let strict = try put(client, "k", 1, domain: "strict")
        #expect(now() - started > 0.59)
        #expect(strict["durable"] == nil)
        #expect(try syncs(client) == before + 1)
        // By now it is durable.
        #expect(try put(client, "a", 1)["durable"] == nil)
        #expect(try get(client, "a")["value"]?.int == 1)
    }

    @Test func `with a strict change beside it, or a request key, a relaxed one is strict`() throws {
        let client = try relaxed(faults: "log.sync:sleep=300:1+")
        let operations = """
            {"operations":[{"method":"settings.increment","params":{"domain":"r","key":"n"}},\
            {"method":"settings.increment","params":{"domain":"strict","key":"n"}}]}
            """
        var started = now()
        #expect(try client.result("transaction.apply", operations)["durable"] == nil)
        #expect(now() - started > 0.25)
        started = now()
        let key = "{\"domain\":\"r\",\"key\":\"n\",\"requestKey\":\"once\"}"
        #expect(try client.result("settings.increment", key)["durable"] == nil)
        #expect(now() - started > 0.25)
    }

    @Test func `a relaxed change is synced when its time has come, without anybody asking`() throws {
        let daemon = try TemporaryDaemon(movesTime: true)
        let client = try relaxed(daemon, flushSeconds: 600)
        let before = try syncs(client)
        #expect(try put(client, "a", 1)["durable"]?.bool == false)
        try daemon.advance(seconds: 300)
        #expect(try syncs(client) == before)
        try daemon.advance(seconds: 301)
        try daemon.waitUntil { ($0["log"]?["syncs"]?.int ?? 0) > before }
        #expect(try syncs(client) == before + 1)
        #expect(try put(client, "a", 1)["durable"] == nil)
        // Only then it can be folded, and is.
        try daemon.waitUntilFolded()
    }

    @Test func `a thousand relaxed increments cost two syncs at most`() throws {
        let client = try relaxed(flushSeconds: 2)
        let before = try syncs(client)
        let started = now()
        for _ in 0..<1000 { try client.result("settings.increment", "{\"domain\":\"r\",\"key\":\"n\"}") }
        #expect(try get(client, "n")["value"]?.int == 1000)
        // One each two seconds; a machine on which they take longer than that has more.
        #expect(try syncs(client) <= before + 2 + Int((now() - started) / 2))
    }

    @Test func `an idle daemon with relaxed changes sleeps`() throws {
        let client = try relaxed()
        _ = try put(client, "a", 1)
        // Past the time at which they would be folded, were they synced.
        usleep(2_600_000)
        // One that turns all the time has no such pause, however long one looks.
        let deadline = now() + 60
        var switches = Int.max
        while switches >= 30, now() < deadline {
            let before = try Self.switches(daemon.pid)
            usleep(700_000)
            switches = try Self.switches(daemon.pid) - before
        }
        #expect(switches < 30)
    }

    /// Voluntary context switches of the main thread.
    private static func switches(_ pid: pid_t) throws -> Int {
        let status = String(decoding: TemporaryDaemon.contents("/proc/\(pid)/task/\(pid)/status") ?? [], as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") })
        return try #require(line.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
    }

    @Test func `a kill loses nothing, and the revisions go on a million further`() throws {
        let client = try relaxed()
        for index in 0..<50 { _ = try put(client, "k\(index % 7)", index) }
        let last = try rev(client)
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        for index in 43..<50 { #expect(try get(again, "k\(index % 7)")["value"]?.int == index) }
        #expect(try rev(again) == last + 1_000_000)
        #expect(try put(again, "k", 1)["rev"]?.int == last + 1_000_001)
        daemon.kill()
        try daemon.start()
        #expect(try rev(daemon.connect()) == last + 2_000_001)
    }

    @Test func `a clean stop keeps the revisions, and is taken for clean once`() throws {
        let client = try relaxed()
        _ = try put(client, "k", 1)
        let last = try rev(client)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(try rev(daemon.connect()) == last)
        #expect(try get(daemon.connect(), "k")["value"]?.int == 1)
        daemon.kill()
        try daemon.start()
        #expect(try rev(daemon.connect()) == last + 1_000_000)
        // That it was relaxed once is enough.
        try daemon.connect().result("settings.configure", "{\"domain\":\"r\",\"durability\":\"durable\"}")
        let now = try rev(daemon.connect())
        daemon.kill()
        try daemon.start()
        #expect(try rev(daemon.connect()) == now + 1_000_000)
    }

    @Test func `a store that was never relaxed keeps its revisions after a kill`() throws {
        let client = try daemon.connect()
        _ = try put(client, "k", 1)
        daemon.kill()
        try daemon.start()
        #expect(try rev(daemon.connect()) == 1)
    }

    @Test func `a domain made durable again waits for its syncs`() throws {
        let client = try relaxed(faults: "log.sync:sleep=300:1+")
        #expect(try put(client, "a", 1)["durable"]?.bool == false)
        try client.result("settings.configure", "{\"domain\":\"r\",\"durability\":\"durable\"}")
        let started = now()
        #expect(try put(client, "a", 2)["durable"] == nil)
        #expect(now() - started > 0.25)
    }

    @Test func `a relaxed write that the disk has no room for is refused, not acknowledged`() throws {
        let client = try relaxed(faults: "log.append:full:1")
        #expect(
            try client.refusal("settings.put", "{\"domain\":\"r\",\"key\":\"a\",\"value\":1}")["kind"]
                == .string("noSpace"))
        #expect(try get(client, "a")["rev"]?.int == 0)
    }

    @Test func `more relaxed changes than the overlay holds are synced and folded`() throws {
        // An overlay of 4 MiB, 12 MiB of changes.
        let client = try relaxed()
        let value = "\"" + String(repeating: "x", count: 4000) + "\""
        let text = (0..<3000).map {
            Client.request("settings.put", "{\"domain\":\"r\",\"key\":\"k\($0)\",\"value\":\(value)}", id: "\($0)")
        }.joined()
        #expect(try client.exchange(text).allSatisfy { $0.contains("\"result\"") })
        let overlay = try #require(try daemon.connect().result("storage.status")["overlay"])
        #expect(try #require(overlay["peakBytes"]?.int) <= #require(overlay["limit"]?.int) + (1 << 20))
    }
}
