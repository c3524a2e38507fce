import Glibc
import Testing

/// `documents.drop` and `documents.purge` over a real socket.
@Suite struct DocumentsRemovalScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private func fill(_ collection: String, _ ids: Range<Int>) throws {
        for start in stride(from: ids.lowerBound, to: ids.upperBound, by: 1000) {
            let documents = (start..<min(start + 1000, ids.upperBound)).map {
                "{\"id\":\"d\($0)\",\"value\":{\"n\":\($0),\"text\":\"\(String(repeating: "t", count: $0 % 300))\"}}"
            }
            try client.result(
                "documents.putMany",
                "{\"collection\":\"\(collection)\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    private func count(_ collection: String, _ client: Client) throws -> Int? {
        try client.result("documents.count", "{\"collection\":\"\(collection)\"}")["count"]?.int
    }

    /// No row is left that belongs to no collection, and nothing is left to be done.
    private func isTidy() throws -> Bool {
        let orphans = try TablesRecount.numbers(
            daemon.data,
            "SELECT count(*) FROM documents WHERE collection NOT IN (SELECT id FROM scopes) UNION ALL SELECT count(*) FROM drops"
        )
        return orphans == [0, 0]
    }

    @Test(arguments: [false, true]) func `a dropped collection is gone at once, and its name is free`(
        isFolded: Bool
    ) throws {
        try fill("c", 0..<2500)
        try client.result(
            "documents.configure",
            "{\"collection\":\"c\",\"indexes\":[{\"name\":\"n\",\"fields\":[\"n\"]}],\"schema\":{\"type\":\"object\"},\"schemaMode\":\"enforce\"}"
        )
        if isFolded { _ = try client.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}") }
        let dropped = try client.result("documents.drop", "{\"collection\":\"c\"}")
        #expect(dropped["dropped"]?.bool == true)
        #expect(try count("c", client) == 0)
        #expect(try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"d1\"}")["rev"]?.int == 0)
        #expect(try client.result("documents.list", "{\"collection\":\"c\"}")["documents"]?.elements.isEmpty == true)
        #expect(try client.result("documents.scopes")["scopes"]?.elements.isEmpty == true)
        let description = try client.result("documents.describe", "{\"collection\":\"c\"}")
        #expect(description["indexes"]?.elements.isEmpty == true && description["schema"] == nil)
        #expect(try client.result("documents.drop", "{\"collection\":\"c\"}")["dropped"]?.bool == false)
        // The next of that name starts anew: no schema, no old version, no old condition.
        let put = try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"d1\",\"value\":7,\"ifRev\":0}")
        #expect(put["warning"] == nil)
        #expect(try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"d1\"}")["version"]?.int == 1)
        for isClean in [false, true] {
            if isClean { #expect(daemon.terminate() == 0) } else { daemon.kill() }
            try daemon.start()
            let again = try daemon.connect()
            #expect(try count("c", again) == 1)
            #expect(try again.result("documents.get", "{\"collection\":\"c\",\"id\":\"d1\"}")["value"]?.int == 7)
            #expect(try again.result("documents.get", "{\"collection\":\"c\",\"id\":\"d2\"}")["rev"]?.int == 0)
            #expect(try again.result("documents.list", "{\"collection\":\"c\"}")["documents"]?.elements.count == 1)
        }
        try waitUntilTidy()
    }

    private func waitUntilTidy() throws {
        for _ in 0..<6000 {
            if try isTidy() { return }
            usleep(10_000)
        }
        Issue.record("something is left in the tables")
    }

    @Test func `subscribers are told of a drop, in place of all that it took along`() throws {
        let start =
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")["rev"]?.int ?? 0
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"b\",\"value\":1}")
        try client.result("documents.put", "{\"collection\":\"other\",\"id\":\"a\",\"value\":1}")
        let dropped = try client.result("documents.drop", "{\"collection\":\"c\"}")["rev"]?.int
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"b\",\"value\":2}")
        let changes = try client.result("changes.wait", "{\"afterRev\":\(start),\"timeoutMs\":1000}")["changes"]?
            .elements
        #expect(changes?.map { $0["scope"]?.text } == ["other", "c", "c"])
        #expect(changes?.map { $0["key"]?.text } == ["a", nil, "b"])
        #expect(changes?.map { $0["dropped"]?.bool } == [nil, true, nil])
        #expect(changes?[1]["rev"]?.int == dropped)
    }

    @Test func `a second drop of the same name in one page is told to those who wait and those who watch`() throws {
        let watcher = try daemon.connect()
        var start = 0
        var last: Int?
        for round in 0..<2 {
            let put = try client.result("documents.putMany", Self.two)["rev"]?.int
            if round == 0 { start = try #require(put) - 1 }
            last = try client.result("documents.drop", "{\"collection\":\"c\"}")["rev"]?.int
        }
        for filter in ["", ",\"scope\":\"c\"", ",\"stores\":[\"documents\"],\"prefix\":\"x\""] {
            let waited = try client.result("changes.wait", "{\"afterRev\":\(start),\"timeoutMs\":1000\(filter)}")
            #expect(waited["changes"]?.elements.map { $0["rev"]?.int } == [last], "\(filter)")
            try watcher.result("changes.watch", "{\"afterRev\":\(start)\(filter)}")
            let told = try watcher.reply()["params"]?["changes"]?.elements
            #expect(told?.map { $0["rev"]?.int } == [last], "\(filter)")
        }
    }

    private static let two =
        "{\"collection\":\"c\",\"documents\":[{\"id\":\"a\",\"value\":1},{\"id\":\"b\",\"value\":2}]}"

    @Test func `a collection that is only configured is read as of the drop of the one before it`() throws {
        try client.result("documents.putMany", Self.two)
        try daemon.waitUntilFolded()
        let watcher = try daemon.connect()
        try watcher.result("documents.watch", "{\"collection\":\"c\"}")
        #expect(try watcher.reply()["params"]?["documents"]?.elements.count == 2)
        let ids = ",\"where\":{\"_id\":\"a\"}"
        let reads = [
            ("documents.list", ""), ("documents.find", ""), ("documents.find", ids), ("documents.count", ids),
            ("documents.explain", ids), ("documents.distinct", ",\"field\":\"_id\""),
            ("documents.aggregate", ",\"compute\":{\"top\":{\"max\":\"_id\"}}"),
            ("documents.deleteMany", ",\"where\":{},\"dryRun\":true"),
        ]
        // In one turn, so that nothing of it is folded in between.
        client.send(
            Client.request("documents.drop", "{\"collection\":\"c\"}")
                + Client.request("documents.configure", "{\"collection\":\"c\",\"retainDays\":3}")
                + reads.map { Client.request($0, "{\"collection\":\"c\"\($1)}") }.joined())
        let dropped = try #require(try client.reply()["result"]?["rev"]?.int)
        #expect(try client.reply()["result"]?["rev"]?.int == dropped + 1)
        for read in reads {
            let reply = try client.reply()
            #expect(reply["result"]?["rev"]?.int ?? 0 >= dropped, "\(read): \(reply)")
        }
        let told = try watcher.reply()["params"]?["changes"]?.elements
        #expect(told?.map { $0["change"]?.text } == ["removed", "removed"])
    }

    @Test func `a transaction that drops and then fails leaves the collection as it was`() throws {
        try fill("c", 0..<50)
        try client.result(
            "documents.configure",
            "{\"collection\":\"c\",\"indexes\":[{\"name\":\"n\",\"fields\":[\"n\"],\"unique\":true}]}")
        _ = try client.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
        let apply = { (last: String) in
            """
            {"operations":[{"method":"documents.drop","params":{"collection":"c"}},\
            {"method":"documents.put","params":{"collection":"c","id":"new","value":{"n":3}}},\(last)]}
            """
        }
        let failing =
            "{\"method\":\"documents.put\",\"params\":{\"collection\":\"x\",\"id\":\"k\",\"value\":1,\"ifRev\":9}}"
        #expect(try client.refusal("transaction.apply", apply(failing))["operation"]?.int == 2)
        #expect(try count("c", client) == 50)
        #expect(try client.refusal("documents.put", "{\"collection\":\"c\",\"value\":{\"n\":3}}")["id"]?.text == "d3")
        let passing = "{\"method\":\"documents.put\",\"params\":{\"collection\":\"x\",\"id\":\"k\",\"value\":1}}"
        try client.result("transaction.apply", apply(passing))
        #expect(try count("c", client) == 1)
        daemon.kill()
        try daemon.start()
        #expect(try count("c", try daemon.connect()) == 1)
        try daemon.waitUntilFolded()
        try waitUntilTidy()
    }

    @Test func `a kill at any point of a drop leaves it done, or to be gone on with`() throws {
        let faults = [
            "log.commit:kill:1", "fold.slice:kill:1", "fold.commit:kill:1", "tend.slice:kill:1", "tend.commit:kill:1",
            "tend.slice:kill:2", "tend.commit:kill:2", "tend.slice:kill:4", "tend.commit:kill:7",
        ]
        for (round, fault) in faults.enumerated() {
            let collection = "c\(round)"
            daemon.kill()
            try daemon.start()
            let writer = try daemon.connect()
            let values = (0..<800).map { "{\"id\":\"\($0)\",\"value\":{\"n\":\($0)}}" }.joined(separator: ",")
            try writer.result("documents.putMany", "{\"collection\":\"\(collection)\",\"documents\":[\(values)]}")
            try writer.result(
                "documents.configure",
                "{\"collection\":\"\(collection)\",\"indexes\":[{\"name\":\"n\",\"fields\":[\"n\"]}]}")
            _ = try writer.result("documents.describe", "{\"collection\":\"\(collection)\",\"waitMs\":600000}")
            // So that the fault strikes the drop, and not the start: what the round before has dropped is in the tables, and gone from them.
            try daemon.waitUntilFolded()
            try waitUntilTidy()
            #expect(daemon.terminate() == 0)
            // It may end before it listens all the same: a fold or a tending that comes late is a point as well.
            try daemon.launch(faults: fault)
            var dropper: Client?
            while dropper == nil, daemon.isRunning {
                usleep(2000)
                dropper = try? daemon.connect()
            }
            let reply = try? dropper?.call("documents.drop", "{\"collection\":\"\(collection)\"}")
            _ = daemon.wait(seconds: 2)
            daemon.kill()
            try daemon.start()
            let reader = try daemon.connect()
            let left = try count(collection, reader)
            #expect(left == 0 || (reply == nil && left == 800), "\(fault): \(left ?? -1)")
            if left != 0 { try reader.result("documents.drop", "{\"collection\":\"\(collection)\"}") }
            try reader.result("documents.put", "{\"collection\":\"\(collection)\",\"id\":\"1\",\"value\":\"new\"}")
            #expect(try count(collection, reader) == 1)
        }
        try daemon.waitUntilFolded()
        try waitUntilTidy()
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
        #expect(try TablesRecount.numbers(daemon.data, "SELECT count(*) FROM documents") == [faults.count])
    }

    @Test func `a purge forgets what was deleted, and nothing else`() throws {
        try fill("c", 0..<1500)
        for start in stride(from: 0, to: 1000, by: 250) {
            let operations = (start..<start + 250).map {
                "{\"method\":\"documents.delete\",\"params\":{\"collection\":\"c\",\"id\":\"d\($0)\"}}"
            }
            try client.result("transaction.apply", "{\"operations\":[\(operations.joined(separator: ","))]}")
        }
        let describe = { try client.result("documents.describe", "{\"collection\":\"c\"}") }
        #expect(try describe()["tombstones"]?.int == 1000)
        #expect(try client.result("documents.purge", "{\"collection\":\"c\",\"olderThanDays\":1}")["purged"]?.int == 0)
        #expect(try client.result("documents.purge", "{\"collection\":\"c\"}")["purged"]?.int == 1000)
        #expect(try describe()["tombstones"]?.int == 0)
        #expect(try describe()["count"]?.int == 500)
        #expect(try client.result("documents.purge", "{\"collection\":\"c\"}")["purged"]?.int == 0)
        #expect(try client.result("documents.purge", "{\"collection\":\"none\"}")["purged"]?.int == 0)
        // Who comes back is born again.
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"d5\",\"value\":1,\"ifRev\":0}")
        #expect(try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"d5\"}")["version"]?.int == 1)
        daemon.kill()
        try daemon.start()
        #expect(try count("c", try daemon.connect()) == 501)
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.numbers(daemon.data, "SELECT count(*) FROM documents") == [501])
        #expect(try TablesRecount.numbers(daemon.data, "SELECT count FROM scopes WHERE name = 'c'") == [501])
    }

    @Test(arguments: ["", ",\"olderThanDays\":0"])
    func `a purge of everything takes what was deleted this very moment, or by a clock that was set back since`(
        days: String
    ) throws {
        let daemon = try TemporaryDaemon(movesTime: true)
        let client = try daemon.connect()
        for round in 0..<20 {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"d\",\"value\":1}")
            try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"d\"}")
            if round == 19 { try daemon.advance(seconds: -7200, wallOnly: true) }
            #expect(try client.result("documents.purge", "{\"collection\":\"c\"\(days)}")["purged"]?.int == 1)
        }
    }

    @Test(arguments: ["tend.slice:kill:1", "tend.commit:kill:1"]) func `a purge that is killed can be repeated`(
        fault: String
    ) throws {
        try fill("c", 0..<600)
        let operations = (0..<400).map {
            "{\"method\":\"documents.delete\",\"params\":{\"collection\":\"c\",\"id\":\"d\($0)\"}}"
        }
        try client.result("transaction.apply", "{\"operations\":[\(operations.joined(separator: ","))]}")
        daemon.kill()
        try daemon.start(faults: fault)
        let purger = try daemon.connect()
        #expect(throws: (any Error).self) { try purger.call("documents.purge", "{\"collection\":\"c\"}") }
        #expect(daemon.wait() == 128 + SIGKILL)
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("documents.purge", "{\"collection\":\"c\"}")["purged"]?.int == 400)
        #expect(try count("c", again) == 200)
    }
}
