import Testing

/// `documents.*` over a real socket.
@Suite struct DocumentsScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    @discardableResult
    private func put(_ id: String, _ value: String, _ more: String = "") throws -> Int {
        let result = try client.result(
            "documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value)\(more)}")
        #expect(result["id"]?.text == id)
        return try #require(result["rev"]?.int)
    }

    private func get(_ id: String, _ more: String = "") throws -> JSON {
        try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(id)\"\(more)}")
    }

    @Test func `a document has a version, a birth and a last change, in memory and in the tables`() throws {
        let rev = try put("a", "{\"x\":1}")
        let first = try get("a")
        #expect(first["rev"]?.int == rev)
        #expect(first["version"]?.int == 1)
        let born = try #require(first["createdAt"]?.text)
        #expect(born == first["updatedAt"]?.text)
        #expect(born.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil)
        usleepFor(milliseconds: 5)
        try put("a", "{\"x\":2}")
        let second = try get("a")
        #expect(second["version"]?.int == 2)
        #expect(second["createdAt"]?.text == born)
        #expect(try #require(second["updatedAt"]?.text) > born)
        try daemon.waitUntilFolded()
        #expect(try get("a") == second)
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("documents.get", "{\"collection\":\"c\",\"id\":\"a\"}") == second)
    }

    @Test func `writing a document again is a new version, the same value too`() throws {
        let rev = try put("a", "1")
        #expect(try put("a", "1") == rev + 1)
        #expect(try get("a")["version"]?.int == 2)
    }

    @Test func `new ids are UUIDv7 and rise`() throws {
        let text = (0..<5000).map {
            Client.request("documents.put", "{\"collection\":\"c\",\"value\":\($0)}", id: "\($0)")
        }.joined()
        let ids = try client.exchange(text).map { try #require(try JSON($0)["result"]?["id"]?.text) }
        #expect(ids.count == 5000)
        #expect(
            ids.allSatisfy {
                $0.wholeMatch(of: #/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/#) != nil
            })
        #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test(arguments: [false, true]) func `a deleted document is absent, and can be put again`(folds: Bool) throws {
        let rev = try put("a", "{\"x\":1}")
        if folds { try daemon.waitUntilFolded() }
        let deleted = try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect(deleted == .object(["rev": .number("\(rev + 1)"), "deleted": .boolean(true)]))
        #expect(try get("a") == JSON("{\"rev\":0}"))
        #expect(try get("a", ",\"default\":5") == JSON("{\"value\":5,\"rev\":0}"))
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 0)
        if folds { try daemon.waitUntilFolded() }
        #expect(
            try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
                == JSON("{\"rev\":0,\"deleted\":false}"))
        #expect(
            try client.refusal("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1,\"ifRev\":\(rev)}")[
                "currentRev"]?.int == 0)
        try put("a", "{\"x\":2}", ",\"ifRev\":0")
        if folds {
            try daemon.waitUntilFolded()
            daemon.kill()
            try daemon.start()
        }
        let found = try daemon.connect().result("documents.get", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect(found["value"]?["x"]?.int == 2)
        #expect(found["version"]?.int == 3)
        #expect(found["createdAt"] == found["updatedAt"])
        #expect(try daemon.connect().result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 1)
    }

    @Test func `ifRev writes only over the revision it names`() throws {
        let rev = try put("a", "1", ",\"ifRev\":0")
        #expect(
            try client.refusal("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":2,\"ifRev\":0}")[
                "currentRev"]?.int == rev)
        #expect(
            try client.refusal("documents.delete", "{\"collection\":\"c\",\"id\":\"a\",\"ifRev\":\(rev + 9)}")[
                "currentRev"]?.int == rev)
        try daemon.waitUntilFolded()
        #expect(try put("a", "2", ",\"ifRev\":\(rev)") == rev + 1)
    }

    @Test func `getMany answers in the order asked for, and names the missing`() throws {
        for id in ["a", "b", "c"] { try put(id, JSON.quoted(id)) }
        let found = try client.result("documents.getMany", "{\"collection\":\"c\",\"ids\":[\"c\",\"x\",\"a\",\"y\"]}")
        #expect(found["documents"]?.elements.map { $0["id"]?.text } == ["c", "a"])
        #expect(found["documents"]?.elements.map { $0["value"]?.text } == ["c", "a"])
        #expect(found["missing"] == .array([.string("x"), .string("y")]))
        #expect(
            try client.result("documents.getMany", "{\"collection\":\"none\",\"ids\":[\"c\"]}")["missing"]
                == .array([.string("c")]))
    }

    @Test func `putMany is one revision, or nothing and names the faulty element`() throws {
        let result = try client.result(
            "documents.putMany",
            "{\"collection\":\"c\",\"documents\":[{\"id\":\"a\",\"value\":1},{\"value\":2},{\"id\":\"b\\u0041\",\"value\":3}]}"
        )
        let ids = result["ids"]?.elements.compactMap(\.text) ?? []
        #expect(ids.count == 3 && ids[0] == "a" && ids[1].count == 36 && ids[2] == "bA")
        for id in ids { #expect(try get(id)["rev"] == result["rev"]) }
        let before = try client.result("documents.scopes")
        func refused(_ documents: String) throws -> JSON {
            try client.refusal("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents)]}")
        }
        let rev = try #require(result["rev"]?.int)
        let twice = try refused("{\"id\":\"n\",\"value\":1},{\"id\":\"m\",\"value\":1},{\"id\":\"n\",\"value\":2}")
        #expect(twice["kind"] == .string("invalidParams") && twice["index"]?.int == 2)
        let conflict = try refused("{\"id\":\"n\",\"value\":1,\"ifRev\":0},{\"id\":\"a\",\"value\":1,\"ifRev\":0}")
        #expect(
            conflict["kind"] == .string("conflict") && conflict["index"]?.int == 1 && conflict["currentRev"]?.int == rev
        )
        #expect(try refused("{\"id\":\"n\",\"value\":1},{\"id\":\"m\"}")["index"]?.int == 1)
        #expect(try refused("{\"id\":\"n\",\"value\":1},7")["index"]?.int == 1)
        #expect(try refused("{\"id\":\"n\",\"value\":1,\"rev\":1}")["index"]?.int == 0)
        #expect(try client.result("documents.scopes") == before)
        #expect(try get("n")["rev"]?.int == 0)
        let good = try client.result(
            "documents.putMany",
            "{\"collection\":\"c\",\"documents\":[{\"id\":\"a\",\"value\":9,\"ifRev\":\(rev)},{\"id\":\"n\",\"value\":9,\"ifRev\":0}]}"
        )
        #expect(good["rev"]?.int == rev + 1)
    }

    @Test func `a document larger than the cache is read back whole`() throws {
        // The profile's cache holds 4 MiB.
        let value = "\"" + String(repeating: "0123456789abcdef", count: 5 << 16) + "\""
        try put("big", value)
        try daemon.waitUntilFolded()
        for _ in 0..<3 {
            // A Bool, since a failure would print megabytes.
            let isWhole = (try? get("big")["value"]?.text) == String(value.dropFirst().dropLast())
            #expect(isWhole)
        }
        try put("big", "1")
        #expect(try get("big")["version"]?.int == 2)
        let over = "\"" + String(repeating: "x", count: 8 << 20) + "\""
        #expect(
            try client.refusal("documents.put", "{\"collection\":\"c\",\"value\":\(over)}")["kind"]
                == .string("valueTooLarge"))
    }

    @Test func `scopes tell counts and bytes of values`() throws {
        try put("a", "[1,2]")
        try put("b", "\"xyz\"")
        try client.result("documents.put", "{\"collection\":\"B\",\"id\":\"k\",\"value\":1}")
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        for _ in 0..<2 {
            let scopes = try client.result("documents.scopes")["scopes"]?.elements ?? []
            #expect(scopes.map { $0["collection"]?.text } == ["B", "c"])
            #expect(scopes.map { $0["count"]?.int } == [1, 1])
            #expect(scopes.map { $0["bytes"]?.int } == [1, 5])
            try daemon.waitUntilFolded()
        }
    }

    // What fuzzing found: a string here stopped the daemon, and `true` was a revision.
    @Test(arguments: ["\"x\"", "\"7\"", "true", "{}", "[1]", "null", "-1", "0.5"])
    func `a document's ifRev that is no revision is refused`(_ ifRev: String) throws {
        let documents = "[{\"id\":\"a\",\"value\":1,\"ifRev\":\(ifRev)}]"
        let params = "{\"collection\":\"c\",\"documents\":\(documents)}"
        #expect(try client.refusal("documents.putMany", params)["kind"]?.text == "invalidParams")
        try client.result("storage.ping")
    }
}
