import Glibc
import Testing

/// Tokens that lead to a secret once.
@Suite struct SecretsTokensScenarioTests {
    private let daemon: RoleDaemon
    private let admin: Client

    init() throws {
        daemon = try RoleDaemon(
            ["reader": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "read")), "none": "{}"], movesTime: true)
        admin = try daemon.connect("admin")
        try admin.result("secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"one\"}")
    }

    private func issue(_ client: Client, _ more: String = "", seconds: Int = 600) throws -> String {
        let params = "{\"service\":\"s\",\"account\":\"ada\",\"ttlSeconds\":\(seconds)\(more)}"
        return try #require(try client.result("secrets.issueToken", params)["token"]?.text)
    }

    private func redeem(_ client: Client, _ token: String) throws -> JSON {
        try client.call("secrets.redeemToken", "{\"token\":\"\(token)\"}")
    }

    private func reason(_ client: Client, _ token: String) throws -> String? {
        let data = try redeem(client, token)["error"]?["data"]
        #expect(data?["kind"]?.text == "tokenUnusable", "\(String(describing: data))")
        return data?["reason"]?.text
    }

    @Test func `a token leads to its secret once, whoever presents it`() throws {
        let token = try issue(try daemon.connect("reader"))
        let other = try daemon.connect("none")
        let found = try #require(try redeem(other, token)["result"])
        #expect(found["service"]?.text == "s" && found["account"]?.text == "ada" && found["secret"]?.text == "one")
        #expect(found["version"]?.int == 1 && found["rev"]?.int == 1)
        for client in [other, try daemon.connect("none"), admin] { #expect(try reason(client, token) == "spent") }
        #expect(daemon.daemon.log.contains("a token was presented that had been used already"))
        #expect(!daemon.daemon.log.contains("ada"))
        #expect(
            try other.refusal("secrets.get", "{\"service\":\"s\",\"account\":\"ada\"}")["kind"]?.text == "forbidden")
    }

    @Test func `of many who present it at once one has the secret`() throws {
        for _ in 0..<10 {
            let token = try issue(admin)
            let clients = try (0..<8).map { _ in try daemon.connect("none") }
            for client in clients { client.send(Client.request("secrets.redeemToken", "{\"token\":\"\(token)\"}")) }
            let replies = try clients.map { try $0.reply() }
            #expect(replies.filter { $0["result"]?["secret"]?.text == "one" }.count == 1)
            #expect(replies.filter { $0["error"]?["data"]?["reason"]?.text == "spent" }.count == 7)
        }
    }

    @Test func `the connection that asked for it cannot use it, and uses nothing up`() throws {
        let token = try issue(admin)
        #expect(try reason(admin, token) == "own")
        #expect(try redeem(try daemon.connect("none"), token)["result"] != nil)
    }

    @Test(arguments: ["", "AAAA", "!", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="])
    func `what is no token leads to nothing`(token: String) throws {
        _ = try issue(admin)
        #expect(try reason(try daemon.connect("none"), token) == "unknown")
    }

    @Test func `any other bit makes another token`() throws {
        let token = try issue(admin)
        let other = try daemon.connect("none")
        for (position, character) in token.dropLast(2).enumerated() {
            var changed = Array(token)
            changed[position] = character == "A" ? "B" : "A"
            #expect(try reason(other, String(changed)) == "unknown")
        }
        #expect(try redeem(other, token)["result"] != nil)
    }

    @Test func `it expires`() throws {
        let (token, later) = (try issue(admin, seconds: 300), try issue(admin))
        let other = try daemon.connect("none")
        try daemon.daemon.advance(seconds: 301)
        #expect(try reason(other, token) == "unknown")
        #expect(try redeem(other, later)["result"] != nil)
        for seconds in [0, -1, 86_401] {
            #expect(
                try admin.refusal(
                    "secrets.issueToken", "{\"service\":\"s\",\"account\":\"ada\",\"ttlSeconds\":\(seconds)}")[
                        "kind"]?.text == "invalidParams")
        }
    }

    @Test func `locking and restarting forget every token`() throws {
        let token = try issue(admin)
        try admin.result("secrets.lock")
        let other = try daemon.connect("none")
        #expect(try redeem(other, token)["error"]?["data"]?["kind"]?.text == "sealed")
        try admin.result("secrets.unlock")
        #expect(try reason(other, token) == "unknown")
        let again = try issue(admin)
        daemon.daemon.kill()
        try daemon.daemon.start(configuration: daemon.configuration(daemon.roles))
        #expect(try reason(try daemon.connect("none"), again) == "unknown")
    }

    @Test func `a version can be named, and what has gone is not found`() throws {
        let (newest, first) = (try issue(admin), try issue(admin, ",\"version\":1"))
        try admin.result("secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"two\"}")
        let other = try daemon.connect("none")
        #expect(try redeem(other, newest)["result"]?["secret"]?.text == "two")
        #expect(try redeem(other, first)["result"]?["secret"]?.text == "one")
        let late = try issue(admin)
        try admin.result("secrets.delete", "{\"service\":\"s\",\"account\":\"ada\"}")
        #expect(try redeem(other, late)["error"]?["data"]?["kind"]?.text == "notFound")
    }

    @Test func `who may not read gets no token`() throws {
        let error = try daemon.connect("none").refusal(
            "secrets.issueToken", "{\"service\":\"s\",\"account\":\"ada\",\"ttlSeconds\":9}")
        #expect(try error["kind"]?.text == "forbidden" && error["grant"]?["allow"] == JSON("[\"read\"]"))
    }

    @Test func `one user has so many tokens at once`() throws {
        for _ in 0..<128 { _ = try issue(admin) }
        let error = try admin.refusal(
            "secrets.issueToken", "{\"service\":\"s\",\"account\":\"ada\",\"ttlSeconds\":9}")
        #expect(error["kind"]?.text == "quotaExceeded" && error["limit"]?.int == 128)
    }

    @Test func `a turn that found no room has used nothing up, and given nothing out`() throws {
        let daemon = try TemporaryDaemon()
        try daemon.connect().result("secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"one\"}")
        #expect(daemon.terminate() == 0)
        // The first append is that of the token's issue in the audit.
        try daemon.start(faults: "log.append:full:2")
        let (one, two) = (try daemon.connect(), try daemon.connect())
        let token = try issue(one)
        // One write, so that they are of one turn: the second is answered twice.
        let put = "{\"service\":\"s\",\"account\":\"eve\",\"secret\":\"x\"}"
        two.send(
            Client.request("secrets.put", put, id: "1")
                + Client.request("secrets.redeemToken", "{\"token\":\"\(token)\"}", id: "2"))
        #expect(try two.reply()["error"]?["data"]?["kind"]?.text == "noSpace")
        #expect(try two.reply()["result"]?["secret"]?.text == "one")
        #expect(try reason(two, token) == "spent")
    }
}
