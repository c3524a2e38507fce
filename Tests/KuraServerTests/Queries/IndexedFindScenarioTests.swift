import Testing

/// Queries over indexes: what they look at, in which order, and what becomes of them when an index goes.
@Suite struct IndexedFindScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
        let documents = (0..<11_000).map { number in
            "{\"id\":\"d\(number)\",\"value\":{\"n\":\(number),\"m\":\(number % 100),\"s\":\"t\(number % 10)\"}}"
        }
        for start in [0, 5500] {
            let list = documents[start..<start + 5500].joined(separator: ",")
            try client.result("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(list)]}")
        }
        try configure(#"{"name":"byN","fields":["n"],"unique":true},{"name":"byMN","fields":["m","n"]}"#)
    }

    private func configure(_ indexes: String) throws {
        try client.result("documents.configure", "{\"collection\":\"c\",\"indexes\":[\(indexes)]}")
        try client.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
    }

    private func ask(_ method: String, _ more: String) throws -> JSON {
        try client.result("documents.\(method)", "{\"collection\":\"c\",\(more)}")
    }

    private func ids(_ page: JSON) -> [String] { page["documents"]?.elements.compactMap { $0["id"]?.text } ?? [] }

    @Test func `what keys decide is counted in the index, whatever there is of it`() throws {
        // Around what is counted on the loop, and with several ranges, of which some are too large for it.
        for size in [0, 1, 255, 256, 2047, 2048, 2049, 5000, 11_000] {
            let counted = try ask("count", "\"where\":{\"n\":{\"$gte\":0,\"$lt\":\(size)}}")
            #expect(counted["count"]?.int == size)
            let told = try ask("count", "\"where\":{\"$or\":[{\"n\":{\"$lt\":\(size)}},{\"n\":{\"$gte\":10999}}]}")
            #expect(told["count"]?.int == (size == 11_000 ? size : size + 1))
        }
        for values in [1, 3, 16, 17, 40, 100] {
            let list = (0..<values).map(String.init).joined(separator: ",")
            #expect(try ask("count", "\"where\":{\"m\":{\"$in\":[\(list)]}}")["count"]?.int == values * 110)
        }
    }

    @Test func `an index is walked where it leads, and no further`() throws {
        let found = try ask("find", #""where":{"n":{"$gte":500,"$lt":503}}"#)
        #expect(ids(found) == ["d500", "d501", "d502"])
        #expect(found["plan"] == (try JSON(#"{"access":"index","index":"byN","ranges":1,"sort":"none"}"#)))
        let sorted = #""where":{"m":7},"sort":[{"n":"desc"}],"limit":3"#
        #expect(try ids(ask("find", sorted)) == ["d10907", "d10807", "d10707"])
        let told = try ask("explain", sorted)
        #expect(told["plan"]?["index"]?.text == "byMN" && told["plan"]?["sort"]?.text == "access")
        // One more than the page has, to know that there is another.
        #expect(told["keysVisited"]?.int == 4 && told["documentsVisited"]?.int == 4 && told["returned"]?.int == 3)
        let several = try ask("explain", #""where":{"m":{"$in":[1,2,3]},"n":{"$lt":105}}"#)
        #expect(several["plan"]?["ranges"]?.int == 4 && several["keysVisited"]?.int == 6)
    }

    @Test func `counting over an index reads no documents`() throws {
        #expect(try ask("count", #""where":{"m":{"$lt":3}}"#)["count"]?.int == 330)
        #expect(try ask("count", #""where":{"m":5,"n":{"$gt":1000}}"#)["count"]?.int == 100)
        #expect(try ask("count", #""where":{"m":{"$in":[5,6,"x"]}}"#)["count"]?.int == 220)
        #expect(try ask("count", #""where":{"m":5,"s":"t5"}"#)["count"]?.int == 110)
        #expect(try ask("count", #""where":{"m":5,"s":"t6"}"#)["count"]?.int == 0)
    }

    @Test func `a write is found at once where it is now, and no longer where it was`() throws {
        try client.result("documents.put", #"{"collection":"c","id":"d500","value":{"n":-1,"m":"x"}}"#)
        try client.result("documents.delete", #"{"collection":"c","id":"d501"}"#)
        #expect(try ids(ask("find", #""where":{"n":{"$gte":500,"$lt":503}}"#)) == ["d502"])
        #expect(try ids(ask("find", #""where":{"n":{"$lt":1}}"#)) == ["d500", "d0"])
        #expect(try ids(ask("find", #""where":{"m":{"$type":"string"}}"#)) == ["d500"])
        #expect(try ask("count", #""where":{"n":{"$gte":0}}"#)["count"]?.int == 10_998)
    }

    @Test func `pages go on in an index, and end with it`() throws {
        let query = #""where":{"m":{"$gte":98}},"limit":50"#
        var found: [String] = []
        var cursor = ""
        while true {
            let page = try ask("find", query + cursor)
            found += ids(page)
            guard let next = page["cursor"]?.text else { break }
            cursor = ",\"cursor\":\(JSON.quoted(next))"
            if found.count == 100 {
                try client.result("documents.put", #"{"collection":"c","id":"new","value":{"m":98,"n":-5}}"#)
            }
        }
        #expect(found == [98, 99].flatMap { rest in (0..<110).map { "d\($0 * 100 + rest)" } })
        let first = try ask("find", query)
        try configure(#"{"name":"byN","fields":["n"]}"#)
        let refusal = try client.refusal(
            "documents.find", "{\"collection\":\"c\",\(query),\"cursor\":\(JSON.quoted(first["cursor"]?.text ?? ""))}")
        #expect(
            refusal["kind"]?.text == "invalidParams" && refusal["hint"]?.text?.contains("gone") == true, "\(refusal)")
    }

    @Test func `without its index a query is refused, and says which one it needs`() throws {
        #expect(try ids(ask("find", #""where":{"n":5}"#)) == ["d5"])
        try configure("")
        let refusal = try client.refusal("documents.find", #"{"collection":"c","where":{"n":5}}"#)
        #expect(refusal["kind"]?.text == "indexNeeded" && refusal["reason"]?.text?.contains("fields n,") == true)
    }

    @Test(arguments: [
        ("find", #""where":{"n":{"$ne":5}}"#, #""fields":["n"]"#, "fields n,"),
        ("count", #""where":{"n":{"$ne":5}}"#, #""fields":["n"]"#, "fields n,"),
        (
            "count", #""where":{"$or":[{"n":5},{"s":"t3"}]}"#, #""fields":["n"],"where":{"$or":[{"n":5},{"s":"t3"}]}"#,
            "fields n whose where"
        ),
        (
            "find", #""where":{"$or":[{"n":5},{"s":"t3"}]}"#, #""fields":["n"],"where":{"$or":[{"n":5},{"s":"t3"}]}"#,
            "fields n whose where"
        ),
        ("distinct", #""field":"m""#, #""fields":["m"]"#, "fields m,"),
        ("distinct", #""field":"m","where":{"s":"t3"}"#, #""fields":["s"]"#, "fields s,"),
        ("aggregate", #""groupBy":["m"],"where":{"s":"t3"}"#, #""fields":["s"]"#, "fields s,"),
        (
            "aggregate", #""groupBy":["m"],"where":{"s":{"$ne":"t3"}}"#, #""fields":["s"],"where":{"s":{"$ne":"t3"}}"#,
            "fields s whose where"
        ),
        ("deleteMany", #""where":{"s":{"$nin":["t3","t4"]}},"dryRun":true"#, #""fields":["s"]"#, "fields s,"),
        ("watch", #""where":{"s":"t3"}"#, #""fields":["s"]"#, "fields s,"),
    ])
    func `what a refusal names serves, once it is there`(
        _ method: String, _ query: String, _ index: String, _ words: String
    ) throws {
        try configure("")
        let refusal = try client.refusal("documents.\(method)", "{\"collection\":\"c\",\(query)}")
        #expect(refusal["kind"]?.text == "indexNeeded", "\(refusal)")
        #expect(refusal["reason"]?.text?.contains(words) == true, "\(refusal)")
        try configure("{\"name\":\"advised\",\(index)}")
        let result = try ask(method, query)
        #expect(result["plan"].map { $0["index"]?.text == "advised" } ?? true, "\(result)")
    }

    @Test func `what asks for every document is told so`() throws {
        let refusal = try client.refusal("documents.aggregate", #"{"collection":"c","groupBy":["m"]}"#)
        #expect(refusal["reason"]?.text?.contains("every document is asked for") == true, "\(refusal)")
    }

    @Test func `over a partial index of just those that match all are found and counted`() throws {
        try configure(#"{"name":"either","fields":["n"],"where":{"$or":[{"n":5},{"s":"t3"}]}}"#)
        let query = #""where":{"$or":[{"n":5},{"s":"t3"}]}"#
        #expect(try ask("count", query)["count"]?.int == 1101)
        #expect(try ids(ask("find", query + ",\"limit\":3")) == ["d3", "d5", "d13"])
        #expect(
            try ask("aggregate", query + #","compute":{"top":{"max":"n"}}"#)["groups"]?[0]?["values"]?["top"]?.int
                == 10_993)
        try configure(#"{"name":"byS","fields":["s"]}"#)
        #expect(try ask("count", #""where":{"s":{"$ne":"t3"}}"#)["count"]?.int == 9900)
        #expect(
            try ask("find", #""where":{"s":{"$ne":"t0"}},"limit":1"#)["documents"]?[0]?["value"]?["s"]?.text == "t1")
    }

    @Test func `a partial index serves those who ask for no more than it has`() throws {
        try configure(#"{"name":"late","fields":["s"],"where":{"n":{"$gte":10000}}}"#)
        let found = try ask("find", #""where":{"s":"t3","n":{"$gt":10990}}"#)
        #expect(ids(found) == ["d10993"] && found["plan"]?["index"]?.text == "late")
        #expect(try ask("count", #""where":{"s":"t3","n":{"$gte":10000}}"#)["count"]?.int == 100)
        let refusal = try client.refusal("documents.find", #"{"collection":"c","where":{"s":"t3","n":{"$gt":9999}}}"#)
        #expect(refusal["kind"]?.text == "indexNeeded")
    }

    @Test func `what is found in memory is what was written, also when memory holds a part of it`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"profile\":\"small\"}")
        let client = try daemon.connect()
        try client.result(
            "documents.configure", #"{"collection":"c","indexes":[{"name":"byG","fields":["g","n"]}]}"#)
        // 6 MB of documents; the cache has 4 MiB.
        let filling = String(repeating: "x", count: 2000)
        var random = SplitMix(state: 7)
        var model: [Int: (g: Int, n: Int)] = [:]
        func body(_ id: Int, _ value: (g: Int, n: Int)) -> String {
            "\"id\":\"d\(id)\",\"value\":{\"g\":\(value.g),\"n\":\(value.n),\"x\":\"\(filling)\"}"
        }
        func value() -> (g: Int, n: Int) {
            (.random(in: 0..<300, using: &random), .random(in: 0..<1_000_000, using: &random))
        }
        for start in stride(from: 0, to: 3000, by: 500) {
            for id in start..<start + 500 { model[id] = value() }
            let list = (start..<start + 500).map { "{\(body($0, model[$0]!))}" }.joined(separator: ",")
            try client.result("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(list)]}")
        }
        try client.result("documents.describe", #"{"collection":"c","waitMs":600000}"#)
        for round in 0..<120 {
            if round % 3 != 0 {
                let id = Int.random(in: 0..<3000, using: &random)
                if round % 9 == 1 {
                    try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"d\(id)\"}")
                    model[id] = nil
                } else {
                    model[id] = value()
                    try client.result("documents.put", "{\"collection\":\"c\",\(body(id, model[id]!))}")
                }
            }
            let group = round % 5 == 0 ? Int.random(in: 0..<300, using: &random) : round / 40
            let wanted = model.filter { $0.value.g == group }.sorted { ($0.value.n, $0.key) < ($1.value.n, $1.key) }
            // The first may wait for the tables, the second has no need to.
            for _ in 0..<2 {
                let page = try client.result(
                    "documents.find",
                    "{\"collection\":\"c\",\"where\":{\"g\":\(group)},\"sort\":[\"g\",\"n\"],\"limit\":50}")
                #expect(ids(page) == wanted.map { "d\($0.key)" }, "round \(round)")
                let numbers = page["documents"]?.elements.compactMap { $0["value"]?["n"]?.int }
                #expect(numbers == wanted.map(\.value.n), "round \(round)")
            }
        }
    }
}
