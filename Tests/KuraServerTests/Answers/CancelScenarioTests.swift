import Testing

/// `rpc.cancel` ends whatever a request waits for.
@Suite struct CancelScenarioTests {
    private func cancel(_ client: Client, _ id: String) throws -> [String: JSON] {
        client.send(Client.request("rpc.cancel", "{\"id\":\(id)}", id: "\"c\""))
        var replies: [String: JSON] = [:]
        // The request's own reply comes before or behind.
        repeat {
            let reply = try client.reply()
            replies[reply["id"]?.text ?? "request"] = reply
        } while replies["c"]?["result"]?["cancelled"] == nil
        if replies["c"]?["result"]?["cancelled"] == .boolean(true), replies["request"] == nil {
            replies["request"] = try client.reply()
        }
        return replies
    }

    @Test func `a wait for a change ends`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        client.send(Client.request("changes.wait", "{\"afterRev\":0,\"timeoutMs\":600000}", id: "7"))
        client.send(
            Client.request("changes.wait", "{\"afterRev\":0,\"timeoutMs\":600000,\"scope\":\"other\"}", id: "8"))
        let replies = try cancel(client, "7")
        #expect(replies["c"]?["result"]?["cancelled"] == .boolean(true))
        #expect(replies["request"]?["error"]?["data"]?["kind"]?.text == "cancelled")
        #expect(replies["request"]?["id"]?.int == 7)
        // It is over, and the other one is not.
        #expect(try cancel(client, "7")["c"]?["result"]?["cancelled"] == .boolean(false))
        #expect(try cancel(client, "\"7\"")["c"]?["result"]?["cancelled"] == .boolean(false))
        try daemon.connect().result("settings.put", "{\"domain\":\"other\",\"key\":\"k\",\"value\":1}")
        let told = try client.reply()
        #expect(told["id"]?.int == 8 && told["result"]?["changes"]?.elements.count == 1)
    }

    @Test func `a wait for what another client fetches ends, and the claim stays`() throws {
        let daemon = try TemporaryDaemon()
        let winner = try daemon.connect()
        let won = try winner.result("models.get", "{\"namespace\":\"n\",\"key\":\"k\",\"claim\":true}")
        let token = try #require(won["token"]?.text)
        let client = try daemon.connect()
        let wanted = "{\"namespace\":\"n\",\"key\":\"k\",\"claim\":true,\"waitMs\":600000}"
        client.send(Client.request("models.get", wanted, id: "\"seven\""))
        // Somebody else's request of the same id is not ended.
        #expect(try cancel(winner, "\"seven\"")["c"]?["result"]?["cancelled"] == .boolean(false))
        client.send(Client.request("rpc.cancel", "{\"id\":\"seven\"}", id: "9"))
        var replies: [String: JSON] = [:]
        for _ in 0..<2 {
            let reply = try client.reply()
            replies[reply["id"]?.text ?? "cancel"] = reply
        }
        #expect(replies["cancel"]?["result"]?["cancelled"] == .boolean(true))
        #expect(replies["seven"]?["error"]?["data"]?["kind"]?.text == "cancelled")
        try winner.result("models.put", "{\"namespace\":\"n\",\"key\":\"k\",\"value\":1,\"token\":\"\(token)\"}")
        // Nothing more comes for it.
        #expect(try client.call("models.get", "{\"namespace\":\"n\",\"key\":\"k\"}")["result"]?["value"]?.int == 1)
    }

    @Test func `what is not there is not cancelled`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for id in ["1", "null", "\"x\""] {
            #expect(try cancel(client, id)["c"]?["result"]?["cancelled"] == .boolean(false))
        }
    }
}
