import Testing

/// `documents.patch`, `increment`, `restore` and `deleteMany` over a real socket.
@Suite struct DocumentsChangesScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    @discardableResult
    private func put(_ id: String, _ value: String) throws -> Int {
        let result = try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value)}")
        return try #require(result["rev"]?.int)
    }

    private func get(_ id: String, _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result("documents.get", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
    }

    private func patch(_ id: String, _ more: String) -> String { "{\"collection\":\"c\",\"id\":\"\(id)\",\(more)}" }

    /// Where the document is when it is changed: in the log, in the cache, in the tables alone.
    enum Place: CaseIterable {
        case log, cache, tables
    }

    private func move(to place: Place) throws -> Client {
        switch place {
        case .log: return client
        case .cache:
            try daemon.waitUntilFolded()
            return client
        case .tables:
            try daemon.waitUntilFolded()
            // Nothing is in memory after a start.
            #expect(daemon.terminate() == 0)
            try daemon.start()
            return try daemon.connect()
        }
    }

    // MARK: Patches

    @Test(arguments: Place.allCases)
    func `patches change a document wherever it is, and numbers keep their text`(_ place: Place) throws {
        let rev = try put("a", "{\"n\":1.50,\"big\":12345678901234567890,\"tags\":[\"x\"],\"drop\":true}")
        let client = try move(to: place)
        let merged = try client.result(
            "documents.patch", patch("a", "\"mergePatch\":{\"drop\":null,\"name\":\"é\"},\"ifRev\":\(rev)"))
        #expect(merged["changed"]?.bool == true)
        let next = try #require(merged["rev"]?.int)
        #expect(next > rev)
        let applied = try client.result(
            "documents.patch",
            patch(
                "a",
                "\"jsonPatch\":[{\"op\":\"add\",\"path\":\"/tags/-\",\"value\":\"y\"},{\"op\":\"test\",\"path\":\"/n\",\"value\":1.5}]"
            ))
        #expect(applied["changed"]?.bool == true)
        let found = try get("a", client)
        #expect(
            found["value"]
                == (try JSON("{\"n\":1.50,\"big\":12345678901234567890,\"tags\":[\"x\",\"y\"],\"name\":\"é\"}")))
        #expect(found["version"]?.int == 3)
        #expect(found["rev"] == applied["rev"])
        try daemon.waitUntilFolded()
        daemon.kill()
        try daemon.start()
        #expect(try get("a", daemon.connect()) == found)
    }

    @Test func `a patch that changes nothing writes nothing`() throws {
        let rev = try put("a", "{\"n\":1.50}")
        let before = try client.result("storage.status")["log"]?["noOpWrites"]?.int ?? 0
        for patch in [
            "\"mergePatch\":{}", "\"mergePatch\":{\"x\":null,\"n\":1.50}", "\"jsonPatch\":[]",
            "\"jsonPatch\":[{\"op\":\"test\",\"path\":\"/n\",\"value\":1.5}]",
            "\"jsonPatch\":[{\"op\":\"add\",\"path\":\"/x\",\"value\":1},{\"op\":\"remove\",\"path\":\"/x\"}]",
        ] {
            #expect(
                try client.result("documents.patch", self.patch("a", patch))
                    == JSON("{\"rev\":\(rev),\"changed\":false}"))
        }
        #expect(try get("a")["version"]?.int == 1)
        #expect(try client.result("storage.status")["log"]?["noOpWrites"]?.int == before + 5)
    }

    @Test func `a patch that does not fit is refused, names the place, and changes nothing`() throws {
        let rev = try put("a", "{\"a\":{\"b\":[1]}}")
        func refusal(_ more: String) throws -> JSON { try client.refusal("documents.patch", patch("a", more)) }
        let failed = try refusal(
            "\"jsonPatch\":[{\"op\":\"add\",\"path\":\"/x\",\"value\":1},{\"op\":\"test\",\"path\":\"/a/b/0\",\"value\":2}]"
        )
        #expect(failed["kind"]?.text == "patchFailed")
        #expect(failed["index"]?.int == 1)
        #expect(failed["path"]?.text == "/a/b/0")
        #expect(failed["reason"]?.text == "the test found another value")
        let malformed = try refusal("\"jsonPatch\":[{\"op\":\"spam\",\"path\":\"/x\"}]")
        #expect(malformed["kind"]?.text == "invalidParams")
        #expect(malformed["parameter"]?.text == "jsonPatch" && malformed["index"]?.int == 0)
        #expect(try refusal("\"mergePatch\":{},\"jsonPatch\":[]")["kind"]?.text == "invalidParams")
        // It would take the place of the whole document.
        for whole in ["\"oops\"", "5", "null", "true", "[]", "[{\"op\":\"remove\",\"path\":\"/n\"}]"] {
            let data = try refusal("\"mergePatch\":\(whole)")
            #expect(data["kind"]?.text == "invalidParams" && data["parameter"]?.text == "mergePatch", "\(whole)")
        }
        #expect(try refusal("\"ifRev\":0")["kind"]?.text == "invalidParams")
        #expect(try refusal("\"mergePatch\":{},\"ifRev\":\(rev + 7)")["currentRev"]?.int == rev)
        #expect(try client.refusal("documents.patch", patch("none", "\"mergePatch\":{}"))["kind"]?.text == "notFound")
        // What is in the way of a name with odd characters is told as it is.
        #expect(
            try refusal("\"jsonPatch\":[{\"op\":\"remove\",\"path\":\"/q~1~0\\\"\\u00e9\"}]")["path"]?.text
                == "/q~1~0\"é")
        #expect(try get("a")["rev"]?.int == rev)
    }

    @Test func `a patch that blows the document up is refused`() throws {
        try put("a", "[\"" + String(repeating: "x", count: 1 << 20) + "\"]")
        let copies = [String](repeating: "{\"op\":\"copy\",\"from\":\"/0\",\"path\":\"/-\"}", count: 20)
        let refused = try client.refusal(
            "documents.patch", patch("a", "\"jsonPatch\":[\(copies.joined(separator: ","))]"))
        // Before it has copied as much as a whole document may have, several times over.
        #expect(refused["kind"]?.text == "patchFailed")
        #expect(refused["index"]?.int == 5)
        #expect(try get("a")["version"]?.int == 1)
    }

    // MARK: Sums

    @Test(arguments: Place.allCases) func `sums are exact wherever the document is`(_ place: Place) throws {
        try put("a", "{\"visits\":{\"to.day\":0.1},\"n\":9007199254740990}")
        let client = try move(to: place)
        let sum = try client.result(
            "documents.increment", patch("a", "\"path\":\"visits.to\\\\.day\",\"by\":0.2"))
        #expect(sum["value"] == .number("0.3"))
        #expect(
            try client.result("documents.increment", patch("a", "\"path\":\"n\""))["value"]
                == .number("9007199254740991"))
        #expect(
            try client.result("documents.increment", patch("a", "\"path\":\"new.deep\",\"by\":-3"))["value"]
                == .number("-3"))
        #expect(
            try get("a", client)["value"]
                == JSON("{\"visits\":{\"to.day\":0.3},\"n\":9007199254740991,\"new\":{\"deep\":-3}}"))
        let over = try client.refusal("documents.increment", patch("a", "\"path\":\"n\""))
        #expect(over["kind"]?.text == "outOfRange" && over["path"]?.text == "/n")
        let wrong = try client.refusal("documents.increment", patch("a", "\"path\":\"visits\""))
        #expect(wrong["kind"]?.text == "typeMismatch" && wrong["path"]?.text == "/visits")
        for bad in ["\"path\":\"\"", "\"path\":\"a..b\"", "\"path\":\"n\",\"by\":\"1\"", "\"path\":\"n\",\"by\":null"] {
            #expect(try client.refusal("documents.increment", patch("a", bad))["kind"]?.text == "invalidParams")
        }
        #expect(
            try client.refusal("documents.increment", patch("none", "\"path\":\"n\""))["kind"]?.text == "notFound")
    }

    @Test func `sums of many clients at once miss nothing`() throws {
        try put("a", "{\"n\":0}")
        let clients = try (0..<8).map { _ in try daemon.connect() }
        for client in clients {
            client.send(
                (0..<200).map {
                    Client.request("documents.increment", patch("a", "\"path\":\"n\",\"by\":0.5"), id: "\($0)")
                }
                .joined())
        }
        for client in clients { for _ in 0..<200 { _ = try client.line() } }
        #expect(try get("a")["value"]?["n"] == .number("800.0"))
    }

    // MARK: Tombstones

    @Test(arguments: Place.allCases) func `a deleted document comes back with its last value`(_ place: Place) throws {
        try put("a", "1.0")
        try daemon.waitUntilFolded()
        // Written and deleted between two folds.
        try put("a", "2.0")
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        let client = try move(to: place)
        #expect(try get("a", client)["value"] == nil)
        let back = try client.result("documents.restore", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect(back["restored"]?.bool == true)
        let found = try get("a", client)
        #expect(found["value"] == .number("2.0"))
        #expect(found["rev"] == back["rev"] && found["version"]?.int == 4)
        #expect(
            try client.result("documents.restore", "{\"collection\":\"c\",\"id\":\"a\"}")
                == .object(["rev": back["rev"]!, "restored": .boolean(false)]))
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 1)
        #expect(
            try client.refusal("documents.restore", "{\"collection\":\"c\",\"id\":\"never\"}")["kind"]?.text
                == "notFound")
    }

    @Test func `deleteMany deletes those that are there, in one revision or not at all`() throws {
        for id in ["a", "b", "c"] { try put(id, "1") }
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"c\"}")
        let result = try client.result(
            "documents.deleteMany", "{\"collection\":\"c\",\"ids\":[\"a\",\"c\",\"never\",\"b\"]}")
        #expect(result["deleted"]?.int == 2)
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 0)
        for id in ["a", "b"] {
            try client.result("documents.restore", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
        }
        let twice = try client.refusal("documents.deleteMany", "{\"collection\":\"c\",\"ids\":[\"a\",\"b\",\"a\"]}")
        #expect(twice["kind"]?.text == "invalidParams" && twice["index"]?.int == 2)
        for collection in ["c", "none"] {
            let absent = try client.refusal(
                "documents.deleteMany", "{\"collection\":\"\(collection)\",\"ids\":[\"never\",\"x\",\"never\"]}")
            #expect(absent["hint"]?.text == "the same item comes twice" && absent["index"]?.int == 2, "\(absent)")
        }
        let bad = try client.refusal("documents.deleteMany", "{\"collection\":\"c\",\"ids\":[\"a\",7]}")
        #expect(bad["index"]?.int == 1)
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 2)
        #expect(
            try client.result("documents.deleteMany", "{\"collection\":\"none\",\"ids\":[\"a\"]}")["deleted"]?.int == 0)
    }

    // MARK: Together

    @Test func `patches, sums and tombstones are operations of a transaction, and take request keys`() throws {
        try put("a", "{\"n\":1}")
        try put("b", "{}")
        try put("gone", "7")
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"gone\"}")
        func operation(_ method: String, _ params: String) -> String {
            "{\"method\":\"\(method)\",\"params\":\(params)}"
        }
        let operations = [
            operation("documents.patch", patch("b", "\"mergePatch\":{\"x\":1}")),
            operation("documents.increment", patch("a", "\"path\":\"n\"")),
            operation("documents.restore", "{\"collection\":\"c\",\"id\":\"gone\"}"),
            operation("documents.deleteMany", "{\"collection\":\"c\",\"ids\":[\"never\"]}"),
        ]
        let failing = operations + [operation("documents.patch", patch("b", "\"mergePatch\":{}"))]
        // The last one finds what the first has written, which it may look at and not change; here it is no change at all.
        let params = "{\"operations\":[\(operations.joined(separator: ","))],\"requestKey\":\"k\"}"
        let result = try client.result("transaction.apply", params)
        let rev = try #require(result["rev"]?.int)
        #expect(result["results"]?.elements.prefix(3).allSatisfy { $0["rev"]?.int == rev } == true)
        #expect(try client.result("transaction.apply", params) == result)
        #expect(try get("a")["value"]?["n"]?.int == 2)
        #expect(try get("gone")["value"]?.int == 7)
        let refused = try client.refusal(
            "transaction.apply",
            "{\"operations\":[\((failing.dropLast(2) + [operation("documents.patch", patch("none", "\"mergePatch\":{}"))]).joined(separator: ","))]}"
        )
        #expect(refused["kind"]?.text == "notFound" && refused["operation"]?.int == 3)
        #expect(try get("a")["value"]?["n"]?.int == 2)
        let once = try client.result("documents.increment", patch("a", "\"path\":\"n\",\"requestKey\":\"i\""))
        #expect(try client.result("documents.increment", patch("a", "\"path\":\"n\",\"requestKey\":\"i\"")) == once)
        #expect(try get("a")["value"]?["n"]?.int == 3)
    }

    @Test func `each needs its grants`() throws {
        let daemon = try RoleDaemon([
            "reader": RoleDaemon.role(RoleDaemon.grant("documents", "c", "read")),
            "updater": RoleDaemon.role(RoleDaemon.grant("documents", "c", "read", "update")),
            "creator": RoleDaemon.role(RoleDaemon.grant("documents", "c", "read", "create")),
            "blind": RoleDaemon.role(RoleDaemon.grant("documents", "c", "update", "delete")),
        ])
        let admin = try daemon.connect("admin")
        try admin.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":{\"n\":1}}")
        let calls = [
            "documents.patch": patch("a", "\"mergePatch\":{\"x\":1}"),
            "documents.increment": patch("a", "\"path\":\"n\""),
            "documents.restore": "{\"collection\":\"c\",\"id\":\"a\"}",
            "documents.deleteMany": "{\"collection\":\"c\",\"ids\":[\"never\"]}",
        ]
        let allowed = [
            "reader": [], "updater": ["documents.patch", "documents.increment"], "creator": ["documents.restore"],
            "blind": ["documents.deleteMany"],
        ]
        for (role, methods) in allowed {
            let client = try daemon.connect(role)
            for (method, params) in calls {
                let reply = try client.call(method, params)
                if methods.contains(method) {
                    #expect(reply["result"] != nil, "\(role) \(method): \(reply)")
                } else {
                    #expect(reply["error"]?["data"]?["kind"]?.text == "forbidden", "\(role) \(method): \(reply)")
                }
            }
        }
    }

    // MARK: Bad input

    @Test func `a batch names the place of what is wrong with it, and changes nothing`() throws {
        try put("there", "1")
        func refusal(_ documents: String) throws -> JSON {
            try client.refusal("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents)]}")
        }
        let good = "{\"id\":\"new\",\"value\":1}"
        let long = String(repeating: "é", count: 257)
        for (bad, path) in [
            ("{\"id\":\"new\",\"value\":2}", "/1/id"), ("{\"id\":\"\(long)\",\"value\":1}", "/1/id"),
            ("{\"id\":\"a\\u0007b\",\"value\":1}", "/1/id"), ("{\"id\":\"\",\"value\":1}", "/1/id"),
            ("{\"id\":7,\"value\":1}", "/1/id"), ("{\"id\":\"x\"}", "/1"), ("7", "/1"),
            ("{\"id\":\"x\",\"value\":1,\"ifRev\":-1}", "/1/ifRev"),
            ("{\"id\":\"x\",\"value\":1,\"a/b~\":1}", "/1/a~1b~0"),
        ] {
            let data = try refusal(good + "," + bad)
            #expect(data["kind"]?.text == "invalidParams", "\(bad)")
            #expect(data["parameter"]?.text == "documents" && data["index"]?.int == 1, "\(bad): \(data)")
            #expect(data["path"]?.text == path, "\(bad): \(data)")
        }
        let conflict = try refusal(good + ",{\"id\":\"there\",\"value\":1,\"ifRev\":0}")
        #expect(conflict["kind"]?.text == "conflict" && conflict["path"]?.text == "/1")
        let large = try refusal(good + ",{\"value\":\"" + String(repeating: "x", count: 8 << 20) + "\"}")
        #expect(large["kind"]?.text == "valueTooLarge" && large["path"]?.text == "/1/value")
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 1)
        let ids = try client.refusal("documents.deleteMany", "{\"collection\":\"c\",\"ids\":[\"there\",\"\(long)\"]}")
        #expect(ids["path"]?.text == "/1" && ids["index"]?.int == 1)
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 1)
    }

    @Test func `names of collections and ids are bounded`() throws {
        for (collection, id, parameter) in [
            ("", "a", "collection"), ("a\\u0000b", "a", "collection"),
            (String(repeating: "c", count: 129), "a", "collection"),
            ("c", "", "id"), ("c", "a\\u001fb", "id"), ("c", "\\u007f", "id"),
            ("c", String(repeating: "i", count: 513), "id"),
        ] {
            let data = try client.refusal(
                "documents.put", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\",\"value\":1}")
            #expect(data["kind"]?.text == "invalidParams" && data["parameter"]?.text == parameter)
        }
        let longest = String(repeating: "i", count: 512)
        try put(longest, "1")
        #expect(try get(longest)["value"]?.int == 1)
        #expect(try client.result("documents.scopes")["scopes"]?.elements.count == 1)
    }

    @Test func `odd names of members, deep values and large ones are kept or refused as a whole`() throws {
        let odd = "{\"a.b\":1,\"$set\":{\"$inc\":2},\"\":3,\"\\u0000\":4,\"a~/b\":5}"
        try put("odd", odd)
        #expect(try get("odd")["value"] == JSON(odd))
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        try put("deep", deep)
        client.send(Client.request("documents.get", "{\"collection\":\"c\",\"id\":\"deep\"}", id: "77"))
        #expect(try client.line()?.contains(deep) == true)
        let deeper = String(repeating: "[", count: 130) + String(repeating: "]", count: 130)
        client.send(Client.request("documents.put", "{\"collection\":\"c\",\"id\":\"x\",\"value\":\(deeper)}"))
        let refused = try client.reply()["error"]?["data"]
        #expect(refused?["kind"]?.text == "parseError" && refused?["reason"]?.text == "tooDeep")
        // A patch cannot go deeper than a put.
        let adding = try client.refusal(
            "documents.patch",
            patch(
                "deep",
                "\"jsonPatch\":[{\"op\":\"add\",\"path\":\"\(String(repeating: "/0", count: 99))/-\",\"value\":\(String(repeating: "[", count: 40) + String(repeating: "]", count: 40))}]"
            ))
        #expect(
            adding["kind"]?.text == "patchFailed" && adding["reason"]?.text == "the result would be nested too deeply")
        let large = try client.refusal(
            "documents.put",
            "{\"collection\":\"c\",\"id\":\"x\",\"value\":\"\(String(repeating: "x", count: 8 << 20))\"}")
        #expect(large["kind"]?.text == "valueTooLarge" && large["limit"]?.int == 8 << 20)
        client.send(
            Client.request(
                "documents.put",
                "{\"collection\":\"c\",\"id\":\"x\",\"value\":\"\(String(repeating: "x", count: 16 << 20))\"}"))
        #expect(try client.reply()["error"]?["data"]?["kind"]?.text == "lineTooLong")
        #expect(try get("x")["rev"]?.int == 0)
    }
}
