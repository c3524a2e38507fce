import Glibc
import KuraTestSupport
import Testing

/// `transaction.undo` over a real socket.
@Suite struct UndoTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    /// Segments of 1 MiB, all of which stay.
    private let configuration = "{\"profile\":\"small\",\"changes\":{\"retainBytes\":1000000000}}"

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon(configuration: configuration)
        client = try daemon.connect()
    }

    // MARK: Tools

    /// One item: `documents/c/1`, `settings/d/1`.
    private struct Item: Hashable, Comparable, CustomStringConvertible {
        let isSetting: Bool
        let key: String
        var place: String {
            isSetting ? "\"domain\":\"d\",\"key\":\"\(key)\"" : "\"collection\":\"c\",\"id\":\"\(key)\""
        }
        var store: String { isSetting ? "settings" : "documents" }
        var description: String { "\(store)/\(isSetting ? "d" : "c")/\(key)" }
        static func < (left: Item, right: Item) -> Bool { left.description < right.description }
    }

    private func document(_ key: String) -> Item { Item(isSetting: false, key: key) }
    private func setting(_ key: String) -> Item { Item(isSetting: true, key: key) }

    @discardableResult
    private func put(_ item: Item, _ value: String) throws -> Int {
        try #require(client.result("\(item.store).put", "{\(item.place),\"value\":\(value)}")["rev"]?.int)
    }

    @discardableResult
    private func delete(_ item: Item) throws -> Int {
        try #require(client.result("\(item.store).delete", "{\(item.place)}")["rev"]?.int)
    }

    private func value(_ item: Item, _ client: Client? = nil) throws -> JSON? {
        try (client ?? self.client).result("\(item.store).get", "{\(item.place)}")["value"]
    }

    @discardableResult
    private func undo(_ rev: Int, _ more: String = "") throws -> JSON {
        try client.result("transaction.undo", "{\"rev\":\(rev)\(more)}")
    }

    private func refusal(_ rev: Int, _ client: Client? = nil) throws -> String? {
        try (client ?? self.client).refusal("transaction.undo", "{\"rev\":\(rev)}")["kind"]?.text
    }

    // MARK: Against a model

    /// Every state of every item, by revision.
    private struct World {
        var values: [Item: JSON] = [:]
        /// The values before a revision's changes, and behind them.
        var changes: [Int: [Item: (before: JSON?, after: JSON?)]] = [:]

        mutating func change(_ rev: Int, _ new: [Item: JSON?]) {
            var change: [Item: (JSON?, JSON?)] = [:]
            for (item, value) in new where values[item] != value {
                change[item] = (values[item], value)
                values[item] = value
            }
            if !change.isEmpty { changes[rev] = change }
        }
    }

    private func write(_ client: Client, _ world: inout World, _ random: inout SplitMix) throws {
        var operations: [String] = []
        var new: [Item: JSON?] = [:]
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let item = Item(isSetting: .random(using: &random), key: "\(Int.random(in: 0..<6, using: &random))")
            guard new[item] == nil else { continue }
            if world.values[item] != nil, Int.random(in: 0..<3, using: &random) == 0 {
                operations.append("{\"method\":\"\(item.store).delete\",\"params\":{\(item.place)}}")
                new[item] = .some(nil)
            } else {
                let length = [1, 10, 3000][Int.random(in: 0..<3, using: &random)]
                let text = (0..<length).map { _ in "\(UInt64.random(in: 0 ... .max, using: &random))" }.joined()
                let value = "{\"n\":\(Int.random(in: 0..<3, using: &random)),\"text\":\"\(text)\"}"
                operations.append("{\"method\":\"\(item.store).put\",\"params\":{\(item.place),\"value\":\(value)}}")
                new[item] = try JSON(value)
            }
        }
        let result = try client.result("transaction.apply", "{\"operations\":[\(operations.joined(separator: ","))]}")
        world.change(try #require(result["rev"]?.int), new)
    }

    private func undoOne(_ client: Client, _ world: inout World, _ random: inout SplitMix) throws -> Bool {
        let revs = world.changes.keys.sorted().suffix(Int.random(in: 1...30, using: &random))
        let rev = try #require(revs.randomElement(using: &random))
        let change = try #require(world.changes[rev])
        let isLeft = change.allSatisfy { world.values[$0.key] == $0.value.after }
        if Bool.random(using: &random) {
            let dry = try client.call("transaction.undo", "{\"rev\":\(rev),\"dryRun\":true}")
            #expect((dry["result"] != nil) == isLeft)
        }
        let reply = try client.call("transaction.undo", "{\"rev\":\(rev)}")
        guard isLeft else {
            #expect(reply["error"]?["data"]?["kind"]?.text == "conflict", "\(rev)")
            return false
        }
        let result = try #require(reply["result"], "\(reply)")
        let items = result["items"]?.elements.map { item in
            "\(item["store"]?.text ?? "")/\(item["scope"]?.text ?? "")/\(item["key"]?.text ?? "") \(item["done"]?.text ?? "")"
        }
        let expected = change.map { item, change in
            "\(item) \(change.before == nil ? "deleted" : change.after == nil ? "restored" : "replaced")"
        }
        #expect(items?.sorted() == expected.sorted())
        world.change(try #require(result["rev"]?.int), change.mapValues(\.before))
        return true
    }

    private func check(_ client: Client, _ world: World) throws {
        for key in 0..<6 {
            for item in [document("\(key)"), setting("\(key)")] {
                #expect(try value(item, client) == world.values[item], "\(item)")
            }
        }
    }

    @Test(arguments: 0..<4) func `what was undone is as it was`(_ seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var world = World()
        var client = self.client
        var undone = 0
        for round in 0..<4 {
            for _ in 0..<60 {
                try write(client, &world, &random)
                if Bool.random(using: &random), try undoOne(client, &world, &random) { undone += 1 }
            }
            try check(client, world)
            if round == 1 { try daemon.waitUntilFolded() }
            daemon.kill()
            try daemon.start(configuration: configuration)
            client = try daemon.connect()
            try check(client, world)
        }
        #expect(undone > 20)
        #expect((try client.result("storage.status")["log"]?["segments"]?.int ?? 0) > 1)
    }

    // MARK: What comes back

    @Test func `several changes can be undone one after the other`() throws {
        let revs = [
            try put(document("a"), "1"), try put(document("a"), "2"), try delete(document("a")),
            try put(document("a"), "3"),
        ]
        for (rev, state) in zip(revs.reversed(), [nil, try JSON("2"), try JSON("1"), nil] as [JSON?]) {
            try undo(rev)
            #expect(try value(document("a")) == state, "\(rev)")
        }
    }

    @Test func `an undo can be undone`() throws {
        try put(setting("a"), "1")
        let rev = try put(setting("a"), "2")
        var last = rev
        for state in ["1", "2", "1"] {
            last = try #require(undo(last)["rev"]?.int)
            #expect(try value(setting("a")) == JSON(state))
        }
    }

    @Test func `a document comes back with its attachments`() throws {
        try put(document("a"), "1")
        try client.result("documents.attach", "{\(document("a").place),\"name\":\"x\",\"data\":\"aGk=\"}")
        let rev = try delete(document("a"))
        try undo(rev)
        #expect(
            try client.result("documents.attachment", "{\(document("a").place),\"name\":\"x\"}")["data"]?.text == "aGk="
        )
    }

    @Test func `who refers to a document that was deleted comes back along with it`() throws {
        for (field, rule) in [("owner", "cascade"), ("friend", "nullify")] {
            try client.result(
                "documents.configure",
                "{\"collection\":\"\(field)s\",\"references\":[{\"field\":\"\(field)\",\"collection\":\"c\",\"onDelete\":\"\(rule)\"}]}"
            )
            try client.result(
                "documents.put", "{\"collection\":\"\(field)s\",\"id\":\"1\",\"value\":{\"\(field)\":\"a\"}}")
        }
        try put(document("a"), "{\"n\":1}")
        let rev = try delete(document("a"))
        func child(_ field: String) throws -> JSON? {
            try client.result("documents.get", "{\"collection\":\"\(field)s\",\"id\":\"1\"}")["value"]
        }
        #expect(try child("owner") == nil && child("friend") == JSON("{\"friend\":null}"))
        #expect(try undo(rev)["undone"]?.int == 3)
        #expect(try child("owner") == JSON("{\"owner\":\"a\"}") && child("friend") == JSON("{\"friend\":\"a\"}"))
        #expect(try value(document("a")) == JSON("{\"n\":1}"))
    }

    @Test func `a deletion of thousands comes back`() throws {
        let documents = (0..<3000).map { "{\"id\":\"\($0)\",\"value\":{\"n\":\($0)}}" }
        for start in stride(from: 0, to: 3000, by: 1000) {
            try client.result(
                "documents.putMany",
                "{\"collection\":\"c\",\"documents\":[\(documents[start..<start + 1000].joined(separator: ","))]}")
        }
        try daemon.waitUntilFolded()
        daemon.kill()
        try daemon.start(configuration: configuration)
        let client = try daemon.connect()
        let rev = try #require(
            client.result(
                "documents.deleteMany", "{\"collection\":\"c\",\"where\":{\"n\":{\"$gte\":0}},\"atomic\":true}")["rev"]?
                .int)
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 0)
        daemon.kill()
        try daemon.start(configuration: configuration)
        let other = try daemon.connect()
        #expect(try other.result("transaction.undo", "{\"rev\":\(rev)}")["undone"]?.int == 3000)
        #expect(try other.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 3000)
        #expect(try value(document("2999"), other)?["n"]?.int == 2999)
    }

    // MARK: What does not

    @Test func `all or nothing`() throws {
        let rev = try #require(
            client.result(
                "transaction.apply",
                "{\"operations\":[\(["a", "b"].map { "{\"method\":\"settings.put\",\"params\":{\(setting($0).place),\"value\":1}}" }.joined(separator: ","))]}"
            )["rev"]?.int)
        try put(setting("b"), "2")
        let refusal = try client.refusal("transaction.undo", "{\"rev\":\(rev)}")
        #expect(refusal["kind"]?.text == "conflict" && refusal["reason"]?.text == "settings/d/b")
        #expect(try value(setting("a")) == JSON("1") && value(setting("b")) == JSON("2"))
    }

    @Test func `what would take newer documents along stays`() throws {
        try client.result(
            "documents.configure",
            "{\"collection\":\"owners\",\"references\":[{\"field\":\"owner\",\"collection\":\"c\",\"onDelete\":\"cascade\"}]}"
        )
        let rev = try put(document("a"), "1")
        try client.result("documents.put", "{\"collection\":\"owners\",\"id\":\"1\",\"value\":{\"owner\":\"a\"}}")
        #expect(try refusal(rev) == "referenced")
        #expect(try client.result("documents.count", "{\"collection\":\"owners\"}")["count"]?.int == 1)
        #expect(try value(document("a")) == JSON("1"))
    }

    @Test func `a value that is not admitted any more stays gone`() throws {
        try put(setting("a"), "\"text\"")
        let rev = try put(setting("a"), "5")
        try client.result(
            "settings.configure",
            "{\"domain\":\"d\",\"mode\":\"enforce\",\"schema\":{\"properties\":{\"a\":{\"type\":\"number\"}}}}")
        let refusal = try client.refusal("transaction.undo", "{\"rev\":\(rev)}")
        #expect(refusal["kind"]?.text == "schemaViolation")
        #expect(refusal["reason"]?.text?.hasPrefix("settings/d/a: ") == true, "\(refusal)")
        #expect(try value(setting("a")) == JSON("5"))
    }

    @Test func `what cannot come back is refused, and why`() throws {
        try put(document("a"), "1")
        let attached = try #require(
            client.result("documents.attach", "{\(document("a").place),\"name\":\"x\",\"data\":\"aGk=\"}")["rev"]?.int)
        let configured = try #require(
            client.result(
                "documents.configure", "{\"collection\":\"c\",\"indexes\":[{\"name\":\"n\",\"fields\":[\"n\"]}]}")[
                    "rev"]?.int)
        let deleted = try delete(document("a"))
        try client.result("documents.purge", "{\"collection\":\"c\",\"olderThanDays\":0}")
        let dropped = try #require(client.result("documents.drop", "{\"collection\":\"c\"}")["rev"]?.int)
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        let secret = try #require(client.result("storage.status")["rev"]?.int)
        #expect(try refusal(attached) == "notSupported")
        #expect(try refusal(configured) == "notSupported")
        #expect(try refusal(deleted) == "notFound")
        #expect(try refusal(dropped) == "notSupported")
        #expect(try refusal(secret) == "notSupported")
        #expect(try refusal(0) == "notFound")
        #expect(try refusal(secret + 1) == "invalidParams")
    }

    @Test(arguments: [false, true]) func `what was purged or dropped stays gone, whoever has its name now`(
        _ isDrop: Bool
    ) throws {
        func destroy() throws {
            if isDrop {
                try client.result("documents.drop", "{\"collection\":\"c\"}")
            } else {
                try delete(document("a"))
                try client.result("documents.purge", "{\"collection\":\"c\",\"olderThanDays\":0}")
            }
        }
        // A deletion, a change, and a creation, and another document that is as each left it.
        try put(document("a"), "\"old\"")
        let changed = try put(document("a"), "\"same\"")
        try destroy()
        let created = try put(document("a"), "\"same\"")
        #expect(try refusal(changed) == "notFound")
        let deleted = try delete(document("a"))
        try destroy()
        try put(document("a"), "\"same\"")
        #expect(try refusal(created) == "notFound")
        try delete(document("a"))
        #expect(try refusal(deleted) == "notFound")
        daemon.kill()
        try daemon.start(configuration: configuration)
        let other = try daemon.connect()
        #expect(try refusal(deleted, other) == "notFound")
        #expect(try value(document("a"), other) == nil)
        // Its own changes come back.
        let own = try #require(other.result("documents.put", "{\(document("a").place),\"value\":7}")["rev"]?.int)
        try other.result("documents.put", "{\(document("a").place),\"value\":8}")
        try other.result("documents.put", "{\(document("a").place),\"value\":7}")
        try other.result("transaction.undo", "{\"rev\":\(own)}")
        #expect(try value(document("a"), other) == nil)
    }

    @Test func `what was attached meanwhile, or is gone, is not passed over`() throws {
        func attach(_ id: String) throws {
            try client.result("documents.attach", "{\(document(id).place),\"name\":\"x\",\"data\":\"aGk=\"}")
        }
        let created = try put(document("a"), "1")
        try attach("a")
        #expect(try refusal(created) == "conflict")
        try put(document("b"), "1")
        try attach("b")
        let deleted = try delete(document("b"))
        let again = try put(document("b"), "2")
        try undo(again)
        #expect(try refusal(deleted) == "notSupported")
    }

    @Test func `a dry run tells the same and changes nothing`() throws {
        try put(document("a"), "1")
        let rev = try put(document("a"), "2")
        let dry = try undo(rev, ",\"dryRun\":true")
        #expect(dry["rev"]?.int == rev && dry["dryRun"]?.bool == true)
        #expect(try value(document("a")) == JSON("2"))
        #expect(try undo(rev)["items"] == dry["items"])
        #expect(try client.call("transaction.undo", "{\"rev\":\(rev),\"dryRun\":true}")["error"] != nil)
    }

    @Test func `it is done once under a request key`() throws {
        let rev = try put(document("a"), "1")
        let first = try undo(rev, ",\"requestKey\":\"k\"")
        #expect(try undo(rev, ",\"requestKey\":\"k\"") == first)
        #expect(try value(document("a")) == nil)
    }

    @Test func `what the log has let go of does not come back`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"profile\":\"small\",\"changes\":{\"retainBytes\":1000000}}")
        let client = try daemon.connect()
        try client.result("documents.put", "{\(document("a").place),\"value\":1}")
        try client.result("documents.put", "{\(document("fresh").place),\"value\":1}")
        var random = SplitMix(state: 1)
        var revs: [Int] = []
        // Large ones, until the log begins behind the first two; one in the middle changes the first.
        while try client.call("changes.list", "{\"afterRev\":2,\"limit\":1}")["error"]?["data"]?["kind"]?.text
            != "compacted"
        {
            let text = (0..<1000).map { _ in "\(UInt64.random(in: 0 ... .max, using: &random))" }.joined()
            for item in [document("large"), document("a")] {
                let reply = try client.result("documents.put", "{\(item.place),\"value\":\"\(text)\"}")
                revs.append(reply["rev"]?.int ?? 0)
            }
        }
        let deadline = now() + 60
        func kind(_ rev: Int) throws -> String? {
            while true {
                let kind = try client.call("transaction.undo", "{\"rev\":\(rev)}")["error"]?["data"]?["kind"]?.text
                guard kind == "overloaded", now() < deadline else { return kind }
                usleep(1000)
            }
        }
        #expect(try kind(2) == "compacted")
        #expect(try kind(revs.last!) == nil)
    }

    @Test func `a client undoes what it may read and write`() throws {
        let daemon = try RoleDaemon([
            "reader": "{\"grants\":[{\"store\":\"documents\",\"scope\":\"c\",\"allow\":[\"read\",\"list\"]}]}",
            "writer":
                "{\"grants\":[{\"store\":\"documents\",\"scope\":\"c\",\"allow\":[\"read\",\"list\",\"create\",\"update\",\"delete\"]}]}",
            "blind":
                "{\"grants\":[{\"store\":\"documents\",\"scope\":\"c\",\"allow\":[\"create\",\"update\",\"delete\"]},{\"store\":\"documents\",\"scope\":\"other\",\"allow\":[\"read\"]}]}",
        ])
        let admin = try daemon.connect("admin")
        try admin.result("documents.put", "{\(document("a").place),\"value\":1}")
        let rev = try #require(admin.result("documents.put", "{\(document("a").place),\"value\":2}")["rev"]?.int)
        let foreign = try #require(admin.result("settings.put", "{\(setting("a").place),\"value\":2}")["rev"]?.int)
        for role in ["reader", "blind"] {
            let refusal = try Client(path: daemon.path(of: role)).refusal("transaction.undo", "{\"rev\":\(rev)}")
            #expect(refusal["kind"]?.text == "forbidden", "\(role)")
        }
        let writer = try Client(path: daemon.path(of: "writer"))
        let refusal = try writer.refusal("transaction.undo", "{\"rev\":\(foreign)}")
        #expect(refusal["kind"]?.text == "forbidden" && refusal["reason"] == nil && refusal["grant"] == nil)
        #expect(try writer.result("transaction.undo", "{\"rev\":\(rev)}")["undone"]?.int == 1)
        #expect(try admin.result("documents.get", "{\(document("a").place)}")["value"]?.int == 1)
    }
}
