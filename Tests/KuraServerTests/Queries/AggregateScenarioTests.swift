import Testing

/// Counting, distinct values, groups, and what a query tells about itself.
@Suite struct AggregateScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
        let values = [
            #"{"kind":"a","price":0.1,"at":{"day":1}}"#, #"{"kind":"a","price":0.2,"at":{"day":2}}"#,
            #"{"kind":"b","price":12345678901234567,"at":{"day":1}}"#, #"{"kind":"b","price":1}"#,
            #"{"kind":1,"price":"free"}"#,
            #"{"kind":1.0}"#, #"{"price":-2}"#, #"{"kind":null}"#, #"{"kind":["a"]}"#,
        ]
        for (number, value) in values.enumerated() {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(number)\",\"value\":\(value)}")
        }
        try client.result("documents.put", #"{"collection":"c","id":"gone","value":{"kind":"a","price":99}}"#)
        try client.result("documents.delete", #"{"collection":"c","id":"gone"}"#)
    }

    private func ask(_ method: String, _ more: String) throws -> JSON {
        try client.result("documents.\(method)", "{\"collection\":\"c\",\(more)}")
    }

    @Test func `those that match are counted`() throws {
        #expect(try ask("count", #""where":{"kind":"a"}"#)["count"]?.int == 2)
        #expect(try ask("count", #""where":{"kind":{"$exists":true}}"#)["count"]?.int == 8)
        #expect(try ask("count", #""where":{}"#)["count"]?.int == 9)
        #expect(try ask("count", #""where":{"kind":"a"}"#)["rev"]?.int == 11)
    }

    @Test func `values come once, in their order, on pages`() throws {
        let all = try ask("distinct", #""field":"kind""#)
        #expect(all["values"] == (try JSON(#"[null,1,"a","b",["a"]]"#)) && all["cursor"] == nil)
        #expect(try ask("distinct", #""field":"at.day","where":{"kind":"a"}"#)["values"] == JSON("[1,2]"))
        #expect(try ask("distinct", #""field":"_id","limit":2"#)["values"] == JSON(#"["0","1"]"#))
        var found: [JSON] = []
        var more = ""
        while true {
            let page = try ask("distinct", "\"field\":\"kind\",\"limit\":2\(more)")
            found += page["values"]?.elements ?? []
            guard let cursor = page["cursor"]?.text else { break }
            more = ",\"cursor\":\(JSON.quoted(cursor))"
        }
        #expect(found == all["values"]?.elements)
    }

    @Test func `groups and bounds may be of ids`() throws {
        let groups = try ask("aggregate", #""where":{"kind":"a"},"groupBy":["_id"]"#)["groups"]
        #expect(
            groups
                == (try JSON(
                    #"[{"key":{"_id":"0"},"count":1,"values":{}},{"key":{"_id":"1"},"count":1,"values":{}}]"#)))
        let ends = try ask(
            "aggregate",
            #""compute":{"first":{"min":"_id"},"last":{"max":"_id"},"all":{"count":"_id"},"sum":{"sum":"_id"}}"#)
        #expect(
            ends["groups"]?[0]?["values"] == (try JSON(#"{"first":"0","last":"8","all":9,"sum":0}"#)), "\(ends)")
        let page = try ask("find", #""where":{"kind":"a"},"fields":["_id","price"]"#)
        #expect(page["documents"]?[0]?["value"] == (try JSON(#"{"_id":"0","price":0.1}"#)))
    }

    @Test func `groups are summed up exactly`() throws {
        let groups = try ask(
            "aggregate",
            #""groupBy":["kind"],"compute":{"total":{"sum":"price"},"mean":{"avg":"price"},"least":{"min":"price"},"most":{"max":"price"},"priced":{"count":"price"}}"#
        )["groups"]
        #expect(
            groups
                == (try JSON(
                    "["
                        + #"{"key":{},"count":1,"values":{"total":-2,"mean":-2,"least":-2,"most":-2,"priced":1}},"#
                        + #"{"key":{"kind":null},"count":1,"values":{"total":0,"mean":null,"least":null,"most":null,"priced":0}},"#
                        + #"{"key":{"kind":1},"count":2,"values":{"total":0,"mean":null,"least":"free","most":"free","priced":1}},"#
                        + #"{"key":{"kind":"a"},"count":2,"values":{"total":0.3,"mean":0.15,"least":0.1,"most":0.2,"priced":2}},"#
                        + #"{"key":{"kind":"b"},"count":2,"values":{"total":12345678901234568,"mean":6172839450617284,"least":1,"most":12345678901234567,"priced":2}},"#
                        + #"{"key":{"kind":["a"]},"count":1,"values":{"total":0,"mean":null,"least":null,"most":null,"priced":0}}]"#
                )))
        let whole = try ask("aggregate", #""where":{"kind":"nobody"},"compute":{"total":{"sum":"price"}}"#)["groups"]
        #expect(whole == (try JSON(#"[{"key":{},"count":0,"values":{"total":0}}]"#)))
        let several = try ask("aggregate", #""where":{"at":{"$exists":true}},"groupBy":["at.day","kind"]"#)["groups"]
        #expect(several?.elements.map { $0["count"]?.int } == [1, 1, 1])
    }

    @Test(arguments: [
        (#""compute":{"x":5}"#, "/x"), (#""compute":{"x":{"median":"price"}}"#, "/x"),
        (#""compute":{"x":{"sum":""}}"#, "/x/sum"), (#""compute":{"a/b":{"sum":""}}"#, "/a~1b/sum"),
        (#""compute":{"~x":5}"#, "/~0x"), (#""compute":{"\u00e9\u002f":5}"#, "/é~1"),
        (#""compute":{"x":{"sum":"a","min":"b"}}"#, "/x"), (#""groupBy":["a",".b"]"#, "/1"),
    ])
    func `what cannot be computed is refused`(_ more: String, _ path: String) throws {
        let refusal = try client.refusal("documents.aggregate", "{\"collection\":\"c\",\(more)}")
        #expect(refusal["kind"]?.text == "invalidParams" && refusal["path"]?.text == path, "\(refusal)")
    }

    @Test func `a query tells what it cost`() throws {
        let told = try ask("explain", #""where":{"kind":"a"},"sort":["price"],"limit":1"#)
        #expect(told["plan"]?["access"]?.text == "collection" && told["plan"]?["sort"]?.text == "memory")
        // One of them is read again after sorting; the tombstone is met too.
        #expect(told["documentsVisited"]?.int == 11 && told["matched"]?.int == 2 && told["returned"]?.int == 1)
        #expect(try ask("explain", #""where":{"_id":"3"}"#)["documentsVisited"]?.int == 1)
        #expect(try ask("explain", #""where":{"$and":[{"kind":1},{"kind":2}]}"#)["plan"]?["access"]?.text == "none")
    }
}
