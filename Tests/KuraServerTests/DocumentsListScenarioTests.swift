import Testing

/// `documents.list` over a real socket.
@Suite struct DocumentsListScenarioTests {
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

    private func delete(_ id: String) throws {
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\(JSON.quoted(id))}")
    }

    private func page(_ client: Client, _ more: String = "") throws -> JSON {
        try client.result("documents.list", "{\"collection\":\"c\"\(more)}")
    }

    // Every page from the start on: the ids with their values.
    private func all(_ client: Client, limit: Int) throws -> [(id: String, value: JSON)] {
        var found: [(id: String, value: JSON)] = []
        var more = ",\"limit\":\(limit)"
        while true {
            let page = try page(client, more)
            let documents = try #require(page["documents"]).elements
            #expect(documents.count <= limit)
            for document in documents {
                found.append((try #require(document["id"]?.text), try #require(document["value"])))
            }
            guard let cursor = page["cursor"]?.text else { return found }
            #expect(!documents.isEmpty)
            more = ",\"limit\":\(limit),\"cursor\":\(JSON.quoted(cursor))"
        }
    }

    @Test func `a list has what was just acknowledged, in the order of the ids' bytes, without what was deleted`()
        throws
    {
        for id in ["b", "a", "é", "Z", "aa", "a b", "\u{1F600}", "gone"] { try put(id, JSON.quoted(id)) }
        try delete("gone")
        let page = try page(client)
        #expect(page["cursor"] == nil)
        let ids = try #require(page["documents"]).elements.map { $0["id"]?.text }
        #expect(ids == ["Z", "a", "a b", "aa", "b", "é", "\u{1F600}"])
        #expect(page["documents"]?.elements.allSatisfy { $0["value"] == $0["id"] } == true)
        #expect(page["documents"]?[1]?["rev"]?.int == 2)
        #expect(page["rev"]?.int == 9)
    }

    @Test func `an empty and an unknown collection have no documents`() throws {
        try put("a", "1")
        try delete("a")
        #expect(try page(client) == JSON("{\"documents\":[],\"rev\":2}"))
        #expect(
            try client.result("documents.list", "{\"collection\":\"other\"}") == JSON("{\"documents\":[],\"rev\":2}"))
    }

    @Test func `pages hold every document once while others come and go`() throws {
        for number in 0..<250 { try put("d\(1000 + number)", "\(number)") }
        var page = try page(client, ",\"limit\":40")
        var ids = try #require(page["documents"]).elements.compactMap { $0["id"]?.text }
        var round = 0
        while let cursor = page["cursor"]?.text {
            // In front of the cursor, behind it, and the document that it names itself.
            try put("a\(round)", "0")
            try put("x\(round)", "0")
            try delete(ids.last!)
            round += 1
            page = try self.page(client, ",\"limit\":40,\"cursor\":\(JSON.quoted(cursor))")
            ids += try #require(page["documents"]).elements.compactMap { $0["id"]?.text }
        }
        #expect(ids.filter { $0.hasPrefix("d") } == (0..<250).map { "d\(1000 + $0)" })
        #expect(ids.filter { $0.hasPrefix("x") } == (0..<round).map { "x\($0)" })
        #expect(!ids.contains { $0.hasPrefix("a") })
    }

    @Test func `a cursor is good after the daemon was killed`() throws {
        for number in 0..<20 { try put("d\(100 + number)", "\(number)") }
        let cursor = try #require(try page(client, ",\"limit\":7")["cursor"]?.text)
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        let rest = try page(again, ",\"cursor\":\(JSON.quoted(cursor))")
        #expect(rest["documents"]?.elements.compactMap { $0["id"]?.text } == (7..<20).map { "d\(100 + $0)" })
        #expect(rest["cursor"] == nil)
    }

    @Test func `a page ends before it outgrows its bound, and one large document is a page`() throws {
        let large = JSON.quoted(String(repeating: "x", count: 3 << 20))
        let half = JSON.quoted(String(repeating: "y", count: 600 << 10))
        try put("a", half)
        try put("b", half)
        try put("c", large)
        try put("d", "1")
        var sizes: [Int] = []
        var more = ""
        while true {
            let page = try page(client, more)
            sizes.append(page["documents"]?.elements.count ?? 0)
            guard let cursor = page["cursor"]?.text else { break }
            more = ",\"cursor\":\(JSON.quoted(cursor))"
        }
        #expect(sizes == [1, 1, 1, 1])
    }

    @Test func `what is asked for behind a list is answered behind it, in lines and in batches`() throws {
        try put("a", "1")
        let list = "\"method\":\"documents.list\",\"params\":{\"collection\":\"c\"}"
        var text = ""
        for number in 0..<20 {
            text += Client.request(
                "documents.put", "{\"collection\":\"c\",\"id\":\"n\(number)\",\"value\":1}", id: "\(number * 10)")
            text += "{\"jsonrpc\":\"2.0\",\"id\":\(number * 10 + 1),\(list)}\n"
            text += Client.request("settings.scopes", id: "\(number * 10 + 2)")
        }
        text += "[{\"jsonrpc\":\"2.0\",\"id\":\"x\",\(list)},{\"jsonrpc\":\"2.0\",\(list)},"
        text +=
            "{\"jsonrpc\":\"2.0\",\"id\":\"y\",\"method\":\"settings.scopes\"},{\"jsonrpc\":\"2.0\",\"id\":\"z\",\(list)}]\n"
        let replies = try client.exchange(text).map { try JSON($0) }
        try #require(replies.count == 61)
        for number in 0..<20 {
            #expect(replies[number * 3]["id"]?.int == number * 10)
            #expect(replies[number * 3 + 1]["id"]?.int == number * 10 + 1)
            #expect(replies[number * 3 + 1]["result"]?["documents"]?.elements.count == number + 2)
            #expect(replies[number * 3 + 2]["result"]?["scopes"]?.elements.isEmpty == true)
        }
        #expect(replies[60].elements.compactMap { $0["id"]?.text } == ["x", "y", "z"])
        #expect(replies[60][2]?["result"]?["documents"]?.elements.count == 21)
    }

    @Test func `a limit or cursor that is none is refused`() throws {
        try put("a", "1")
        for more in ["\"limit\":0", "\"limit\":1001", "\"cursor\":\"\"", "\"cursor\":\"2ab\"", "\"cursor\":5"] {
            let data = try client.refusal("documents.list", "{\"collection\":\"c\",\(more)}")
            #expect(data["kind"]?.text == "invalidParams")
        }
    }

    @Test func `lists agree with a model through writes, folds and kills`() throws {
        var random = SystemRandomNumberGenerator()
        var model: [String: Int] = [:]
        var client = try daemon.connect()
        for step in 0..<600 {
            let id = "k\(Int.random(in: 0..<80, using: &random))"
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<11:
                try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(step)}")
                model[id] = step
            case 11..<16:
                try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
                model[id] = nil
            case 16..<19:
                let found = try all(client, limit: Int.random(in: 1...30, using: &random))
                #expect(found.map(\.id) == model.keys.sorted())
                #expect(found.allSatisfy { $0.value.int == model[$0.id] })
            default:
                guard step % 10 == 0 else { continue }
                daemon.kill()
                try daemon.start()
                client = try daemon.connect()
            }
        }
        #expect(try all(client, limit: 1000).map(\.id) == model.keys.sorted())
    }
}
