import Testing

/// Registered defaults and overrides over a real socket.
@Suite struct SettingsLayersScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private func get(_ key: String, _ more: String = "", _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result("settings.get", "{\"domain\":\"d\",\"key\":\"\(key)\"\(more)}")
    }

    @discardableResult
    private func register(_ defaults: String, _ more: String = "") throws -> JSON {
        try client.result("settings.register", "{\"domain\":\"d\",\"defaults\":\(defaults)\(more)}")
    }

    private func put(_ key: String, _ value: String) throws {
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(value)}")
    }

    private func rev() throws -> Int { try #require(try client.result("storage.status")["rev"]?.int) }

    @Test func `registered defaults show where nothing is stored, and merge by key`() throws {
        let first = try register("{\"a\": [1, 2], \"b\":2}")
        #expect(first["changed"]?.int == 2)
        #expect(try get("a") == JSON("{\"value\":[1,2],\"rev\":0}"))
        #expect(
            try get("a", ",\"default\":7,\"explain\":true")
                == JSON("{\"value\":[1,2],\"rev\":0,\"layer\":\"registered\"}"))
        // What is there already changes nothing and costs no revision.
        let before = try rev()
        #expect(try register("{\"b\":2}") == JSON("{\"rev\":\(before),\"changed\":0}"))
        #expect(try rev() == before)
        #expect(try register("{\"b\":3,\"c\":4}")["changed"]?.int == 2)
        #expect(try get("a")["value"] == JSON("[1,2]"))
        #expect(try get("b")["value"]?.int == 3)
        #expect(try register("{\"b\":3}", ",\"replace\":true")["changed"]?.int == 2)
        #expect(try get("a") == JSON("{\"rev\":0}"))
        try put("b", "9")
        #expect(
            try get("b", ",\"explain\":true")["hidden"] == JSON("[{\"layer\":\"registered\",\"value\":3}]"))
        try client.result("settings.delete", "{\"domain\":\"d\",\"key\":\"b\"}")
        #expect(try get("b")["value"]?.int == 3)
        #expect(try register("{}", ",\"replace\":true")["changed"]?.int == 1)
        #expect(try get("b")["value"] == nil)
        // They are nobody's settings: neither counted nor listed as such.
        try register("{\"z\":1}")
        #expect(try client.result("settings.count", "{\"domain\":\"d\"}")["count"]?.int == 0)
    }

    @Test func `registered defaults survive a kill and a drain`() throws {
        try register("{\"a\":1}")
        daemon.kill()
        try daemon.start()
        #expect(try get("a", "", daemon.connect())["value"]?.int == 1)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(try get("a", "", daemon.connect())["value"]?.int == 1)
    }

    @Test func `defaults of a transaction that fails are gone with it`() throws {
        try register("{\"a\":1}")
        #expect(try get("a")["value"]?.int == 1)
        let operations = """
            {"operations":[{"method":"settings.register","params":{"domain":"d","defaults":{"a":2,"b":2}}},\
            {"method":"settings.put","params":{"domain":"d","key":"x","value":1,"ifRev":99}}]}
            """
        #expect(try client.refusal("transaction.apply", operations)["operation"]?.int == 1)
        #expect(try get("a")["value"]?.int == 1)
        #expect(try get("b")["rev"]?.int == 0)
        try register("{\"b\":3}")
        #expect(try get("b")["value"]?.int == 3)
    }

    @Test func `defaults of a turn that the disk has no room for are gone with it`() throws {
        try register("{\"a\":1}")
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:1")
        let client = try daemon.connect()
        #expect(try get("a", "", client)["value"]?.int == 1)
        #expect(
            try client.refusal("settings.register", "{\"domain\":\"d\",\"defaults\":{\"a\":2}}")["kind"]
                == .string("noSpace"))
        #expect(try get("a", "", client)["value"]?.int == 1)
    }

    @Test func `an override is seen by its connection alone, until it clears it or ends`() throws {
        try register("{\"k\":\"registered\"}")
        try put("k", "\"app\"")
        let other = try daemon.connect()
        #expect(
            try other.result("settings.override", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"mine\"}")["overrides"]?
                .int == 1)
        #expect(
            try get("k", ",\"explain\":true", other)
                == JSON(
                    """
                    {"value":"mine","rev":\(rev()),"layer":"session","hidden":[{"layer":"app","value":"app"},\
                    {"layer":"registered","value":"registered"}]}
                    """))
        #expect(try get("k")["value"] == .string("app"))
        try other.result("settings.override", "{\"domain\":\"e\",\"key\":\"k\",\"value\":1}")
        #expect(try other.result("settings.get", "{\"domain\":\"e\",\"key\":\"k\"}")["value"]?.int == 1)
        #expect(try other.result("settings.list", "{\"domain\":\"e\"}")["values"] == JSON("{\"k\":1}"))
        #expect(
            try other.result("settings.clearOverrides", "{\"domain\":\"d\",\"key\":\"k\"}")["overrides"]?.int == 1)
        #expect(try get("k", "", other)["value"] == .string("app"))
        #expect(try other.result("settings.clearOverrides")["overrides"]?.int == 0)
        #expect(try other.result("settings.get", "{\"domain\":\"e\",\"key\":\"k\"}")["rev"]?.int == 0)
        #expect(try other.refusal("settings.clearOverrides", "{\"key\":\"k\"}")["kind"] == .string("invalidParams"))
        // It costs no revision.
        #expect(try other.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["rev"]?.int == rev())
    }

    @Test func `overrides are bounded, and a bound that is met changes nothing`() throws {
        for index in 0..<256 {
            try client.result(
                "settings.override", "{\"domain\":\"d\(index % 3)\",\"key\":\"\(index)\",\"value\":\(index)}")
        }
        #expect(
            try client.refusal("settings.override", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")["limit"]?.int == 256
        )
        #expect(
            try client.result("settings.override", "{\"domain\":\"d0\",\"key\":\"0\",\"value\":7}")["overrides"]?.int
                == 256)
        #expect(try client.result("settings.clearOverrides", "{\"domain\":\"d0\"}")["overrides"]?.int == 170)
        let large = "\"" + String(repeating: "x", count: 64 << 10) + "\""
        #expect(
            try client.refusal("settings.override", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(large)}")["kind"]
                == .string("quotaExceeded"))
    }

    @Test func `a list shows what all layers give, in pages, or what is stored alone`() throws {
        try register("{\"b\":\"r\",\"d\":\"r\",\"f\":\"r\",\"h\":\"r\"}")
        for key in ["a", "d", "e"] { try put(key, "\"a\"") }
        try client.result("settings.override", "{\"domain\":\"d\",\"key\":\"e\",\"value\":\"s\"}")
        try client.result("settings.override", "{\"domain\":\"d\",\"key\":\"g\",\"value\":\"s\"}")
        let expected = try JSON(
            "{\"a\":\"a\",\"b\":\"r\",\"d\":\"a\",\"e\":\"s\",\"f\":\"r\",\"g\":\"s\",\"h\":\"r\"}")
        let whole = try client.result("settings.list", "{\"domain\":\"d\",\"explain\":true}")
        #expect(whole["values"] == expected)
        #expect(
            whole["layers"]
                == (try JSON(
                    """
                    {"a":"app","b":"registered","d":"app","e":"session","f":"registered","g":"session","h":"registered"}
                    """)))
        for limit in 1...8 {
            var found: [String] = []
            var cursor = ""
            repeat {
                let page = try client.result("settings.list", "{\"domain\":\"d\",\"limit\":\(limit)\(cursor)}")
                let keys = (page["values"]?.members.keys).map { $0.sorted() } ?? []
                #expect(keys.count <= limit)
                found += keys
                cursor = page["cursor"]?.text.map { ",\"cursor\":\"\($0)\"" } ?? ""
            } while !cursor.isEmpty && found.count < 100
            #expect(found == ["a", "b", "d", "e", "f", "g", "h"], "pages of \(limit)")
        }
        #expect(
            try client.result("settings.list", "{\"domain\":\"d\",\"layers\":\"app\"}")["values"]
                == JSON("{\"a\":\"a\",\"d\":\"a\",\"e\":\"a\"}"))
        #expect(
            try client.result("settings.list", "{\"domain\":\"d\",\"prefix\":\"h\"}")["values"] == JSON("{\"h\":\"r\"}")
        )
        let many = try client.result(
            "settings.getMany", "{\"domain\":\"d\",\"keys\":[\"e\",\"none\",\"h\"],\"explain\":true}")
        #expect(many["values"] == (try JSON("{\"e\":\"s\",\"h\":\"r\"}")))
        #expect(many["layers"] == (try JSON("{\"e\":\"session\",\"h\":\"registered\"}")))
    }

    @Test func `increment starts from what shows, overrides aside`() throws {
        try register("{\"n\":40,\"text\":\"x\"}")
        let key = "{\"domain\":\"d\",\"key\":\"n\""
        try client.result("settings.override", key + ",\"value\":1000}")
        #expect(try client.result("settings.increment", key + ",\"by\":2,\"initial\":5}")["value"]?.int == 7)
        try client.result("settings.delete", key + "}")
        #expect(try client.result("settings.increment", key + ",\"by\":2}")["value"]?.int == 42)
        #expect(try client.result("settings.increment", key + "}")["value"]?.int == 43)
        #expect(
            try client.refusal("settings.increment", "{\"domain\":\"d\",\"key\":\"text\"}")["kind"]
                == .string("typeMismatch"))
    }
}
