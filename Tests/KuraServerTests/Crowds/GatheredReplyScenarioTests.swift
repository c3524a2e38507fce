import Testing

/// Long replies, which are made over several turns.
@Suite struct GatheredReplyScenarioTests {
    private static let count = 200

    /// Documents and settings of 60 kB each, under their numbers.
    private func fill(_ daemon: TemporaryDaemon) throws -> Client {
        let client = try daemon.connect()
        let value = String(repeating: "v", count: 60_000)
        for id in 0..<Self.count {
            try client.result(
                "documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":[\(id),\"\(value)\"]}")
            try client.result(
                "settings.put", "{\"domain\":\"c\",\"key\":\"\(id)\",\"value\":[\(id),\"\(value)\"]}")
        }
        return client
    }

    private func ids(_ range: Range<Int>) -> String { range.map { "\"\($0)\"" }.joined(separator: ",") }

    private func getMany(_ range: Range<Int>, id: String = "1") -> String {
        Client.request("documents.getMany", "{\"collection\":\"c\",\"ids\":[\(ids(range))]}", id: id)
    }

    private func numbers(_ reply: JSON) -> [Int] {
        (reply["result"]?["documents"]?.elements ?? []).compactMap { $0["value"]?[0]?.int }
    }

    /// Requests that the daemon has answered, this one included.
    private func answered(_ client: Client) throws -> Int {
        try #require(try client.result("storage.status", "{}")["connections"]?["requests"]?.int)
    }

    @Test func `others are served while a long reply is made, and nothing is missing in it`() throws {
        let daemon = try TemporaryDaemon(profile: "default")
        let other = try fill(daemon)
        let client = try daemon.connect()
        // A request of the other may come too late on a busy machine. The daemon's own count tells whether it came in between.
        var isServed = false
        for _ in 0..<50 where !isServed {
            let before = try answered(other)
            client.send(getMany(-20..<Self.count + 20) + Client.request("storage.ping", id: "2"))
            isServed = try answered(other) == before + 1
            let reply = try client.reply()
            #expect(numbers(reply) == Array(0..<Self.count))
            let missing = (reply["result"]?["missing"]?.elements ?? []).compactMap { $0.text.flatMap { Int($0) } }
            #expect(missing == Array(-20..<0) + Array(Self.count..<Self.count + 20))
            #expect(try client.reply()["id"]?.int == 2)
        }
        #expect(isServed, "the long reply always came first")
    }

    @Test func `settings too, with their layers`() throws {
        let daemon = try TemporaryDaemon(profile: "default")
        let client = try fill(daemon)
        try client.result("settings.register", "{\"domain\":\"c\",\"defaults\":{\"fallback\":1}}")
        let keys = ids(-1..<Self.count) + ",\"fallback\""
        let result = try client.result("settings.getMany", "{\"domain\":\"c\",\"keys\":[\(keys)],\"explain\":true}")
        for id in 0..<Self.count {
            #expect(result["values"]?["\(id)"]?[0]?.int == id)
            #expect(result["layers"]?["\(id)"]?.text == "app")
        }
        #expect(result["values"]?["-1"] == nil)
        #expect(result["layers"]?["fallback"]?.text == "registered")
    }

    @Test func `in a batch it has its place, and is refused whole when it is too long`() throws {
        let daemon = try TemporaryDaemon(
            profile: "default", configuration: "{\"limits\":{\"bufferBytes\":67108864}}")
        let client = try fill(daemon)
        let long = getMany(0..<Self.count).dropLast()
        // Twice the same is more than a fifth of the buffers.
        let tooLong = Client.request(
            "documents.getMany", "{\"collection\":\"c\",\"ids\":[\(ids(0..<Self.count)),\(ids(0..<Self.count))]}",
            id: "5"
        ).dropLast()
        let ping = Client.request("storage.ping", id: "6").dropLast()
        client.send("[\(ping),\(long),\(ping)]\n\(tooLong)\n[\(tooLong),\(ping)]\n")
        let batch = try client.reply()
        #expect(batch.elements.count == 3)
        #expect(numbers(batch[1] ?? .null) == Array(0..<Self.count))
        #expect(batch[2]?["id"]?.int == 6)
        #expect(try client.reply()["error"]?["data"]?["kind"] == .string("replyTooLarge"))
        let other = try client.reply()
        #expect(other.elements.count == 2)
        #expect(other[0]?["error"]?["data"]?["kind"] == .string("replyTooLarge"))
        #expect(other[1]?["result"] != nil)
    }

    @Test func `it shows one moment, whatever changes meanwhile`() throws {
        let daemon = try TemporaryDaemon(profile: "default")
        let other = try fill(daemon)
        let client = try daemon.connect()
        let last = Self.count - 1
        for round in 0..<10 {
            client.send(getMany(0..<Self.count))
            // The two change together: before, after, or while the reply is made.
            let change = [0, last].map { "{\"id\":\"\($0)\",\"value\":[\($0),\(round)]}" }.joined(separator: ",")
            try other.result("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(change)]}")
            let reply = try client.reply()
            #expect(numbers(reply) == Array(0..<Self.count))
            let rev = try #require(reply["result"]?["rev"]?.int)
            let revs = (reply["result"]?["documents"]?.elements ?? []).compactMap { $0["rev"]?.int }
            #expect(revs.allSatisfy { $0 <= rev })
            if round > 0 { #expect(revs[0] == revs[last], "round \(round): two moments in one reply") }
        }
    }

    @Test func `of settings too`() throws {
        let daemon = try TemporaryDaemon(profile: "default")
        let other = try fill(daemon)
        let client = try daemon.connect()
        let last = Self.count - 1
        for round in 0..<10 {
            client.send(Client.request("settings.getMany", "{\"domain\":\"c\",\"keys\":[\(ids(0..<Self.count))]}"))
            let change = [0, last].map { "\"\($0)\":[\($0),\(round)]" }.joined(separator: ",")
            try other.result("settings.putMany", "{\"domain\":\"c\",\"values\":{\(change)}}")
            let values = try #require(try client.reply()["result"]?["values"])
            if round > 0 {
                #expect(values["0"]?[1] == values["\(last)"]?[1], "round \(round): two moments in one reply")
            }
        }
    }

    @Test func `a full disk in the middle of it takes nothing from it`() throws {
        let daemon = try TemporaryDaemon(profile: "default", faults: "log.append:full:\(2 * Self.count + 2)+")
        let other = try fill(daemon)
        let client = try daemon.connect()
        client.send(getMany(0..<Self.count) + getMany(0..<Self.count, id: "2"))
        for value in 0..<20 {
            _ = try other.call("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(value)}")
        }
        #expect(numbers(try client.reply()) == Array(0..<Self.count))
        #expect(numbers(try client.reply()) == Array(0..<Self.count))
    }

    @Test func `with replies in any order it is made once, behind what waits`() throws {
        let daemon = try TemporaryDaemon(profile: "default", faults: "fold.slice:sleep=700:1+")
        _ = try fill(daemon)
        let client = try daemon.connect()
        try client.result("session.hello", "{\"enable\":[\"outOfOrder\"]}")
        client.send(
            Client.request("documents.list", "{\"collection\":\"c\",\"limit\":1}", id: "7") + getMany(0..<Self.count)
                + Client.request("storage.ping", id: "8"))
        var replies: [Int: JSON] = [:]
        for _ in 0..<3 {
            let reply = try client.reply()
            replies[reply["id"]?.int ?? 0] = reply
        }
        #expect(numbers(replies[1] ?? .null) == Array(0..<Self.count))
        #expect(replies[7]?["result"] != nil && replies[8]?["result"] != nil)
    }
}
