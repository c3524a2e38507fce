import Testing

/// `settings.*` over a real socket.
@Suite struct SettingsScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    @discardableResult
    private func put(_ key: String, _ value: String, _ more: String = "") throws -> Int {
        let result = try client.result(
            "settings.put", "{\"domain\":\"d\",\"key\":\(JSON.quoted(key)),\"value\":\(value)\(more)}")
        return try #require(result["rev"]?.int)
    }

    private func get(_ key: String, _ more: String = "") throws -> JSON {
        try client.result("settings.get", "{\"domain\":\"d\",\"key\":\(JSON.quoted(key))\(more)}")
    }

    @Test func `an absent setting has revision 0 and no value, or the default that was given`() throws {
        #expect(try get("k") == JSON("{\"rev\":0}"))
        #expect(
            try get("k", ",\"default\":[1, 2],\"explain\":true")
                == JSON("{\"value\":[1,2],\"rev\":0,\"layer\":\"default\"}"))
        #expect(try get("k", ",\"explain\":true")["layer"] == .string("none"))
        try put("k", "null")
        #expect(try get("k", ",\"default\":7")["value"] == .null)
    }

    @Test func `writing the value that is there keeps its revision and is counted`() throws {
        let before = try client.result("storage.status")["log"]
        let first = try put("k", "{\"a\":1}")
        #expect(try put("k", " { \"a\" : 1 } ") == first)
        #expect(
            try client.result("settings.delete", "{\"domain\":\"d\",\"key\":\"none\"}")
                == JSON("{\"rev\":0,\"deleted\":false}"))
        let after = try client.result("storage.status")["log"]
        #expect(after?["noOpWrites"]?.int == (before?["noOpWrites"]?.int ?? 0) + 2)
        #expect(after?["commits"]?.int == (before?["commits"]?.int ?? 0) + 1)
        #expect(try put("k", "{\"a\":2}") == first + 1)
    }

    @Test func `ifRev writes only over the revision it names`() throws {
        let rev = try put("k", "1", ",\"ifRev\":0")
        #expect(
            try client.refusal("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":2,\"ifRev\":0}")[
                "currentRev"]?.int == rev)
        #expect(
            try client.refusal("settings.delete", "{\"domain\":\"d\",\"key\":\"k\",\"ifRev\":\(rev + 1)}")[
                "currentRev"]?.int == rev)
        let next = try put("k", "2", ",\"ifRev\":\(rev)")
        #expect(next == rev + 1)
        try client.result("settings.delete", "{\"domain\":\"d\",\"key\":\"k\",\"ifRev\":\(next)}")
        #expect(
            try client.refusal("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":2,\"ifRev\":\(next)}")[
                "currentRev"]?.int == 0)
        try put("k", "3", ",\"ifRev\":0")
    }

    @Test func `putMany is one revision, or nothing and names the faulty element`() throws {
        let result = try client.result("settings.putMany", "{\"domain\":\"d\",\"values\":{\"a\":1,\"b\":2,\"c\":3}}")
        #expect(result["changed"]?.int == 3)
        for key in ["a", "b", "c"] { #expect(try get(key)["rev"] == result["rev"]) }
        let mixed = try client.result(
            "settings.putMany", "{\"domain\":\"d\",\"values\":{\"a\":1,\"b\":9},\"delete\":[\"c\",\"x\"]}")
        #expect(mixed["changed"]?.int == 2)
        #expect(try get("a")["rev"] == result["rev"])
        let before = try client.result("settings.list", "{\"domain\":\"d\"}")
        let scopes = try client.result("settings.scopes")
        let large = "\"" + String(repeating: "x", count: 1 << 20) + "\""
        let refused = try client.refusal(
            "settings.putMany",
            "{\"domain\":\"d\",\"values\":{\"p\":1,\"q\":2,\"r\":\(large),\"s\":4},\"delete\":[\"a\"]}")
        #expect(refused["kind"] == .string("valueTooLarge"))
        #expect(refused["index"]?.int == 2)
        #expect(try client.result("settings.list", "{\"domain\":\"d\"}") == before)
        #expect(try client.result("settings.scopes") == scopes)
        let rev = before["rev"]?.int ?? 0
        #expect(
            try client.refusal("settings.putMany", "{\"domain\":\"d\",\"values\":{\"p\":1},\"ifRev\":\(rev - 1)}")[
                "currentRev"]?.int == rev)
        try client.result("settings.putMany", "{\"domain\":\"d\",\"values\":{\"p\":1},\"ifRev\":\(rev)}")
    }

    @Test func `a key that is put and deleted in one putMany is refused`() throws {
        try put("there", "1")
        let refused = try client.refusal(
            "settings.putMany", "{\"domain\":\"d\",\"values\":{\"x\":1,\"there\":2},\"delete\":[\"there\"]}")
        #expect(refused["kind"] == .string("invalidParams"))
        #expect(refused["index"]?.int == 1)
        for (twice, index) in [("\"there\",\"there\"", 1), ("\"a\",\"there\",\"a\"", 2)] {
            let error = try client.refusal(
                "settings.putMany", "{\"domain\":\"d\",\"values\":{\"x\":1},\"delete\":[\(twice)]}")
            #expect(error["hint"]?.text == "the same item comes twice" && error["index"]?.int == index, "\(error)")
            #expect(error["parameter"]?.text == "delete")
        }
        #expect(try get("there")["value"]?.int == 1)
        #expect(try get("x")["rev"]?.int == 0)
    }

    @Test func `increment adds, and refuses what is no integer or would leave the range`() throws {
        let key = "{\"domain\":\"d\",\"key\":\"n\""
        #expect(try client.result("settings.increment", key + "}")["value"]?.int == 1)
        #expect(try client.result("settings.increment", key + ",\"by\":-5}")["value"]?.int == -4)
        #expect(
            try client.result("settings.increment", "{\"domain\":\"d\",\"key\":\"m\",\"by\":2,\"initial\":40}")[
                "value"]?.int == 42)
        try put("n", "9007199254740991")
        #expect(try client.refusal("settings.increment", key + "}")["kind"] == .string("outOfRange"))
        #expect(try get("n")["value"] == .number("9007199254740991"))
        for value in ["\"1\"", "1.5", "[1]", "null", "true"] {
            try put("n", value)
            #expect(try client.refusal("settings.increment", key + "}")["kind"] == .string("typeMismatch"), "\(value)")
        }
    }

    @Test func `values keep every digit and escape, white space between tokens goes`() throws {
        let value =
            "{ \"a\" : 1.2300e+0400 ,\n\t\"b\":[ 123456789012345678901234567890.0 , -0.0 ],\"c\":\"\\u00e9 \\/ x\" }"
            .replacing("\n", with: "\\n").replacing("\\n\t", with: " ")
        let kept = "{\"a\":1.2300e+0400,\"b\":[123456789012345678901234567890.0,-0.0],\"c\":\"\\u00e9 \\/ x\"}"
        try put("k", value)
        client.send(Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}"))
        #expect(try #require(try client.line()).contains("\"value\":\(kept),"))
    }

    @Test func `a list comes in pages, in the order of the keys' bytes, by prefix`() throws {
        let keys = ["a", "aa", "ab", "b", "ba", "é", "Z", "\u{1F600}", "a b", "a\\\"c"]
        for (index, key) in keys.enumerated() { try put(key, "\(index)") }
        func ordered(_ prefix: String) -> [String] {
            keys.filter { $0.utf8.starts(with: prefix.utf8) }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        for prefix in ["", "a", "b", "zz", "é"] {
            for limit in 1...4 {
                var found: [String] = []
                var cursor = ""
                repeat {
                    let page = try client.result(
                        "settings.list", "{\"domain\":\"d\",\"prefix\":\"\(prefix)\",\"limit\":\(limit)\(cursor)}")
                    let names = page["values"]?.members.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } ?? []
                    #expect(names.count <= limit)
                    found += names
                    cursor = page["cursor"]?.text.map { ",\"cursor\":\"\($0)\"" } ?? ""
                } while !cursor.isEmpty
                #expect(found == ordered(prefix))
            }
        }
        try client.result("settings.delete", "{\"domain\":\"d\",\"key\":\"aa\"}")
        #expect(try client.result("settings.list", "{\"domain\":\"d\",\"prefix\":\"aa\"}")["values"] == .object([:]))
        #expect(
            try client.refusal("settings.list", "{\"domain\":\"d\",\"cursor\":\"2x\"}")["kind"]
                == .string("invalidParams"))
    }

    @Test func `getMany, count and scopes tell what is there`() throws {
        try put("a", "1")
        try put("b", "\"xyz\"")
        try client.result("settings.put", "{\"domain\":\"e\",\"key\":\"k\",\"value\":1}")
        #expect(
            try client.result("settings.getMany", "{\"domain\":\"d\",\"keys\":[\"b\",\"none\",\"a\"]}")["values"]
                == JSON("{\"a\":1,\"b\":\"xyz\"}"))
        let scopes = try client.result("settings.scopes")["scopes"]?.elements ?? []
        #expect(scopes.map { $0["domain"]?.text } == ["d", "e"])
        #expect(scopes.map { $0["count"]?.int } == [2, 1])
        #expect(scopes.map { $0["bytes"]?.int } == [8, 2])
        try client.result("settings.delete", "{\"domain\":\"d\",\"key\":\"b\"}")
        #expect(try client.result("settings.count", "{\"domain\":\"d\"}")["count"]?.int == 1)
    }

    @Test func `the quotas are typed errors and touch no other key`() throws {
        try put("small", "1")
        #expect(
            try client.refusal(
                "settings.put",
                "{\"domain\":\"d\",\"key\":\"small\",\"value\":\"\(String(repeating: "x", count: (1 << 20) - 1))\"}")[
                    "limit"]?.int == 1 << 20)
        let value = "\"" + String(repeating: "y", count: (1 << 20) - 2) + "\""
        var stored = 0
        var refusal: JSON?
        while refusal == nil, stored < 70 {
            let reply = try client.call("settings.put", "{\"domain\":\"q\",\"key\":\"\(stored)\",\"value\":\(value)}")
            if reply["result"] != nil { stored += 1 } else { refusal = reply["error"]?["data"] }
        }
        #expect(stored == 63)
        #expect(refusal?["kind"] == .string("quotaExceeded"))
        #expect(refusal?["limit"]?.int == 64 << 20)
        #expect(try get("small")["value"]?.int == 1)
        #expect(try client.result("settings.count", "{\"domain\":\"q\"}")["count"]?.int == 63)
        // Replacing by the same size, and what fits, still works; deleting makes room.
        try put("small", "2")
        try client.result(
            "settings.put",
            "{\"domain\":\"q\",\"key\":\"0\",\"value\":\(value.replacing("y", with: "z", maxReplacements: 1))}")
        try client.result("settings.delete", "{\"domain\":\"q\",\"key\":\"1\"}")
        try client.result("settings.put", "{\"domain\":\"q\",\"key\":\"new\",\"value\":\(value)}")
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("settings.count", "{\"domain\":\"q\"}")["count"]?.int == 63)
        #expect(
            try again.refusal("settings.put", "{\"domain\":\"q\",\"key\":\"more\",\"value\":\(value)}")["kind"]
                == .string("quotaExceeded"))
    }
}
