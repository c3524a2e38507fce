import Testing

/// A request that waits beside others of its connection: what becomes of it in a turn that is taken back, and when its time is over.
@Suite struct BegunRequestScenarioTests {
    private func replies(_ client: Client, _ count: Int) throws -> [Int: JSON] {
        var replies: [Int: JSON] = [:]
        for _ in 0..<count {
            let reply = try client.reply()
            replies[reply["id"]?.int ?? -1] = reply
        }
        return replies
    }

    @Test func `what is destroyed in a turn that is taken back is not, whatever was answered ahead of it`() throws {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        let name = "\"service\":\"s\",\"account\":\"a\""
        for secret in ["first", "second"] { try writer.result("secrets.put", "{\(name),\"secret\":\"\(secret)\"}") }
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:1+")
        let client = try daemon.connect()
        try client.result("session.hello", "{\"enable\":[\"outOfOrder\"]}")
        // The second is not taken back with the turn: it is kept, and the first one's part of it is not.
        client.send(
            Client.request("secrets.destroyVersion", "{\(name),\"version\":1}", id: "1")
                + Client.request("models.put", "{\"namespace\":\"n\",\"key\":\"k\",\"value\":1}", id: "2"))
        let replies = try replies(client, 2)
        #expect(replies[1]?["error"]?["data"]?["kind"]?.text == "noSpace", "\(replies)")
        #expect(replies[2]?["result"] != nil, "\(replies)")
        #expect(try client.result("secrets.get", "{\(name),\"version\":1}")["secret"]?.text == "first")
    }

    @Test func `a deletion whose time is over does not wait on for who refers to what it deletes`() throws {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        let documents = (0..<2000).map { "{\"id\":\"\($0)\",\"value\":{\"n\":\($0)}}" }.joined(separator: ",")
        try writer.result("documents.putMany", "{\"collection\":\"p\",\"documents\":[\(documents)]}")
        try writer.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":{\"p\":[\"7\"]}}")
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: daemon.pause(at: "fold.slice"))
        let client = try daemon.connect()
        try client.result(
            "documents.configure",
            "{\"collection\":\"c\",\"references\":[{\"field\":\"p\",\"collection\":\"p\",\"onDelete\":\"cascade\"}]}")
        let refusal = try client.refusal(
            "documents.deleteMany",
            "{\"collection\":\"p\",\"where\":{\"n\":{\"$gt\":1990}},\"allowScan\":true,\"timeoutMs\":700}")
        #expect(refusal["kind"]?.text == "timeout" && refusal["limit"]?.int == 700, "\(refusal)")
        try daemon.goOn(at: "fold.slice")
        #expect(try client.result("documents.count", "{\"collection\":\"p\"}")["count"]?.int == 2000)
    }

    @Test func `a look through all secrets is answered ahead of what waits when one slice does it`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "fold.slice"))
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        try client.result("session.hello", "{\"enable\":[\"outOfOrder\"]}")
        client.send(
            Client.request("documents.list", "{\"collection\":\"c\"}", id: "1")
                + Client.request("secrets.verify", id: "2") + Client.request("storage.ping", id: "3"))
        #expect(try Set(replies(client, 2).keys) == [2, 3])
        try daemon.goOn(at: "fold.slice")
        #expect(try client.reply()["id"]?.int == 1)
    }
}
