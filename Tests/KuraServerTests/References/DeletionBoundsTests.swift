import Glibc
import Testing

/// What holds a deletion with consequences up, over a real socket: schemas, quotas, and what is being built.
@Suite struct DeletionBoundsTests {
    private static func key(_ collection: String, _ id: String) -> String {
        "{\"collection\":\"\(collection)\",\"id\":\"\(id)\"}"
    }

    private static func put(_ client: Client, _ collection: String, _ id: String, _ value: String) throws {
        try client.result(
            "documents.put", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\",\"value\":\(value)}")
    }

    private static func references(_ collection: String, to target: String, _ action: String) -> String {
        """
        {"collection":"\(collection)","references":[{"field":"p","collection":"\(target)","onDelete":"\(action)"}]}
        """
    }

    // MARK: Schemas

    @Test func `a reference is not taken away where the schema asks for it, and the document is named`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result(
            "documents.configure",
            """
            {"collection":"books","references":[{"field":"p","collection":"people","onDelete":"nullify"}],\
            "schema":{"properties":{"p":{"type":["string","array"],"minItems":1}}},"schemaMode":"enforce"}
            """)
        for id in ["ada", "bob", "eve"] { try Self.put(client, "people", id, "{}") }
        try Self.put(client, "books", "b1", "{\"p\":\"ada\"}")
        try Self.put(client, "books", "b2", "{\"p\":[\"bob\",\"eve\"]}")
        let before = try client.result("changes.list", "{\"afterRev\":0}")["rev"]
        func expect(_ data: JSON, _ book: String, _ reason: String) throws {
            #expect(data["kind"]?.text == "schemaViolation" && data["path"]?.text == "/p", "\(data)")
            #expect(data["collection"]?.text == "books" && data["ids"]?[0]?.text == book, "\(data)")
            #expect(data["ids"]?.elements.count == 1)
            #expect(data["reason"]?.text?.contains(reason) == true, "\(data)")
            #expect(try client.result("changes.list", "{\"afterRev\":0}")["rev"] == before)
        }
        try expect(try client.refusal("documents.delete", Self.key("people", "ada")), "b1", "type")
        for which in ["\"ids\":[\"bob\",\"eve\"]", "\"where\":{\"_id\":{\"$ne\":\"ada\"}}"] {
            let data = try client.refusal("documents.deleteMany", "{\"collection\":\"people\",\(which)}")
            try expect(data, "b2", "items")
        }
        let operations = ["eve", "bob"].map {
            "{\"method\":\"documents.delete\",\"params\":\(Self.key("people", $0))}"
        }
        let data = try client.refusal("transaction.apply", "{\"operations\":[\(operations.joined(separator: ","))]}")
        try expect(data, "b2", "items")
        #expect(data["operation"]?.int == 1)
        // One of two leaves one.
        #expect(try client.result("documents.delete", Self.key("people", "eve"))["nullified"]?.int == 1)
        #expect(try client.refusal("documents.delete", Self.key("people", "bob"))["kind"]?.text == "schemaViolation")
        // What is deleted by the same request has no schema to keep to.
        try client.result("documents.delete", Self.key("books", "b2"))
        #expect(try client.result("documents.delete", Self.key("people", "bob"))["deleted"]?.bool == true)
        // Whoever asks to be warned alone is not held up.
        try client.result("documents.configure", "{\"collection\":\"books\",\"schemaMode\":\"warn\"}")
        #expect(try client.result("documents.delete", Self.key("people", "ada"))["nullified"]?.int == 1)
        #expect(
            try client.result("documents.get", Self.key("books", "b1"))["value"] == JSON("{\"p\":null}"))
    }

    @Test func `who may not read the other collection is not told what its schema asks for`() throws {
        let daemon = try RoleDaemon(["deleter": RoleDaemon.role(RoleDaemon.grant("documents", "people", "delete"))])
        let admin = try daemon.connect("admin")
        try admin.result(
            "documents.configure",
            """
            {"collection":"books","references":[{"field":"p","collection":"people","onDelete":"nullify"}],\
            "schema":{"properties":{"p":{"type":"string"}}},"schemaMode":"enforce"}
            """)
        try Self.put(admin, "people", "ada", "{}")
        try Self.put(admin, "books", "secret", "{\"p\":\"ada\"}")
        let data = try daemon.connect("deleter").refusal("documents.delete", Self.key("people", "ada"))
        #expect(data["kind"]?.text == "schemaViolation")
        for name in ["path", "reason", "collection", "ids"] { #expect(data[name] == nil, "\(data)") }
    }

    @Test func `a document that loses its reference while it waits to be migrated is migrated with it`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("documents.configure", Self.references("books", to: "people", "nullify"))
        try client.result("documents.configure", "{\"collection\":\"books\",\"version\":1}")
        try Self.put(client, "people", "ada", "{}")
        try Self.put(client, "books", "b", "{\"p\":\"ada\",\"title\":\"x\"}")
        // The run does not come to it before the deletion does.
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "migrate.scan:sleep=1000:1+")
        let again = try daemon.connect()
        try again.result(
            "documents.configure",
            """
            {"collection":"books","version":2,\
            "migrations":[{"to":2,"steps":[{"rename":{"from":"title","to":"name"}}]}]}
            """)
        #expect(try again.result("documents.delete", Self.key("people", "ada"))["nullified"]?.int == 1)
        #expect(
            try again.result("documents.get", Self.key("books", "b"))["value"] == JSON("{\"p\":null,\"name\":\"x\"}"))
    }

    // MARK: Quotas

    @Test func `what goes along with a deletion gives its room back, after a kill too`() throws {
        let role = RoleDaemon.role(
            RoleDaemon.grant("documents", "app*", "read", "write"), quotas: "{\"items\":4,\"bytes\":1000}")
        let daemon = try RoleDaemon(["app": role])
        let admin = try daemon.connect("admin")
        try admin.result("documents.configure", Self.references("app-books", to: "app-people", "cascade"))
        var client = try daemon.connect("app")
        func used() throws -> [Int?] {
            let quota = try daemon.connect("admin").result("storage.status")["quotas"]?["app"]
            return [quota?["items"]?.int, quota?["bytes"]?.int]
        }
        func isFull(_ id: String) throws -> Bool {
            let reply = try client.call(
                "documents.put", "{\"collection\":\"app-people\",\"id\":\"\(id)\",\"value\":{}}")
            return reply["error"]?["data"]?["kind"]?.text == "quotaExceeded"
        }
        for isFolded in [false, true] {
            try Self.put(client, "app-people", "ada", "{}")
            for id in ["b1", "b2", "b3"] { try Self.put(client, "app-books", id, "{\"p\":\"ada\"}") }
            if isFolded { try daemon.daemon.waitUntilFolded() }
            #expect(try used() == [4, 2 + 3 * 11])
            #expect(try isFull("eve"))
            #expect(try client.result("documents.delete", Self.key("app-people", "ada"))["cascaded"]?.int == 3)
            #expect(try used() == [0, 0])
            daemon.daemon.kill()
            try daemon.daemon.start(configuration: daemon.configuration(["app": role]))
            client = try daemon.connect("app")
            #expect(try used() == [0, 0])
        }
        for id in ["1", "2", "3", "4"] { #expect(try isFull(id) == false) }
        // What went along is brought back only where there is room.
        let refused = try client.refusal("documents.restore", Self.key("app-books", "b1"))
        #expect(refused["kind"]?.text == "quotaExceeded" && refused["limit"]?.int == 4)
        try client.result("documents.delete", Self.key("app-people", "1"))
        try client.result("documents.restore", Self.key("app-books", "b1"))
        #expect(try used() == [4, 6 + 11])
    }

    @Test func `a deletion that a full disk takes back leaves the quota as it was`() throws {
        let role = RoleDaemon.role(
            RoleDaemon.grant("documents", "app*", "read", "write"), quotas: "{\"items\":4,\"bytes\":1000}")
        // The configuration and two turns fit.
        let daemon = try RoleDaemon(["app": role], faults: "log.append:full:4")
        let admin = try daemon.connect("admin")
        try admin.result("documents.configure", Self.references("app-books", to: "app-people", "cascade"))
        let client = try daemon.connect("app")
        try Self.put(client, "app-people", "ada", "{}")
        try Self.put(client, "app-books", "b", "{\"p\":\"ada\"}")
        let used = try admin.result("storage.status")["quotas"]
        #expect(try client.refusal("documents.delete", Self.key("app-people", "ada"))["kind"]?.text == "noSpace")
        #expect(try admin.result("storage.status")["quotas"] == used)
        // As soon as changes are taken again.
        let deadline = now() + 60
        var reply = try client.call("documents.delete", Self.key("app-people", "ada"))
        while reply["error"]?["data"]?["kind"]?.text == "noSpace", now() < deadline {
            usleep(50_000)
            reply = try client.call("documents.delete", Self.key("app-people", "ada"))
        }
        #expect(reply["result"]?["cascaded"]?.int == 1, "\(reply)")
        #expect(try admin.result("storage.status")["quotas"]?["app"]?["items"]?.int == 0)
    }

    @Test func `what grows by losing its reference is held against the quota of who deletes`() throws {
        let role = RoleDaemon.role(
            RoleDaemon.grant("documents", "app*", "read", "write"), quotas: "{\"items\":10,\"bytes\":29}")
        let daemon = try RoleDaemon(["app": role])
        let admin = try daemon.connect("admin")
        try admin.result("documents.configure", Self.references("app-books", to: "app-people", "nullify"))
        let client = try daemon.connect("app")
        // `null` is longer than an id of one letter by a byte.
        try Self.put(client, "app-people", "a", "{}")
        for id in ["b1", "b2", "b3"] { try Self.put(client, "app-books", id, "{\"p\":\"a\"}") }
        let data = try client.refusal("documents.delete", Self.key("app-people", "a"))
        #expect(data["kind"]?.text == "quotaExceeded" && data["limit"]?.int == 29, "\(data)")
        #expect(try client.result("documents.get", Self.key("app-people", "a"))["value"] != nil)
        #expect(try client.result("documents.get", Self.key("app-books", "b1"))["value"]?["p"]?.text == "a")
        try client.result("documents.delete", Self.key("app-books", "b1"))
        #expect(try client.result("documents.delete", Self.key("app-people", "a"))["nullified"]?.int == 2)
    }

    // MARK: Building

    @Test func `a deletion waits for the index of its reference, and for nothing else that is built`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try Self.put(client, "people", "ada", "{}")
        for start in stride(from: 0, to: 6000, by: 500) {
            let documents = (start..<start + 500).map { number in
                let text = (0..<150).map { "w\((number &* 7919 &+ $0 &* 104_729) % 50_000)" }.joined(separator: " ")
                return "{\"id\":\"b\(number)\",\"value\":{\"p\":\"p\(number)\",\"text\":\"\(text)\"}}"
            }
            try client.result(
                "documents.putMany", "{\"collection\":\"books\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
        try Self.put(client, "books", "last", "{\"p\":\"ada\"}")
        try client.result(
            "documents.configure",
            """
            {"collection":"books","references":[{"field":"p","collection":"people","onDelete":"deny"}],\
            "searchFields":["text"],"searchTokenizer":"trigram"}
            """)
        #expect(try client.refusal("documents.delete", Self.key("people", "ada"))["ids"] == JSON("[\"last\"]"))
        let state = try client.result("documents.describe", "{\"collection\":\"books\"}")
        #expect(state["indexes"]?[0]?["state"]?.text == "ready")
        #expect(state["search"]?["state"]?.text == "building", "\(state)")
    }
}
