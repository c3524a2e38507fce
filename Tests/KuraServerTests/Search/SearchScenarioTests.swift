import Glibc
import SQLite
import Testing

/// `documents.search` over a real socket: what it finds, in which order, and what it refuses.
@Suite struct SearchScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private func configure(_ more: String, _ client: Client? = nil) throws {
        try (client ?? self.client).result("documents.configure", "{\"collection\":\"c\",\(more)}")
    }

    @discardableResult
    private func describe(_ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
    }

    private func put(_ id: String, _ value: String, _ client: Client? = nil) throws {
        try (client ?? self.client).result(
            "documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value)}")
    }

    private func page(_ query: String, _ more: String = "", _ client: Client? = nil) throws -> JSON {
        try (client ?? self.client).result(
            "documents.search", "{\"collection\":\"c\",\"query\":\(JSON.quoted(query))\(more)}")
    }

    private func ids(_ query: String, _ more: String = "", _ client: Client? = nil) throws -> [String] {
        try page(query, more, client)["documents"]?.elements.compactMap { $0["id"]?.text } ?? []
    }

    private func fill(_ count: Int, _ client: Client? = nil, _ more: String = "") throws {
        for start in stride(from: 0, to: count, by: 500) {
            let documents = (start..<min(start + 500, count)).map {
                "{\"id\":\"d\($0)\",\"value\":{\"text\":\"number n\($0) of group g\($0 % 7) and \(String(repeating: "filler w\($0 % 13) ", count: 30))\(more)\"}}"
            }
            try (client ?? self.client).result(
                "documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    @Test func `words are found in the declared fields, the best fitting first, each write at once`() throws {
        try put("before", "{\"title\":\"Storage\",\"body\":\"nothing\",\"other\":\"hidden\"}")
        try configure("\"searchFields\":[{\"path\":\"title\",\"weight\":10},\"body\",\"tags.names\"]")
        let description = try describe()
        #expect(description["search"] == (try JSON("{\"state\":\"ready\",\"entries\":1}")))
        #expect(
            try description["searchFields"] == JSON("[{\"path\":\"title\",\"weight\":10},\"body\",\"tags.names\"]"))
        #expect(description["searchTokenizer"]?.text == "unicode61")
        try put(
            "after",
            "{\"title\":\"Other\",\"body\":\"The STORAGE of Ünïcode \\u0041lpha\",\"tags\":{\"names\":[\"red\",[\"deep blue\"],7]}}"
        )
        #expect(try ids("storage") == ["before", "after"])
        #expect(try ids("unicode alpha") == ["after"])
        #expect(try ids("\"the storage\"") == ["after"])
        #expect(try ids("\"storage the\"") == [])
        #expect(try ids("stor*") == ["before", "after"])
        #expect(try ids("storage -unicode") == ["before"])
        #expect(try ids("nothing OR blue").sorted() == ["after", "before"])
        #expect(try ids("deep") == ["after"])
        #expect(try ids("7") == [])
        #expect(try ids("hidden") == [])
        let ranks = try page("storage")["documents"]?.elements.compactMap { document -> Double? in
            if case .number(let digits)? = document["rank"] { Double(digits) } else { nil }
        }
        #expect(ranks?.count == 2 && ranks![0] > ranks![1] && ranks![1] > 0)
    }

    @Test func `a document that is changed is found by its new words only, and one that is deleted not at all`() throws
    {
        try configure("\"searchFields\":[\"t\"]")
        try describe()
        try put("a", "{\"t\":\"old words\"}")
        try daemon.waitUntilFolded()
        #expect(try ids("old") == ["a"])
        try put("a", "{\"t\":\"new words\"}")
        #expect(try ids("old") == [])
        #expect(try ids("new") == ["a"])
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect(try ids("words") == [])
        try client.result("documents.restore", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect(try ids("new words") == ["a"])
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        try client.result("documents.purge", "{\"collection\":\"c\"}")
        try put("a", "{\"t\":\"third\"}")
        #expect(try ids("new") == [])
        #expect(try ids("third") == ["a"])
        try put("a", "{\"other\":1}")
        #expect(try ids("third") == [])
        #expect(try describe()["search"]?["entries"]?.int == 0)
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.searchDifference(daemon.data) == nil)
    }

    @Test func `trigrams find parts of words`() throws {
        try configure("\"searchFields\":[\"t\"],\"searchTokenizer\":\"trigram\"")
        try describe()
        try put("a", "{\"t\":\"Donaudampfschifffahrt 東京都庁\"}")
        try put("b", "{\"t\":\"dampf\"}")
        #expect(try ids("dampf").sorted() == ["a", "b"])
        #expect(try ids("SCHIFF") == ["a"])
        #expect(try ids("京都庁") == ["a"])
        #expect(try ids("fahrt dampf") == ["a"])
        let error = try client.refusal("documents.search", "{\"collection\":\"c\",\"query\":\"dampf ab\"}")
        #expect(error["kind"]?.text == "invalidParams" && error["offset"]?.int == 6)
        // Only the tokenizer, and then back with other fields.
        try configure("\"searchTokenizer\":\"unicode61\"")
        try describe()
        #expect(try ids("schiff") == [])
        #expect(try ids("dampf") == ["b"])
        try configure("\"searchFields\":[\"u\",\"t\"]")
        #expect(try describe()["searchTokenizer"]?.text == "unicode61")
        #expect(try ids("dampf") == ["b"])
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        #expect(try ids("dampf", "", again) == ["b"])
    }

    @Test func `snippets show what was found between the marks, and are bounded`() throws {
        try configure("\"searchFields\":[\"t\",\"list\"]")
        try describe()
        let long = String(repeating: "filler ", count: 200)
        try put("a", "{\"t\":\"\(long)the <needle> here \(long)\",\"list\":[\"needle one\",\"x\"]}")
        try put("b", "{\"t\":\"needle \\u0001faked\\u0002\\u0003 x needle\(String(repeating: "e", count: 5000)) \"}")
        let plain = try page("needle", ",\"snippetWords\":5")["documents"]?.elements.first { $0["id"]?.text == "a" }
        #expect(plain?["snippets"]?["t"]?.text == "…filler the <[needle]> here filler…")
        #expect(plain?["snippets"]?["list"]?.text == "[needle] one\nx")
        let marked = try page("needle", ",\"markStart\":\"<b>\",\"markEnd\":\"</b>\",\"snippetWords\":3")
        let long2 = marked["documents"]?.elements.first { $0["id"]?.text == "b" }?["snippets"]?["t"]?.text
        #expect(long2?.contains("\u{1}") == false)
        #expect((long2?.utf8.count ?? 9999) < 1200)
        #expect(try page("needle", ",\"snippetWords\":0")["documents"]?[0]?["snippets"] == nil)
        // Marks in the text are spaces there: none of them comes from the document.
        let close = try page("needle", ",\"snippetWords\":64,\"markStart\":\"<b>\",\"markEnd\":\"</b>\"")
        #expect(
            close["documents"]?.elements.contains { $0["snippets"]?["t"]?.text?.contains(">faked") == true } == false)
        let texts = close["documents"]?.elements.compactMap { $0["snippets"]?["t"]?.text } ?? []
        for text in texts { #expect(text.ranges(of: "<b>").count == text.ranges(of: "</b>").count, "\(text)") }
    }

    @Test func `pages follow each other without gap, with a selector, and over a restart`() throws {
        try fill(300)
        try configure("\"searchFields\":[\"text\"]")
        try describe()
        var found: [String] = []
        var cursor: String?
        var pages = 0
        repeat {
            let more = cursor.map { ",\"cursor\":\(JSON.quoted($0))" } ?? ""
            let page = try page("group g3", ",\"limit\":10,\"fields\":[]\(more)")
            found += page["documents"]?.elements.compactMap { $0["id"]?.text } ?? []
            cursor = page["cursor"]?.text
            pages += 1
            if pages == 2 {
                daemon.kill()
                try daemon.start()
            }
        } while pages < 2 && cursor != nil
        let again = try daemon.connect()
        while let next = cursor {
            let page = try page("group g3", ",\"limit\":10,\"fields\":[],\"cursor\":\(JSON.quoted(next))", again)
            found += page["documents"]?.elements.compactMap { $0["id"]?.text } ?? []
            cursor = page["cursor"]?.text
        }
        let expected = (0..<300).filter { $0 % 7 == 3 }.map { "d\($0)" }
        #expect(found.sorted() == expected.sorted())
        #expect(
            try Set(ids("group g3", ",\"limit\":1000,\"where\":{\"_id\":{\"$in\":[\"d3\",\"d4\",\"d10\"]}}", again))
                == ["d3", "d10"])
        let other = try again.refusal(
            "documents.search", "{\"collection\":\"c\",\"query\":\"g4\",\"cursor\":\"\(cursor ?? "1736600")\"}")
        #expect(other["kind"]?.text == "invalidParams")
    }

    @Test func `a collection that is not searched says how to declare it, one that is being built how far it is`()
        throws
    {
        let undeclared = try client.refusal("documents.search", "{\"collection\":\"c\",\"query\":\"x\"}")
        #expect(undeclared["kind"]?.text == "indexNeeded")
        #expect(undeclared["hint"]?.text?.contains("searchFields") == true)
        daemon.kill()
        try daemon.start(faults: daemon.pause(at: "tend.slice"))
        let slow = try daemon.connect()
        try put("a", "{\"t\":\"x\"}", slow)
        try configure("\"searchFields\":[\"t\"]", slow)
        let building = try slow.refusal("documents.search", "{\"collection\":\"c\",\"query\":\"x\"}")
        #expect(building["kind"]?.text == "indexBuilding")
        #expect(building["retryable"]?.bool == true)
        #expect(building["reason"]?.text?.hasSuffix("of 1 documents") == true, "\(building)")
        try daemon.goOn(at: "tend.slice")
        try describe(slow)
        #expect(try ids("x", "", slow) == ["a"])
        try configure("\"searchFields\":null", slow)
        #expect(
            try slow.refusal("documents.search", "{\"collection\":\"c\",\"query\":\"x\"}")["kind"]?.text
                == "indexNeeded")
        #expect(try describe(slow)["search"] == nil)
    }

    @Test(arguments: [
        ("\"searchFields\":{}", "searchFields", ""), ("\"searchFields\":[\"a\",\"a\"]", "searchFields", "/1"),
        ("\"searchFields\":[\"a..b\"]", "searchFields", "/0"), ("\"searchFields\":[7]", "searchFields", "/0"),
        ("\"searchFields\":[{\"path\":\"a\",\"weight\":0}]", "searchFields", "/0/weight"),
        ("\"searchFields\":[{\"path\":\"a\",\"weight\":1001}]", "searchFields", "/0/weight"),
        ("\"searchFields\":[{\"weight\":1}]", "searchFields", "/0"),
        ("\"searchFields\":[{\"path\":\"a\",\"boost\":1}]", "searchFields", "/0"),
        ("\"searchTokenizer\":\"trigram\"", "searchTokenizer", ""),
        (
            "\"searchFields\":[\(((0..<17).map { "\"f\($0)\"" }).joined(separator: ","))]", "searchFields", "/16"
        ),
    ])
    func `what is no list of search fields is refused with its place, and nothing is changed`(
        more: String, parameter: String, path: String
    ) throws {
        let error = try client.refusal("documents.configure", "{\"collection\":\"c\",\"tombstoneDays\":3,\(more)}")
        #expect(error["kind"]?.text == "invalidParams" && error["parameter"]?.text == parameter)
        #expect(error["path"]?.text == path, "\(error)")
        #expect(try describe()["tombstoneDays"] == nil)
    }

    /// Every document is looked at, and looked through.
    private static let tedious =
        #""query":"number","where":{"$or":["# + (0..<200).map { "{\"x.y.z\($0)\":\($0)}" }.joined(separator: ",") + "]}"

    @Test func `a search ends with its time, and when it is cancelled`() throws {
        try fill(8000)
        try configure("\"searchFields\":[\"text\"]")
        try describe()
        let error = try client.refusal("documents.search", "{\"collection\":\"c\",\(Self.tedious),\"timeoutMs\":5}")
        #expect(error["kind"]?.text == "timeout" && error["limit"]?.int == 5, "\(error)")
        client.send(
            Client.request(
                "documents.search", "{\"collection\":\"c\",\(Self.tedious),\"timeoutMs\":60000}", id: "\"long\"")
                + Client.request("rpc.cancel", "{\"id\":\"long\"}", id: "2"))
        let replies = [try client.reply(), try client.reply()]
        #expect(replies.contains { $0["id"]?.int == 2 && $0["result"]?["cancelled"]?.bool == true })
        #expect(replies.contains { $0["error"]?["data"]?["kind"]?.text == "cancelled" }, "\(replies)")
    }

    @Test func `weights alone build nothing anew, and dropping takes the search along`() throws {
        try fill(2000)
        try configure("\"searchFields\":[\"text\"]")
        try describe()
        let number = try TablesRecount.numbers(daemon.data, "SELECT number FROM searches")
        try configure("\"searchFields\":[{\"path\":\"text\",\"weight\":2.5}]")
        #expect(try describe()["search"]?["state"]?.text == "ready")
        try daemon.waitUntilFolded()
        #expect(try TablesRecount.numbers(daemon.data, "SELECT number FROM searches") == number)
        try client.result("documents.drop", "{\"collection\":\"c\"}")
        let error = try client.refusal("documents.search", "{\"collection\":\"c\",\"query\":\"number\"}")
        #expect(error["kind"]?.text == "indexNeeded")
        // The tables under it go in pieces, then the table.
        let deadline = now() + 60
        while now() < deadline,
            try TablesRecount.numbers(
                daemon.data, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'search\\_%' ESCAPE '\\'") != [0]
        { usleep(20_000) }
        #expect(
            try TablesRecount.numbers(
                daemon.data, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'search\\_%' ESCAPE '\\'") == [0])
        #expect(try TablesRecount.numbers(daemon.data, "SELECT count(*) FROM searches") == [0])
    }

    @Test(arguments: ["fold.commit:full:2", "fold.slice:full:3+", "tend.commit:full:2", "tend.slice:full:1"])
    func `a full disk takes back what a fold or a build did to the search index, and it is done again`(fault: String)
        throws
    {
        daemon.kill()
        try daemon.start(faults: fault)
        let writer = try daemon.connect()
        try fill(1500, writer)
        try configure("\"searchFields\":[\"text\"]", writer)
        try writer.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":1500}")
        _ = try? fill(600, writer, "again")
        daemon.kill()
        try daemon.start()
        let reader = try daemon.connect()
        #expect(try describe(reader)["search"]?["entries"]?.int == 1500)
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.searchDifference(daemon.data) == nil)
    }

    @Test func `what a version has built that made other text of documents is built anew`() throws {
        try fill(700)
        try configure("\"searchFields\":[\"text\"]")
        try describe()
        #expect(daemon.terminate() == 0)
        let tables = try Connection(path: daemon.data + "/durable/kura.sqlite", mode: .readWrite)
        try tables.execute("UPDATE searches SET version = 0")
        tables.close()
        try daemon.start()
        let again = try daemon.connect()
        #expect(try describe(again)["search"]?["state"]?.text == "ready")
        #expect(try ids("n77", "", again) == ["d77"])
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.numbers(daemon.data, "SELECT version FROM searches WHERE state = 2") == [1])
        #expect(try TablesRecount.searchDifference(daemon.data) == nil)
    }

    @Test func `a kill at any point of a build leaves a search index that is completed`() throws {
        let faults = [
            "tend.slice:kill:1", "tend.commit:kill:1", "fold.commit:kill:1", "tend.commit:kill:2", "tend.slice:kill:3",
        ]
        try fill(2500)
        try configure("\"searchFields\":[\"text\"]")
        try daemon.die(atEachOf: faults) { round, _ in "{\"text\":\"again r\(round)\"}" }
        try daemon.start()
        let last = try daemon.connect()
        #expect(try describe(last)["search"]?["state"]?.text == "ready")
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.searchDifference(daemon.data) == nil)
        #expect(try TablesRecount.numbers(daemon.data, "SELECT count(*) FROM searches") == [1])
    }
}
