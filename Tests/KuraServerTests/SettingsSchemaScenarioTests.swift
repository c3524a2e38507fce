import Glibc
import Testing

/// `settings.configure` and `settings.describe` over a real socket.
@Suite struct SettingsSchemaScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private static let schema = """
        {"type":"object","properties":{\
        "size":{"type":"integer","minimum":6,"maximum":72,"default": 12,"description":"In points."},\
        "theme":{"enum":["dark","light"],"title":"Look"},\
        "window":{"type":"object","properties":{"x":{"type":"number"}}}}}
        """

    @discardableResult
    private func configure(_ more: String, domain: String = "d") throws -> JSON {
        try client.result("settings.configure", "{\"domain\":\"\(domain)\",\(more)}")
    }

    private func put(_ key: String, _ value: String) throws -> JSON {
        try client.call("settings.put", "{\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(value)}")
    }

    private func get(_ key: String, _ more: String = "", _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result("settings.get", "{\"domain\":\"d\",\"key\":\"\(key)\"\(more)}")
    }

    private func rev() throws -> Int { try #require(try client.result("storage.status")["rev"]?.int) }

    @Test func `in mode warn a violation is stored and told, in mode enforce it is refused`() throws {
        #expect(
            try configure("\"schema\":\(Self.schema)")
                == JSON("{\"rev\":1,\"applied\":true,\"violations\":[],\"checked\":0}"))
        #expect(
            try put("size", "99")["result"]?["warning"] == JSON("{\"path\":\"\",\"message\":\"must be at most 72\"}"))
        #expect(try get("size")["value"]?.int == 99)
        #expect(try put("size", "20")["result"]?["warning"] == nil)
        try configure("\"mode\":\"enforce\"")
        let before = try rev()
        let refused = try put("window", "{\"x\":\"secret\"}")["error"]
        #expect(refused?["data"]?["kind"] == .string("schemaViolation"))
        #expect(refused?["data"]?["path"] == .string("/x"))
        #expect(refused?["data"]?["reason"]?.text?.isEmpty == false)
        #expect(try get("window")["rev"]?.int == 0)
        for refusal in [
            try client.refusal(
                "settings.putMany",
                "{\"domain\":\"d\",\"values\":{\"size\":10,\"theme\":\"dark\",\"window\":{\"x\":\"\"}}}"),
            try client.refusal("settings.increment", "{\"domain\":\"d\",\"key\":\"size\",\"by\":100}"),
            try client.refusal("settings.register", "{\"domain\":\"d\",\"defaults\":{\"theme\":\"grey\"}}"),
            try client.refusal("settings.import", "{\"values\":{\"c\":{\"a\":1},\"d\":{\"theme\":\"grey\"}}}"),
            try client.refusal(
                "transaction.apply",
                """
                {"operations":[{"method":"settings.put","params":{"domain":"c","key":"k","value":1}},\
                {"method":"settings.put","params":{"domain":"d","key":"theme","value":"grey"}}]}
                """),
        ] { #expect(refusal["kind"] == .string("schemaViolation"), "\(refusal)") }
        #expect(try rev() == before)
        // What the schema does not speak of is free.
        #expect(try put("other", "[1]")["result"] != nil)
        try configure("\"mode\":\"off\"")
        #expect(try put("theme", "1")["result"]?["warning"] == nil)
        try configure("\"schema\":null")
        #expect(try get("size", ",\"explain\":true")["layer"] == .string("app"))
        #expect(try client.result("settings.describe", "{\"domain\":\"d\"}")["schema"] == nil)
    }

    @Test func `warnings of many values name their keys`() throws {
        try configure("\"schema\":\(Self.schema)")
        let result = try client.result(
            "settings.putMany", "{\"domain\":\"d\",\"values\":{\"size\":1,\"theme\":\"dark\",\"window\":{\"x\":[]}}}")
        #expect(result["changed"]?.int == 3)
        #expect(result["warnings"]?.elements.map { $0["key"]?.text } == ["size", "window"])
        #expect(result["warnings"]?.elements.map { $0["path"]?.text } == ["", "/x"])
        let counted = try client.result("settings.increment", "{\"domain\":\"d\",\"key\":\"size\"}")
        #expect(counted["value"]?.int == 2 && counted["warning"] != nil)
    }

    @Test func `a key that no property names is judged by additionalProperties`() throws {
        try configure("\"mode\":\"enforce\",\"schema\":{\"properties\":{\"a\":{}},\"additionalProperties\":false}")
        #expect(try put("a", "1")["result"] != nil)
        #expect(try put("b", "1")["error"]?["data"]?["kind"] == .string("schemaViolation"))
        try configure("\"schema\":{\"patternProperties\":{\"^n\":{\"type\":\"number\"}}}")
        #expect(try put("n1", "\"x\"")["error"]?["data"]?["path"] == .string(""))
        #expect(try put("x", "\"x\"")["result"] != nil)
    }

    @Test func `stored values are checked first, and a schema they break is not enforced unless forced`() throws {
        try client.result("settings.putMany", "{\"domain\":\"d\",\"values\":{\"size\":99,\"theme\":\"dark\",\"z\":1}}")
        try client.result("settings.register", "{\"domain\":\"d\",\"defaults\":{\"theme\":\"grey\"}}")
        let before = try rev()
        let more = "\"mode\":\"enforce\",\"schema\":\(Self.schema)"
        for (dryRun, force) in [(false, false), (true, false), (true, true)] {
            let result = try configure("\(more),\"dryRun\":\(dryRun),\"force\":\(force)")
            #expect(result["applied"]?.bool == false)
            #expect(result["checked"]?.int == 4)
            #expect(
                try result["violations"]
                    == JSON(
                        """
                        [{"key":"size","path":"","message":"must be at most 72"},\
                        {"key":"theme","path":"","message":"must be one of \\"dark\\" or \\"light\\"","layer":"registered"}]
                        """))
            #expect(try rev() == before)
            #expect(try put("size", "99")["result"]?["warning"] == nil)
        }
        // Warning of them is no obstacle.
        #expect(try configure(more.replacing("enforce", with: "warn"))["applied"]?.bool == true)
        #expect(try rev() == before + 1)
        #expect(try configure("\"mode\":\"enforce\"")["applied"]?.bool == false)
        #expect(try configure("\"mode\":\"enforce\",\"force\":true")["applied"]?.bool == true)
        #expect(try put("size", "98")["error"] != nil)
        #expect(try put("size", "12")["result"] != nil)
    }

    @Test func `writing the configuration that is there changes nothing`() throws {
        try configure("\"mode\":\"warn\",\"schema\":\(Self.schema),\"backup\":false")
        let before = try rev()
        #expect(try configure("\"mode\":\"warn\",\"schema\":\(Self.schema),\"backup\":false")["rev"]?.int == before)
        #expect(try rev() == before)
    }

    @Test(arguments: [
        ("{\"properties\":{\"a\":{\"type\":\"number\",\"minimun\":1}}}", "/properties/a/minimun"),
        ("{\"required\":[\"a\"]}", "/required"), ("{\"type\":\"array\"}", "/type"), ("[]", ""),
        ("{\"properties\":{\"a\":{\"pattern\":\"(\"}}}", "/properties/a/pattern"),
    ])
    func `what is no schema of a domain is refused with its place`(schema: String, path: String) throws {
        let error = try client.refusal("settings.configure", "{\"domain\":\"d\",\"schema\":\(schema)}")
        #expect(error["kind"] == .string("invalidParams"))
        #expect(error["parameter"] == .string("schema"))
        #expect(error["path"] == .string(path), "\(error)")
        #expect(error["reason"]?.text?.isEmpty == false)
        #expect(try rev() == 0)
    }

    @Test func `a time to flush without relaxed durability is refused`() throws {
        for more in ["\"flushSeconds\":3", "\"flushSeconds\":3,\"durability\":\"durable\""] {
            #expect(
                try client.refusal("settings.configure", "{\"domain\":\"d\",\(more)}")["parameter"]
                    == .string("flushSeconds"))
        }
    }

    @Test func `the configuration survives a kill and a drain`() throws {
        try configure(
            "\"mode\":\"enforce\",\"schema\":\(Self.schema),\"backup\":false,\"durability\":\"relaxed\",\"flushSeconds\":9"
        )
        let before = try client.result("settings.describe", "{\"domain\":\"d\"}")
        #expect(before["mode"] == .string("enforce"))
        #expect(before["backup"]?.bool == false)
        #expect(before["durability"] == .string("relaxed"))
        #expect(before["flushSeconds"]?.int == 9)
        #expect(try before["schema"] == JSON(Self.schema.replacing(": 12", with: ":12")))
        for isClean in [false, true] {
            if isClean { #expect(daemon.terminate() == 0) } else { daemon.kill() }
            try daemon.start()
            let again = try daemon.connect()
            #expect(try again.result("settings.describe", "{\"domain\":\"d\"}") == before)
            #expect(try get("size", "", again)["value"]?.int == 12)
            #expect(
                try again.refusal("settings.put", "{\"domain\":\"d\",\"key\":\"size\",\"value\":1}")["kind"]
                    == .string("schemaViolation"))
        }
    }

    @Test func `describe tells of each key what it may be, its default and its layer`() throws {
        try configure("\"schema\":\(Self.schema)")
        try client.result("settings.register", "{\"domain\":\"d\",\"defaults\":{\"size\":14,\"extra\":null}}")
        _ = try put("theme", "\"dark\"")
        let keys = try client.result("settings.describe", "{\"domain\":\"d\"}")["keys"]
        #expect(
            try keys
                == JSON(
                    """
                    {"extra":{"layer":"registered","default":null},\
                    "size":{"layer":"registered","default":14,"types":["integer"],"description":"In points."},\
                    "theme":{"layer":"app","title":"Look"},\
                    "window":{"layer":"none","types":["object"]}}
                    """))
        #expect(
            try client.result("settings.describe", "{\"domain\":\"d\",\"key\":\"size\"}")["keys"]?["size"]
                == keys?["size"])
        var found: [String] = []
        var cursor = ""
        repeat {
            let page = try client.result("settings.describe", "{\"domain\":\"d\",\"limit\":1\(cursor)}")
            found += page["keys"]?.members.keys.map { $0 } ?? []
            cursor = page["cursor"]?.text.map { ",\"cursor\":\"\($0)\"" } ?? ""
        } while !cursor.isEmpty && found.count < 100
        #expect(found == ["extra", "size", "theme", "window"])
        #expect(
            try client.result("settings.describe", "{\"domain\":\"none\"}")
                == JSON("{\"rev\":0,\"backup\":true,\"durability\":\"durable\",\"keys\":{}}"))
    }

    @Test func `a domain is configured on condition that nobody has done so meanwhile`() throws {
        let rev = try #require(try configure("\"ifRev\":0,\"schema\":\(Self.schema)")["rev"]?.int)
        let next = try #require(try configure("\"ifRev\":\(rev),\"mode\":\"enforce\"")["rev"]?.int)
        let late = try client.refusal("settings.configure", "{\"domain\":\"d\",\"ifRev\":\(rev),\"schema\":null}")
        #expect(late["kind"]?.text == "conflict" && late["currentRev"]?.int == next)
        // Settings of the domain are another matter.
        #expect(try put("size", "9")["result"] != nil)
        #expect(try put("size", "1")["error"] != nil, "the schema is still there")
        #expect(try configure("\"ifRev\":\(next),\"mode\":\"off\"")["applied"]?.bool == true)
    }

    @Test func `a transaction that configures and then fails leaves the old schema in force`() throws {
        try configure("\"mode\":\"enforce\",\"schema\":\(Self.schema)")
        let apply = { (last: String) in
            """
            {"operations":[{"method":"settings.configure","params":{"domain":"d","mode":"off"}},\
            {"method":"settings.put","params":{"domain":"d","key":"size","value":1}},\(last)]}
            """
        }
        let failing =
            "{\"method\":\"settings.put\",\"params\":{\"domain\":\"x\",\"key\":\"k\",\"value\":1,\"ifRev\":9}}"
        #expect(try client.refusal("transaction.apply", apply(failing))["operation"]?.int == 2)
        #expect(try put("size", "1")["error"] != nil)
        let passing = "{\"method\":\"settings.put\",\"params\":{\"domain\":\"x\",\"key\":\"k\",\"value\":1}}"
        try client.result("transaction.apply", apply(passing))
        #expect(try get("size")["value"]?.int == 1)
    }

    @Test func `a large domain is checked in slices, others are served meanwhile and their changes are seen`() throws {
        let count = 20_000
        for start in stride(from: 0, to: count, by: 5000) {
            let values = (start..<start + 5000).map { "\"k\($0)\":{\"n\":\($0),\"t\":[1,2,3,\"four\"]}" }
            try client.result("settings.putMany", "{\"domain\":\"d\",\"values\":{\(values.joined(separator: ","))}}")
        }
        let schema = """
            {"additionalProperties":{"type":"object","properties":{"n":{"type":"integer"},\
            "t":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^f"}]}}}}}
            """
        let other = try daemon.connect()
        try other.result("storage.ping")
        // Both are there when it looks: the first key is broken while the check goes on, behind the cursor sooner or later.
        let before = daemon.starvation
        Glibc.kill(daemon.pid, SIGSTOP)
        client.send(
            Client.request(
                "settings.configure", "{\"domain\":\"d\",\"mode\":\"enforce\",\"schema\":\(schema)}", id: "77"))
        other.send(
            Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k0\",\"value\":{\"n\":\"broken\"}}", id: "1"))
        Glibc.kill(daemon.pid, SIGCONT)
        #expect(try other.reply()["result"] != nil)
        var pings = 0
        while true {
            var poll = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
            if Glibc.poll(&poll, 1, 0) > 0 { break }
            try other.result("storage.ping")
            pings += 1
        }
        let result = try client.reply()
        #expect(pings > 3 || daemon.starvation - before > 0.1, "nobody else was served")
        #expect(result["result"]?["applied"]?.bool == false)
        #expect(result["result"]?["checked"]?.int == count)
        #expect(result["result"]?["violations"]?.elements.map { $0["key"]?.text } == ["k0"])
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k0\",\"value\":{}}")
        #expect(try configure("\"mode\":\"enforce\",\"schema\":\(schema)")["applied"]?.bool == true)
    }
}
