import Testing

/// `transaction.apply` and `requestKey` over a real socket.
@Suite struct TransactionScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private func operation(_ method: String, _ params: String) -> String {
        "{\"method\":\"\(method)\",\"params\":{\(params)}}"
    }

    private func putSetting(_ key: String, _ value: String, _ more: String = "") -> String {
        operation("settings.put", "\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(value)\(more)")
    }

    private func putDocument(_ id: String, _ value: String, _ more: String = "") -> String {
        operation("documents.put", "\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value)\(more)")
    }

    private func apply(_ operations: [String], _ more: String = "") throws -> JSON {
        try client.result("transaction.apply", "{\"operations\":[\(operations.joined(separator: ","))]\(more)}")
    }

    private func refusal(_ operations: [String], _ more: String = "") throws -> JSON {
        try client.refusal("transaction.apply", "{\"operations\":[\(operations.joined(separator: ","))]\(more)}")
    }

    private func setting(_ key: String) throws -> JSON {
        try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"\(key)\"}")
    }

    private func document(_ id: String) throws -> JSON {
        try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
    }

    private func status() throws -> JSON { try client.result("storage.status") }

    // MARK: All or nothing

    @Test func `changes in several stores share one revision`() throws {
        let before = try #require(try status()["rev"]?.int)
        let result = try apply([
            putSetting("a", "1"), putDocument("x", "{\"n\":1}"),
            operation("settings.increment", "\"domain\":\"d\",\"key\":\"n\",\"by\":5"),
            operation("settings.putMany", "\"domain\":\"e\",\"values\":{\"p\":true,\"q\":false}"),
        ])
        let rev = try #require(result["rev"]?.int)
        #expect(rev == before + 1)
        #expect(
            try result["results"]
                == JSON(
                    "[{\"rev\":\(rev)},{\"id\":\"x\",\"rev\":\(rev)},{\"value\":5,\"rev\":\(rev)},{\"rev\":\(rev),\"changed\":2}]"
                ))
        #expect(try setting("a") == JSON("{\"value\":1,\"rev\":\(rev)}"))
        #expect(try document("x")["rev"]?.int == rev)
        #expect(try status()["rev"]?.int == rev)
    }

    @Test func `one operation that fails undoes all, and is named`() throws {
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"kept\",\"value\":\"old\"}")
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"y\",\"value\":1}")
        let before = try status()
        let error = try refusal([
            putSetting("kept", "\"new\""), putSetting("fresh", "1"), putDocument("y", "2"),
            operation("documents.delete", "\"collection\":\"c\",\"id\":\"y\",\"ifRev\":0"),
        ])
        #expect(error["kind"] == .string("invalidParams") || error["kind"] == .string("conflict"))
        #expect(error["operation"]?.int == 3)
        #expect(try setting("kept")["value"] == .string("old"))
        #expect(try setting("fresh") == JSON("{\"rev\":0}"))
        #expect(try document("y")["value"]?.int == 1)
        let after = try status()
        #expect(after["rev"] == before["rev"])
        #expect(after["settings"]?["count"] == before["settings"]?["count"])
        #expect(after["settings"]?["bytes"] == before["settings"]?["bytes"])
        #expect(after["documents"]?["bytes"] == before["documents"]?["bytes"])
        // The next write is as if nothing had been tried.
        #expect(
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"z\",\"value\":1}")["rev"]?.int
                == before["rev"]!.int! + 1)
    }

    @Test func `ifRev holds within a transaction, and the conflict tells the revision`() throws {
        let rev = try #require(
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")["rev"]?.int)
        let error = try refusal([putDocument("v", "1"), putSetting("k", "2", ",\"ifRev\":0")])
        #expect(error["kind"] == .string("conflict"))
        #expect(error["operation"]?.int == 1)
        #expect(error["currentRev"]?.int == rev)
        #expect(try document("v") == JSON("{\"rev\":0}"))
        #expect(try apply([putDocument("v", "1"), putSetting("k", "2", ",\"ifRev\":\(rev)")])["rev"]?.int == rev + 1)
    }

    @Test func `an item can be changed once`() throws {
        _ = try apply([putSetting("there", "1"), putDocument("there", "1")])
        func delete(_ store: String, _ key: String) -> String {
            operation(
                "\(store).delete",
                store == "settings" ? "\"domain\":\"d\",\"key\":\"\(key)\"" : "\"collection\":\"c\",\"id\":\"\(key)\"")
        }
        for twice in [
            [putSetting("k", "1"), putSetting("k", "2")],
            [putDocument("k", "1"), putDocument("k", "2")],
            [putSetting("k", "1"), operation("settings.delete", "\"domain\":\"d\",\"key\":\"k\"")],
            [putDocument("k", "1"), operation("documents.delete", "\"collection\":\"c\",\"id\":\"k\"")],
            [putSetting("k", "1"), operation("settings.putMany", "\"domain\":\"d\",\"values\":{\"k\":2}")],
            // The second would change nothing.
            [putSetting("k", "1"), putSetting("k", "1")],
            [putSetting("k", "1"), operation("settings.increment", "\"domain\":\"d\",\"key\":\"k\",\"by\":0")],
            [delete("settings", "there"), delete("settings", "there")],
            [
                delete("settings", "there"),
                operation("settings.putMany", "\"domain\":\"d\",\"values\":{},\"delete\":[\"there\"]"),
            ],
            [
                putDocument("k", "{}"),
                operation("documents.patch", "\"collection\":\"c\",\"id\":\"k\",\"mergePatch\":{}"),
            ],
            [putDocument("k", "1"), operation("documents.restore", "\"collection\":\"c\",\"id\":\"k\"")],
            [delete("documents", "there"), delete("documents", "there")],
        ] {
            let error = try refusal(twice)
            #expect(error["kind"] == .string("invalidParams"), "\(twice)")
            #expect(error["operation"]?.int == 1)
        }
        #expect(try setting("k") == JSON("{\"rev\":0}"))
        #expect(try document("k") == JSON("{\"rev\":0}"))
    }

    @Test(arguments: [
        "1", "{}", "{\"method\":1}", "{\"params\":{}}", "{\"method\":\"settings.get\",\"params\":{}}",
        "{\"method\":\"transaction.apply\",\"params\":{\"operations\":[]}}", "{\"method\":\"nothing\",\"params\":{}}",
        "{\"method\":\"settings.put\",\"params\":{\"domain\":\"d\"}}",
        "{\"method\":\"settings.put\",\"params\":{\"domain\":\"d\",\"key\":\"k\",\"value\":1},\"id\":4}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"settings.put\",\"params\":{\"domain\":\"d\",\"key\":\"k\",\"value\":1}}",
        "{\"method\":\"settings.put\",\"params\":{\"domain\":\"d\",\"key\":\"k\",\"value\":1,\"requestKey\":\"r\"}}",
        "{\"method\":\"settings.put\",\"params\":{\"domain\":\"d\",\"key\":\"k\",\"value\":1,\"more\":1}}",
    ])
    func `what is no write of a durable store is refused with its place`(bad: String) throws {
        let error = try refusal([putSetting("before", "1"), bad])
        #expect(error["operation"]?.int == 1)
        #expect(try setting("before") == JSON("{\"rev\":0}"))
        #expect(try setting("k") == JSON("{\"rev\":0}"))
    }

    @Test func `parameters by position work, an empty transaction changes nothing`() throws {
        let result = try apply(["{\"method\":\"settings.put\",\"params\":[\"d\",\"k\",[1, 2]]}"])
        #expect(try setting("k")["rev"] == result["rev"])
        let rev = try #require(result["rev"]?.int)
        #expect(try apply([]) == JSON("{\"results\":[],\"rev\":\(rev)}"))
        #expect(try apply([putSetting("k", "[1,2]")])["rev"] == result["rev"])
    }

    @Test func `more operations than the limit are refused`() throws {
        let many = (0...1000).map { putSetting("k\($0)", "1") }
        #expect(try refusal(many)["limit"]?.int == 1000)
        #expect(try setting("k0") == JSON("{\"rev\":0}"))
        #expect(try apply(Array(many.prefix(1000)))["results"]?.elements.count == 1000)
    }

    @Test func `a transaction that was acknowledged survives a kill whole`() throws {
        let rev = try #require(try apply([putSetting("a", "1"), putDocument("x", "2")])["rev"]?.int)
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        #expect(
            try again.result("settings.get", "{\"domain\":\"d\",\"key\":\"a\"}") == JSON("{\"value\":1,\"rev\":\(rev)}")
        )
        #expect(try again.result("documents.get", "{\"collection\":\"c\",\"id\":\"x\"}")["rev"]?.int == rev)
    }

    // MARK: Request keys

    @Test func `a write sent again under its key is answered with the first result`() throws {
        let key = ",\"requestKey\":\"r1\""
        let first = try client.result("settings.increment", "{\"domain\":\"d\",\"key\":\"n\"\(key)}")
        try client.result("settings.increment", "{\"domain\":\"d\",\"key\":\"n\"}")
        #expect(try client.result("settings.increment", "{\"domain\":\"d\",\"key\":\"n\"\(key)}") == first)
        #expect(try setting("n")["value"]?.int == 2)
        let document = "{\"collection\":\"c\",\"value\":1,\"requestKey\":\"r2\"}"
        let made = try client.result("documents.put", document)
        #expect(try client.result("documents.put", document) == made)
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 1)
        let operations = [putSetting("t", "1"), operation("settings.increment", "\"domain\":\"d\",\"key\":\"n\"")]
        let applied = try apply(operations, ",\"requestKey\":\"r3\"")
        #expect(try apply(operations, ",\"requestKey\":\"r3\"") == applied)
        #expect(try setting("n")["value"]?.int == 3)
    }

    @Test func `a key is another connection's as well, and survives a kill and a drain`() throws {
        let request = "{\"domain\":\"d\",\"key\":\"n\",\"requestKey\":\"r\"}"
        let first = try client.result("settings.increment", request)
        #expect(try daemon.connect().result("settings.increment", request) == first)
        daemon.kill()
        try daemon.start()
        #expect(try daemon.connect().result("settings.increment", request) == first)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(try daemon.connect().result("settings.increment", request) == first)
    }

    @Test func `a write that changed nothing is kept under its key, one that failed is not`() throws {
        let rev = try #require(
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")["rev"]?.int)
        let noOp = "{\"domain\":\"d\",\"key\":\"k\",\"value\":1,\"requestKey\":\"same\"}"
        #expect(try client.result("settings.put", noOp)["rev"]?.int == rev)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":2}")
        #expect(try client.result("settings.put", noOp)["rev"]?.int == rev)
        #expect(try setting("k")["value"]?.int == 2)
        let conditional = "{\"domain\":\"d\",\"key\":\"new\",\"value\":1,\"ifRev\":77,\"requestKey\":\"failed\"}"
        #expect(try client.refusal("settings.put", conditional)["kind"] == .string("conflict"))
        #expect(try client.refusal("settings.put", conditional)["kind"] == .string("conflict"))
    }

    @Test func `a key of another method is refused and nothing is written`() throws {
        try client.result("settings.increment", "{\"domain\":\"d\",\"key\":\"n\",\"requestKey\":\"r\"}")
        let error = try client.refusal(
            "settings.put", "{\"domain\":\"d\",\"key\":\"other\",\"value\":1,\"requestKey\":\"r\"}")
        #expect(error["kind"] == .string("requestKeyReused"))
        #expect(try setting("other") == JSON("{\"rev\":0}"))
    }

    @Test func `request keys show in no store's numbers`() throws {
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1,\"requestKey\":\"r\"}")
        #expect(try status()["settings"]?["count"]?.int == 1)
        #expect(try status()["settings"]?["domains"]?.int == 1)
        #expect(try client.result("settings.scopes")["scopes"]?.elements.count == 1)
    }
}
