import Testing

/// `settings.export` and `settings.import` over a real socket.
@Suite struct SettingsTransferScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
        for (domain, values) in [("b", "{\"y\":2,\"x\":1}"), ("a", "{\"k\":\"v\"}"), ("a/b", "{\"~\":{\"n\":1.50}}")] {
            try client.result("settings.putMany", "{\"domain\":\"\(domain)\",\"values\":\(values)}")
        }
    }

    private func export(_ params: String = "{}", _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result("settings.export", params)
    }

    private func importing(_ values: String, _ more: String = "") throws -> JSON {
        try client.result("settings.import", "{\"values\":\(values)\(more)}")
    }

    @Test func `an export shows what is stored and nothing else, in the order of bytes`() throws {
        try client.result("settings.register", "{\"domain\":\"a\",\"defaults\":{\"r\":1}}")
        try client.result("settings.override", "{\"domain\":\"a\",\"key\":\"k\",\"value\":\"mine\"}")
        client.send(Client.request("settings.export"))
        let text = try #require(try client.line())
        #expect(
            text.contains(
                "{\"values\":{\"a\":{\"k\":\"v\"},\"a/b\":{\"~\":{\"n\":1.50}},\"b\":{\"x\":1,\"y\":2}},\"rev\":4}"))
        #expect(
            try export("{\"domains\":[\"b\",\"none\",\"b\"]}")["values"]
                == JSON("{\"b\":{\"x\":1,\"y\":2},\"none\":{}}"))
    }

    @Test func `an export comes in pages that put together are the whole`() throws {
        let whole = try export()["values"]
        for limit in 1...5 {
            var found: [String: [String: JSON]] = [:]
            var count = 0
            var cursor = ""
            repeat {
                let page = try export("{\"limit\":\(limit)\(cursor)}")
                for (domain, values) in page["values"]?.members ?? [:] {
                    for (key, value) in values.members {
                        found[domain, default: [:]][key] = value
                        count += 1
                    }
                }
                cursor = page["cursor"]?.text.map { ",\"cursor\":\"\($0)\"" } ?? ""
            } while !cursor.isEmpty && count < 100
            #expect(JSON.object(found.mapValues { .object($0) }) == whole)
            #expect(count == 4)
        }
        #expect(try client.refusal("settings.export", "{\"cursor\":\"zz\"}")["kind"] == .string("invalidParams"))
    }

    @Test func `an import is one revision, and tells what it made different`() throws {
        let result = try importing("{\"a\":{\"k\":\"w\",\"n\":[1, 2]},\"b\":{\"x\":1},\"c\":{\"new\":true}}")
        #expect(
            try result
                == JSON(
                    """
                    {"rev":4,"added":2,"changed":1,"removed":0,"diff":{\
                    "added":[{"domain":"a","key":"n"},{"domain":"c","key":"new"}],\
                    "changed":[{"domain":"a","key":"k"}],"removed":[]}}
                    """))
        #expect(
            try export()["values"]
                == JSON(
                    """
                    {"a":{"k":"w","n":[1,2]},"a/b":{"~":{"n":1.50}},"b":{"x":1,"y":2},"c":{"new":true}}
                    """))
        for (domain, key) in [("a", "k"), ("a", "n"), ("c", "new")] {
            #expect(try client.result("settings.get", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\"}")["rev"]?.int == 4)
        }
        // What is there already costs no revision.
        #expect(try importing("{\"c\":{\"new\":true}}")["rev"]?.int == 4)
    }

    @Test func `replacing removes the others of the domains that are named, and no others`() throws {
        let result = try importing("{\"b\":{\"y\":2,\"z\":3}}", ",\"mode\":\"replace\"")
        #expect(
            try result["diff"]
                == JSON(
                    "{\"added\":[{\"domain\":\"b\",\"key\":\"z\"}],\"changed\":[],\"removed\":[{\"domain\":\"b\",\"key\":\"x\"}]}"
                ))
        #expect(
            try export("{\"domains\":[\"a\",\"b\"]}")["values"] == JSON("{\"a\":{\"k\":\"v\"},\"b\":{\"y\":2,\"z\":3}}")
        )
        #expect(try importing("{\"b\":{}}", ",\"mode\":\"replace\"")["removed"]?.int == 2)
        #expect(try client.result("settings.count", "{\"domain\":\"b\"}")["count"]?.int == 0)
    }

    @Test func `a dry run tells the same and changes nothing`() throws {
        let before = (try export(), try client.result("settings.scopes"), try client.result("storage.status")["rev"])
        let values = "{\"a\":{\"q\":1},\"z\":{\"k\":1}}"
        let dry = try importing(values, ",\"mode\":\"replace\",\"dryRun\":true")
        #expect(dry["rev"] == before.2)
        #expect(try export() == before.0)
        #expect(try client.result("settings.scopes") == before.1)
        let real = try importing(values, ",\"mode\":\"replace\"")
        #expect(real["diff"] == dry["diff"])
        #expect(real["rev"]?.int == before.2!.int! + 1)
    }

    @Test func `an import that fails anywhere stores nothing`() throws {
        let before = (try export(), try client.result("storage.status")["settings"])
        let large = "\"" + String(repeating: "x", count: 1 << 20) + "\""
        for values in [
            "{\"a\":{\"k\":1},\"b\":{\"\":1}}", "{\"a\":{\"k\":1},\"\":{}}", "{\"a\":{\"k\":1},\"b\":7}",
            "{\"a\":{\"k\":1},\"b\":{\"k\":\(large)}}",
            "{\"a\":{\(((0...10_000).map { "\"\($0)\":0" }).joined(separator: ","))}}",
        ] {
            _ = try client.refusal("settings.import", "{\"values\":\(values),\"mode\":\"replace\"}")
            #expect(try export() == before.0)
            #expect(try client.result("storage.status")["settings"] == before.1)
        }
    }

    @Test func `what one daemon exports another imports`() throws {
        let other = try TemporaryDaemon()
        client.send(Client.request("settings.export"))
        let line = try #require(try client.line())
        let start = try #require(line.firstRange(of: "{\"values\":"))
        let end = try #require(line.firstRange(of: ",\"rev\":"))
        let values = line[start.upperBound..<end.lowerBound]
        let theirs = try other.connect()
        #expect(try theirs.result("settings.import", "{\"values\":\(values)}")["added"]?.int == 4)
        #expect(try export("{}", theirs)["values"] == export()["values"])
    }
}
