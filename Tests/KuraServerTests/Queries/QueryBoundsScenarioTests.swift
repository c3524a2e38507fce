import Glibc
import Testing

/// What queries are held to: bounds of their parameters, cursors that belong to one collection, errors that name the right thing.
@Suite struct QueryBoundsScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
        for id in ["a", "b", "c"] {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":{\"n\":\"\(id)\"}}")
        }
    }

    private func list(_ count: Int) -> String { "[" + (0..<count).map { "\"f\($0)\"" }.joined(separator: ",") + "]" }

    @Test(arguments: [
        ("documents.find", "sort", 16), ("documents.find", "fields", 100), ("documents.explain", "sort", 16),
        ("documents.aggregate", "groupBy", 16),
    ]) func `lists of paths have at most as many items as the table says`(
        _ method: String, _ name: String, _ limit: Int
    )
        throws
    {
        let more = method == "documents.aggregate" ? ",\"compute\":{}" : ""
        func parameters(_ count: Int) -> String { "{\"collection\":\"c\",\"\(name)\":\(list(count))\(more)}" }
        try client.result(method, parameters(limit))
        for count in [limit + 1, 20_000] {
            let refusal = try client.refusal(method, parameters(count))
            #expect(refusal["kind"]?.text == "invalidParams" && refusal["parameter"]?.text == name, "\(refusal)")
            #expect(refusal["limit"]?.int == limit && refusal["path"]?.text == "/\(limit)", "\(refusal)")
        }
    }

    @Test func `a selector has at most 512 KiB`() throws {
        func parameters(_ bytes: Int) -> String {
            let literal = String(repeating: "x", count: bytes - "{\"n\":\"\"}".utf8.count)
            return "{\"collection\":\"c\",\"where\":{\"n\":\"\(literal)\"}}"
        }
        #expect(try client.result("documents.find", parameters(512 << 10))["documents"]?.elements.isEmpty == true)
        let refusal = try client.refusal("documents.find", parameters(512 << 10 + 1))
        #expect(refusal["kind"]?.text == "invalidParams" && refusal["limit"]?.int == 512 << 10, "\(refusal)")
    }

    @Test(arguments: ["documents.find", "documents.list"])
    func `a cursor of a dropped collection is of no use to the one that gets its name`(_ method: String) throws {
        let first = try client.result(method, #"{"collection":"c","limit":1}"#)
        let cursor = try #require(first["cursor"]?.text)
        let next = "{\"collection\":\"c\",\"limit\":1,\"cursor\":\(JSON.quoted(cursor))}"
        #expect(try client.result(method, next)["documents"]?[0]?["id"]?.text == "b")
        try client.result("documents.drop", #"{"collection":"c"}"#)
        #expect(try client.refusal(method, next)["parameter"]?.text == "cursor")
        try client.result("documents.put", #"{"collection":"c","id":"new","value":1}"#)
        #expect(try client.refusal(method, next)["parameter"]?.text == "cursor")
        let page = try client.result(method, #"{"collection":"c","limit":1}"#)
        #expect(page["documents"]?[0]?["id"]?.text == "new" && page["cursor"] == nil)
    }

    @Test func `the cursor of one method is refused by another`() throws {
        let found = try client.result("documents.find", #"{"collection":"c","limit":1}"#)
        let cursor = JSON.quoted(try #require(found["cursor"]?.text))
        let refusal = try client.refusal("documents.list", "{\"collection\":\"c\",\"cursor\":\(cursor)}")
        #expect(refusal["kind"]?.text == "invalidParams" && refusal["parameter"]?.text == "cursor")
    }

    @Test func `a batch that meets a unique index names the index and the place, each by itself`() throws {
        try client.result(
            "documents.configure", #"{"collection":"c","indexes":[{"name":"byN","fields":["n"],"unique":true}]}"#)
        try client.result("documents.describe", #"{"collection":"c","waitMs":600000}"#)
        let refusal = try client.refusal(
            "documents.putMany",
            #"{"collection":"c","documents":[{"id":"x","value":{"n":"x"}},{"id":"y","value":{"n":"b"}}]}"#)
        #expect(refusal["kind"]?.text == "uniqueViolation" && refusal["indexName"]?.text == "byN", "\(refusal)")
        #expect(refusal["id"]?.text == "b" && refusal["path"]?.text == "/1" && refusal["index"]?.int == 1, "\(refusal)")
    }

    @Test func `a dry run of a deletion says what the deletion would`() throws {
        let parts = (0..<5001).map { "{\"id\":\"d\($0)\",\"value\":{}}" }
        for start in [0, 2501] {
            let list = parts[start..<min(start + 2501, 5001)].joined(separator: ",")
            try client.result("documents.putMany", "{\"collection\":\"many\",\"documents\":[\(list)]}")
        }
        let request = #"{"collection":"many","where":{},"dryRun":true"#
        #expect(try client.result("documents.deleteMany", request + "}")["deleted"]?.int == 5001)
        let refusal = try client.refusal("documents.deleteMany", request + ",\"atomic\":true}")
        #expect(refusal["kind"]?.text == "tooManyDocuments")
    }

    @Test func `counting by an empty selector is counting`() throws {
        let counted = try client.result("documents.count", #"{"collection":"c","where":{}}"#)
        // No query was made: a large collection is counted as well, and at once.
        #expect(counted["count"]?.int == 3 && counted["plan"] == nil, "\(counted)")
    }

    @Test func `a deletion in slices ends with its collection, and leaves the one that gets its name alone`() throws {
        func put(_ ids: Range<Int>, _ client: Client) throws {
            for start in stride(from: ids.lowerBound, to: ids.upperBound, by: 4000) {
                let list = (start..<min(start + 4000, ids.upperBound)).map { "{\"id\":\"d\($0)\",\"value\":{\"n\":1}}" }
                try client.result(
                    "documents.putMany",
                    "{\"collection\":\"many\",\"documents\":[\(list.joined(separator: ","))]}")
            }
        }
        try put(0..<16_000, client)
        let other = try daemon.connect()
        client.send(
            #"{"jsonrpc":"2.0","id":9,"method":"documents.deleteMany","params":{"collection":"many","where":{"n":1},"allowScan":true}}"#
                + "\n")
        // Until some slices are through.
        while try other.result("documents.count", #"{"collection":"many"}"#)["count"]?.int == 16_000 { usleep(1000) }
        try other.result("documents.drop", #"{"collection":"many"}"#)
        try put(4000..<16_000, other)
        var reply = try JSON(#require(try client.line()))
        while reply["id"] == nil { reply = try JSON(#require(try client.line())) }
        #expect(reply["error"] == nil, "\(reply)")
        #expect(try other.result("documents.count", #"{"collection":"many"}"#)["count"]?.int == 12_000)
    }
}
