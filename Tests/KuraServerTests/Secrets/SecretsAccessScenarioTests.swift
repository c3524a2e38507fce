import Glibc
import Testing

/// Who sees which secrets, and what the feed tells of them.
@Suite struct SecretsAccessScenarioTests {
    private let daemon: RoleDaemon
    private let admin: Client

    init() throws {
        let team = """
            {"grants":[{"store":"secrets","scope":"s","accessGroup":"team*","allow":["list","read"]}]}
            """
        daemon = try RoleDaemon([
            "app": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "list", "read", "create", "update", "delete")),
            "team": team, "drop": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "create")),
            "other": RoleDaemon.role(RoleDaemon.grant("settings", "*", "read", "list")),
        ])
        admin = try daemon.connect("admin")
        for (service, more) in [("s", ""), ("s", ",\"accessGroup\":\"team1\""), ("t", "")] {
            try admin.result(
                "secrets.put",
                "{\"service\":\"\(service)\",\"account\":\"ada\",\"secret\":\"of \(service)\(more.count)\"\(more)}")
        }
    }

    /// The whole line that a request gets.
    private func line(_ client: Client, _ method: String, _ params: String) throws -> String {
        client.send(Client.request("secrets.\(method)", params))
        return try #require(try client.line())
    }

    private static let verbs = [
        ("get", ""), ("get", ",\"version\":1"), ("versions", ""), ("delete", ""), ("put", ",\"secret\":\"x\""),
        ("put", ",\"secret\":\"x\",\"ifRev\":0"), ("setAttributes", ",\"label\":\"x\""),
        ("rename", ",\"newAccount\":\"z\""), ("restoreVersion", ",\"version\":1"), ("generate", ""),
    ]

    @Test(arguments: ["app", "team", "other"])
    func `without a grant nobody can tell what is absent from what is not theirs`(role: String) throws {
        let client = try daemon.connect(role)
        let places = ["\"service\":\"t\"", "\"service\":\"s\",\"accessGroup\":\"\(role == "team" ? "x" : "team1")\""]
        for place in places {
            for (method, more) in Self.verbs {
                let there = try line(client, method, "{\(place),\"account\":\"ada\"\(more)}")
                let absent = try line(client, method, "{\(place),\"account\":\"eve\"\(more)}")
                #expect(there == absent, "\(method) of \(place)")
                #expect(there.contains("\"forbidden\""), "\(method) of \(place): \(there)")
            }
        }
        #expect(
            try admin.result("secrets.get", "{\"service\":\"t\",\"account\":\"ada\"}")["secret"] == .string("of t0"))
        #expect(try admin.result("secrets.list")["items"]?.elements.count == 3)
    }

    @Test func `of a thousand refusals none differs in its bytes, and on the whole not in time`() throws {
        let client = try daemon.connect("app")
        // Half of them are there.
        for number in 0..<50 {
            try admin.result("secrets.put", "{\"service\":\"t\",\"account\":\"n\(number)\",\"secret\":\"x\"}")
        }
        var replies: Set<String> = []
        // Two times as many of each, the halves of which are the control: they differ by what else the machine does.
        var seconds: [[Double]] = [[], [], [], []]
        for number in 0..<1000 {
            for isThere in [number % 2 == 0, number % 2 != 0] {
                let account = isThere ? "n\(number % 50)" : "m\(number % 50)"
                let start = now()
                let service = isThere ? "t" : number % 4 < 2 ? "t" : "u"
                replies.insert(
                    try line(client, "get", "{\"service\":\"\(service)\",\"account\":\"\(account)\"}").replacing(
                        "\"scope\":\"u\"", with: "\"scope\":\"t\""))
                seconds[(isThere ? 2 : 0) + number / 4 % 2].append(now() - start)
            }
        }
        // Most of a tenth had the processor without a break.
        let times = seconds.map { $0.sorted()[$0.count / 10] }
        let noise = max(abs(times[0] - times[1]), abs(times[2] - times[3]))
        let difference = abs(times[0] + times[1] - times[2] - times[3]) / 2
        #expect(replies.count == 1, "\(replies)")
        #expect(difference < max(0.15 * (times.min() ?? 0), 3 * noise), "\(times)")
    }

    @Test func `a group's secret is another one, and shown to whoever has a grant for the group`() throws {
        let (app, team) = (try daemon.connect("app"), try daemon.connect("team"))
        #expect(try app.result("secrets.get", "{\"service\":\"s\",\"account\":\"ada\"}")["secret"] == .string("of s0"))
        #expect(
            try team.result("secrets.get", "{\"service\":\"s\",\"account\":\"ada\",\"accessGroup\":\"team1\"}")[
                "secret"]
                == .string("of s22"))
        #expect(
            try team.refusal("secrets.get", "{\"service\":\"s\",\"account\":\"ada\"}")["kind"] == .string("forbidden"))
        func listed(_ client: Client) throws -> [String] {
            try client.result("secrets.list")["items"]!.elements.map {
                $0["service"]!.text! + ($0["accessGroup"]?.text ?? "")
            }
        }
        #expect(try listed(app) == ["s"])
        #expect(try listed(team) == ["steam1"])
        #expect(try listed(admin).sorted() == ["s", "steam1", "t"])
        #expect(try app.result("secrets.scopes")["scopes"]?.elements.count == 1)
        // Counts and revisions are those of what is seen.
        let before = try team.result("secrets.describe", "{\"service\":\"s\"}")
        #expect(before["count"]?.int == 1 && before["head"] == nil && before["keyNumber"] == nil, "\(before)")
        try admin.result("secrets.put", "{\"service\":\"s\",\"account\":\"bob\",\"secret\":\"x\"}")
        try admin.result(
            "secrets.put", "{\"service\":\"t\",\"account\":\"bob\",\"accessGroup\":\"x\",\"secret\":\"x\"}")
        #expect(try team.result("secrets.describe", "{\"service\":\"s\"}") == before)
        #expect(try team.result("secrets.scopes")["scopes"]?[0]?["rev"] == before["rev"])
        #expect(try app.result("secrets.scopes")["scopes"]?[0]?["count"]?.int == 2)
        #expect(try admin.result("secrets.describe", "{\"service\":\"s\"}")["count"]?.int == 3)
        // The chain over all changes tells of all secrets: only who may list them all is told of it.
        for (client, isShown) in [(admin, true), (app, false), (team, false)] {
            let status = try client.result("secrets.status")
            #expect((status["chainHead"] != nil) == isShown && (status["chainLength"] != nil) == isShown, "\(status)")
        }
        // Who may only put learns that the condition failed, and no revision.
        let error = try daemon.connect("drop").refusal(
            "secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"x\",\"ifRev\":0}")
        #expect(error["kind"] == .string("conflict") && error["currentRev"] == nil)
    }

    @Test func `a grant for a group leads to nothing outside of it, by whatever method`() throws {
        let group = """
            {"grants":[{"store":"secrets","scope":"*","accessGroup":"team*",
            "allow":["list","read","use","create","update","delete","admin"]}]}
            """
        let roles = [
            "group": group,
            "none": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "list", "read", "delete")),
        ]
        let daemon = try RoleDaemon(roles)
        let admin = try daemon.connect("admin")
        for (account, more) in [("ada", ""), ("bob", ""), ("ada", ",\"accessGroup\":\"team1\"")] {
            try admin.result(
                "secrets.put", "{\"service\":\"s\",\"account\":\"\(account)\",\"secret\":\"x\"\(more)}")
        }
        let team = try daemon.connect("group")
        // What names no group is about secrets in none, and what has none is about a whole service or all of them.
        let calls = [
            ("getMany", "{\"service\":\"s\",\"accounts\":[\"ada\"]}"),
            ("get", "{\"service\":\"s\",\"account\":\"ada\"}"),
            ("getMany", "{\"service\":\"s\",\"accounts\":[]}"), ("clear", "{\"service\":\"s\",\"confirm\":\"s\"}"),
            ("configure", "{\"service\":\"s\",\"maxVersions\":1}"), ("lock", "{}"), ("slots", "{}"), ("audit", "{}"),
            ("removeSlot", "{\"slot\":1}"), ("rotate", "{\"service\":\"s\"}"), ("verify", "{}"),
            ("issueToken", "{\"service\":\"s\",\"account\":\"ada\",\"ttlSeconds\":9}"),
            ("sign", "{\"service\":\"s\",\"account\":\"ada\",\"data\":\"x\"}"),
        ]
        for (method, params) in calls {
            #expect(try team.refusal("secrets." + method, params)["kind"]?.text == "forbidden", "\(method) \(params)")
        }
        let found = try team.result(
            "secrets.getMany", "{\"service\":\"s\",\"accounts\":[\"ada\",\"bob\"],\"accessGroup\":\"team1\"}")
        #expect(found["secrets"]?.elements.count == 1 && found["missing"]?.elements.map(\.text) == ["bob"])
        #expect(try admin.result("secrets.list")["items"]?.elements.count == 3)
        // The other way round a service is emptied of what whoever does it may delete.
        let cleared = try daemon.connect("none").result("secrets.clear", "{\"service\":\"s\",\"confirm\":\"s\"}")
        #expect(cleared["deleted"]?.int == 2 && cleared["left"]?.int == 0)
        let left = try admin.result("secrets.list")["items"]!.elements
        #expect(left.map { $0["accessGroup"]?.text } == ["team1"])
        #expect(
            try admin.result("secrets.clear", "{\"service\":\"s\",\"confirm\":\"s\"}")["deleted"]?.int == 1)
    }

    @Test func `the feed has names and revisions of secrets, and never values`() throws {
        try admin.result("secrets.delete", "{\"service\":\"t\",\"account\":\"ada\"}")
        try admin.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        func changes(_ client: Client, _ more: String = "") throws -> [JSON] {
            try client.result("changes.list", "{\"afterRev\":0,\"values\":true\(more)}")["changes"]!.elements
        }
        let all = try changes(admin, ",\"stores\":[\"secrets\"]")
        #expect(all.count == 3)
        #expect(
            all.allSatisfy { $0["store"] == .string("secrets") && $0["key"] == .string("ada") && $0["value"] == nil })
        #expect(all.last?["deleted"]?.bool == true && all.last?["scope"] == .string("t"))
        #expect(try changes(admin).count == 4)
        #expect(try changes(admin, ",\"stores\":[\"secrets\"],\"scope\":\"t\"").count == 1)
        #expect(try changes(admin, ",\"stores\":[\"secrets\"],\"prefix\":\"b\"").isEmpty)
        #expect(try changes(try daemon.connect("app")).map { $0["rev"]?.int } == [1])
        #expect(try changes(try daemon.connect("team")).map { $0["rev"]?.int } == [2])
        #expect(try changes(try daemon.connect("other")).map { $0["store"] } == [.string("settings")])
        try admin.result("secrets.lock")
        // All that can be told is one change: of which store, and when.
        let sealed = [try JSON("{\"store\":\"secrets\",\"rev\":4,\"sealed\":true}")]
        #expect(try changes(admin, ",\"stores\":[\"secrets\"]") == sealed)
        #expect(try changes(admin).count == 2)
        #expect(try changes(try daemon.connect("app")) == sealed)
        #expect(try changes(try daemon.connect("team")) == sealed)
        #expect(try changes(try daemon.connect("other")).map { $0["store"] } == [.string("settings")])
    }

    @Test func `a secret that is changed and sealed before anybody could be told is not passed over`() throws {
        let app = try daemon.connect("app")
        let filters = ["", ",\"scope\":\"s\"", ",\"stores\":[\"secrets\"]", ",\"prefix\":\"a\""]
        let watchers = try filters.map { filter -> Client in
            let watcher = try daemon.connect("app")
            try watcher.result("changes.watch", "{\"values\":true\(filter)}")
            return watcher
        }
        // In one turn.
        admin.send(
            Client.request("secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"y\"}")
                + Client.request("secrets.lock"))
        #expect(try admin.reply()["result"]?["rev"]?.int == 4)
        _ = try admin.reply()
        let sealed = [try JSON("{\"store\":\"secrets\",\"rev\":4,\"sealed\":true}")]
        func told(_ result: JSON?) -> [JSON] { result?["changes"]?.elements ?? [] }
        for (filter, watcher) in zip(filters, watchers) {
            #expect(try told(watcher.reply()["params"]) == sealed, "\(filter)")
            let list = try app.result("changes.list", "{\"afterRev\":3\(filter)}")
            #expect(told(list) == sealed, "\(filter)")
            let wait = try app.result("changes.wait", "{\"afterRev\":3\(filter)}")
            #expect(told(wait) == sealed, "\(filter)")
        }
        // Nothing of it is the business of who may see no secrets there.
        #expect(try told(daemon.connect("other").result("changes.list", "{\"afterRev\":3}")).isEmpty)
        #expect(try app.refusal("changes.list", "{\"afterRev\":3,\"scope\":\"t\"}")["kind"]?.text == "forbidden")
        // Later the same question has its answer, also where the sealed one was told before.
        try admin.result("secrets.unlock")
        for method in ["changes.list", "changes.wait"] {
            let opened = try app.result(method, "{\"afterRev\":3,\"scope\":\"s\"}")["changes"]?[0]
            #expect(opened?["key"]?.text == "ada" && opened?["rev"]?.int == 4 && opened?["sealed"] == nil)
        }
    }

    @Test func `a deletion from before a rotation is told as sealed, whatever is asked for`() throws {
        try admin.result("secrets.delete", "{\"service\":\"s\",\"account\":\"ada\"}")
        // The old root key goes, and with it what opens the deletion's names.
        try admin.result("secrets.rotate", "{\"rootKey\":true,\"waitMs\":60000}")
        for client in [admin, try daemon.connect("app")] {
            let list = try client.result("changes.list", "{\"afterRev\":3,\"scope\":\"s\"}")["changes"]!.elements
            #expect(list.contains { $0["sealed"]?.bool == true && $0["scope"] == nil }, "\(list)")
        }
    }
}
