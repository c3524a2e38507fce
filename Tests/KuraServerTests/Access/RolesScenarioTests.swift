import Glibc
import Testing

/// Roles over a real daemon: what each may do, and what its refusals and answers give away.
@Suite struct RolesScenarioTests {
    private func kind(_ reply: JSON) -> String? { reply["error"]?["data"]?["kind"]?.text }

    @Test func `hello tells the role and its grants, and can answers by them`() throws {
        let daemon = try RoleDaemon([
            "app": RoleDaemon.role(
                RoleDaemon.grant("settings", "app-{uid}", "read", "create"), RoleDaemon.grant("*", "public*", "list"))
        ])
        let client = try daemon.connect("app")
        let hello = try client.result("session.hello")
        #expect(hello["role"]?.text == "app")
        #expect(
            hello["grants"]
                == (try JSON(
                    """
                    [{"store":"settings","scope":"app-\(getuid())","allow":["read","create"]},\
                    {"store":"*","scope":"public*","allow":["list"]}]
                    """)))
        func can(_ call: String) throws -> JSON { try client.result("session.can", call) }
        #expect(try can("{\"method\":\"settings.get\"}") == JSON("{\"allowed\":true}"))
        #expect(
            try can("{\"method\":\"settings.delete\"}")
                == JSON(
                    "{\"allowed\":false,\"reason\":\"forbidden\",\"grant\":{\"store\":\"settings\",\"allow\":[\"delete\"]}}"
                ))
        #expect(
            try can(
                "{\"method\":\"settings.put\",\"params\":{\"domain\":\"app-\(getuid())\",\"key\":\"k\",\"value\":1}}")
                == JSON(
                    """
                    {"allowed":false,"reason":"forbidden",\
                    "grant":{"store":"settings","scope":"app-\(getuid())","allow":["update"]}}
                    """))
        #expect(
            try can(
                "{\"method\":\"settings.put\",\"params\":{\"domain\":\"app-\(getuid())\",\"key\":\"k\",\"value\":1,\"ifRev\":0}}"
            )
                == JSON("{\"allowed\":true}"))
        #expect(
            try can("{\"method\":\"transaction.apply\"}") == JSON("{\"allowed\":true}"),
            "which operations there are is not known")
        #expect(try daemon.connect("admin").result("session.hello")["role"]?.text == "admin")
    }

    @Test func `what is told of grants is declared, access groups too`() throws {
        let grant = "{\"store\":\"secrets\",\"scope\":\"s\",\"accessGroup\":\"team*\",\"allow\":[\"read\"]}"
        let daemon = try RoleDaemon(["team": RoleDaemon.role(grant)])
        let client = try daemon.connect("team")
        let put = "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\",\"accessGroup\":\"team1\"}"
        let missing = try client.result("session.can", "{\"method\":\"secrets.put\",\"params\":\(put)}")["grant"]
        #expect(missing?["accessGroup"]?.text == "team1")
        let granted = try client.result("session.hello")["grants"]?[0]
        #expect(granted?["accessGroup"]?.text == "team*")
        let methods = try client.result("rpc.discover")["methods"]?.elements ?? []
        func declared(_ method: String) -> JSON? {
            methods.first { $0["name"]?.text == method }?["result"]?["schema"]?["properties"]
        }
        for (told, properties) in [
            (missing, declared("session.can")?["grant"]), (granted, declared("session.hello")?["grants"]?["items"]),
        ] {
            guard case .object(let members)? = told else { return #expect(Bool(false), "\(told as Any)") }
            for member in members { #expect(properties?["properties"]?[member.key] != nil, "\(member.key)") }
        }
    }

    @Test func `who may create and not read learns of a conflict and of no revision`() throws {
        let daemon = try RoleDaemon([
            "drop": RoleDaemon.role(RoleDaemon.grant("*", "in", "create")),
            "change": RoleDaemon.role(RoleDaemon.grant("*", "in", "update")),
            "both": RoleDaemon.role(RoleDaemon.grant("*", "in", "create", "update", "delete")),
        ])
        let admin = try daemon.connect("admin")
        let rev = try #require(
            try admin.result("documents.put", "{\"collection\":\"in\",\"id\":\"x\",\"value\":1}")["rev"]?.int)
        try admin.result("settings.put", "{\"domain\":\"in\",\"key\":\"x\",\"value\":1}")
        let drop = try daemon.connect("drop")
        let change = try daemon.connect("change")
        for (method, scope, name) in [("documents.put", "collection", "id"), ("settings.put", "domain", "key")] {
            func params(_ id: String, _ more: String = "") -> String {
                "{\"\(scope)\":\"in\",\"\(name)\":\"\(id)\",\"value\":2\(more)}"
            }
            #expect(kind(try drop.call(method, params("x"))) == "forbidden")
            #expect(kind(try drop.call(method, params("y"))) == "forbidden")
            #expect(kind(try drop.call(method, params("x", ",\"ifRev\":1"))) == "forbidden")
            let conflict = try drop.refusal(method, params("x", ",\"ifRev\":0"))
            #expect(conflict == (try JSON("{\"kind\":\"conflict\",\"retryable\":false}")))
            #expect(try drop.call(method, params("y", ",\"ifRev\":0"))["result"] != nil)
            #expect(kind(try change.call(method, params("z", ",\"ifRev\":0"))) == "forbidden")
            // Absent or of another revision: the same bytes.
            let absent = try change.refusal(method, params("none", ",\"ifRev\":999"))
            #expect(absent == (try change.refusal(method, params("x", ",\"ifRev\":999"))))
            #expect(absent["currentRev"] == nil)
        }
        #expect(
            try change.call("documents.put", "{\"collection\":\"in\",\"id\":\"x\",\"value\":3,\"ifRev\":\(rev)}")[
                "result"] != nil)
        #expect(try drop.call("documents.put", "{\"collection\":\"in\",\"value\":3}")["result"] != nil)
        let both = try daemon.connect("both")
        #expect(try both.call("documents.put", "{\"collection\":\"in\",\"id\":\"x\",\"value\":4}")["result"] != nil)
        #expect(
            try both.refusal("documents.delete", "{\"collection\":\"in\",\"id\":\"x\",\"ifRev\":1}")["currentRev"]
                == nil)
        // Each element of a list counts.
        func many(_ client: Client, _ list: String) throws -> String? {
            kind(try client.call("documents.putMany", "{\"collection\":\"in\",\"documents\":[\(list)]}"))
        }
        #expect(try many(drop, "{\"value\":1},{\"id\":\"n1\",\"value\":1,\"ifRev\":0}") == nil)
        #expect(try many(drop, "{\"value\":1},{\"id\":\"n2\",\"value\":1}") == "forbidden")
        #expect(try many(drop, "{\"value\":1},{\"id\":\"n2\",\"value\":1,\"ifRev\":5}") == "forbidden")
        #expect(try many(drop, "") == "forbidden")
        #expect(try many(drop, "{\"value\":1},7") == "forbidden")
        #expect(try many(both, "{\"value\":1},{\"id\":\"n2\",\"value\":1}") == nil)
        // The administrator sees what stood in the way.
        #expect(
            try admin.refusal("documents.put", "{\"collection\":\"in\",\"id\":\"x\",\"value\":1,\"ifRev\":0}")[
                "currentRev"]
                != nil)
    }

    @Test func `each operation of a transaction and each member of a batch is asked for by itself`() throws {
        let daemon = try RoleDaemon(["app": RoleDaemon.role(RoleDaemon.grant("*", "mine", "write"))])
        let client = try daemon.connect("app")
        let mine = "{\"method\":\"settings.put\",\"params\":{\"domain\":\"mine\",\"key\":\"k\",\"value\":1}}"
        let other = "{\"method\":\"documents.put\",\"params\":{\"collection\":\"other\",\"id\":\"k\",\"value\":1}}"
        let refused = try client.refusal("transaction.apply", "{\"operations\":[\(mine),\(other)]}")
        #expect(
            refused
                == (try JSON(
                    """
                    {"kind":"forbidden","retryable":false,"operation":1,\
                    "grant":{"store":"documents","scope":"other","allow":["create","update"]}}
                    """)))
        let admin = try daemon.connect("admin")
        #expect(try admin.result("storage.status")["rev"]?.int == 0, "nothing of it was done")
        #expect(try client.call("transaction.apply", "{\"operations\":[\(mine)]}")["result"] != nil)
        client.send(
            "[" + Client.request("settings.get", "{\"domain\":\"mine\",\"key\":\"k\"}", id: "1").dropLast() + ","
                + Client.request("settings.put", "{\"domain\":\"mine\",\"key\":\"k\",\"value\":2}", id: "2").dropLast()
                + "]\n")
        let replies = try client.reply().elements
        #expect(replies.count == 2 && kind(replies[0]) == "forbidden" && replies[1]["result"] != nil)
        // A write without a reply is refused as well.
        client.send(Client.request("settings.put", "{\"domain\":\"other\",\"key\":\"k\",\"value\":2}", id: nil))
        _ = try client.result("storage.ping")
        #expect(try admin.result("settings.count", "{\"domain\":\"other\"}")["count"]?.int == 0)
    }

    @Test func `the feed, the lists of scopes and the export show only what may be seen`() throws {
        let daemon = try RoleDaemon([
            "app": RoleDaemon.role(
                RoleDaemon.grant("settings", "mine*", "list", "read"), RoleDaemon.grant("documents", "mine*", "read"))
        ])
        let admin = try daemon.connect("admin")
        let watcher = try daemon.connect("app")
        try watcher.result("changes.watch", "{\"values\":true}")
        let waiter = try daemon.connect("app")
        waiter.send(Client.request("changes.wait", "{\"afterRev\":0,\"timeoutMs\":600000}"))
        for scope in ["theirs", "mine", "mine-too"] {
            try admin.result("settings.put", "{\"domain\":\"\(scope)\",\"key\":\"k\",\"value\":\"\(scope)\"}")
            try admin.result("documents.put", "{\"collection\":\"\(scope)\",\"id\":\"k\",\"value\":\"\(scope)\"}")
        }
        var seen: [String] = []
        while seen.count < 4 {
            let changes = try watcher.reply()["params"]?["changes"]?.elements ?? []
            seen += changes.compactMap { $0["scope"]?.text }
        }
        #expect(seen == ["mine", "mine", "mine-too", "mine-too"])
        #expect(try waiter.reply()["result"]?["changes"]?.elements.allSatisfy { $0["scope"]?.text != "theirs" } == true)
        let client = try daemon.connect("app")
        let listed = try client.result("changes.list", "{\"afterRev\":0}")
        #expect(listed["changes"]?.elements.compactMap { $0["scope"]?.text } == seen)
        #expect(listed["rev"]?.int == 6, "what is hidden is passed over")
        for params in [
            "{\"afterRev\":0,\"scope\":\"theirs\"}", "{\"afterRev\":0,\"scope\":\"theirs\",\"stores\":[\"settings\"]}",
        ] {
            #expect(kind(try client.call("changes.list", params)) == "forbidden")
            #expect(kind(try client.call("changes.wait", params)) == "forbidden")
        }
        #expect(kind(try client.call("changes.watch", "{\"scope\":\"nothing\"}")) == "forbidden")
        #expect(try client.call("changes.watch", "{\"scope\":\"mine-absent\"}")["result"] != nil)

        #expect(
            try client.result("settings.scopes")["scopes"]?.elements.map { $0["domain"]?.text } == ["mine", "mine-too"])
        #expect(kind(try client.call("documents.scopes")) == "forbidden")
        #expect(
            try client.result("settings.export")["values"]
                == JSON("{\"mine\":{\"k\":\"mine\"},\"mine-too\":{\"k\":\"mine-too\"}}"))
        #expect(kind(try client.call("settings.export", "{\"domains\":[\"mine\",\"theirs\"]}")) == "forbidden")
        #expect(kind(try client.call("settings.export", "{\"domains\":[\"mine\",\"absent\"]}")) == "forbidden")
    }

    @Test func `watching and backups are rights of their own, and none of them reads what is stored`() throws {
        let daemon = try RoleDaemon([
            "watcher": RoleDaemon.role(RoleDaemon.grant("storage", "*", "monitor")),
            "keeper": RoleDaemon.role(RoleDaemon.grant("storage", "*", "backup")),
            "operator": RoleDaemon.role(RoleDaemon.grant("storage", "*", "read", "admin")),
        ])
        try daemon.connect("admin").result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        let watcher = try daemon.connect("watcher")
        #expect(try watcher.result("storage.health")["ready"]?.bool == true)
        let seen = try watcher.result("storage.status")
        #expect(seen["connections"] != nil && seen["sockets"] == nil && seen["quotas"] == nil, "\(seen)")
        let all = try daemon.connect("operator").result("storage.status")
        #expect(all["sockets"] != nil && all["quotas"] != nil, "\(all)")
        #expect(try watcher.result("storage.stats")["daemon"]?["requests"] != nil)
        for (method, params) in [
            ("documents.get", "{\"collection\":\"c\",\"id\":\"a\"}"), ("storage.backup", "{\"name\":\"b\"}"),
            ("backups.list", "{}"), ("storage.compact", "{}"), ("storage.diskWrites", "{}"), ("storage.slow", "{}"),
            ("changes.watch", "{\"stores\":[\"storage\"]}"),
        ] { #expect(kind(try watcher.call(method, params)) == "forbidden", "\(method)") }
        #expect(kind(try daemon.connect("operator").call("storage.backup", "{\"name\":\"b\"}")) == "forbidden")
        let keeper = try daemon.connect("keeper")
        try keeper.result("storage.backup", "{\"name\":\"b\"}")
        #expect(kind(try keeper.call("storage.compact")) == "forbidden")
        // What its own key opens has the root key in it.
        let own = "\"passphrase\":\"mine\""
        let refused = try keeper.call("storage.backup", "{\"name\":\"c\",\(own)}")
        #expect(kind(refused) == "forbidden" && refused["error"]?["data"]?["grant"]?["store"]?.text == "secrets")
        try keeper.result("storage.backup", "{\"name\":\"c\",\(own),\"include\":[\"documents\"]}")
    }

    @Test func `a backup for a key of its own takes the right to read the secrets of every group`() throws {
        let keeps = RoleDaemon.grant("storage", "*", "backup")
        let reads = RoleDaemon.grant("secrets", "*", "read", "admin")
        func readsGroups(_ pattern: String, _ verbs: String) -> String {
            "{\"store\":\"secrets\",\"scope\":\"*\",\"accessGroup\":\"\(pattern)\",\"allow\":[\(verbs)]}"
        }
        let daemon = try RoleDaemon([
            "ungrouped": RoleDaemon.role(keeps, reads),
            "some": RoleDaemon.role(keeps, reads, readsGroups("team-*", "\"read\",\"admin\"")),
            "readers": RoleDaemon.role(keeps, reads, readsGroups("*", "\"read\"")),
            "all": RoleDaemon.role(keeps, reads, readsGroups("*", "\"read\",\"admin\"")),
        ])
        try daemon.connect("admin").result(
            "secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"accessGroup\":\"team\",\"secret\":\"x\"}")
        func backup(_ role: String) throws -> JSON {
            try daemon.connect(role).call("storage.backup", "{\"name\":\"\(role)\",\"passphrase\":\"mine\"}")
        }
        for role in ["ungrouped", "some", "readers"] {
            let refused = try backup(role)
            let grant = refused["error"]?["data"]?["grant"]
            #expect(kind(refused) == "forbidden" && grant?["accessGroup"]?.text == "*", "\(role): \(refused)")
        }
        #expect(try backup("all")["result"]?["encrypted"]?.bool == true)
    }

    @Test func `who may not delete documents has none deleted by their age`() throws {
        let daemon = try RoleDaemon([
            "maker": RoleDaemon.role(RoleDaemon.grant("documents", "*", "admin")),
            "keeper": RoleDaemon.role(RoleDaemon.grant("documents", "*", "admin", "delete")),
        ])
        for what in ["retainDays", "tombstoneDays"] {
            for days in ["1", "null"] {
                let params = "{\"collection\":\"c\",\"\(what)\":\(days)}"
                let refused = try daemon.connect("maker").call("documents.configure", params)
                let missing = refused["error"]?["data"]?["grant"]?["allow"]?.elements.map(\.text)
                #expect(kind(refused) == "forbidden" && missing == ["delete"], "\(refused)")
                try daemon.connect("keeper").result("documents.configure", params)
            }
        }
        try daemon.connect("maker").result("documents.configure", "{\"collection\":\"c\",\"schemaMode\":\"off\"}")
    }

    @Test func `who may read everything does not thereby read secrets`() throws {
        let daemon = try RoleDaemon([
            "reader": RoleDaemon.role(RoleDaemon.grant("*", "*", "list", "read")),
            "both": RoleDaemon.role(
                RoleDaemon.grant("*", "*", "list", "read"), RoleDaemon.grant("secrets", "s", "read")),
        ])
        try daemon.connect("admin").result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        let name = "{\"service\":\"s\",\"account\":\"a\"}"
        #expect(kind(try daemon.connect("reader").call("secrets.get", name)) == "forbidden")
        #expect(try daemon.connect("reader").result("secrets.list")["items"]?.elements.count == 1)
        #expect(try daemon.connect("both").result("secrets.get", name)["secret"]?.text == "x")
    }

    @Test func `what one request hands to another is of use to its own role alone, as long as that may`() throws {
        let writes = RoleDaemon.grant("blobs", "mine", "create", "update"),
            caches = RoleDaemon.grant("models", "mine", "read", "create", "update")
        let role = RoleDaemon.role(writes, caches, RoleDaemon.grant("secrets", "mine", "read"))
        let daemon = try RoleDaemon(["one": role, "two": role, "reader": RoleDaemon.role()])
        try daemon.connect("admin").result(
            "secrets.put", "{\"service\":\"mine\",\"account\":\"a\",\"secret\":\"x\"}")
        let (one, two) = (try daemon.connect("one"), try daemon.connect("two"))
        func upload() throws -> String {
            let begin = "{\"namespace\":\"mine\",\"key\":\"k\",\"leaseSeconds\":600}"
            return try #require(try one.result("blobs.beginUpload", begin)["upload"]?.text)
        }
        func piece(_ upload: String) -> String { "{\"upload\":\"\(upload)\",\"offset\":0,\"data\":\"AQI=\"}" }
        let first = try upload()
        #expect(kind(try two.call("blobs.appendUpload", piece(first))) == "uploadNotFound")
        #expect(kind(try two.call("blobs.commitUpload", "{\"upload\":\"\(first)\"}")) == "uploadNotFound")
        #expect(try two.result("blobs.abortUpload", "{\"upload\":\"\(first)\"}")["aborted"]?.bool == false)
        try one.result("blobs.appendUpload", piece(first))
        try one.result("blobs.commitUpload", "{\"upload\":\"\(first)\"}")
        let claim = "{\"namespace\":\"mine\",\"key\":\"m\",\"claim\":true,\"leaseSeconds\":600}"
        let token = try #require(try one.result("models.get", claim)["token"]?.text)
        for (method, params) in [
            ("models.fail", "{\"token\":\"\(token)\"}"),
            ("models.put", "{\"namespace\":\"mine\",\"key\":\"m\",\"value\":1,\"token\":\"\(token)\"}"),
            ("models.renew", "{\"namespace\":\"mine\",\"key\":\"m\",\"token\":\"\(token)\",\"leaseSeconds\":60}"),
        ] { #expect(kind(try two.call(method, params)) == "tokenInvalid", "\(method)") }
        let issue = "{\"service\":\"mine\",\"account\":\"a\",\"ttlSeconds\":600}"
        func issued() throws -> String { try #require(try one.result("secrets.issueToken", issue)["token"]?.text) }
        let reader = try daemon.connect("reader")
        #expect(try reader.result("secrets.redeemToken", "{\"token\":\"\(issued())\"}")["secret"]?.text == "x")
        // The grants go, and with them what was handed out.
        let (left, second) = (try issued(), try upload())
        try daemon.reload(daemon.configuration(["one": RoleDaemon.role(), "two": role, "reader": RoleDaemon.role()]))
        #expect(kind(try one.call("blobs.appendUpload", piece(second))) != nil)
        #expect(kind(try reader.call("secrets.redeemToken", "{\"token\":\"\(left)\"}")) == "tokenUnusable")
        #expect(kind(try one.call("models.fail", "{\"token\":\"\(token)\"}")) != nil)
    }

    @Test func `status is for those who may read the storage, and its details for its administrators`() throws {
        let daemon = try RoleDaemon([
            "monitor": RoleDaemon.role(RoleDaemon.grant("storage", "*", "read")),
            "operator": RoleDaemon.role(RoleDaemon.grant("storage", "*", "read", "admin")),
            "app": RoleDaemon.role(RoleDaemon.grant("*", "mine*", "read", "admin")),
        ])
        let monitor = try daemon.connect("monitor")
        #expect(try monitor.result("storage.health")["ready"]?.bool == true)
        #expect(
            try Set(monitor.result("storage.status").members.keys)
                == ["version", "epoch", "startedAt", "profile", "rev", "foldedRev", "limits"])
        let status = try daemon.connect("operator").result("storage.status")
        let sockets = status["sockets"]?.elements ?? []
        #expect(
            sockets.map { $0["path"]?.text } == ["admin", "app", "monitor", "operator"].map { daemon.path(of: $0) })
        #expect(sockets.map { $0["connections"]?.int }.suffix(2) == [1, 1])
        #expect(sockets.allSatisfy { $0["mode"]?.text == "0600" })
        #expect(kind(try daemon.connect("app").call("storage.status")) == "forbidden")
        #expect(kind(try daemon.connect("app").call("storage.health")) == "forbidden")
    }

    @Test func `a refused transfer takes its descriptor with it`() throws {
        let daemon = try RoleDaemon(["app": RoleDaemon.role(RoleDaemon.grant("documents", "mine", "write"))])
        let client = try daemon.connect("app")
        func file(_ text: String) -> Int32 {
            TemporaryDaemon.write(text, to: daemon.root + "/in")
            return open(daemon.root + "/in", O_RDONLY | O_CLOEXEC)
        }
        let (theirs, mine) = (file("{\"id\":\"theirs\",\"value\":1}\n"), open("/dev/null", O_RDONLY | O_CLOEXEC))
        unlink(daemon.root + "/in")
        let own = file("{\"id\":\"own\",\"value\":1}\n")
        defer { for descriptor in [theirs, mine, own] { close(descriptor) } }
        try client.send(
            Client.request("documents.import", "{\"collection\":\"theirs\",\"fd\":true}", id: "1")
                + Client.request("documents.import", "{\"collection\":\"mine\",\"fd\":true}", id: "2"),
            descriptors: [theirs, own])
        #expect(kind(try client.reply()) == "forbidden")
        #expect(try client.reply()["result"]?["imported"]?.int == 1)
        // Those that are refused are closed, however many come.
        let before = daemon.daemon.settledDescriptorCount
        for _ in 0..<50 {
            let refused = try client.call(
                "documents.import", "{\"collection\":\"theirs\",\"fd\":true}", descriptors: [theirs])
            #expect(kind(refused) == "forbidden")
        }
        let deadline = now() + 60
        while daemon.daemon.descriptorCount > before + 10, now() < deadline { usleep(2000) }
        #expect(daemon.daemon.descriptorCount <= before + 10)
        let admin = try daemon.connect("admin")
        #expect(
            try admin.result("documents.getMany", "{\"collection\":\"mine\",\"ids\":[\"own\",\"theirs\"]}")["missing"]
                == JSON("[\"theirs\"]"))
    }

    @Test func `a request key of one role is not another's`() throws {
        let role = RoleDaemon.role(RoleDaemon.grant("settings", "*", "read", "write"))
        let daemon = try RoleDaemon(["one": role, "two": role])
        let add = "{\"domain\":\"d\",\"key\":\"n\",\"requestKey\":\"r\"}"
        let one = try daemon.connect("one")
        #expect(try one.result("settings.increment", add)["value"]?.int == 1)
        #expect(try one.result("settings.increment", add)["value"]?.int == 1)
        #expect(try daemon.connect("two").result("settings.increment", add)["value"]?.int == 2)
        #expect(try daemon.connect("admin").result("settings.increment", add)["value"]?.int == 3)
        #expect(try daemon.connect("one").result("settings.increment", add)["value"]?.int == 1)
    }

    @Test func `a result under a request key is told to nobody who may not do the same any more`() throws {
        func role(_ scopes: String...) -> [String: String] {
            let grants = scopes.map { RoleDaemon.grant("settings", $0, "read", "write") }.joined(separator: ",")
            return ["app": "{\"grants\":[\(grants)]}"]
        }
        let daemon = try RoleDaemon(role("a", "b"))
        let client = try daemon.connect("app")
        let add = { (domain: String) in
            "{\"method\":\"settings.increment\",\"params\":{\"domain\":\"\(domain)\",\"key\":\"n\"}}"
        }
        let both = "{\"operations\":[\(add("a")),\(add("b"))],\"requestKey\":\"r\"}"
        let first = try client.result("transaction.apply", both)
        #expect(try client.result("transaction.apply", both) == first)
        try daemon.reload(daemon.configuration(role("a")))
        let refusal = try client.refusal("transaction.apply", both)
        #expect(refusal["kind"] == .string("forbidden"))
        #expect(refusal["operation"]?.int == 1)
        #expect(refusal["grant"]?["scope"]?.text == "b")
        // What is no operation does not get around the question.
        let odd = "{\"operations\":[\(add("a")),{\"method\":\"b\"}],\"requestKey\":\"r\"}"
        #expect(try client.call("transaction.apply", odd)["result"] == nil)
        try daemon.reload(daemon.configuration(role("a", "b")))
        #expect(try client.result("transaction.apply", both) == first)
    }

    @Test func `who may configure and not read is told nothing by a schema's verdicts`() throws {
        let daemon = try RoleDaemon(["app": RoleDaemon.role(RoleDaemon.grant("settings", "d", "admin"))])
        try daemon.connect("admin").result("settings.put", "{\"domain\":\"d\",\"key\":\"password\",\"value\":\"abc\"}")
        let client = try daemon.connect("app")
        let schema = "{\"properties\":{\"password\":{\"pattern\":\"^a\"}}}"
        for more in ["\"schema\":\(schema),\"dryRun\":true", "\"mode\":\"warn\""] {
            let refusal = try client.refusal("settings.configure", "{\"domain\":\"d\",\(more)}")
            #expect(refusal["kind"]?.text == "forbidden")
        }
        try client.result("settings.configure", "{\"domain\":\"d\",\"backup\":false}")
    }
}
