import Glibc
import Testing

/// `documents.configure` and `documents.describe` over a real socket: indexes and what they hold.
@Suite struct DocumentsIndexScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    @discardableResult
    private func configure(_ more: String, _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result("documents.configure", "{\"collection\":\"c\",\(more)}")
    }

    private func describe(_ more: String = "", _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result("documents.describe", "{\"collection\":\"c\"\(more)}")
    }

    private func put(_ id: String, _ value: String, _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).call("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value)}")
    }

    private func fill(_ ids: Range<Int>, _ client: Client? = nil) throws {
        for start in stride(from: ids.lowerBound, to: ids.upperBound, by: 1000) {
            let documents = (start..<min(start + 1000, ids.upperBound)).map {
                "{\"id\":\"d\($0)\",\"value\":{\"n\":\($0),\"group\":\"g\($0 % 97)\",\"text\":\"\(String(repeating: "t", count: $0 % 300))\"}}"
            }
            try (client ?? self.client).result(
                "documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    private static let indexes = """
        "indexes":[{"name":"byGroup","fields":["group","n"]},{"name":"byNumber","fields":["n"],"unique":true},\
        {"name":"some","fields":["text"],"where":{"n":{"$lt":100}}}]
        """

    @Test func `who waits for an index has the tables written for it, and does not wait until they would be anyway`()
        throws
    {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":{\"n\":1}}")
        // They would be a second after the first change: where one wait of ten takes less than half of that, nobody waits for it.
        let times = try (0..<10).map { round in
            let begun = now()
            try client.result(
                "documents.configure",
                "{\"collection\":\"c\",\"indexes\":[{\"name\":\"i\(round)\",\"fields\":[\"n\"]}]}")
            let described = try client.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":60000}")
            #expect(described["indexes"]?.elements.first?["state"]?.text == "ready")
            return now() - begun
        }
        #expect(times.min()! < 0.5, "\(times)")
    }

    @Test func `an index is built in the background, and describe waits for it and tells of it`() throws {
        try fill(0..<3000)
        let configured = try configure(Self.indexes)
        #expect(configured["building"]?.elements.map(\.text) == ["byGroup", "byNumber", "some"])
        let description = try describe(",\"waitMs\":600000")
        #expect(description["rev"] == configured["rev"])
        #expect(description["count"]?.int == 3000)
        let indexes = description["indexes"]?.elements ?? []
        #expect(indexes.map { $0["state"]?.text } == ["ready", "ready", "ready"])
        #expect(indexes.map { $0["entries"]?.int } == [3000, 3000, 100])
        #expect(indexes.map { $0["unique"]?.bool } == [false, true, false])
        #expect(try indexes.last?["where"] == JSON("{\"n\":{\"$lt\":100}}"))
        #expect(try indexes.first?["fields"] == JSON("[\"group\",\"n\"]"))
        // What is absent stays, and what is the same changes nothing.
        #expect(try configure("\"tombstoneDays\":30")["building"]?.elements.isEmpty == true)
        let rev = try configure(Self.indexes)["rev"]
        #expect(try configure(Self.indexes)["rev"] == rev)
        #expect(try describe()["tombstoneDays"]?.int == 30)
        #expect(try describe()["indexes"]?.elements.count == 3)
        try configure("\"indexes\":null,\"tombstoneDays\":null")
        #expect(try describe()["indexes"]?.elements.isEmpty == true)
        #expect(try describe()["tombstoneDays"] == nil)
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
    }

    @Test func `waiting for a build ends with its time, and for nothing at once`() throws {
        #expect(try describe(",\"waitMs\":600000")["count"]?.int == 0)
        let slow = try TemporaryDaemon(starts: false)
        try slow.start(faults: slow.pause(at: "tend.slice"))
        let client = try slow.connect()
        try fill(0..<10, client)
        try configure(Self.indexes, client)
        let start = now()
        let description = try describe(",\"waitMs\":100", client)
        #expect(description["indexes"]?.elements.first?["state"]?.text == "building")
        #expect(description["indexes"]?.elements.first?["total"]?.int == 10)
        #expect(now() - start < 60)
    }

    @Test func `a unique key is one document's, and the violation names index and document`() throws {
        try configure("\"indexes\":[{\"name\":\"byMail\",\"fields\":[\"mail\"],\"unique\":true}]")
        _ = try describe(",\"waitMs\":600000")
        #expect(try put("a", "{\"mail\":\"x\"}")["result"] != nil)
        for _ in 0..<2 {
            let violation = try put("b", "{\"mail\":\"x\"}")["error"]?["data"]
            #expect(violation?["kind"]?.text == "uniqueViolation")
            #expect(violation?["indexName"]?.text == "byMail")
            #expect(violation?["id"]?.text == "a")
            try daemon.waitUntilFolded()
        }
        let many = try client.refusal(
            "documents.putMany",
            "{\"collection\":\"c\",\"documents\":[{\"id\":\"p\",\"value\":{\"mail\":\"p\"}},{\"id\":\"q\",\"value\":{\"mail\":\"p\"}}]}"
        )
        #expect(many["kind"]?.text == "uniqueViolation")
        #expect(many["index"]?.int == 1)
        #expect(many["id"]?.text == "p")
        let operations = try client.refusal(
            "transaction.apply",
            """
            {"operations":[{"method":"documents.delete","params":{"collection":"c","id":"a"}},\
            {"method":"documents.put","params":{"collection":"c","id":"b","value":{"mail":"x"}}},\
            {"method":"documents.put","params":{"collection":"c","id":"e","value":{"mail":"x"}}}]}
            """)
        #expect(operations["operation"]?.int == 2)
        #expect(operations["id"]?.text == "b")
        // Nothing of it has happened.
        #expect(try put("b", "{\"mail\":\"x\"}")["error"]?["data"]?["id"]?.text == "a")
        #expect(try put("p", "{\"mail\":\"p\"}")["result"] != nil)
    }

    @Test func `of two who race for a key exactly one wins`() throws {
        try configure("\"indexes\":[{\"name\":\"u\",\"fields\":[\"k\"],\"unique\":true}]")
        _ = try describe(",\"waitMs\":600000")
        let other = try daemon.connect()
        for round in 0..<200 {
            for (client, id) in [(client, "one\(round)"), (other, "two\(round)")] {
                client.send(
                    Client.request(
                        "documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":{\"k\":\(round)}}", id: "9"))
            }
            let replies = [try client.reply(), try other.reply()]
            #expect(replies.filter { $0["result"] != nil }.count == 1)
            #expect(replies.filter { $0["error"]?["data"]?["kind"]?.text == "uniqueViolation" }.count == 1)
        }
        #expect(try describe()["count"]?.int == 200)
    }

    @Test func `a violation keeps the other document's id from whoever may not read`() throws {
        let configuration = """
            {"roles":{"inbox":{"grants":[{"store":"documents","scope":"c","allow":["create","update"]}]}},\
            "sockets":[{"path":"\(daemon.root)/kura.sock","role":"admin"},{"path":"\(daemon.root)/in/in.sock","role":"inbox"}]}
            """
        daemon.kill()
        try daemon.start(configuration: configuration)
        let admin = try daemon.connect()
        try configure("\"indexes\":[{\"name\":\"u\",\"fields\":[\"k\"],\"unique\":true}]", admin)
        _ = try put("mine", "{\"k\":1}", admin)
        let writer = try Client(path: daemon.root + "/in/in.sock")
        let violation = try put("other", "{\"k\":1}", writer)["error"]?["data"]
        #expect(violation?["kind"]?.text == "uniqueViolation")
        #expect(violation?["indexName"]?.text == "u")
        #expect(violation?["id"] == nil)
    }

    @Test func `duplicates that were there make the index fail with two ids, and it is built again on request`() throws
    {
        for (id, value) in [("a", "1"), ("b", "2"), ("c", "1.0")] { _ = try put(id, "{\"k\":\(value)}") }
        let unique = "\"indexes\":[{\"name\":\"u\",\"fields\":[\"k\"],\"unique\":true}]"
        try configure(unique)
        let failed = try describe(",\"waitMs\":600000")["indexes"]?.elements.first
        #expect(failed?["state"]?.text == "failed")
        // The operator is warned of it, and told of what went well.
        func line(_ words: String) -> Substring? {
            daemon.log.split(separator: "\n").first { $0.contains(words) }
        }
        for _ in 0..<6000 where line("is not unique") == nil { usleep(10_000) }
        #expect(line("is not unique")?.contains("warning") == true, "\(daemon.log)")
        #expect(Set(failed?["conflict"]?.elements.map(\.text) ?? []) == ["a", "c"])
        // Nobody is held against it any more.
        for id in ["d", "e"] {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":{\"k\":9}}")
        }
        for id in ["c", "d", "e"] { try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"\(id)\"}") }
        #expect(try configure(unique)["building"]?.elements.count == 1)
        #expect(try describe(",\"waitMs\":600000")["indexes"]?.elements.first?["state"]?.text == "ready")
        for _ in 0..<6000 where line("is built") == nil { usleep(10_000) }
        #expect(line("is built")?.contains("info") == true, "\(daemon.log)")
    }

    @Test(arguments: [
        ("\"indexes\":{}", ""), ("\"indexes\":[{\"name\":\"a\"}]", "/0"),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[]}]", "/0"),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\",\"x..y\"]}]", "/0/fields/1"),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\",\"x\"]}]", "/0/fields/1"),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\",\"_id\"]}]", "/0/fields/1"),
        ("\"indexes\":[{\"name\":\"a\u{85}b\",\"fields\":[\"x\"]}]", "/0/name"),
        ("\"searchFields\":[\"x\",\"_id\"]", "/1"),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\"]},{\"name\":\"a\",\"fields\":[\"y\"]}]", "/1/name"),
        ("\"indexes\":[{\"name\":\"\",\"fields\":[\"x\"]}]", "/0/name"),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\"],\"attempt\":1}]", "/0"),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\"],\"unique\":1}]", "/0/unique"),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\"],\"where\":{\"x\":{\"$bad\":1}}}]", "/0/where/x/$bad"),
        (
            "\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\"],\"where\":{\"x\":{\"$regex\":\"^a\"}}}]",
            "/0/where/x/$regex"
        ),
        ("\"indexes\":[{\"name\":\"a\",\"fields\":[\"x\"],\"where\":{\"_id\":\"a\"}}]", "/0/where"),
        ("\"schema\":{\"type\":\"strin\"}", "/type"),
    ])
    func `what is no configuration is refused with its place, and nothing is changed`(more: String, path: String) throws
    {
        let error = try client.refusal("documents.configure", "{\"collection\":\"c\",\"schemaMode\":\"off\",\(more)}")
        #expect(error["kind"]?.text == "invalidParams")
        #expect(error["path"]?.text == path, "\(error)")
        #expect(error["reason"]?.text?.isEmpty == false)
        #expect(try describe()["rev"]?.int == 0)
    }

    @Test func `what is configured on condition is refused when somebody else was faster, and changes nothing then`()
        throws
    {
        let rev = try #require(
            try configure("\"ifRev\":0,\"indexes\":[{\"name\":\"a\",\"fields\":[\"a\"]}]")["rev"]?.int)
        // Documents and what waits for an index change nothing of what is configured.
        _ = try put("d", "{\"a\":1}")
        #expect(try describe(",\"waitMs\":600000")["rev"]?.int == rev)
        let next = try #require(try configure("\"ifRev\":\(rev),\"tombstoneDays\":3")["rev"]?.int)
        for late in [0, rev, next + 1] {
            let refusal = try client.refusal(
                "documents.configure", "{\"collection\":\"c\",\"ifRev\":\(late),\"indexes\":[],\"retainDays\":1}")
            #expect(refusal["kind"]?.text == "conflict" && refusal["currentRev"]?.int == next, "\(late): \(refusal)")
        }
        let description = try describe()
        #expect(description["indexes"]?.elements.count == 1 && description["retainDays"] == nil)
        #expect(description["rev"]?.int == next)
        // In a transaction it takes the other operations with it.
        let operations = """
            {"operations":[{"method":"documents.put","params":{"collection":"c","id":"e","value":1}},\
            {"method":"documents.configure","params":{"collection":"c","ifRev":\(rev),"retainDays":1}}]}
            """
        let refusal = try client.refusal("transaction.apply", operations)
        #expect(refusal["kind"]?.text == "conflict" && refusal["operation"]?.int == 1)
        #expect(try describe()["count"]?.int == 1)
        // A dry run tells of the same.
        let dry = try client.refusal(
            "documents.configure", "{\"collection\":\"c\",\"version\":1,\"dryRun\":true,\"ifRev\":\(rev)}")
        #expect(dry["kind"]?.text == "conflict", "\(dry)")
        #expect(try configure("\"ifRev\":\(next),\"indexes\":null")["rev"]?.int ?? 0 > next)
    }

    @Test func `a number of days is kept as a number, however it was written`() throws {
        try client.result("documents.configure", "{\"collection\":\"c\",\"tombstoneDays\":1.0,\"retainDays\":3e1}")
        let line = try client.exchange(Client.request("documents.describe", "{\"collection\":\"c\"}"))[0]
        #expect(line.contains("\"tombstoneDays\":1,") || line.contains("\"tombstoneDays\":1}"))
        #expect(line.contains("\"retainDays\":30,") || line.contains("\"retainDays\":30}"))
    }

    @Test(arguments: ["\"tombstoneDays\":0", "\"retainDays\":1.5", "\"retainDays\":\"1\"", "\"flushSeconds\":4"])
    func `numbers out of range are refused`(more: String) throws {
        #expect(
            try client.refusal("documents.configure", "{\"collection\":\"c\",\(more)}")["kind"]?.text == "invalidParams"
        )
    }

    @Test func `a schema is held against every write, as its mode says`() throws {
        let schema =
            "\"schema\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\"}}}"
        try configure(schema)
        #expect(try describe()["schemaMode"]?.text == "warn")
        let warned = try put("a", "{\"name\":1}")["result"]
        #expect(warned?["warning"]?["path"]?.text == "/name")
        let many = "{\"collection\":\"c\",\"documents\":[{\"value\":{\"name\":\"x\"}},{\"value\":{}}]}"
        let warnings = try client.result("documents.putMany", many)["warnings"]?.elements
        #expect(warnings?.map { $0["index"]?.int } == [1])
        try configure("\"schemaMode\":\"enforce\"")
        let before = try client.result("documents.count", "{\"collection\":\"c\"}")["count"]
        let refused = try put("b", "{\"name\":1}")["error"]?["data"]
        #expect(refused?["kind"]?.text == "schemaViolation")
        #expect(refused?["path"]?.text == "/name")
        #expect(try client.refusal("documents.putMany", many)["index"]?.int == 1)
        let operation = try client.refusal(
            "transaction.apply",
            "{\"operations\":[{\"method\":\"documents.put\",\"params\":{\"collection\":\"c\",\"value\":{}}}]}")
        #expect(operation["kind"]?.text == "schemaViolation")
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"] == before)
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        #expect(try put("b", "{\"name\":1}", again)["error"]?["data"]?["kind"]?.text == "schemaViolation")
        try configure("\"schema\":null", again)
        #expect(try put("b", "{\"name\":1}", again)["result"]?["warning"] == nil)
    }

    @Test func `what changes a document, and what brings one back, is held against the schema as well`() throws {
        _ = try put("a", "{\"name\":\"x\",\"n\":1}")
        _ = try put("old", "{}")
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"old\"}")
        try configure(
            "\"schema\":{\"required\":[\"name\"],\"properties\":{\"n\":{\"maximum\":2}}},\"schemaMode\":\"warn\"")
        func change(_ method: String, _ id: String, _ more: String) throws -> JSON {
            try client.call("documents.\(method)", "{\"collection\":\"c\",\"id\":\"\(id)\"\(more)}")
        }
        let warned = try change("patch", "a", ",\"mergePatch\":{\"n\":5}")["result"]?["warning"]
        #expect(warned?["path"]?.text == "/n")
        #expect(try change("patch", "a", ",\"mergePatch\":{\"n\":2}")["result"]?["warning"] == nil)
        #expect(try change("increment", "a", ",\"path\":\"n\"")["result"]?["warning"]?["path"]?.text == "/n")
        #expect(try change("increment", "a", ",\"path\":\"n\",\"by\":-1")["result"]?["warning"] == nil)
        try configure("\"schemaMode\":\"enforce\"")
        let rev = try client.result("storage.status")["rev"]?.int
        for (method, id, more) in [
            ("patch", "a", ",\"mergePatch\":{\"name\":null}"),
            ("patch", "a", ",\"jsonPatch\":[{\"op\":\"remove\",\"path\":\"/name\"}]"),
            ("increment", "a", ",\"path\":\"n\""), ("restore", "old", ""),
        ] {
            #expect(try change(method, id, more)["error"]?["data"]?["kind"]?.text == "schemaViolation", "\(method)")
        }
        #expect(try client.result("storage.status")["rev"]?.int == rev)
        #expect(try change("patch", "a", ",\"mergePatch\":{\"n\":1}")["result"]?["changed"]?.bool == true)
        // What is there already and stays as it is breaks nothing.
        try configure("\"schema\":{\"properties\":{\"n\":{\"maximum\":0}}}")
        #expect(try change("patch", "a", ",\"mergePatch\":{\"n\":1}")["result"]?["changed"]?.bool == false)
        #expect(try change("increment", "a", ",\"path\":\"n\",\"by\":0")["result"]?["value"]?.int == 1)
    }

    @Test func `a relaxed collection's writes are acknowledged before they are durable`() throws {
        try configure("\"durability\":\"relaxed\",\"flushSeconds\":60")
        #expect(try describe()["durability"]?.text == "relaxed")
        _ = try put("a", "1")
        #expect(try put("a", "2")["result"]?["durable"]?.bool == false)
        #expect(try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"a\"}")["value"]?.int == 2)
        let deleted = try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect(deleted["durable"]?.bool == false)
        try configure("\"durability\":\"durable\"")
        #expect(try put("a", "3")["result"]?["durable"] == nil)
    }

    @Test(arguments: ["fold.commit:full:2", "fold.slice:full:3+", "tend.commit:full:2", "tend.slice:full:1"])
    func `a full disk takes back what a fold or a build did to the indexes, and it is done again`(fault: String) throws
    {
        daemon.kill()
        try daemon.start(faults: fault)
        let writer = try daemon.connect()
        try fill(0..<1500, writer)
        try configure(Self.indexes, writer)
        _ = try describe(",\"waitMs\":1500", writer)
        _ = try? fill(500..<1000, writer)
        daemon.kill()
        try daemon.start()
        let reader = try daemon.connect()
        let indexes = try describe(",\"waitMs\":600000", reader)["indexes"]?.elements
        #expect(indexes?.map { $0["state"]?.text } == ["ready", "ready", "ready"])
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
    }

    @Test func `a kill at any point of a build leaves an index that is completed`() throws {
        let faults = [
            "tend.slice:kill:1", "tend.commit:kill:1", "tend.slice:kill:2", "tend.commit:kill:2", "fold.commit:kill:1",
            "tend.slice:kill:3", "tend.commit:kill:3", "tend.slice:kill:5",
        ]
        try fill(0..<4000)
        try configure(Self.indexes)
        try daemon.die(atEachOf: faults) { round, number in "{\"n\":\(10_000 + round * 100 + number)}" }
        try daemon.start()
        let last = try daemon.connect()
        let indexes = try describe(",\"waitMs\":600000", last)["indexes"]?.elements
        #expect(indexes?.map { $0["state"]?.text } == ["ready", "ready", "ready"])
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
        #expect(try TablesRecount.numbers(daemon.data, "SELECT count(*) FROM indexes") == [3])
    }
}
