import Glibc
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

    @Test func `a wait under id null ends, and one without an id is not meant`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        client.send(Client.request("changes.wait", "{\"afterRev\":0,\"timeoutMs\":600000}", id: "null"))
        let replies = try cancel(client, "null")
        #expect(replies["c"]?["result"]?["cancelled"] == .boolean(true), "\(replies)")
        #expect(replies["request"]?["error"]?["data"]?["kind"]?.text == "cancelled", "\(replies)")
        client.send(
            "{\"jsonrpc\":\"2.0\",\"method\":\"changes.wait\",\"params\":{\"afterRev\":0,\"timeoutMs\":600000}}\n")
        #expect(try cancel(client, "null")["c"]?["result"]?["cancelled"] == .boolean(false))
    }

    @Test func `a wait for what another client fetches ends, and the claim stays`() throws {
        let daemon = try TemporaryDaemon()
        let winner = try daemon.connect()
        let won = try winner.result(
            "models.get", "{\"namespace\":\"n\",\"key\":\"k\",\"claim\":true,\"leaseSeconds\":3600}")
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

    /// A request that must not be begun is sent, then cancelled; what comes behind it is answered, ordered and not.
    private func expectCancelled(_ client: Client, _ method: String, _ params: String) throws {
        client.send(
            Client.request(method, params, id: "7")
                + Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}", id: "8")
                + Client.request("rpc.cancel", "{\"id\":7}", id: "\"c\""))
        var replies: [JSON] = []
        for _ in 0..<3 { replies.append(try client.reply()) }
        func reply(_ id: JSON) -> JSON? { replies.first { $0["id"] == id } }
        #expect(reply(.string("c"))?["result"]?["cancelled"] == .boolean(true), "\(replies)")
        let refused = replies.first { $0["id"]?.int == 7 }
        #expect(refused?["error"]?["data"]?["kind"]?.text == "cancelled", "\(replies)")
        #expect(replies.first { $0["id"]?.int == 8 }?["result"] != nil, "\(replies)")
        // It is over.
        #expect(try client.result("rpc.cancel", "{\"id\":7}")["cancelled"] == .boolean(false))
    }

    @Test(arguments: [false, true])
    func `a write that waits for room ends, and is not done`(isUnordered: Bool) throws {
        let daemon = try TemporaryDaemon(faults: "fold.slice:sleep=600000:1+")
        let filler = String(repeating: "z", count: 500_000)
        let flood = try Client(path: daemon.socket)
        // 4.5 MB in an overlay of 4 MiB: it is full, and stays so.
        for number in 0..<9 {
            try flood.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(number)\",\"value\":\"\(filler)\"}")
        }
        let client = try daemon.connect()
        if isUnordered { try client.result("session.hello", "{\"enable\":[\"outOfOrder\"]}") }
        try expectCancelled(client, "settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        let found = try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")
        #expect(found["rev"]?.int == 0, "\(found)")
    }

    @Test func `a write that waits for its client's share ends, and is not done`() throws {
        let budget = "{\"diskWrites\":{\"clients\":{\"mail\":{\"diskWriteBudget\":4096,\"throttle\":true}}}}"
        let daemon = try TemporaryDaemon(configuration: budget)
        let client = try daemon.connect()
        try client.result("session.hello", "{\"client\":\"mail\"}")
        for number in 0..<3 {
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"a\",\"value\":\(number)}")
        }
        let deadline = now() + 60
        while try client.result("storage.diskWrites", "{\"window\":\"hour\"}")["budgets"]?[0]?["throttled"]?.bool
            != true
        {
            try #require(now() < deadline)
            usleep(20_000)
        }
        // The first of a second may find it open; one behind it does not, unless a second passes between the two.
        for round in 0..<20 {
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"a\",\"value\":1\(round)}")
            client.send(
                Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(round)}", id: "7")
                    + Client.request("rpc.cancel", "{\"id\":7}", id: "8"))
            let replies = [try client.reply(), try client.reply()]
            guard replies.contains(where: { $0["result"]?["cancelled"]?.bool == true }) else { continue }
            #expect(replies.contains { $0["error"]?["data"]?["kind"]?.text == "cancelled" }, "\(replies)")
            let found = try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")
            #expect(found["value"]?.int != round, "\(found)")
            return
        }
        Issue.record("no write was held back")
    }

    @Test func `a wait for an index ends`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "tend.slice"))
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":{\"n\":1}}")
        try client.result(
            "documents.configure", "{\"collection\":\"c\",\"indexes\":[{\"name\":\"i\",\"fields\":[\"n\"]}]}")
        try expectCancelled(client, "documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
        try daemon.goOn(at: "tend.slice")
        // Somebody who asks anew waits to the end.
        let found = try client.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
        #expect(found["indexes"]?[0]?["state"]?.text == "ready")
    }

    @Test(arguments: [false, true])
    func `a wait that is ended twice in one write ends, and so do those behind it`(isUnordered: Bool) throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "tend.slice"))
        let client = try daemon.connect()
        if isUnordered { try client.result("session.hello", "{\"enable\":[\"outOfOrder\"]}") }
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":{\"n\":1}}")
        try client.result(
            "documents.configure", "{\"collection\":\"c\",\"indexes\":[{\"name\":\"i\",\"fields\":[\"n\"]}]}")
        client.send(
            Client.request("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}", id: "7")
                + Client.request("rpc.cancel", "{\"id\":7}", id: "8")
                + Client.request("rpc.cancel", "{\"id\":7}", id: "9")
                + Client.request("storage.ping", "{}", id: "10"))
        var replies: [Int: JSON] = [:]
        while replies.count < 4 {
            let reply = try client.reply()
            replies[try #require(reply["id"]?.int)] = reply
        }
        #expect(replies[7]?["error"]?["data"]?["kind"]?.text == "cancelled", "\(replies)")
        #expect(replies[8]?["result"]?["cancelled"]?.bool == true && replies[9]?["result"]?["cancelled"]?.bool == true)
        try daemon.goOn(at: "tend.slice")
    }

    @Test func `an import that waits for its file ends, and so does an export that nobody reads`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let filler = String(repeating: "z", count: 100_000)
        for number in 0..<20 {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(number)\",\"value\":\"\(filler)\"}")
        }
        for (method, end) in [("documents.import", 0), ("documents.export", 1)] {
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            defer { for descriptor in ends { close(descriptor) } }
            try client.send(
                Client.request(method, "{\"collection\":\"c\",\"fd\":true}", id: "7"), descriptors: [ends[end]])
            // It has begun when what came behind it is answered.
            client.send(Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}", id: "8"))
            while try client.reply()["id"]?.int != 8 {}
            client.send(Client.request("rpc.cancel", "{\"id\":7}", id: "9"))
            var replies: [Int: JSON] = [:]
            while replies[7] == nil || replies[9] == nil {
                let reply = try client.reply()
                if let id = reply["id"]?.int { replies[id] = reply }
            }
            #expect(replies[9]?["result"]?["cancelled"]?.bool == true, "\(method): \(replies)")
            #expect(replies[7]?["error"]?["data"]?["kind"]?.text == "cancelled", "\(method): \(replies)")
        }
    }

    @Test func `taking in an attachment ends, and says that its client has asked for that`() throws {
        let daemon = try TemporaryDaemon(faults: "attachment.write:sleep=300:1+")
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"d\",\"value\":1}")
        let data = String(repeating: "QUJD", count: 200_000)
        client.send(
            Client.request(
                "documents.attach", "{\"collection\":\"c\",\"id\":\"d\",\"name\":\"a\",\"data\":\"\(data)\"}", id: "7"))
        // It has to be under way.
        usleep(100_000)
        let replies = try cancel(client, "7")
        if replies["c"]?["result"]?["cancelled"] == .boolean(true) {
            #expect(replies["request"]?["error"]?["data"]?["kind"]?.text == "cancelled", "\(replies)")
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `what is not there is not cancelled`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for id in ["1", "null", "\"x\""] {
            #expect(try cancel(client, id)["c"]?["result"]?["cancelled"] == .boolean(false))
        }
    }
}
