import Glibc
import Testing

/// `models.putMany`, `models.deleteMany` and `blobs.deleteMany` over a real socket.
@Suite struct ModelsManyTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private func state(_ key: String) throws -> String? {
        try client.result("models.get", "{\"namespace\":\"n\",\"key\":\"\(key)\"}")["state"]?.text
    }

    private func putMany(_ entries: String, _ more: String = "") throws -> JSON {
        try client.result("models.putMany", "{\"namespace\":\"n\",\"entries\":[\(entries)]\(more)}")
    }

    @Test func `several values are stored, each with its own entity tag and tags`() throws {
        let result = try putMany(
            """
            {"key":"a\\u0062","value":{"price":1.50},"etag":"v\\"1","tags":["x","\\u0079"]},\
            {"value":[ 2 ],"key":"b"}
            """, ",\"ttlSeconds\":0,\"staleSeconds\":600")
        #expect(result == (try JSON("{\"stored\":2,\"declined\":[]}")))
        let both = try client.result("models.getMany", "{\"namespace\":\"n\",\"keys\":[\"ab\",\"b\"]}")["entries"]
        let first = both?.elements[0]
        #expect(first?["etag"]?.text == "v\"1" && first?["tags"]?.elements.map(\.text) == ["x", "y"])
        #expect(both?.elements.map { $0["state"]?.text } == ["stale", "stale"])
        #expect(both?.elements[1]["value"] == (try JSON("[2]")))
        try client.result("models.invalidate", "{\"namespace\":\"n\",\"tag\":\"y\",\"mode\":\"drop\"}")
        #expect(try ["ab", "b"].map(state) == ["miss", "stale"])
    }

    @Test func `each is declined by itself, and named`() throws {
        try client.result("models.configure", "{\"namespace\":\"n\",\"maxBytes\":4096}")
        _ = try putMany("{\"key\":\"old\",\"value\":1}")
        let large = String(repeating: "x", count: 5000)
        let result = try putMany(
            "{\"key\":\"old\",\"value\":2},{\"key\":\"large\",\"value\":\"\(large)\"},{\"key\":\"new\",\"value\":2}",
            ",\"ifAbsent\":true")
        #expect(
            result
                == (try JSON(
                    """
                    {"stored":1,"declined":[{"key":"old","reason":"exists"},{"key":"large","reason":"overBudget"}]}
                    """)))
        #expect(try client.result("models.get", "{\"namespace\":\"n\",\"key\":\"old\"}")["value"]?.int == 1)
    }

    @Test func `what is wrong with one entry refuses all, naming its place`() throws {
        let good = "{\"key\":\"good\",\"value\":1}"
        for (bad, path) in [
            ("7", "/1"), ("{\"key\":\"k\"}", "/1"), ("{\"value\":1}", "/1"), ("{\"key\":\"\",\"value\":1}", "/1/key"),
            ("{\"key\":\"\(String(repeating: "k", count: 513))\",\"value\":1}", "/1/key"),
            ("{\"key\":\"k\",\"value\":1,\"etag\":7}", "/1/etag"),
            ("{\"key\":\"k\",\"value\":1,\"tags\":\"t\"}", "/1/tags"),
            ("{\"key\":\"k\",\"value\":1,\"tags\":[7]}", "/1/tags"),
            (
                "{\"key\":\"k\",\"value\":1,\"tags\":[\((0..<17).map { "\"\($0)\"" }.joined(separator: ","))]}",
                "/1/tags"
            ),
            ("{\"key\":\"k\",\"value\":1,\"ttl\":7}", "/1/ttl"), ("{\"key\":\"good\",\"value\":1}", "/1/key"),
        ] {
            let refusal = try client.refusal("models.putMany", "{\"namespace\":\"n\",\"entries\":[\(good),\(bad)]}")
            #expect(refusal["kind"]?.text == "invalidParams" && refusal["index"]?.int == 1, "\(bad)")
            #expect(refusal["path"]?.text == path, "\(bad): \(refusal)")
        }
        let many = (0...1000).map { "{\"key\":\"\($0)\",\"value\":1}" }.joined(separator: ",")
        #expect(
            try client.refusal("models.putMany", "{\"namespace\":\"n\",\"entries\":[\(many)]}")["limit"]?.int == 1000)
        #expect(try client.result("models.scopes")["scopes"]?.elements.isEmpty == true)
    }

    @Test func `those that wait get the values that come together`() throws {
        let waiter = try daemon.connect()
        let claim = "{\"namespace\":\"n\",\"key\":\"k\",\"claim\":true"
        let token = try client.result("models.get", claim + ",\"leaseSeconds\":3600}")["token"]?.text
        #expect(token != nil)
        // It waits when what was sent behind it is answered.
        waiter.send(
            Client.request("models.get", claim + ",\"waitMs\":600000}") + Client.request("storage.ping", id: "2"))
        #expect(try waiter.reply()["id"]?.int == 2)
        _ = try putMany("{\"key\":\"other\",\"value\":1},{\"key\":\"k\",\"value\":{\"a\":1},\"etag\":\"e\"}")
        let reply = try waiter.reply()["result"]
        #expect(reply?["state"]?.text == "fresh")
        #expect(reply?["value"] == (try JSON("{\"a\":1}")))
        #expect(reply?["etag"]?.text == "e")
        // The claim has ended: what its winner brings may be older.
        let late = try client.result(
            "models.put", "{\"namespace\":\"n\",\"key\":\"k\",\"value\":0,\"token\":\"\(token ?? "")\"}")
        #expect(late["stale"]?.bool == true)
    }

    @Test func `several are deleted at once, and a fetch that was under way is outdated`() throws {
        _ = try putMany((0..<10).map { "{\"key\":\"\($0)\",\"value\":\($0)}" }.joined(separator: ","))
        let claimed = try client.result(
            "models.get", "{\"namespace\":\"n\",\"key\":\"0\",\"claim\":true,\"leaseSeconds\":3600,\"maxAgeSeconds\":0}"
        )
        func delete(_ keys: String, _ more: String = "") throws -> Int? {
            try client.result("models.deleteMany", "{\"namespace\":\"n\",\"keys\":[\(keys)]\(more)}")["deleted"]?.int
        }
        #expect(try delete("\"0\",\"1\",\"none\",\"1\"") == 2)
        #expect(try delete("\"2\",\"0\"", ",\"logical\":true") == 1)
        #expect(try ["0", "1", "2", "3"].map(state) == ["miss", "miss", "miss", "fresh"])
        #expect(try client.refusal("models.deleteMany", "{\"namespace\":\"n\",\"keys\":[\"3\",7]}")["index"]?.int == 1)
        #expect(try state("3") == "fresh")
        let token = try #require(claimed["token"]?.text)
        let late = try client.result(
            "models.put", "{\"namespace\":\"n\",\"key\":\"0\",\"value\":0,\"token\":\"\(token)\"}")
        #expect(late["stale"]?.bool == true)
    }

    @Test func `several blobs go with their variants`() throws {
        for key in ["a", "b", "c"] {
            try BlobWorld.put(client, key, [1])
            try BlobWorld.put(client, key, [2], ",\"variant\":\"small\"")
        }
        let names = "{\"namespace\":\"images\",\"keys\":[\"a\",\"none\",\"b\"]}"
        #expect(try client.result("blobs.deleteMany", names)["deleted"]?.int == 2)
        #expect(try client.result("blobs.deleteMany", names)["deleted"]?.int == 0)
        #expect(try client.result("blobs.describe", "{\"namespace\":\"images\"}")["count"]?.int == 2)
        #expect(try BlobWorld.read(client, "c") == [1])
        #expect(
            try client.refusal("blobs.deleteMany", "{\"namespace\":\"images\",\"keys\":[\"c\",\"\"]}")["index"]?.int
                == 1)
        #expect(try BlobWorld.read(client, "c") == [1])
    }
}
