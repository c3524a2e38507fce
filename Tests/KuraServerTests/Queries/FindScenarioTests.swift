import Testing

/// `documents.find` and its like over a real socket.
@Suite struct FindScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private func put(_ id: String, _ value: String) throws {
        try client.result(
            "documents.put", "{\"collection\":\"c\",\"id\":\(JSON.quoted(id)),\"value\":\(value)}")
    }

    /// Documents d00000, d00001, … with their number as `n`.
    private func fill(_ count: Int, from start: Int = 0) throws {
        for first in stride(from: start, to: start + count, by: 5000) {
            let documents = (first..<min(first + 5000, start + count)).map { number in
                let digits = String(100_000 + number).dropFirst()
                return "{\"id\":\"d\(digits)\",\"value\":{\"n\":\(number),\"m\":\(number % 7)}}"
            }
            try client.result(
                "documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    private func find(_ more: String, _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result("documents.find", "{\"collection\":\"c\"\(more.isEmpty ? "" : ",")\(more)}")
    }

    private func ids(_ page: JSON) -> [String] { page["documents"]?.elements.compactMap { $0["id"]?.text } ?? [] }

    @Test func `what was just acknowledged is found, sorted, and cut to the fields that are wanted`() throws {
        try put("a", #"{"name":"Zoë","age":41,"tags":["x","y"]}"#)
        try put("b", #"{"name":"Ann","age":7,"tags":[]}"#)
        try put("c", #"{"name":"Bob","age":1e1}"#)
        try put("d", #"{"name":"Eve"}"#)
        let page = try find(#""where":{"age":{"$gt":5}},"sort":["age"],"fields":["name","tags.1"]"#)
        #expect(
            page["documents"]
                == (try JSON(
                    #"[{"id":"b","value":{"name":"Ann"},"rev":2},{"id":"c","value":{"name":"Bob"},"rev":3},"#
                        + #"{"id":"a","value":{"name":"Zoë","tags":{"1":"y"}},"rev":1}]"#)))
        #expect(page["cursor"] == nil && page["rev"]?.int == 4)
        #expect(page["plan"] == (try JSON(#"{"access":"collection","ranges":1,"sort":"memory"}"#)))
        #expect(try ids(find(#""sort":[{"name":"desc"}]"#)) == ["a", "d", "c", "b"])
        // Where nothing is comes first; then by what is left.
        #expect(try ids(find(#""sort":["age",{"_id":"desc"}]"#)) == ["d", "b", "c", "a"])
        #expect(try ids(find(#""where":{"_id":{"$gte":"b","$lt":"d"}}"#)) == ["b", "c"])
        #expect(try ids(find(#""where":{"_id":{"$in":["d","a","nobody"]}},"sort":[{"_id":"desc"}]"#)) == ["d", "a"])
        #expect(try ids(find("")) == ["a", "b", "c", "d"])
    }

    @Test func `an unknown collection has no documents`() throws {
        let none = try client.result("documents.find", #"{"collection":"none","where":{"a":1}}"#)
        #expect(none["documents"]?.elements.isEmpty == true && none["plan"]?["access"]?.text == "none")
        #expect(try client.result("documents.count", #"{"collection":"none","where":{"a":1}}"#)["count"]?.int == 0)
        #expect(
            try client.result("documents.distinct", #"{"collection":"none","field":"a"}"#)["values"]?.elements == [])
    }

    // Every page from the start on, with something happening between them.
    private func pages(_ more: String, limit: Int, between: (Int) throws -> Void = { _ in }) throws -> [String] {
        var found: [String] = []
        var cursor: String?
        for round in 0... {
            let page = try find("\(more)\"limit\":\(limit)" + (cursor.map { ",\"cursor\":\(JSON.quoted($0))" } ?? ""))
            #expect(ids(page).count <= limit)
            found += ids(page)
            cursor = page["cursor"]?.text
            if cursor == nil { break }
            try between(round)
        }
        return found
    }

    @Test(arguments: [
        "", #""sort":["_id"],"#, #""sort":[{"_id":"desc"}],"#, #""sort":["n"],"#, #""sort":[{"m":"desc"},"n"],"#,
    ])
    func `pages have every document once while others come, go and change`(_ sort: String) throws {
        try fill(300)
        let more = sort + #""where":{"n":{"$gte":0}},"#
        let expected = try pages(more, limit: 300)
        #expect(expected.count == 300)
        let found = try pages(more, limit: 23) { round in
            // Neither is one that the pages are of, or its place stays.
            try put("x\(round)", #"{"n":-1,"m":\#(round % 7)}"#)
            try put(expected[round], #"{"n":-5}"#)
            try put("d00299", #"{"n":299,"m":\#(299 % 7),"more":\#(round)}"#)
        }
        // Those that were changed away had been returned before.
        #expect(found == expected)
    }

    @Test func `a cursor outlives the daemon, and belongs to its query`() throws {
        try fill(50)
        let first = try find(#""where":{"m":{"$lt":3}},"sort":[{"n":"desc"}],"limit":5"#)
        let cursor = JSON.quoted(try #require(first["cursor"]?.text))
        let all = try ids(find(#""where":{"m":{"$lt":3}},"sort":[{"n":"desc"}]"#))
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let client = try daemon.connect()
        let second = try find(#""where":{"m":{"$lt":3}},"sort":[{"n":"desc"}],"limit":5,"cursor":\#(cursor)"#, client)
        #expect(ids(first) + ids(second) == Array(all.prefix(10)))
        for other in [#""where":{"m":{"$lt":4}},"sort":[{"n":"desc"}]"#, #""where":{"m":{"$lt":3}},"sort":["n"]"#] {
            let refusal = try client.refusal("documents.find", "{\"collection\":\"c\",\(other),\"cursor\":\(cursor)}")
            #expect(refusal["kind"]?.text == "invalidParams" && refusal["parameter"]?.text == "cursor")
        }
    }

    @Test func `a large page ends before it grows over its bound`() throws {
        let text = String(repeating: "x", count: 400_000)
        for id in ["a", "b", "c", "d"] { try put(id, "\"\(text)\"") }
        let page = try find("")
        #expect(ids(page) == ["a", "b"])
        #expect(try ids(find("\"cursor\":\(JSON.quoted(page["cursor"]?.text ?? ""))")) == ["c", "d"])
    }

    @Test(arguments: [
        (#""where":{"a":{"$foo":1}}"#, "where", "/a/$foo"), (#""where":5"#, "where", ""),
        (#""where":{"a..b":1}"#, "where", "/a..b"), (#""where":{"a":{"$in":5}}"#, "where", "/a/$in"),
        (#""where":{"a":{"$regex":"("}}"#, "where", "/a/$regex"),
        (#""where":{"a":{"$regex":"(?P<n>a)"}}"#, "where", "/a/$regex"),
        (#""sort":[5]"#, "sort", "/0"), (#""sort":["a",{"b":"up"}]"#, "sort", "/1"),
        (#""sort":["a","a"]"#, "sort", "/1"),
        (#""sort":["a."]"#, "sort", "/0"), (#""fields":["a",""]"#, "fields", "/1"),
        (
            "\"where\":" + String(repeating: #"{"$not":"#, count: 99) + "{}" + String(repeating: "}", count: 99),
            "where",
            String(repeating: "/$not", count: 65)
        ),
    ])
    func `what is wrong with a query is told with its place`(_ params: String, _ parameter: String, _ path: String)
        throws
    {
        try put("a", "1")
        for method in ["documents.find", "documents.explain"] {
            let refusal = try client.refusal(method, "{\"collection\":\"c\",\(params)}")
            #expect(refusal["kind"]?.text == "invalidParams")
            #expect(refusal["parameter"]?.text == parameter && refusal["path"]?.text == path, "\(refusal)")
            #expect(refusal["reason"]?.text?.isEmpty == false)
        }
    }

    @Test func `a pattern that would run for ever ends the query at once`() throws {
        try put("a", "{\"t\":\"\(String(repeating: "a", count: 5000))b\"}")
        let start = now()
        let refusal = try client.refusal("documents.find", #"{"collection":"c","where":{"t":{"$regex":"^(a+)+$"}}}"#)
        #expect(refusal["kind"]?.text == "invalidParams" && refusal["hint"]?.text?.contains("$regex") == true)
        #expect(refusal["parameter"]?.text == "where" && refusal["path"]?.text == "/t/$regex", "\(refusal)")
        let second = try client.refusal(
            "documents.count",
            #"{"collection":"c","where":{"$and":[{"t":{"$regex":"^a"}},{"t":{"$regex":"^(a+)+$"}}]}}"#)
        #expect(second["parameter"]?.text == "where" && second["path"]?.text == "/$and/1/t/$regex", "\(second)")
        let deletion = try client.refusal(
            "documents.deleteMany", #"{"collection":"c","where":{"t":{"$regex":"^(a+)+$"}}}"#)
        #expect(deletion["path"]?.text == "/t/$regex", "\(deletion)")
        #expect(now() - start < 60)
        #expect(try ids(find(#""where":{"t":{"$regex":"(?i)^A+B$"}}"#)) == ["a"])
        #expect(try ids(find(#""where":{"t":{"$regex":"^A+B$"}}"#)) == [])
    }

    @Test func `a large collection is not looked through unless that is allowed`() throws {
        try fill(10_001)
        let refusal = try client.refusal(
            "documents.find", #"{"collection":"c","where":{"n":5,"m":{"$gt":1}},"sort":["k"]}"#)
        #expect(refusal["kind"]?.text == "indexNeeded" && refusal["limit"]?.int == 10_000)
        #expect(refusal["reason"]?.text?.contains("n, k, m") == true, "\(refusal)")
        for (method, more) in [
            ("count", #""where":{"n":5}"#), ("distinct", #""field":"m""#), ("aggregate", "\"groupBy\":[\"m\"]"),
        ] {
            #expect(
                try client.refusal("documents.\(method)", "{\"collection\":\"c\",\(more)}")["kind"]?.text
                    == "indexNeeded")
            try client.result("documents.\(method)", "{\"collection\":\"c\",\(more),\"allowScan\":true}")
        }
        let allowed = try find(#""where":{"n":5},"allowScan":true"#)
        #expect(ids(allowed) == ["d00005"])
        #expect(allowed["warnings"]?.elements.count == 1)
        // Those look at few documents: the first ones, and those with certain ids.
        #expect(try ids(find(#""limit":2"#)) == ["d00000", "d00001"])
        #expect(try ids(find(#""sort":[{"_id":"desc"}],"limit":1"#)) == ["d10000"])
        #expect(try ids(find(#""where":{"_id":{"$gt":"d09999"}}"#)) == ["d10000"])
        #expect(try ids(find(#""where":{"_id":"d00007","n":7}"#)) == ["d00007"])
        #expect(try client.result("documents.count", #"{"collection":"c"}"#)["count"]?.int == 10_001)
        // One less, and it may be looked through.
        try client.result("documents.delete", #"{"collection":"c","id":"d00000"}"#)
        #expect(try ids(find(#""where":{"n":5}"#)) == ["d00005"])
    }

    // Much to ask of each document.
    private static let tedious =
        #""where":{"$or":["# + (0..<200).map { "{\"x.y.z\($0)\":\($0)}" }.joined(separator: ",") + "]}"

    @Test func `a query ends at its time limit, and others go on`() throws {
        try fill(10_000)
        let start = now()
        let refusal = try client.refusal("documents.find", "{\"collection\":\"c\",\(Self.tedious),\"timeoutMs\":20}")
        #expect(refusal["kind"]?.text == "timeout" && refusal["limit"]?.int == 20 && refusal["retryable"]?.bool == true)
        #expect(now() - start < 60)
        #expect(try ids(find(#""where":{"n":9000}"#)) == ["d09000"])
    }

    @Test func `a query is cancelled ahead of its turn`() throws {
        try fill(10_000)
        let query = "{\"collection\":\"c\",\(Self.tedious),\"timeoutMs\":60000}"
        // At once: on a busy machine it might be answered before the next is sent.
        client.send(
            Client.request("documents.count", query, id: "\"long\"")
                + Client.request("rpc.cancel", "{\"id\":\"other\"}", id: "1")
                + Client.request("rpc.cancel", "{\"id\":\"long\"}", id: "2") + Client.request("storage.ping", id: "3"))
        var replies: [String: JSON] = [:]
        for _ in 0..<4 {
            let reply = try client.reply()
            replies[reply["id"]?.text ?? "\(reply["id"]?.int ?? 0)"] = reply
        }
        #expect(replies["1"]?["result"]?["cancelled"]?.bool == false)
        #expect(replies["2"]?["result"]?["cancelled"]?.bool == true)
        #expect(replies["long"]?["error"]?["data"]?["kind"]?.text == "cancelled")
        #expect(try client.result("rpc.cancel", "{\"id\":\"long\"}")["cancelled"]?.bool == false)
    }

    @Test func `short queries do not wait for long ones`() throws {
        try fill(10_000)
        let long = "{\"collection\":\"c\",\(Self.tedious),\"allowScan\":true,\"timeoutMs\":60000}"
        var began = now()
        try client.result("documents.count", long)
        let whole = now() - began
        // Several on each connection, so that they last as long as the short ones.
        let others = try (0..<3).map { _ in try daemon.connect() }
        for other in others { other.send(String(repeating: Client.request("documents.count", long), count: 12)) }
        var times: [Double] = []
        for _ in 0..<20 {
            began = now()
            let page = try client.result("documents.list", #"{"collection":"c","limit":5}"#)
            times.append(now() - began)
            #expect(ids(page).count == 5)
        }
        #expect(times.sorted()[10] < whole / 2, "\(times) beside \(whole)")
        withExtendedLifetime(others) {}
    }
}
