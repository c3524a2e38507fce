import Glibc
import Testing

/// Win tokens over real sockets: who fetches, and what the others are told.
@Suite struct WinTokenScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon(configuration: "{\"caches\":{\"minFreeBytes\":0}}", movesTime: true)
    }

    private static let key = "\"namespace\":\"n\",\"key\":\"k\""
    /// For longer than any test lasts.
    private static let hour = ",\"leaseSeconds\":3600"

    private func claim(_ client: Client, _ more: String = "") throws -> JSON {
        try client.result("models.get", "{\(Self.key),\"claim\":true\(more)}")
    }

    /// Has a client wait for the key, and returns when it is parked.
    private func park(_ client: Client, waitMs: Int = 600_000, _ more: String = "") throws {
        client.send(Client.request("models.get", "{\(Self.key),\"claim\":true,\"waitMs\":\(waitMs)\(more)}", id: "7"))
        // It is answered ahead: what comes first is the ping's reply.
        client.send(Client.request("storage.ping", id: "8"))
        #expect(try client.reply()["id"]?.int == 8)
    }

    private func put(_ client: Client, _ token: String?, value: Int, _ more: String = "") throws -> JSON {
        let token = token.map { ",\"token\":\"\($0)\"" } ?? ""
        return try client.result("models.put", "{\(Self.key),\"value\":\(value)\(token)\(more)}")
    }

    @Test func `the first that misses wins, the others wait and get what it puts`() throws {
        let winner = try daemon.connect()
        let won = try claim(winner, Self.hour)
        let token = try #require(won["token"]?.text)
        #expect(won["state"]?.text == "miss")
        let others = try (0..<5).map { _ in try daemon.connect() }
        for other in others { try park(other) }
        // Who does not wait is told at once.
        let hasty = try daemon.connect()
        let told = try claim(hasty)
        #expect(told["state"]?.text == "miss" && told["token"] == nil)
        #expect(try put(winner, token, value: 5)["stored"]?.bool == true)
        for other in others {
            let reply = try other.reply()
            #expect(reply["id"]?.int == 7 && reply["result"]?["value"]?.int == 5, "\(reply)")
            #expect(reply["result"]?["state"]?.text == "fresh" && reply["result"]?["token"] == nil)
        }
        #expect(try claim(hasty)["state"]?.text == "fresh")
    }

    @Test func `on a stale key one wins and the others get the stale value at once`() throws {
        let first = try daemon.connect()
        _ = try put(first, nil, value: 1, ",\"ttlSeconds\":0")
        let won = try claim(first, Self.hour + ",\"waitMs\":600000")
        #expect(won["state"]?.text == "stale" && won["value"]?.int == 1 && won["token"] != nil)
        let second = try daemon.connect()
        let began = now()
        let stale = try claim(second, ",\"waitMs\":600000")
        #expect(stale["state"]?.text == "stale" && stale["value"]?.int == 1 && stale["token"] == nil)
        #expect(now() - began < 60)
    }

    @Test func `maxAgeSeconds 0 always claims, also what is fresh`() throws {
        let client = try daemon.connect()
        _ = try put(client, nil, value: 1, ",\"ttlSeconds\":600")
        #expect(try claim(client)["token"] == nil)
        let won = try claim(client, Self.hour + ",\"maxAgeSeconds\":0")
        #expect(won["value"]?.int == 1 && won["token"] != nil)
        #expect(try claim(daemon.connect(), ",\"maxAgeSeconds\":0")["token"] == nil)
        #expect(try put(client, won["token"]?.text, value: 2)["stored"]?.bool == true)
        #expect(try claim(client, ",\"maxAgeSeconds\":0")["token"] != nil)
    }

    @Test(arguments: ["fails", "leaves", "lease"]) func `when the winner does not come back the next that waits wins`(
        way: String
    ) throws {
        var winner: Client? = try daemon.connect()
        let token = try #require(try claim(winner!, way == "leaves" ? "" : Self.hour)["token"]?.text)
        let (second, third) = (try daemon.connect(), try daemon.connect())
        try park(second, Self.hour)
        try park(third, Self.hour)
        switch way {
        case "fails":
            #expect(try winner!.result("models.fail", "{\"token\":\"\(token)\"}")["ended"]?.bool == true)
        case "lease":
            // Shortened when the others wait.
            _ = try renew(winner!, token, 400)
            winner = nil
            // A lease outlives its connection, and the others wait until it ends: long before their own time is over, when nobody would win.
            try daemon.advance(seconds: 200)
            try third.result("storage.ping")
            #expect(!second.hasInput)
            try daemon.advance(seconds: 201)
        default: winner = nil
        }
        let next = try second.reply()
        #expect(next["result"]?["state"]?.text == "miss" && next["result"]?["error"] == nil)
        let nextToken = try #require(next["result"]?["token"]?.text)
        #expect(nextToken != token)
        #expect(try put(second, nextToken, value: 9)["stored"]?.bool == true)
        #expect(try third.reply()["result"]?["value"]?.int == 9)
        // The first one's is late: it is stored as stale and says so, and the next one fetches again.
        guard way == "lease" else { return }
        let late = try put(try daemon.connect(), token, value: 3)
        #expect(late["stored"]?.bool == true && late["stale"]?.bool == true)
        let again = try claim(third, Self.hour)
        #expect(again["state"]?.text == "stale" && again["value"]?.int == 3 && again["token"] != nil)
    }

    @Test func `who waits is told when nothing has come, and one that leaves is not waited for`() throws {
        let winner = try daemon.connect()
        _ = try claim(winner, Self.hour)
        let patient = try daemon.connect()
        var gone: Client? = try daemon.connect()
        try park(gone!)
        try park(patient, waitMs: 300_000)
        gone = nil
        // Long before the winner's claim ends.
        try daemon.advance(seconds: 200)
        try winner.result("storage.ping")
        #expect(!patient.hasInput)
        try daemon.advance(seconds: 101)
        let reply = try patient.reply()
        #expect(reply["result"]?["state"]?.text == "miss" && reply["result"]?["token"] == nil)
    }

    @Test func `a half-closed connection is answered before it is closed`() throws {
        let winner = try daemon.connect()
        let token = try #require(try claim(winner, Self.hour)["token"]?.text)
        let waiting = try daemon.connect()
        try park(waiting)
        waiting.halfClose()
        usleep(50_000)
        _ = try put(winner, token, value: 4)
        #expect(try waiting.reply()["result"]?["value"]?.int == 4)
        #expect(try waiting.line() == nil)
    }

    private func renew(_ client: Client, _ token: String, _ seconds: Int) throws -> JSON {
        try client.result("models.renew", "{\(Self.key),\"token\":\"\(token)\",\"leaseSeconds\":\(seconds)}")
    }

    @Test func `a token that is renewed keeps the others waiting for as long as it was renewed for`() throws {
        var winner: Client? = try daemon.connect()
        let token = try #require(try claim(winner!, ",\"leaseSeconds\":3600")["token"]?.text)
        let waiting = try daemon.connect()
        try park(waiting, waitMs: 300_000)
        // By another connection as well: that of a script is one request. Shortened, so that it ends before their own time does.
        let other = try daemon.connect()
        let renewed = try renew(other, token, 200)
        #expect(renewed["expiresAt"]?.text?.count == 24 && renewed["stale"] == nil, "\(renewed)")
        winner = nil
        try daemon.advance(seconds: 100)
        try other.result("storage.ping")
        #expect(!waiting.hasInput)
        try daemon.advance(seconds: 101)
        let next = try waiting.reply()
        #expect(next["result"]?["token"] != nil, "\(next)")
    }

    @Test func `a claim without a lease lasts longer when it is renewed, and ends with its connection all the same`()
        throws
    {
        var winner: Client? = try daemon.connect()
        let token = try #require(try claim(winner!)["token"]?.text)
        _ = try renew(winner!, token, 3600)
        let waiting = try daemon.connect()
        try park(waiting, waitMs: 300_000)
        let began = now()
        winner = nil
        #expect(try waiting.reply()["result"]?["token"] != nil)
        #expect(now() - began < 60, "long before the hour is over, and before its own time is")
    }

    @Test func `a token that was lost, used or is another one's renews nothing, and nothing changes`() throws {
        let (client, other) = (try daemon.connect(), try daemon.connect())
        let first = try #require(try claim(client, ",\"leaseSeconds\":60")["token"]?.text)
        try park(other, Self.hour)
        try daemon.advance(seconds: 61)
        let second = try #require(try other.reply()["result"]?["token"]?.text)
        func reason(_ token: String, _ key: String = Self.key) throws -> String? {
            let data = try client.refusal(
                "models.renew", "{\(key),\"token\":\"\(token)\",\"leaseSeconds\":1}")
            #expect(data["kind"]?.text == "tokenInvalid" && data["parameter"]?.text == "token", "\(data)")
            return data["reason"]?.text
        }
        #expect(try reason(first) == "lost")
        #expect(try reason(String(repeating: "0", count: 64)) == "unknown")
        #expect(try reason(second, "\"namespace\":\"n\",\"key\":\"other\"") == "ofAnotherKey")
        #expect(try reason(second, "\"namespace\":\"none\",\"key\":\"k\"") == "ofAnotherKey")
        #expect(try client.result("models.scopes")["scopes"]?.elements.compactMap { $0["namespace"]?.text } == ["n"])
        for seconds in [0, 3601] {
            let refused = try client.refusal(
                "models.renew", "{\(Self.key),\"token\":\"\(second)\",\"leaseSeconds\":\(seconds)}")
            #expect(refused["kind"]?.text == "invalidParams" && refused["parameter"]?.text == "leaseSeconds")
        }
        // The second's hour was not shortened to a second by any of them.
        try daemon.advance(seconds: 60)
        #expect(try claim(client)["token"] == nil)
        #expect(try put(other, second, value: 2)["stale"] == nil)
        #expect(try reason(second) == "spent")
        #expect(try client.result("models.get", "{\(Self.key)}")["value"]?.int == 2)
    }

    @Test(arguments: ["delete", "invalidate"]) func `who renews hears that what it fetches is outdated`(way: String)
        throws
    {
        let (winner, other) = (try daemon.connect(), try daemon.connect())
        _ = try put(other, nil, value: 0, ",\"ttlSeconds\":0,\"tags\":[\"t\"]")
        let token = try #require(try claim(winner, Self.hour)["token"]?.text)
        #expect(try renew(winner, token, 3600)["stale"] == nil)
        if way == "delete" {
            _ = try other.result("models.delete", "{\(Self.key)}")
        } else {
            _ = try other.result("models.invalidate", "{\"namespace\":\"n\",\"tag\":\"t\"}")
        }
        #expect(try renew(winner, token, 3600)["stale"]?.bool == true)
        // It is the winner's still: nobody else fetches.
        #expect(try claim(other)["token"] == nil)
        #expect(try put(winner, token, value: 1, ",\"tags\":[\"t\"]")["stale"]?.bool == true)
    }

    @Test func `forged, foreign and used tokens are refused, and nothing is stored`() throws {
        let client = try daemon.connect()
        let token = try #require(try claim(client, Self.hour)["token"]?.text)
        let other = try #require(
            try client.result("models.get", "{\"namespace\":\"n\",\"key\":\"other\",\"claim\":true\(Self.hour)}")[
                "token"]?.text)
        func reason(_ token: String) throws -> String? {
            let data = try client.refusal("models.put", "{\(Self.key),\"value\":1,\"token\":\"\(token)\"}")
            #expect(data["kind"]?.text == "tokenInvalid" && data["parameter"]?.text == "token")
            return data["reason"]?.text
        }
        #expect(try reason(String(repeating: "0", count: 64)) == "unknown")
        #expect(try reason("") == "unknown")
        let flipped = (token.first == "1" ? "2" : "1") + token.dropFirst()
        #expect(try reason(flipped) == "unknown")
        #expect(try reason(String(token.dropLast(1)) + (token.last == "a" ? "b" : "a")) == "unknown")
        #expect(try reason(other) == "ofAnotherKey")
        #expect(try client.result("models.get", "{\(Self.key)}")["state"]?.text == "miss")
        #expect(try put(client, token, value: 1)["stored"]?.bool == true)
        #expect(try reason(token) == "spent")
        #expect(try client.refusal("models.fail", "{\"token\":\"\(token)\"}")["reason"]?.text == "spent")
        #expect(try client.result("models.get", "{\(Self.key)}")["value"]?.int == 1)
    }

    @Test func `a put without a token answers those that wait, and the winner's is late`() throws {
        let (winner, waiting, third) = (try daemon.connect(), try daemon.connect(), try daemon.connect())
        let token = try #require(try claim(winner, Self.hour)["token"]?.text)
        try park(waiting)
        _ = try put(third, nil, value: 2)
        #expect(try waiting.reply()["result"]?["value"]?.int == 2)
        let late = try put(winner, token, value: 1)
        #expect(late["stale"]?.bool == true)
    }

    @Test(arguments: ["delete", "invalidate"])
    func `what was fetched before its key was invalidated is stored as stale`(
        way: String
    ) throws {
        let (winner, other) = (try daemon.connect(), try daemon.connect())
        _ = try put(other, nil, value: 0, ",\"ttlSeconds\":0,\"tags\":[\"t\"]")
        let token = try #require(try claim(winner, Self.hour)["token"]?.text)
        if way == "delete" {
            _ = try other.result("models.delete", "{\(Self.key)}")
        } else {
            _ = try other.result("models.invalidate", "{\"namespace\":\"n\",\"tag\":\"t\",\"mode\":\"drop\"}")
        }
        #expect(try put(winner, token, value: 1, ",\"tags\":[\"t\"]")["stale"]?.bool == true)
        #expect(try claim(other)["state"]?.text == "stale")
    }

    @Test func `a failure with a pause keeps everybody from trying, and an old value lives on`() throws {
        let client = try daemon.connect()
        _ = try put(client, nil, value: 1, ",\"ttlSeconds\":0,\"staleSeconds\":0,\"staleIfErrorSeconds\":600")
        let won = try claim(client, Self.hour)
        #expect(won["state"]?.text == "miss")
        let token = try #require(won["token"]?.text)
        let waiting = try daemon.connect()
        try park(waiting)
        _ = try client.result("models.fail", "{\"token\":\"\(token)\",\"retryAfterSeconds\":300}")
        let told = try waiting.reply()["result"]
        #expect(told?["state"]?.text == "stale" && told?["value"]?.int == 1 && told?["retryAfterMs"]?.int == 300_000)
        let held = try claim(client)
        #expect(held["token"] == nil && (held["retryAfterMs"]?.int ?? 0) > 0 && held["value"]?.int == 1, "\(held)")
        try daemon.advance(seconds: 301)
        #expect(try claim(client)["token"] != nil)
    }

    @Test func `a turn that is taken back for want of room takes no claim back`() throws {
        let daemon = try TemporaryDaemon(
            configuration: "{\"caches\":{\"minFreeBytes\":0}}", faults: "log.append:full:1")
        let client = try daemon.connect()
        client.send(
            Client.request("models.get", "{\(Self.key),\"claim\":true}", id: "1")
                + Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}", id: "2"))
        let won = try client.reply()
        #expect(won["id"]?.int == 1)
        let token = try #require(won["result"]?["token"]?.text, "\(won)")
        let refused = try client.reply()
        #expect(refused["id"]?.int == 2 && refused["error"]?["data"]?["kind"]?.text == "noSpace", "\(refused)")
        let stored = try put(client, token, value: 1)
        #expect(stored["stored"]?.bool == true && stored["stale"] == nil, "\(stored)")
    }

    @Test func `what is apart waits for the changes before it, and goes on in the next turn`() throws {
        let client = try daemon.connect()
        let change = "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}"
        client.send(
            (0..<50).map { number in
                Client.request("settings.put", change.replacing("1}", with: "\(number)}"), id: "\(number * 2)")
                    + Client.request("models.put", "{\(Self.key),\"value\":\(number)}", id: "\(number * 2 + 1)")
            }.joined())
        for number in 0..<100 {
            let reply = try client.reply()
            #expect(reply["id"]?.int == number && reply["result"] != nil, "\(reply)")
        }
        #expect(try client.result("models.get", "{\(Self.key)}")["value"]?.int == 49)
    }
}
