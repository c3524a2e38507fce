import KuraBytes
import SQLite
import Testing

/// A request key is bound to the request that it came with first, over a real socket.
@Suite struct RequestKeyScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private static func increment(_ key: String, by step: Int, under name: String = "K") -> String {
        "{\"domain\":\"d\",\"key\":\"\(key)\",\"by\":\(step),\"requestKey\":\"\(name)\"}"
    }

    /// The request is refused, and changes nothing.
    private func isRefused(_ method: String, _ params: String, _ client: Client) throws -> Bool {
        let before = try client.result("storage.status")["rev"]
        let error = try client.refusal(method, params)
        let after = try client.result("storage.status")["rev"]
        return error["kind"] == .string("requestKeyReused") && error["parameter"] == .string("requestKey")
            && error["retryable"]?.bool == false && before == after
    }

    @Test
    func
        `another request under the key is refused and changes nothing, the same one is answered, also after a kill and a drain`()
        throws
    {
        let first = try client.result("settings.increment", Self.increment("a", by: 1))
        func check(_ client: Client) throws {
            #expect(try isRefused("settings.increment", Self.increment("b", by: 100), client))
            #expect(try isRefused("settings.increment", Self.increment("a", by: 2), client))
            #expect(try client.result("settings.increment", Self.increment("a", by: 1)) == first)
            #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"b\"}") == JSON("{\"rev\":0}"))
            #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"a\"}")["value"]?.int == 1)
        }
        try check(client)
        try check(try daemon.connect())
        daemon.kill()
        try daemon.start()
        try check(try daemon.connect())
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try check(try daemon.connect())
    }

    @Test func `the order of members, their place, and how long the reply is waited for make no other request`() throws
    {
        let first = try client.result("settings.increment", Self.increment("a", by: 5))
        #expect(
            try client.result("settings.increment", "{\"requestKey\":\"K\",\"by\":5,\"key\":\"a\",\"domain\":\"d\"}")
                == first)
        #expect(try isRefused("settings.increment", "{\"domain\":\"d\",\"key\":\"a\",\"requestKey\":\"K\"}", client))
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":{\"n\":1}}")
        func deletion(_ where: String, _ more: String) -> String {
            "{\"collection\":\"c\",\"where\":\(`where`),\"requestKey\":\"D\"\(more)}"
        }
        let deleted = try client.result("documents.deleteMany", deletion("{\"n\":1}", ",\"timeoutMs\":400000"))
        #expect(deleted["deleted"]?.int == 1)
        #expect(try client.result("documents.deleteMany", deletion("{\"n\":1}", ",\"timeoutMs\":90000")) == deleted)
        #expect(try isRefused("documents.deleteMany", deletion("{\"n\":2}", ",\"timeoutMs\":400000"), client))
        // Names and values of other lengths that make up the same text, and values that are not copied.
        let long = String(repeating: "7", count: 2000)
        func put(_ value: String) -> String {
            "{\"collection\":\"c\",\"id\":\"2\",\"value\":{\"n\":\"\(value)\"},\"requestKey\":\"L\"}"
        }
        let stored = try client.result("documents.put", put(long))
        #expect(try client.result("documents.put", put(long)) == stored)
        #expect(try isRefused("documents.put", put(long.dropLast() + "8"), client))
    }

    @Test func `transactions and members of a batch are bound as well`() throws {
        func apply(_ key: String) -> String {
            "{\"operations\":[{\"method\":\"settings.increment\",\"params\":{\"domain\":\"d\",\"key\":\"\(key)\"}}],\"requestKey\":\"T\"}"
        }
        let first = try client.result("transaction.apply", apply("a"))
        #expect(try client.result("transaction.apply", apply("a")) == first)
        #expect(try isRefused("transaction.apply", apply("b"), client))
        func member(_ id: Int, _ key: String) -> String {
            let params = Self.increment(key, by: 1, under: "B")
            return "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"settings.increment\",\"params\":\(params)}"
        }
        client.send("[\(member(1, "m")),\(member(2, "n")),\(member(3, "m"))]\n")
        let replies = try client.reply().elements
        try #require(replies.count == 3)
        #expect(replies[0]["result"]?["value"]?.int == 1)
        #expect(replies[1]["error"]?["data"]?["kind"] == .string("requestKeyReused"))
        #expect(replies[2]["result"] == replies[0]["result"])
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"n\"}") == JSON("{\"rev\":0}"))
    }

    @Test func `a request that was refused may come otherwise under its key`() throws {
        let conditional = "{\"domain\":\"d\",\"key\":\"k\",\"value\":1,\"ifRev\":77,\"requestKey\":\"r\"}"
        #expect(try client.refusal("settings.put", conditional)["kind"] == .string("conflict"))
        try client.result(
            "settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1,\"ifRev\":0,\"requestKey\":\"r\"}")
    }

    // MARK: As it is kept

    /// First results as the tables have them.
    private func records() throws -> [String: String] {
        let tables = try Connection(path: daemon.data + "/durable/kura.sqlite", mode: .readOnly)
        let select = try tables.prepare(
            "SELECT key, value FROM settings WHERE scope IN (SELECT id FROM scopes WHERE store = 3)")
        var records: [String: String] = [:]
        while try select.step() { records[select.text(0)] = select.text(1) }
        return records
    }

    @Test func `what is about secrets is kept without a digest, and what is kept without one matches as before`() throws
    {
        func put(_ secret: String) -> String {
            "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"\(secret)\""
        }
        let deletion = "{\"service\":\"s\",\"account\":\"gone\",\"requestKey\":\"secretGone\"}"
        func within(_ secret: String) -> String {
            "{\"operations\":[{\"method\":\"secrets.put\",\"params\":\(put(secret))}}],\"requestKey\":\"secretWithin\"}"
        }
        let first = try client.result("secrets.put", put("one") + ",\"requestKey\":\"secret\"}")
        try client.result("secrets.delete", deletion)
        try client.result("transaction.apply", within("two"))
        let counted = try client.result("settings.increment", Self.increment("a", by: 1))
        try client.result(
            "transaction.apply",
            "{\"operations\":[{\"method\":\"settings.put\",\"params\":{\"domain\":\"d\",\"key\":\"b\",\"value\":1}}],\"requestKey\":\"plain\"}"
        )
        #expect(daemon.terminate() == 0)
        let kept = try records()
        #expect(kept.count == 5)
        #expect(kept["secret"]?.hasPrefix("[\"secrets.put\",{") == true)
        #expect(kept["secretGone"]?.hasPrefix("[\"secrets.delete\",{") == true)
        #expect(kept["secretWithin"]?.hasPrefix("[\"transaction.apply\",{") == true)
        let record = try #require(kept["K"])
        let digest = record.dropFirst(2).prefix(40)
        #expect(digest.allSatisfy(\.isHexDigit) && kept["plain"]?.dropFirst(2).prefix(8) == digest.prefix(8))
        #expect(record.dropFirst(42).hasPrefix("\",\"settings.increment\",{"))

        // As an earlier version has left it.
        do {
            let tables = try Connection(path: daemon.data + "/durable/kura.sqlite", mode: .readWrite)
            let update = try tables.prepare("UPDATE settings SET value = ?1 WHERE key = 'K'")
            try update.bind(1, text: "[\"" + record.dropFirst(45))
            try update.run()
        }
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("settings.increment", Self.increment("a", by: 1)) == counted)
        #expect(try again.result("settings.increment", Self.increment("b", by: 100)) == counted)
        #expect(
            try again.refusal("settings.delete", "{\"domain\":\"d\",\"key\":\"a\",\"requestKey\":\"K\"}")["kind"]
                == .string("requestKeyReused"))
        #expect(try again.result("secrets.put", put("one") + ",\"requestKey\":\"secret\"}") == first)
        #expect(try again.result("secrets.put", put("other") + ",\"requestKey\":\"secret\"}") == first)
    }

    @Test func `tables whose key for digests is gone answer as before, and have another one`() throws {
        let first = try client.result("settings.increment", Self.increment("a", by: 1))
        #expect(daemon.terminate() == 0)
        do {
            let tables = try Connection(path: daemon.data + "/durable/kura.sqlite", mode: .readWrite)
            try tables.execute("DELETE FROM meta WHERE name = 'digestKey'")
        }
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("settings.increment", Self.increment("b", by: 1)) == first)
        try again.result("settings.increment", Self.increment("b", by: 1, under: "new"))
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(try isRefused("settings.increment", Self.increment("c", by: 1, under: "new"), try daemon.connect()))
    }
}
