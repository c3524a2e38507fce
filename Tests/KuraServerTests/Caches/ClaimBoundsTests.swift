import Glibc
import Testing

/// What one connection can claim, who may claim, and how much those who wait are told at once.
@Suite struct ClaimBoundsTests {
    private static let key = "\"namespace\":\"n\",\"key\":\"k\""

    @Test func `one connection can claim so many keys and no more, and others go on`() throws {
        let daemon = try TemporaryDaemon()
        let (greedy, other) = (try daemon.connect(), try daemon.connect())
        func claim(_ client: Client, _ number: Int, _ lease: String = "") throws -> JSON {
            try client.call("models.get", "{\"namespace\":\"n\",\"key\":\"\(number)\",\"claim\":true\(lease)}")
        }
        var token = ""
        for number in 0..<1024 {
            // Leases count for who has them, too.
            let won = try claim(greedy, number, number % 2 == 0 ? ",\"leaseSeconds\":3600" : "")
            token = try #require(won["result"]?["token"]?.text)
        }
        let refused = try claim(greedy, 5000)["error"]?["data"]
        #expect(refused?["kind"]?.text == "overloaded" && refused?["limit"]?.int == 1024)
        let blob = try greedy.refusal("blobs.get", BlobWorld.params("x", ",\"claim\":true"))
        #expect(blob["kind"]?.text == "overloaded" && blob["limit"]?.int == 1024)
        // What is fresh needs no claim.
        try other.result("models.put", "{\"namespace\":\"n\",\"key\":\"fresh\",\"value\":1}")
        let fresh = try greedy.result("models.get", "{\"namespace\":\"n\",\"key\":\"fresh\",\"claim\":true}")
        #expect(fresh["state"]?.text == "fresh")
        #expect(try claim(other, 5000)["result"]?["token"] != nil)
        // One that is brought makes room for another one.
        try greedy.result("models.put", "{\"namespace\":\"n\",\"key\":\"1023\",\"value\":1,\"token\":\"\(token)\"}")
        #expect(try claim(greedy, 6000)["result"]?["token"] != nil)
    }

    @Test func `a claim on a blob needs what its put needs`() throws {
        let daemon = try RoleDaemon([
            "reader": RoleDaemon.role(RoleDaemon.grant("blobs", "images", "read")),
            "half": RoleDaemon.role(RoleDaemon.grant("blobs", "images", "read", "create")),
            "maker": RoleDaemon.role(RoleDaemon.grant("blobs", "images", "read", "create", "update")),
        ])
        for role in ["reader", "half"] {
            let client = try daemon.connect(role)
            #expect(try client.result("blobs.get", BlobWorld.params("a"))["found"]?.bool == false)
            let refused = try client.refusal("blobs.get", BlobWorld.params("a", ",\"claim\":true"))
            #expect(refused["kind"]?.text == "forbidden", "\(role): \(refused)")
        }
        let won = try daemon.connect("maker").result("blobs.get", BlobWorld.params("a", ",\"claim\":true"))
        #expect(won["token"]?.text?.count == 64)
    }

    /// `way`: how the value comes.
    @Test(arguments: ["put", "touch"])
    func `those who wait for a large value are told 32 MiB of it`(_ way: String) throws {
        let daemon = try TemporaryDaemon(movesTime: true)
        let (winner, second) = (try daemon.connect(), try daemon.connect())
        let value = "\"" + String(repeating: "v", count: 1 << 20) + "\""
        func park(_ client: Client) throws {
            client.send(
                Client.request(
                    "models.get", "{\(Self.key),\"claim\":true,\"waitMs\":600000,\"leaseSeconds\":3600}", id: "7"))
            client.send(Client.request("storage.ping", id: "8"))
            #expect(try client.reply()["id"]?.int == 8)
        }
        let token = try #require(
            try winner.result("models.get", "{\(Self.key),\"claim\":true,\"leaseSeconds\":3600}")["token"]?.text)
        if way == "touch" {
            // The next winner brings nothing; the one before is late.
            try park(second)
            try winner.result("models.renew", "{\(Self.key),\"token\":\"\(token)\",\"leaseSeconds\":60}")
            try daemon.advance(seconds: 61)
            #expect(try second.reply()["result"]?["token"] != nil)
        }
        let waiting = try (0..<40).map { _ in try daemon.connect() }
        for client in waiting { try park(client) }
        let put = try winner.result("models.put", "{\(Self.key),\"value\":\(value),\"token\":\"\(token)\"}")
        #expect(put["stored"]?.bool == true)
        if way == "touch" {
            #expect(put["stale"]?.bool == true)
            #expect(try winner.result("models.touch", "{\(Self.key)}")["touched"]?.bool == true)
        }
        var states: [String: Int] = [:]
        for client in waiting {
            let reply = try client.reply()
            let state = reply["result"]?["state"]?.text ?? "none"
            #expect(reply["id"]?.int == 7 && (state == "miss" || reply["result"]?["value"]?.text?.count == 1 << 20))
            states[state, default: 0] += 1
        }
        #expect(states == ["fresh": 31, "miss": 9], "\(states)")
        let again = try waiting[39].result("models.get", "{\(Self.key)}")
        #expect(again["state"]?.text == "fresh")
    }
}
