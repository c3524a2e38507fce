import Glibc
import Testing

/// SIGHUP over a real daemon: what changes for those who are connected.
@Suite struct ReloadScenarioTests {
    private static let reads = RoleDaemon.role(RoleDaemon.grant("settings", "a*", "list", "read"))
    private static let writes = RoleDaemon.role(RoleDaemon.grant("settings", "b*", "read", "write"))

    private func kind(_ reply: JSON) -> String? { reply["error"]?["data"]?["kind"]?.text }

    @Test func `living connections get the new grants, subscriptions too`() throws {
        let daemon = try RoleDaemon(["app": Self.reads])
        let admin = try daemon.connect("admin")
        let client = try daemon.connect("app")
        let watcher = try daemon.connect("app")
        try watcher.result("changes.watch")
        #expect(kind(try client.call("settings.put", "{\"domain\":\"b\",\"key\":\"k\",\"value\":1}")) == "forbidden")
        try daemon.reload(daemon.configuration(["app": Self.writes]))
        #expect(try client.call("settings.put", "{\"domain\":\"b\",\"key\":\"k\",\"value\":1}")["result"] != nil)
        #expect(kind(try client.call("settings.get", "{\"domain\":\"a\",\"key\":\"k\"}")) == "forbidden")
        #expect(try client.result("session.hello")["grants"]?[0]?["scope"]?.text == "b*")
        try admin.result("settings.put", "{\"domain\":\"a\",\"key\":\"k\",\"value\":1}")
        try admin.result("settings.put", "{\"domain\":\"b\",\"key\":\"k\",\"value\":2}")
        var scopes: [String] = []
        while scopes.last != "b" || scopes.count < 2 {
            scopes += try watcher.reply()["params"]?["changes"]?.elements.compactMap { $0["scope"]?.text } ?? []
        }
        #expect(scopes == ["b", "b"])
        #expect(daemon.daemon.log.contains("configuration read again"))
    }

    @Test func `what a role has changed is told to it, though it has lost the right while that waits`() throws {
        let before = RoleDaemon.role(
            RoleDaemon.grant("secrets", "*", "admin"), RoleDaemon.grant("documents", "*", "delete", "admin"))
        let daemon = try RoleDaemon(["app": before])
        let admin = try daemon.connect("admin")
        let secrets = (0..<200).map { "{\"service\":\"s\",\"account\":\"\($0)\",\"secret\":\"x\"}" }
        admin.send(secrets.map { Client.request("secrets.put", $0) }.joined())
        for _ in secrets { _ = try admin.reply() }
        try admin.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        try admin.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect(daemon.daemon.terminate() == 0)
        let faults = "rewrap.slice:sleep=100:1+," + daemon.daemon.pause(at: "tend.slice")
        try daemon.daemon.start(configuration: daemon.configuration(["app": before]), faults: faults)
        let purging = try daemon.connect("app")
        purging.send(Client.request("documents.purge", "{\"collection\":\"c\"}"))
        try daemon.daemon.waitUntilPaused(at: "tend.slice")
        let rotating = try daemon.connect("app")
        rotating.send(Client.request("secrets.rotate", "{\"service\":\"s\",\"waitMs\":600000}", id: "\"r\""))
        let other = try daemon.connect("admin")
        try waitFor("the key is made") {
            try other.result("secrets.describe", "{\"service\":\"s\"}")["keyNumber"]?.int == 2
        }
        try daemon.reload(daemon.configuration(["app": Self.reads]))
        #expect(kind(try daemon.connect("app").call("documents.purge", "{\"collection\":\"c\"}")) == "forbidden")
        try daemon.daemon.goOn(at: "tend.slice")
        #expect(try purging.reply()["result"]?["purged"]?.int == 1)
        var reply = try rotating.reply()
        while reply["method"] != nil { reply = try rotating.reply() }
        #expect(reply["id"]?.text == "r" && reply["result"]?["rev"] != nil, "\(reply)")
    }

    @Test func `what waits for a model that is no longer granted is refused, and another goes on`() throws {
        func role(_ scope: String) -> String {
            RoleDaemon.role(RoleDaemon.grant("models", scope, "read", "create", "update"))
        }
        let daemon = try RoleDaemon(["app": role("*")])
        let admin = try daemon.connect("admin")
        func claim(_ namespace: String, _ more: String = "") -> String {
            "{\"namespace\":\"\(namespace)\",\"key\":\"k\",\"claim\":true\(more)}"
        }
        let client = try daemon.connect("app")
        var tokens: [String: String] = [:]
        for namespace in ["a", "b"] {
            let won = try admin.result("models.get", claim(namespace, ",\"leaseSeconds\":3600"))
            tokens[namespace] = try #require(won["token"]?.text)
            client.send(Client.request("models.get", claim(namespace, ",\"waitMs\":600000"), id: "\"\(namespace)\""))
        }
        // Both wait when what stands behind them is answered.
        try client.result("storage.ping")
        try daemon.reload(daemon.configuration(["app": role("b")]))
        let refused = try client.reply()
        #expect(refused["id"]?.text == "a" && kind(refused) == "forbidden")
        for (namespace, token) in tokens {
            try admin.result(
                "models.put", "{\"namespace\":\"\(namespace)\",\"key\":\"k\",\"value\":7,\"token\":\"\(token)\"}")
        }
        let given = try client.reply()
        #expect(given["id"]?.text == "b" && given["result"]?["value"]?.int == 7)
    }

    @Test func `a token for a secret goes with its user's role`() throws {
        let reads = RoleDaemon.role(RoleDaemon.grant("secrets", "s", "read"))
        let daemon = try TemporaryDaemon(starts: false)
        func configuration(_ role: String) -> String {
            """
            {"sockets":[{"path":"\(daemon.socket)","role":"admin"},\
            {"path":"\(daemon.root)/app.sock","roles":[{"uid":\(getuid()),"role":"\(role)"}],"role":"alice"},\
            {"path":"\(daemon.root)/other.sock","role":"other"}],"roles":{"alice":\(reads),"other":\(RoleDaemon.role())}}
            """
        }
        try daemon.start(configuration: configuration("alice"))
        let admin = try daemon.connect()
        try admin.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        let alice = try Client(path: daemon.root + "/app.sock")
        let other = try Client(path: daemon.root + "/other.sock")
        func token() throws -> String {
            let issue = "{\"service\":\"s\",\"account\":\"a\",\"ttlSeconds\":600}"
            return try #require(try alice.result("secrets.issueToken", issue)["token"]?.text)
        }
        #expect(try other.result("secrets.redeemToken", "{\"token\":\"\(token())\"}")["secret"]?.text == "x")
        let left = try token()
        TemporaryDaemon.write(configuration("other"), to: daemon.root + "/config.json")
        Glibc.kill(daemon.pid, SIGHUP)
        let deadline = now() + 60
        while !daemon.log.contains("configuration read again"), now() < deadline { usleep(2000) }
        #expect(kind(try other.call("secrets.redeemToken", "{\"token\":\"\(left)\"}")) == "tokenUnusable")
    }

    @Test func `a live query ends when its collection is no longer granted, and another goes on`() throws {
        func role(_ scope: String) -> String { RoleDaemon.role(RoleDaemon.grant("documents", scope, "list", "read")) }
        let daemon = try RoleDaemon(["app": role("*")])
        let admin = try daemon.connect("admin")
        let client = try daemon.connect("app")
        for collection in ["a", "b"] {
            #expect(try client.result("documents.watch", "{\"collection\":\"\(collection)\"}")["rev"]?.int == 0)
            #expect(try client.reply()["params"]?["snapshot"]?.bool == true)
        }
        try daemon.reload(daemon.configuration(["app": role("b")]))
        let ended = try client.reply()
        #expect(ended["method"]?.text == "documents.ended" && ended["params"]?["subscription"]?.int == 1)
        let data = ended["params"]?["error"]?["data"]
        #expect(data?["kind"]?.text == "forbidden" && data?["grant"]?["scope"]?.text == "a")
        for collection in ["a", "b"] {
            try admin.result("documents.put", "{\"collection\":\"\(collection)\",\"id\":\"x\",\"value\":1}")
        }
        let change = try client.reply()["params"]
        #expect(change?["subscription"]?.int == 2 && change?["changes"]?[0]?["id"]?.text == "x")
        #expect(kind(try client.call("documents.watch", "{\"collection\":\"a\"}")) == "forbidden")
        #expect(try client.result("documents.unwatch", "{\"subscription\":2}")["ended"]?.bool == true)
    }

    @Test func `a FIFO in the configuration's place is refused, and the next reload goes on`() throws {
        let daemon = try RoleDaemon(["app": Self.reads])
        let client = try daemon.connect("app")
        let path = daemon.daemon.root + "/config.json"
        #expect(unlink(path) == 0 && mkfifo(path, 0o600) == 0)
        Glibc.kill(daemon.daemon.pid, SIGHUP)
        let deadline = now() + 60
        while !daemon.daemon.log.contains("is no regular file"), now() < deadline { usleep(2000) }
        #expect(daemon.daemon.log.contains("configuration not read again"), "\(daemon.daemon.log)")
        #expect(unlink(path) == 0)
        try daemon.reload(daemon.configuration(["app": Self.writes]))
        #expect(try client.call("settings.put", "{\"domain\":\"b\",\"key\":\"k\",\"value\":1}")["result"] != nil)
    }

    @Test func `a known request key answers nobody who may not do any more what it stands for`() throws {
        let daemon = try RoleDaemon(["app": Self.writes])
        let client = try daemon.connect("app")
        let add = "{\"domain\":\"b\",\"key\":\"n\",\"requestKey\":\"r\"}"
        #expect(try client.result("settings.increment", add)["value"]?.int == 1)
        #expect(try client.result("settings.increment", add)["value"]?.int == 1)
        try daemon.reload(daemon.configuration(["app": Self.reads]))
        #expect(kind(try client.call("settings.increment", add)) == "forbidden")
    }

    @Test func `a connection whose role is gone ends, and the others live`() throws {
        let daemon = try RoleDaemon(["app": Self.reads, "other": Self.reads])
        let client = try daemon.connect("app")
        let other = try daemon.connect("other")
        try client.result("storage.ping")
        try other.result("storage.ping")
        let admin = "{\"path\":\"\(daemon.path(of: "admin"))\",\"role\":\"admin\"}"
        let kept = "{\"path\":\"\(daemon.path(of: "other"))\",\"role\":\"other\"}"
        let both = "{\"sockets\":[\(admin),\(kept)],\"roles\":{\"other\":\(Self.writes)}}"
        try daemon.reload(both)
        #expect(try client.line() == nil)
        #expect(try other.call("settings.put", "{\"domain\":\"b\",\"key\":\"k\",\"value\":1}")["result"] != nil)
        #expect(daemon.daemon.log.contains("a connection ends: its role is gone"))
        #expect(daemon.daemon.log.contains("takes a restart to change\",\"key\":\"sockets"))
        // The socket is still there, and lets nobody in.
        #expect(try daemon.connect("app").reply()["error"]?["data"]?["kind"]?.text == "forbidden")
    }

    @Test func `a role that goes while the daemon drains is gone`() throws {
        let daemon = try RoleDaemon(["app": RoleDaemon.role(RoleDaemon.grant("settings", "a*", "read", "write"))])
        let client = try daemon.connect("app")
        let value = String(repeating: "x", count: 60_000)
        try client.result("settings.put", "{\"domain\":\"a\",\"key\":\"k\",\"value\":\"\(value)\"}")
        // More than the socket holds and nobody reads: draining waits for this client.
        let get = Client.request("settings.get", "{\"domain\":\"a\",\"key\":\"k\"}")
        client.send(String(repeating: get, count: 50))
        _ = try daemon.connect("admin").result("storage.ping")
        let began = now()
        Glibc.kill(daemon.daemon.pid, SIGTERM)
        try waitFor("it drains") { daemon.daemon.log.contains("draining") }
        TemporaryDaemon.write(daemon.configuration([:]), to: daemon.root + "/config.json")
        Glibc.kill(daemon.daemon.pid, SIGHUP)
        let seconds = now() - began
        #expect(daemon.daemon.wait() == 0)
        // All of the five seconds that a drain has may pass before a busy machine comes to this.
        let isLate = daemon.daemon.log.contains(TemporaryDaemon.overtime) && !daemon.daemon.hasDrainedOvertime
        if seconds > 4 || isLate { return }
        #expect(daemon.daemon.log.contains("a connection ends: its role is gone"))
        #expect(!daemon.daemon.log.contains(TemporaryDaemon.overtime), "it was not the drain's own end")
    }

    @Test func `the configuration is read while the background has long to go`() throws {
        // The second segment is prepared behind the first change, by the thread that makes and retires segments.
        do {
            let busy = try RoleDaemon(["app": Self.reads])
            #expect(busy.daemon.terminate() == 0)
            TemporaryDaemon.remove(busy.daemon.data)
            try busy.daemon.start(
                configuration: busy.configuration(["app": Self.reads]),
                faults: busy.daemon.pause(at: "log.prepare", hit: 2))
            let admin = try busy.connect("admin")
            try admin.result("settings.put", "{\"domain\":\"a\",\"key\":\"k\",\"value\":1}")
            try busy.daemon.waitUntilPaused(at: "log.prepare")
            try busy.reload(busy.configuration(["app": Self.writes]))
            #expect(busy.daemon.isPaused(at: "log.prepare"))
            busy.daemon.kill()
        }
        // Asked for several times at once, the newest text is in force in the end.
        let daemon = try RoleDaemon(["app": Self.reads])
        let client = try daemon.connect("app")
        let texts = (0..<20).map { daemon.configuration(["app": $0 % 2 == 0 ? Self.writes : Self.reads]) }
        for text in texts {
            TemporaryDaemon.write(text, to: daemon.root + "/config.json")
            Glibc.kill(daemon.daemon.pid, SIGHUP)
        }
        let deadline = now() + 60
        while try client.result("session.hello")["grants"]?[0]?["scope"]?.text != "a*", now() < deadline {
            usleep(2000)
        }
        #expect(try client.result("session.hello")["grants"]?[0]?["scope"]?.text == "a*")
        #expect(daemon.daemon.terminate() == 0)
    }

    @Test func `a configuration that does not hold changes nothing`() throws {
        let daemon = try RoleDaemon(["app": Self.reads])
        let client = try daemon.connect("app")
        for bad in ["", "{\"roles\":{}", "{\"colour\":1}", "{\"logLevel\":\"loud\"}"] {
            try daemon.reload(bad)
            #expect(kind(try client.call("settings.get", "{\"domain\":\"a\",\"key\":\"k\"}")) == nil)
        }
        #expect(daemon.daemon.log.occurrences(of: "configuration not read again") == 4)
        #expect(daemon.daemon.log.contains("unknown key \\\"colour\\\""))
    }

    @Test func `quotas and the log's level change, and what cannot is said`() throws {
        func quota(_ items: Int, _ more: String) -> [String: String] {
            [
                "app": RoleDaemon.role(
                    RoleDaemon.grant("settings", "a*", "write"), quotas: "{\"items\":\(items)}")
            ]
        }
        let daemon = try RoleDaemon(quota(1, ""))
        let client = try daemon.connect("app")
        func put(_ key: String) throws -> String? {
            kind(try client.call("settings.put", "{\"domain\":\"a\",\"key\":\"\(key)\",\"value\":1}"))
        }
        #expect(try put("1") == nil)
        #expect(try put("2") == "quotaExceeded")
        let larger = daemon.configuration(quota(2, "")).dropLast() + ",\"limits\":{\"connections\":5}}"
        try daemon.reload(String(larger))
        #expect(try put("2") == nil)
        #expect(try put("3") == "quotaExceeded")
        #expect(daemon.daemon.log.contains("takes a restart to change\",\"key\":\"limits or changes\""))
        #expect(try daemon.connect("admin").result("storage.status")["quotas"]?["app"]?["items"]?.int == 2)
        let silent = String(daemon.configuration([:]).dropLast()) + ",\"logLevel\":\"error\"}"
        try daemon.reload(silent)
        #expect(daemon.daemon.log.contains("\"logLevel\":\"error\""))
        let lines = daemon.daemon.log.occurrences(of: "read again")
        Glibc.kill(daemon.daemon.pid, SIGHUP)
        usleep(200_000)
        #expect(daemon.daemon.log.occurrences(of: "read again") == lines)
    }

    @Test func `a transfer ends when its connection may no longer make it`() throws {
        let writes = RoleDaemon.role(RoleDaemon.grant("documents", "c", "write"))
        let daemon = try RoleDaemon(["app": writes])
        let client = try daemon.connect("app")
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        // Kept open here too, so that writing goes on when the daemon has closed its own.
        defer { for descriptor in ends { close(descriptor) } }
        let lines = (0..<500).map { "{\"id\":\"\($0)\",\"value\":1}\n" }.joined()
        try client.send(
            Client.request("documents.import", "{\"collection\":\"c\",\"fd\":true}"), descriptors: [ends[0]])
        _ = lines.withCString { Glibc.write(ends[1], $0, strlen($0)) }
        let admin = try daemon.connect("admin")
        let deadline = now() + 60
        while try admin.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int ?? 0 < 64, now() < deadline {
            usleep(2000)
        }
        try daemon.reload(daemon.configuration(["app": Self.reads]))
        var reply = try client.reply()
        while reply["method"]?.text == "progress" { reply = try client.reply() }
        #expect(kind(reply) == "forbidden", "\(reply)")
        let count = try admin.result("documents.count", "{\"collection\":\"c\"}")["count"]
        _ = lines.withCString { Glibc.write(ends[1], $0, strlen($0)) }
        usleep(50_000)
        #expect(try admin.result("documents.count", "{\"collection\":\"c\"}")["count"] == count)
    }

    @Test func `a socket whose permissions are to change keeps its roles until they have`() throws {
        let app = RoleDaemon.role(RoleDaemon.grant("settings", "a", "read"))
        let daemon = try RoleDaemon(["app": app])
        let path = daemon.path(of: "app")
        func sockets(_ mode: String, _ role: String) -> String {
            let admin = "{\"path\":\"\(daemon.path(of: "admin"))\",\"role\":\"admin\"}"
            let other = "{\"path\":\"\(path)\",\"mode\":\"\(mode)\",\"role\":\"\(role)\"}"
            return "{\"sockets\":[\(admin),\(other)],\"roles\":{\"app\":\(app)}}"
        }
        let client = try daemon.connect("app")
        // A file that others may open would let them in as admin until the restart that closes it to them.
        try daemon.reload(sockets("0660", "admin"))
        #expect(try client.result("session.hello")["role"]?.text == "app")
        #expect(try daemon.connect("app").result("session.hello")["role"]?.text == "app")
        #expect(daemon.daemon.log.contains("a socket keeps its roles until a restart"))
        try daemon.reload(sockets("0600", "admin"))
        #expect(try client.result("session.hello")["role"]?.text == "admin")
    }

    /// A daemon whose first slice is folded when it goes on at `fold.slice`.
    private func pausingFold(_ roles: [String: String]) throws -> RoleDaemon {
        let daemon = try RoleDaemon(roles)
        #expect(daemon.daemon.terminate() == 0)
        try daemon.daemon.start(
            configuration: daemon.configuration(roles), faults: daemon.daemon.pause(at: "fold.slice"))
        return daemon
    }

    @Test func `an answer that was waited for and then forbidden is nobody else's`() throws {
        func reads(_ scope: String) -> [String: String] {
            ["app": RoleDaemon.role(RoleDaemon.grant("documents", scope, "list", "read"))]
        }
        let daemon = try pausingFold(reads("*"))
        let admin = try daemon.connect("admin")
        for scope in ["a", "b"] {
            try admin.result(
                "documents.put", "{\"collection\":\"\(scope)\",\"id\":\"of \(scope)\",\"value\":1}")
        }
        let client = try daemon.connect("app")
        // It waits when what is out of band behind it is answered.
        client.send(
            Client.request("documents.list", "{\"collection\":\"a\"}", id: "7")
                + Client.request("storage.ping", id: "8"))
        #expect(try client.reply()["id"]?.int == 8)
        try daemon.reload(daemon.configuration(reads("b")))
        try daemon.daemon.goOn(at: "fold.slice")
        let answer = try client.reply()
        #expect(kind(answer) == "forbidden", "\(answer)")
        let page = try client.result("documents.list", "{\"collection\":\"b\"}")
        #expect(page["documents"]?[0]?["id"]?.text == "of b")
    }

    @Test(arguments: [true, false])
    func `what an import had read is not stored when its client is gone, or its right`(isClientGone: Bool) throws {
        let writes = RoleDaemon.role(RoleDaemon.grant("documents", "*", "write"), quotas: "{\"items\":10}")
        let daemon = try pausingFold(["app": writes])
        let admin = try daemon.connect("admin")
        // Three quarters of the overlay: a bulk waits.
        let filler = String(repeating: "x", count: 400_000)
        for number in 0..<8 {
            try admin.result("settings.put", "{\"domain\":\"d\",\"key\":\"\(number)\",\"value\":\"\(filler)\"}")
        }
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for descriptor in ends { close(descriptor) } }
        var client: Client? = try daemon.connect("app")
        do {
            let client = try #require(client)
            try client.send(
                Client.request("documents.import", "{\"collection\":\"c\",\"fd\":true}"), descriptors: [ends[0]])
            let lines = (0..<200).map { "{\"id\":\"\($0)\",\"value\":1}\n" }.joined()
            _ = lines.withCString { Glibc.write(ends[1], $0, strlen($0)) }
            usleep(200_000)
            #expect(try admin.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 0)
        }
        if isClientGone {
            client = nil
            // It has heard of that by the second.
            for _ in 0..<2 { try admin.result("storage.ping") }
        } else {
            try daemon.reload(
                daemon.configuration(["app": RoleDaemon.role(RoleDaemon.grant("documents", "other", "write"))]))
        }
        try daemon.daemon.goOn(at: "fold.slice")
        try daemon.daemon.waitUntilFolded()
        usleep(200_000)
        #expect(try admin.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 0)
    }
}
