import Testing

/// The feed of those whose grants are others after SIGHUP.
@Suite struct RegrantedFeedTests {
    @Test func `what changed while it was not granted is told by an overflow when it is granted again`() throws {
        let reads = RoleDaemon.role(
            RoleDaemon.grant("settings", "a*", "list", "read"), RoleDaemon.grant("models", "a*", "read"))
        let other = RoleDaemon.role(RoleDaemon.grant("settings", "b*", "read", "write"))
        let daemon = try RoleDaemon(["app": reads, "same": reads])
        let admin = try daemon.connect("admin")
        let same = try daemon.connect("same")
        try same.result("changes.watch")
        let (watcher, waiter) = (try daemon.connect("app"), try daemon.connect("app"))
        try watcher.result("changes.watch", "{\"scope\":\"a\"}")
        try watcher.result("changes.watch", "{\"stores\":[\"models\"]}")
        waiter.send(Client.request("changes.wait", "{\"afterRev\":0,\"timeoutMs\":600000}"))
        // It waits when what stands behind it is answered.
        try waiter.result("storage.ping")
        func overflows() throws -> [Int] {
            var revs = [0, 0]
            for _ in 0..<2 {
                let event = try watcher.reply()
                #expect(event["method"]?.text == "changes.overflow", "\(event)")
                revs[event["params"]!["subscription"]!.int! - 1] = event["params"]!["resyncRev"]!.int!
            }
            return revs
        }
        try daemon.reload(daemon.configuration(["app": other, "same": reads]))
        #expect(try overflows() == [0, 0])
        try admin.result("settings.put", "{\"domain\":\"a\",\"key\":\"k\",\"value\":1}")
        try admin.result("models.put", "{\"namespace\":\"a\",\"key\":\"k\",\"value\":1}")
        // It has been passed over when somebody else has it.
        #expect(try same.reply()["params"]?["rev"]?.int == 1)
        try daemon.reload(daemon.configuration(["app": reads, "same": reads]))
        #expect(try overflows() == [1, 1])
        // Who waits has been told nothing yet, and misses nothing.
        #expect(try waiter.reply()["result"]?["changes"]?[0]?["key"]?.text == "k")
        try admin.result("settings.put", "{\"domain\":\"a\",\"key\":\"l\",\"value\":1}")
        for client in [watcher, same] {
            let event = try client.reply()
            #expect(event["method"]?.text == "changes.changed" && event["params"]?["rev"]?.int == 2, "\(event)")
        }
    }

    @Test func `a wait for what may not be read any more is refused as the same request is then`() throws {
        let before = RoleDaemon.role(
            RoleDaemon.grant("settings", "a*", "read"), RoleDaemon.grant("settings", "b*", "read"),
            RoleDaemon.grant("documents", "*", "read"))
        let after = RoleDaemon.role(RoleDaemon.grant("settings", "b*", "read"))
        let daemon = try RoleDaemon(["app": before])
        func params(_ filter: String) -> String { "{\"afterRev\":0,\"timeoutMs\":600000\(filter)}" }
        func waiters(_ filters: [String]) throws -> [(filter: String, client: Client)] {
            try filters.map { filter in
                let client = try daemon.connect("app")
                client.send(Client.request("changes.wait", params(filter)))
                // It waits when what stands behind it is answered.
                try client.result("storage.ping")
                return (filter: filter, client: client)
            }
        }
        let ending = try waiters([
            ",\"scope\":\"a\"", ",\"scope\":\"a\",\"stores\":[\"settings\"]",
            ",\"scope\":\"b\",\"stores\":[\"documents\"]", ",\"stores\":[\"settings\",\"documents\"]",
        ])
        let staying = try waiters([
            "", ",\"scope\":\"b\"", ",\"stores\":[\"settings\"]",
            ",\"scope\":\"b\",\"stores\":[\"settings\"]",
        ])
        try daemon.reload(daemon.configuration(["app": after]))
        for (filter, client) in ending {
            let error = try client.reply()["error"]
            #expect(error?["data"]?["kind"]?.text == "forbidden", "\(filter): \(String(describing: error))")
            #expect(try client.call("changes.wait", params(filter))["error"] == error, "\(filter)")
        }
        let admin = try daemon.connect("admin")
        for domain in ["a", "b"] {
            try admin.result("settings.put", "{\"domain\":\"\(domain)\",\"key\":\"k\",\"value\":1}")
        }
        for (filter, client) in staying {
            let changes = try client.reply()["result"]?["changes"]?.elements
            #expect(changes?.compactMap { $0["scope"]?.text } == ["b"], "\(filter)")
        }
    }
}
