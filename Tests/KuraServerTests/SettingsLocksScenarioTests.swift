import Glibc
import Testing

/// Locks of the host's administrator over a real daemon.
@Suite struct SettingsLocksScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon(starts: false)
    }

    private var path: String { daemon.root + "/locks.json" }
    private var configuration: String { "{\"settingsLocks\":\"\(path)\"}" }

    private func lock(_ text: String) { TemporaryDaemon.write(text, to: path) }

    private func get(_ client: Client, _ key: String = "k", _ domain: String = "d") throws -> JSON {
        try client.result("settings.get", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\",\"explain\":true}")
    }

    @Test func `a locked setting has its value and refuses every way to write it`() throws {
        lock("{\"d\":{\"k\":{\"value\":\"fixed\",\"reason\":\"policy 7\"}}}")
        try daemon.start(configuration: configuration)
        let client = try daemon.connect()
        #expect(
            try get(client) == JSON("{\"value\":\"fixed\",\"rev\":0,\"layer\":\"locked\",\"reason\":\"policy 7\"}"))
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"free\",\"value\":1}")
        let before = try client.result("storage.status")["rev"]
        for (method, params) in [
            ("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"fixed\"}"),
            ("settings.delete", "{\"domain\":\"d\",\"key\":\"k\"}"),
            ("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}"),
            ("settings.putMany", "{\"domain\":\"d\",\"values\":{\"a\":1,\"k\":2}}"),
            ("settings.putMany", "{\"domain\":\"d\",\"values\":{\"a\":1},\"delete\":[\"k\"]}"),
            ("settings.override", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}"),
            ("settings.import", "{\"values\":{\"c\":{\"a\":1},\"d\":{\"k\":1}}}"),
            (
                "transaction.apply",
                """
                {"operations":[{"method":"settings.put","params":{"domain":"c","key":"a","value":1}},\
                {"method":"settings.put","params":{"domain":"d","key":"k","value":1}}]}
                """
            ),
        ] {
            let error = try client.refusal(method, params)
            #expect(error["kind"] == .string("locked"), "\(method)")
            #expect(error["layer"] == .string("locked"))
            #expect(error["reason"] == .string("policy 7"))
            if method == "settings.import" { #expect(error["path"] == .string("/d/k")) }
            if method == "transaction.apply" { #expect(error["operation"]?.int == 1) }
        }
        #expect(try client.result("storage.status")["rev"] == before)
        #expect(
            try client.result("settings.list", "{\"domain\":\"d\"}")["values"] == JSON("{\"free\":1,\"k\":\"fixed\"}"))
        #expect(try client.result("settings.export")["values"] == JSON("{\"d\":{\"free\":1}}"))
    }

    @Test func `a lock hides what is stored, registered and overridden, and shows it again when it is gone`() throws {
        lock("{}")
        try daemon.start(configuration: configuration)
        let client = try daemon.connect()
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try client.result("settings.register", "{\"domain\":\"d\",\"defaults\":{\"k\":2}}")
        try client.result("settings.override", "{\"domain\":\"d\",\"key\":\"k\",\"value\":3}")
        lock("{\"d\":{\"k\":{\"value\":4,\"reason\":\"now\"}},\"new\":{\"k\":{\"value\":5,\"reason\":\"too\"}}}")
        try reload { try get(client)["value"]?.int == 4 }
        #expect(
            try get(client)
                == JSON(
                    """
                    {"value":4,"rev":1,"layer":"locked","reason":"now","hidden":[{"layer":"session","value":3},\
                    {"layer":"app","value":1},{"layer":"registered","value":2}]}
                    """))
        #expect(try get(client, "k", "new")["value"]?.int == 5)
        lock("{}")
        try reload { try get(client)["value"]?.int == 3 }
        #expect(try get(client, "k", "new") == JSON("{\"rev\":0,\"layer\":\"none\"}"))
        try client.result("settings.put", "{\"domain\":\"new\",\"key\":\"k\",\"value\":1}")
    }

    @Test func `a file that does not hold leaves the old locks, and is told in the log`() throws {
        lock("{\"d\":{\"k\":{\"value\":1,\"reason\":\"r\"}}}")
        try daemon.start(configuration: configuration)
        let client = try daemon.connect()
        for bad in ["{\"d\":{\"k\":{\"value\":2}}}", "", nil] {
            if let bad { lock(bad) } else { unlink(path) }
            let before = daemon.log.components("configuration not read again")
            try reload { daemon.log.components("configuration not read again") == before + 1 }
            #expect(try get(client)["value"]?.int == 1)
        }
        lock("{\"d\":{\"k\":{\"value\":3,\"reason\":\"r\"}}}")
        try reload { try get(client)["value"]?.int == 3 }
        // Without a file to read, the signal does nothing.
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let again = try daemon.connect()
        Glibc.kill(daemon.pid, SIGHUP)
        #expect(try get(again)["layer"] == .string("none"))
        try again.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
    }

    @Test func `a daemon does not start with locks that it cannot read`() throws {
        for text in [nil, "", "{\"d\":1}", "{\"d\":{\"k\":{\"value\":1}}}"] {
            if let text { lock(text) } else { unlink(path) }
            TemporaryDaemon.write(configuration, to: daemon.root + "/config.json")
            let status = try daemon.run(
                ["--data-dir", daemon.data, "--socket", daemon.socket, "--config", daemon.root + "/config.json"])
            #expect(status == 2)
            #expect(access(daemon.data, F_OK) != 0)
        }
        #expect(daemon.log.contains("settingsLocks: \(path)"))
        #expect(daemon.log.contains("d/k: reason is missing"))
    }

    /// SIGHUP, then waits until `holds`.
    private func reload(_ holds: () throws -> Bool) throws {
        Glibc.kill(daemon.pid, SIGHUP)
        let deadline = now() + 60
        while try !holds() {
            guard now() < deadline else {
                Issue.record("the locks were not read again: \(daemon.log)")
                return
            }
            usleep(2000)
        }
    }
}

extension String {
    /// How often a text stands in this one.
    fileprivate func components(_ text: String) -> Int {
        split(separator: text, omittingEmptySubsequences: false).count - 1
    }
}
