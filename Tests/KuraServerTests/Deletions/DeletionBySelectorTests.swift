import Glibc
import Testing

/// `documents.deleteMany` with `where` over a real socket.
@Suite struct DeletionBySelectorTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    // MARK: Tools

    private func fill(_ ids: Range<Int>, padding: Int = 0) throws {
        let text = String(repeating: "x", count: padding)
        for start in stride(from: ids.lowerBound, to: ids.upperBound, by: 1000) {
            let documents = (start..<min(start + 1000, ids.upperBound)).map {
                "{\"id\":\"d\($0)\",\"value\":{\"n\":\($0),\"even\":\($0 % 2 == 0),\"text\":\"\(text)\"}}"
            }
            try client.result(
                "documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    private func count(_ selector: String = "{}", _ client: Client? = nil) throws -> Int? {
        try (client ?? self.client).result(
            "documents.count", "{\"collection\":\"c\",\"where\":\(selector),\"allowScan\":true}")["count"]?.int
    }

    private func rev(_ client: Client? = nil) throws -> Int {
        try #require((client ?? self.client).result("documents.count", "{\"collection\":\"c\"}")["rev"]?.int)
    }

    private func parameters(_ selector: String, _ more: String = "") -> String {
        "{\"collection\":\"c\",\"where\":\(selector)\(more)}"
    }

    /// The reply, and the notifications before it.
    private func answer(_ client: Client) throws -> (reply: JSON, progress: [JSON]) {
        var progress: [JSON] = []
        while true {
            let line = try client.reply()
            guard line["method"]?.text == "progress" else { return (line, progress) }
            progress.append(line)
        }
    }

    // MARK: One transaction

    @Test(arguments: [false, true]) func `up to 5,000 that match go in one transaction, wherever they are`(
        isFolded: Bool
    ) throws {
        try fill(0..<9998)
        if isFolded {
            #expect(daemon.terminate() == 0)
            try daemon.start()
        }
        let client = try daemon.connect()
        let before = try rev(client)
        let dry = try client.result("documents.deleteMany", parameters("{\"even\":true}", ",\"dryRun\":true"))
        #expect(dry["deleted"]?.int == 4999 && dry["dryRun"]?.bool == true)
        #expect(try rev(client) == before)
        let result = try client.result("documents.deleteMany", parameters("{\"even\":true}", ",\"atomic\":true"))
        #expect(result == (try JSON("{\"deleted\":4999,\"slices\":1,\"rev\":\(before + 1)}")))
        #expect(try count("{\"even\":true}", client) == 0)
        #expect(try count("{}", client) == 4999)
        // Nothing is left that matches: that is no change.
        let again = try client.result("documents.deleteMany", parameters("{\"even\":true}"))
        #expect(again == (try JSON("{\"deleted\":0,\"slices\":0,\"rev\":\(before + 1)}")))
        daemon.kill()
        try daemon.start()
        let other = try daemon.connect()
        #expect(try count("{}", other) == 4999)
        let back = try other.result("documents.restore", "{\"collection\":\"c\",\"id\":\"d2\"}")
        #expect(back["restored"]?.bool == true)
        #expect(try other.result("documents.get", "{\"collection\":\"c\",\"id\":\"d2\"}")["value"]?["n"]?.int == 2)
    }

    @Test func `a change of the same turn is seen, and the deletion is told like any other`() throws {
        try fill(0..<10)
        let start = try rev()
        client.send(
            Client.request(
                "documents.put", "{\"collection\":\"c\",\"id\":\"d1\",\"value\":{\"n\":1,\"even\":true}}", id: "1")
                + Client.request("documents.deleteMany", parameters("{\"even\":true}"), id: "2"))
        _ = try client.reply()
        let reply = try client.reply()
        #expect(reply["result"]?["deleted"]?.int == 6)
        let changes = try client.result("changes.list", "{\"afterRev\":\(start + 1)}")["changes"]?.elements ?? []
        #expect(changes.count == 6 && changes.allSatisfy { $0["deleted"]?.bool == true })
        #expect(Set(changes.map { $0["rev"]?.int }) == [reply["result"]?["rev"]?.int])
    }

    @Test func `a request key answers once, and stands for all or nothing`() throws {
        try fill(0..<20)
        let keyed = parameters("{\"even\":true}", ",\"requestKey\":\"k\"")
        let first = try client.result("documents.deleteMany", keyed)
        #expect(first["deleted"]?.int == 10)
        try fill(0..<20)
        #expect(try client.result("documents.deleteMany", keyed) == first)
        #expect(try count() == 20)
        try fill(0..<5001)
        for more in [",\"atomic\":true", ",\"requestKey\":\"l\""] {
            let before = try rev()
            let refused = try client.refusal("documents.deleteMany", parameters("{\"n\":{\"$gte\":0}}", more))
            #expect(refused["kind"]?.text == "tooManyDocuments" && refused["limit"]?.int == 5000)
            #expect(try rev() == before)
            #expect(try count() == 5001)
        }
    }

    // MARK: Slices

    @Test func `more go in slices, each a revision, with progress, in the order of the requests`() throws {
        try fill(0..<12_000)
        let before = try rev()
        client.send(
            Client.request(
                "documents.deleteMany", parameters("{\"n\":{\"$lt\":11000}}", ",\"allowScan\":true"), id: "\"x\"")
                + Client.request("documents.get", "{\"collection\":\"c\",\"id\":\"d11500\"}", id: "2"))
        let (reply, progress) = try answer(client)
        #expect(reply["id"]?.text == "x")
        let result = try #require(reply["result"])
        #expect(result["deleted"]?.int == 11_000)
        let slices = try #require(result["slices"]?.int)
        #expect(slices >= 11_000 / 256 && result["rev"]?.int == before + slices)
        #expect(progress.allSatisfy { $0["params"]?["id"]?.text == "x" && $0["params"]?["unit"]?.text == "documents" })
        #expect(try client.reply()["id"]?.int == 2)
        #expect(try count() == 1000)
        daemon.kill()
        try daemon.start()
        #expect(try count("{}", daemon.connect()) == 1000)
    }

    @Test func `in a batch the reply comes in its place`() throws {
        try fill(0..<6000)
        let requests = [
            Client.request("documents.deleteMany", parameters("{}"), id: "1"),
            Client.request("documents.count", "{\"collection\":\"c\"}", id: "2"),
        ]
        client.send("[" + requests.map { $0.dropLast() }.joined(separator: ",") + "]\n")
        let replies = try client.reply().elements
        #expect(replies.map { $0["result"]?["deleted"]?.int } == [6000, nil])
        #expect(replies.last?["result"]?["count"]?.int == 0)
    }

    @Test func `a large collection is not looked through by accident`() throws {
        try fill(0..<10_001)
        let refused = try client.refusal("documents.deleteMany", parameters("{\"n\":1}"))
        #expect(refused["kind"]?.text == "indexNeeded")
        #expect(try client.refusal("documents.deleteMany", parameters("{}"))["kind"]?.text == "indexNeeded")
        let result = try client.result("documents.deleteMany", parameters("{\"_id\":\"d1\"}"))
        #expect(result["deleted"]?.int == 1)
        #expect(try count() == 10_000)
    }

    @Test func `it is called off between two slices, and tells what is gone`() throws {
        try fill(0..<16_000)
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: daemon.pause(at: "log.append", hit: 2))
        let client = try daemon.connect()
        client.send(
            Client.request("documents.deleteMany", parameters("{}", ",\"allowScan\":true"), id: "7"))
        // In the second of many slices.
        try daemon.waitUntilPaused(at: "log.append")
        client.send(Client.request("rpc.cancel", "{\"id\":7}", id: "8"))
        try daemon.goOn(at: "log.append")
        var replies: [Int: JSON] = [:]
        while replies.count < 2 {
            let reply = try answer(client).reply
            replies[reply["id"]?.int ?? 0] = reply
        }
        #expect(replies[8]?["result"]?["cancelled"]?.bool == true)
        let data = replies[7]?["error"]?["data"]
        #expect(data?["kind"]?.text == "cancelled", "\(replies)")
        let deleted = try #require(data?["deleted"]?.int)
        #expect(deleted > 0 && deleted < 16_000)
        #expect(try count("{}", client) == 16_000 - deleted)
    }

    @Test func `it ends between two slices when its client has gone, and is finished by asking again`() throws {
        try fill(0..<16_000)
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: daemon.pause(at: "log.append", hit: 2))
        let client = try daemon.connect()
        var gone: Client? = try daemon.connect()
        gone?.send(Client.request("documents.deleteMany", parameters("{}", ",\"allowScan\":true"), id: "7"))
        // In the second of many slices.
        try daemon.waitUntilPaused(at: "log.append")
        gone = nil
        try daemon.goOn(at: "log.append")
        try daemon.waitForConnections(1, over: client)
        // Its thread ends behind it.
        while try client.result("storage.stats")["daemon"]?["queues"]?["transfers"]?.int != 0 { usleep(10_000) }
        let left = try #require(try count("{}", client))
        #expect(left > 0 && left < 16_000)
        client.send(Client.request("documents.deleteMany", parameters("{}", ",\"allowScan\":true"), id: "9"))
        #expect(try answer(client).reply["result"]?["deleted"]?.int == left)
        #expect(try count("{}", client) == 0)
    }

    @Test func `a kill between slices leaves whole slices`() throws {
        try fill(0..<12_000)
        client.send(
            Client.request("documents.deleteMany", parameters("{}", ",\"allowScan\":true"), id: "7"))
        let other = try daemon.connect()
        while try other.result("documents.describe", "{\"collection\":\"c\"}")["count"]?.int == 12_000 {}
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        let left = try #require(try count("{}", again))
        let tombstones = try again.result("documents.describe", "{\"collection\":\"c\"}")["tombstones"]?.int
        #expect(left < 12_000 && left + (tombstones ?? 0) == 12_000)
    }

    // MARK: Races

    @Test func `a document that changes while it is found is judged again`() throws {
        // Pages of a find come from the tables: what is changed behind them is met by the deletion alone.
        try fill(0..<4000, padding: 1000)
        try daemon.waitUntilFolded()
        let writer = try daemon.connect()
        for round in 0..<3 {
            client.send(Client.request("documents.deleteMany", parameters("{\"even\":true}"), id: "1"))
            // Some no longer match, some have changed and match all the same.
            var requests = ""
            for number in stride(from: 0, to: 4000, by: 200) {
                let isEven = number % 400 == 0
                requests += Client.request(
                    "documents.put",
                    "{\"collection\":\"c\",\"id\":\"d\(number)\",\"value\":{\"round\":\(round),\"even\":\(isEven)}}",
                    id: "\(number)")
            }
            writer.send(requests)
            for _ in stride(from: 0, to: 4000, by: 200) { _ = try writer.reply() }
            let reply = try answer(client).reply
            #expect(reply["result"]?["deleted"]?.int ?? 0 > 0)
            // Whatever came first: those that did not match when they were last written are there.
            for number in stride(from: 200, to: 4000, by: 400) {
                let found = try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"d\(number)\"}")
                #expect(found["value"]?["round"]?.int == round, "d\(number)")
            }
            try fill(0..<4000, padding: 1000)
        }
    }

    // MARK: Bad input and grants

    @Test func `what is wrong with it is named, and nothing is deleted`() throws {
        try fill(0..<10)
        let before = try rev()
        let faults: [(String, String?, String?)] = [
            ("{\"collection\":\"c\"}", "ids", nil),
            ("{\"collection\":\"c\",\"ids\":[\"d1\"],\"where\":{}}", "ids", nil),
            ("{\"collection\":\"c\",\"ids\":[\"d1\"],\"dryRun\":true}", "dryRun", nil),
            ("{\"collection\":\"c\",\"ids\":[\"d1\"],\"atomic\":true}", "atomic", nil),
            (parameters("7"), "where", ""),
            (parameters("{\"n\":{\"$spam\":1}}"), "where", "/n/$spam"),
            (parameters("{\"n\":{\"$in\":7}}"), "where", "/n/$in"),
            (parameters("{\"a..b\":1}"), "where", "/a..b"),
            (parameters("{}", ",\"timeoutMs\":0"), "timeoutMs", nil),
            (parameters("{}", ",\"atomic\":1"), "atomic", nil),
        ]
        for (text, parameter, path) in faults {
            let data = try client.refusal("documents.deleteMany", text)
            #expect(data["kind"]?.text == "invalidParams", "\(text): \(data)")
            #expect(data["parameter"]?.text == parameter, "\(text): \(data)")
            #expect(data["path"]?.text == path, "\(text): \(data)")
        }
        let inTransaction = try client.refusal(
            "transaction.apply",
            "{\"operations\":[{\"method\":\"documents.deleteMany\",\"params\":\(parameters("{}"))}]}")
        #expect(inTransaction["parameter"]?.text == "where" && inTransaction["operation"]?.int == 0)
        #expect(try rev() == before)
        #expect(
            try client.result("documents.deleteMany", "{\"collection\":\"none\",\"where\":{}}")["deleted"]?.int == 0)
    }

    @Test func `who may delete and not read deletes by ids alone`() throws {
        let daemon = try RoleDaemon([
            "blind": RoleDaemon.role(RoleDaemon.grant("documents", "c", "delete")),
            "full": RoleDaemon.role(RoleDaemon.grant("documents", "c", "delete", "read", "list")),
        ])
        let admin = try daemon.connect("admin")
        try admin.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        let blind = try daemon.connect("blind")
        for more in ["", ",\"dryRun\":true"] {
            let refused = try blind.refusal("documents.deleteMany", parameters("{}", more))
            #expect(refused["kind"]?.text == "forbidden")
        }
        let full = try daemon.connect("full")
        #expect(try full.result("documents.deleteMany", parameters("{}"))["deleted"]?.int == 1)
    }
}
