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
        waiter.send(Client.request("changes.wait", "{\"afterRev\":0,\"scope\":\"a\",\"timeoutMs\":600000}"))
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
}
