import Glibc
import Testing

/// Quotas of a role and of a user, over a real daemon.
@Suite struct QuotaScenarioTests {
    private func put(_ client: Client, _ domain: String, _ key: String, _ value: String) throws -> JSON {
        try client.call("settings.put", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\",\"value\":\"\(value)\"}")
    }

    private func quota(_ reply: JSON) -> JSON? {
        reply["error"]?["data"]?["kind"]?.text == "quotaExceeded" ? reply["error"]?["data"]?["limit"] : nil
    }

    private static let items = RoleDaemon.role(
        RoleDaemon.grant("*", "app*", "read", "write"), quotas: "{\"items\":3,\"bytes\":100}")

    @Test func `a role's items and bytes are bounded over everything that it may write`() throws {
        let daemon = try RoleDaemon(["app": Self.items])
        let client = try daemon.connect("app")
        #expect(quota(try put(client, "app1", "a", "1")) == nil)
        #expect(quota(try put(client, "app2", "a", "1")) == nil)
        #expect(try client.call("documents.put", "{\"collection\":\"app\",\"id\":\"a\",\"value\":1}")["result"] != nil)
        let before = try client.result("changes.list", "{\"afterRev\":0}")["rev"]
        #expect(quota(try put(client, "app1", "b", "1"))?.int == 3)
        #expect(
            quota(try client.call("documents.putMany", "{\"collection\":\"app\",\"documents\":[{\"value\":1}]}"))?.int
                == 3)
        // Nothing of a transaction is done when its last operation finds no room.
        let update = "{\"method\":\"settings.put\",\"params\":{\"domain\":\"app1\",\"key\":\"a\",\"value\":\"2\"}}"
        let more = "{\"method\":\"settings.put\",\"params\":{\"domain\":\"app1\",\"key\":\"c\",\"value\":\"2\"}}"
        let refused = try client.call("transaction.apply", "{\"operations\":[\(update),\(more)]}")
        #expect(quota(refused)?.int == 3 && refused["error"]?["data"]?["operation"]?.int == 1)
        #expect(try client.result("changes.list", "{\"afterRev\":0}")["rev"] == before)
        // What is there may change, and go; then there is room.
        #expect(quota(try put(client, "app1", "a", "2")) == nil)
        #expect(quota(try put(client, "app1", "a", String(repeating: "x", count: 200)))?.int == 100)
        try client.result("settings.delete", "{\"domain\":\"app2\",\"key\":\"a\"}")
        #expect(quota(try put(client, "app1", "b", "1")) == nil)
        // Others are not bound, and what they write counts.
        let admin = try daemon.connect("admin")
        #expect(quota(try put(admin, "app1", "z", "1")) == nil)
        #expect(quota(try put(admin, "elsewhere", "z", "1")) == nil)
        let used = try admin.result("storage.status")["quotas"]?["app"]
        #expect(used?["items"]?.int == 4 && used?["itemsLimit"]?.int == 3 && used?["bytesLimit"]?.int == 100)
        // Over its bound, the role may still shrink.
        #expect(quota(try put(client, "app1", "a", "")) == nil)
        #expect(try client.call("settings.delete", "{\"domain\":\"app1\",\"key\":\"b\"}")["result"] != nil)
        #expect(quota(try put(client, "app1", "b", "1"))?.int == 3)
    }

    @Test func `what is counted is the same after a restart, clean or not`() throws {
        let daemon = try RoleDaemon(["app": Self.items])
        let client = try daemon.connect("app")
        for key in ["a", "b", "c"] { #expect(quota(try put(client, "app1", key, "value")) == nil) }
        try client.result("settings.delete", "{\"domain\":\"app1\",\"key\":\"b\"}")
        let used = try daemon.connect("admin").result("storage.status")["quotas"]
        for isClean in [false, true] {
            if isClean { #expect(daemon.daemon.terminate() == 0) } else { daemon.daemon.kill() }
            try daemon.daemon.start(configuration: daemon.configuration(["app": Self.items]))
            #expect(try daemon.connect("admin").result("storage.status")["quotas"] == used)
        }
        let again = try daemon.connect("app")
        #expect(quota(try put(again, "app1", "b", "value")) == nil)
        #expect(quota(try put(again, "app1", "d", "value"))?.int == 3)
    }

    @Test func `writes that are refused use up no domains, and those that are not no more than the quota's`() throws {
        let role = RoleDaemon.role(
            RoleDaemon.grant("*", "app*", "read", "write"), quotas: "{\"items\":1,\"scopes\":2}")
        let daemon = try RoleDaemon(["app": role])
        let client = try daemon.connect("app")
        for index in 0..<100 {
            let key = "\"domain\":\"app-\(index)\",\"key\":\"k\",\"value\":1,\"ifRev\":5"
            #expect(try client.call("settings.put", "{\(key)}")["error"] != nil)
        }
        let admin = try daemon.connect("admin")
        #expect(try admin.result("storage.status")["quotas"]?["app"]?["scopes"]?.int == 0)
        for domain in ["app-1", "app-2"] {
            #expect(quota(try put(client, domain, "k", "1")) == nil)
            try client.result("settings.delete", "{\"domain\":\"\(domain)\",\"key\":\"k\"}")
        }
        #expect(quota(try put(client, "app-3", "k", "1"))?.int == 2)
        #expect(quota(try put(client, "app-1", "k", "1")) == nil)
        let used = try admin.result("storage.status")["quotas"]?["app"]
        #expect(used?["scopes"]?.int == 2 && used?["scopesLimit"]?.int == 2 && used?["items"]?.int == 1)
    }

    @Test func `what a full disk took back is counted no more`() throws {
        let role = RoleDaemon.role(
            RoleDaemon.grant("*", "app*", "read", "write"), quotas: "{\"items\":3,\"bytes\":1000,\"scopes\":3}")
        // The second commit finds no room.
        let daemon = try RoleDaemon(["app": role], faults: "log.append:full:2")
        let client = try daemon.connect("app")
        #expect(try put(client, "app1", "a", "1")["result"] != nil)
        let admin = try daemon.connect("admin")
        let used = try admin.result("storage.status")["quotas"]
        // A change, a new item, a new scope and a deletion, in one turn.
        let requests = [
            Client.request("settings.put", "{\"domain\":\"app1\",\"key\":\"a\",\"value\":\"longer than before\"}"),
            Client.request("settings.put", "{\"domain\":\"app1\",\"key\":\"b\",\"value\":1}"),
            Client.request("documents.put", "{\"collection\":\"app2\",\"id\":\"b\",\"value\":1}"),
            Client.request("settings.delete", "{\"domain\":\"app1\",\"key\":\"a\"}"),
        ]
        client.send("[" + requests.map { String($0.dropLast()) }.joined(separator: ",") + "]\n")
        let kinds = try client.reply().elements.map { $0["error"]?["data"]?["kind"]?.text }
        #expect(kinds == Array(repeating: "noSpace", count: 4))
        #expect(try admin.result("storage.status")["quotas"] == used)
        for key in ["b", "c"] { #expect(quota(try put(client, "app1", key, "1")) == nil) }
        #expect(quota(try put(client, "app1", "d", "1"))?.int == 3)
    }

    /// `secrets.lock` puts what waits for the audit into the log amid a client's requests, as the daemon; what follows is the client's again.
    @Test func `a lock amid a pipeline does not end the quotas of who writes`() throws {
        let role = RoleDaemon.role(
            RoleDaemon.grant("secrets", "*", "read", "write", "admin"),
            RoleDaemon.grant("settings", "app*", "read", "write"),
            quotas: "{\"items\":2,\"bytes\":100000,\"scopes\":3}")
        let daemon = try RoleDaemon(["app": role])
        let client = try daemon.connect("app")
        for round in 0..<4 {
            var lines = Client.request("secrets.get", "{\"service\":\"app\",\"account\":\"a\"}")
            lines += Client.request("secrets.lock", "{}")
            for number in 0..<5 {
                lines += Client.request(
                    "settings.put", "{\"domain\":\"app\(round)-\(number)\",\"key\":\"k\",\"value\":1}")
            }
            lines += Client.request("secrets.unlock", "{}")
            client.send(lines)
            #expect(try client.reply()["result"]?["rev"]?.int == 0)
            #expect(try client.reply()["result"] != nil)
            for _ in 0..<5 { _ = try client.reply() }
            #expect(try client.reply()["result"] != nil)
        }
        let used = try daemon.connect("admin").result("storage.status")["quotas"]?["app"]
        #expect(used?["items"]?.int == 2 && used?["scopes"]?.int == 2, "\(String(describing: used))")
    }

    @Test func `secrets count: items and services, and the bytes that they take sealed`() throws {
        let role = RoleDaemon.role(
            RoleDaemon.grant("secrets", "app*", "read", "write"), RoleDaemon.grant("settings", "app", "write"),
            quotas: "{\"items\":3,\"bytes\":6000,\"scopes\":3}")
        let daemon = try RoleDaemon(["app": role])
        let admin = try daemon.connect("admin")
        func secret(_ client: Client, _ service: String, _ account: String, _ secret: String = "x") throws -> JSON {
            try client.call(
                "secrets.put", "{\"service\":\"\(service)\",\"account\":\"\(account)\",\"secret\":\"\(secret)\"}")
        }
        func used() throws -> [Int?] {
            let quota = try daemon.connect("admin").result("storage.status")["quotas"]?["app"]
            return [quota?["items"]?.int, quota?["scopes"]?.int, quota?["bytes"]?.int]
        }
        let client = try daemon.connect("app")
        for (service, account) in [("app1", "a"), ("app1", "b"), ("app2", "a")] {
            #expect(quota(try secret(client, service, account)) == nil)
        }
        #expect(try used().prefix(2) == [3, 2])
        #expect(quota(try secret(client, "app1", "c"))?.int == 3)
        #expect(quota(try put(client, "app", "k", "1"))?.int == 3)
        // A new version takes bytes and is no item; others' services do not count.
        #expect(quota(try secret(client, "app1", "a", "y")) == nil)
        #expect(quota(try secret(client, "app1", "a", String(repeating: "y", count: 6000)))?.int == 6000)
        #expect(quota(try secret(admin, "elsewhere", "a")) == nil)
        let full = try used()
        #expect(full[0] == 3 && full[2]! > 500)
        // It is the same after starts, a lock, and another reading of the configuration, before anybody asks for secrets.
        for step in 0..<4 {
            switch step {
            case 0: daemon.daemon.kill()
            case 1: #expect(daemon.daemon.terminate() == 0)
            case 2:
                let locker = try daemon.connect("admin")
                try locker.result("secrets.lock")
                try daemon.reload(daemon.configuration(["app": role]))
                try locker.result("secrets.unlock")
            default: try daemon.reload(daemon.configuration(["app": role]))
            }
            if step < 2 { try daemon.daemon.start(configuration: daemon.configuration(["app": role])) }
            let again = try daemon.connect("app")
            #expect(quota(try secret(again, "app2", "b"))?.int == 3, "\(step)")
            #expect(try used() == full, "\(step)")
        }
        // Deleting makes room; a service stays, and one more is one too many.
        let again = try daemon.connect("app")
        for (service, account) in [("app1", "a"), ("app1", "b"), ("app2", "a")] {
            try again.result("secrets.delete", "{\"service\":\"\(service)\",\"account\":\"\(account)\"}")
        }
        #expect(try used().prefix(2) == [0, 2])
        #expect(quota(try secret(again, "app3", "a")) == nil)
        #expect(quota(try secret(again, "app4", "a"))?.int == 3)
        #expect(try used().prefix(2) == [1, 3])
    }

    @Test func `an import ends at its quota and keeps what fitted`() throws {
        let daemon = try RoleDaemon(["app": Self.items])
        let client = try daemon.connect("app")
        TemporaryDaemon.write("{\"id\":\"1\",\"value\":1}\n{\"id\":\"2\",\"value\":2}\n", to: daemon.root + "/in")
        let two = open(daemon.root + "/in", O_RDONLY | O_CLOEXEC)
        unlink(daemon.root + "/in")
        TemporaryDaemon.write(
            (3...9).map { "{\"id\":\"\($0)\",\"value\":1}\n" }.joined(), to: daemon.root + "/in")
        let seven = open(daemon.root + "/in", O_RDONLY | O_CLOEXEC)
        defer { for descriptor in [two, seven] { close(descriptor) } }
        let load = "{\"collection\":\"app\",\"fd\":true}"
        #expect(try client.call("documents.import", load, descriptors: [two])["result"]?["imported"]?.int == 2)
        #expect(quota(try client.call("documents.import", load, descriptors: [seven]))?.int == 3)
        #expect(
            try daemon.connect("admin").result("documents.count", "{\"collection\":\"app\"}")["count"]?.int == 2)
    }

    @Test(.enabled(if: getuid() == 0, "only root can be several users"))
    func `each user has room of their own under a pattern with their number`() throws {
        let daemon = try RoleDaemon([
            "app": RoleDaemon.role(
                RoleDaemon.grant("settings", "u-{uid}-*", "read", "write"),
                RoleDaemon.grant("settings", "shared", "write"), quotas: "{\"perUid\":{\"items\":2}}")
        ])
        daemon.open()
        func put(_ uid: UInt32, _ domain: String, _ key: String) throws -> String? {
            let line = try Outsider(uid: uid).exchange(
                daemon.path(of: "app"),
                Client.request("settings.put", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\",\"value\":1}"))
            return try JSON(line[0])["error"]?["data"]?["kind"]?.text
        }
        #expect(try put(1001, "u-1001-a", "1") == nil)
        #expect(try put(1001, "u-1001-b", "1") == nil)
        #expect(try put(1001, "u-1001-c", "1") == "quotaExceeded")
        #expect(try put(1001, "shared", "1") == nil)
        #expect(try put(1002, "u-1002-a", "1") == nil)
        #expect(try put(1002, "u-1001-a", "1") == "forbidden")
        daemon.daemon.kill()
        try daemon.daemon.start(configuration: daemon.configuration(["app": daemon.roles["app"]!]))
        daemon.open()
        #expect(try put(1001, "u-1001-a", "2") == "quotaExceeded")
        #expect(try put(1002, "u-1002-a", "2") == nil)
        #expect(try put(1002, "u-1002-a", "3") == "quotaExceeded")
    }
}
