import Glibc
import Testing

/// `expand` of `documents.get`, `getMany` and `find` over a real socket.
@Suite struct ExpandScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
        try client.result(
            "documents.configure",
            """
            {"collection":"books","references":[{"field":"author","collection":"people","onDelete":"deny"},\
            {"field":"editors","collection":"people","onDelete":"nullify"},\
            {"field":"place.town","collection":"towns","onDelete":"nullify"}]}
            """)
    }

    @discardableResult
    private func put(_ collection: String, _ id: String, _ value: String) throws -> Int {
        try #require(
            client.result(
                "documents.put", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\",\"value\":\(value)}")["rev"]?.int)
    }

    /// Two books: one of ada and bob in ulm, and one of ada and nobody.
    private func fill() throws -> (ada: Int, bob: Int, ulm: Int) {
        let revs = (
            try put("people", "ada", "{\"n\":1.50}"), try put("people", "bob", "{\"n\":2}"),
            try put("towns", "ulm", "{\"name\":\"Ulm\"}")
        )
        try put(
            "books", "b1",
            "{\"author\":\"ada\",\"editors\":[\"bob\",\"\\u0061da\",\"eve\",7],\"place\":{\"town\":\"ulm\"}}")
        try put("books", "b2", "{\"author\":\"ada\",\"editors\":\"bob\"}")
        return revs
    }

    @Test func `each document that is referred to comes once, and what is not there is told`() throws {
        let (ada, bob, ulm) = try fill()
        let all = "\"expand\":[\"author\",\"place.town\",\"editors\"]"
        let people =
            "{\"ada\":{\"value\":{\"n\":1.50},\"rev\":\(ada)},\"bob\":{\"value\":{\"n\":2},\"rev\":\(bob)},\"eve\":{\"rev\":0}}"
        let towns = "{\"ulm\":{\"value\":{\"name\":\"Ulm\"},\"rev\":\(ulm)}}"
        let both = try JSON("{\"people\":\(people),\"towns\":\(towns)}")
        let get = try client.result("documents.get", "{\"collection\":\"books\",\"id\":\"b1\",\(all)}")
        #expect(get["expanded"] == both)
        #expect(get["value"]?["author"]?.text == "ada" && get["version"]?.int == 1)
        let many = try client.result(
            "documents.getMany", "{\"collection\":\"books\",\"ids\":[\"b2\",\"none\",\"b1\"],\(all)}")
        #expect(many["expanded"] == both && many["missing"]?[0]?.text == "none")
        #expect(many["documents"]?.elements.count == 2)
        let find = try client.result("documents.find", "{\"collection\":\"books\",\(all)}")
        #expect(find["expanded"] == both && find["documents"]?.elements.count == 2)
        // The parts that are returned do not decide.
        let part = try client.result("documents.find", "{\"collection\":\"books\",\"fields\":[\"x\"],\(all)}")
        #expect(part["expanded"] == both)
        let one = try client.result(
            "documents.find", "{\"collection\":\"books\",\"where\":{\"_id\":\"b2\"},\"expand\":[\"author\"]}")
        #expect(one["expanded"] == (try JSON("{\"people\":{\"ada\":{\"value\":{\"n\":1.50},\"rev\":\(ada)}}}")))
    }

    @Test func `with nothing to bring along there is nothing in it`() throws {
        try put("books", "b", "{\"author\":null,\"editors\":[]}")
        let nothing = JSON.object([:])
        let expand = "\"expand\":[\"author\",\"editors\"]"
        #expect(
            try client.result("documents.get", "{\"collection\":\"books\",\"id\":\"b\",\(expand)}")["expanded"]
                == nothing)
        #expect(
            try client.result("documents.get", "{\"collection\":\"books\",\"id\":\"no\",\"default\":1,\(expand)}")
                == JSON("{\"value\":1,\"rev\":0,\"expanded\":{}}"))
        for ids in ["[]", "[\"no\"]", "[\"b\"]"] {
            let many = try client.result("documents.getMany", "{\"collection\":\"books\",\"ids\":\(ids),\(expand)}")
            #expect(many["expanded"] == nothing && many["missing"] != nil)
        }
        #expect(try client.result("documents.find", "{\"collection\":\"books\",\(expand)}")["expanded"] == nothing)
        #expect(try client.result("documents.get", "{\"collection\":\"books\",\"id\":\"b\"}")["expanded"] == nil)
    }

    /// Values of some KiB, so that a reply takes many turns.
    private func fillMany(_ count: Int) throws {
        let text = String(repeating: "t", count: 6000)
        for start in stride(from: 0, to: count, by: 500) {
            let documents = (start..<min(start + 500, count)).map {
                "{\"id\":\"p\($0)\",\"value\":{\"n\":\($0),\"text\":\"\(text)\"}}"
            }
            try client.result(
                "documents.putMany", "{\"collection\":\"people\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    @Test func `a long one is made over many turns, from the disk too, and with others between`() throws {
        try fillMany(1000)
        let ids = (0..<1000).map { "\"p\($0)\"" }.joined(separator: ",")
        try put("books", "all", "{\"editors\":[\(ids)]}")
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let client = try daemon.connect()
        let expand = "\"expand\":[\"editors\"]"
        for (method, params) in [
            ("documents.get", "{\"collection\":\"books\",\"id\":\"all\",\(expand)}"),
            ("documents.getMany", "{\"collection\":\"books\",\"ids\":[\"no\",\"all\"],\(expand)}"),
            ("documents.find", "{\"collection\":\"books\",\(expand)}"),
        ] {
            client.send(
                Client.request(method, params, id: "1")
                    + Client.request("documents.count", "{\"collection\":\"people\"}", id: "2"))
            let people = try client.reply()["result"]?["expanded"]?["people"]?.members ?? [:]
            #expect(people.count == 1000, "\(method)")
            for number in stride(from: 0, to: 1000, by: 37) {
                #expect(people["p\(number)"]?["value"]?["n"]?.int == number)
            }
            #expect(try client.reply()["result"]?["count"]?.int == 1000)
        }
    }

    @Test func `too many are refused, or end the page`() throws {
        let ids = (0..<600).map { "\"p\($0)\"" }.joined(separator: ",")
        let others = (600..<1200).map { "\"p\($0)\"" }.joined(separator: ",")
        try put("books", "a", "{\"editors\":[\(ids)]}")
        try put("books", "b", "{\"editors\":[\(others)]}")
        let expand = "\"expand\":[\"editors\"]"
        let page = try client.result("documents.find", "{\"collection\":\"books\",\(expand)}")
        #expect(page["documents"]?.elements.count == 1)
        let cursor = try #require(page["cursor"]?.text)
        let next = try client.result("documents.find", "{\"collection\":\"books\",\"cursor\":\"\(cursor)\",\(expand)}")
        #expect(next["documents"]?[0]?["id"]?.text == "b" && next["expanded"]?["people"]?.members.count == 600)
        // Over an index too, where documents are taken out of memory the second time.
        try client.result(
            "documents.configure", "{\"collection\":\"books\",\"indexes\":[{\"name\":\"byK\",\"fields\":[\"k\"]}]}")
        try put("books", "a", "{\"k\":1,\"editors\":[\(ids)]}")
        try put("books", "b", "{\"k\":1,\"editors\":[\(others)]}")
        _ = try client.result("documents.describe", "{\"collection\":\"books\",\"waitMs\":600000}")
        for _ in 0..<2 {
            let found = try client.result("documents.find", "{\"collection\":\"books\",\"where\":{\"k\":1},\(expand)}")
            #expect(found["plan"]?["index"]?.text == "byK" && found["documents"]?.elements.count == 1)
            let cursor = try #require(found["cursor"]?.text)
            let rest = try client.result(
                "documents.find",
                "{\"collection\":\"books\",\"where\":{\"k\":1},\"cursor\":\"\(cursor)\",\(expand)}")
            #expect(rest["documents"]?[0]?["id"]?.text == "b")
        }
        let many = try client.refusal("documents.getMany", "{\"collection\":\"books\",\"ids\":[\"a\",\"b\"],\(expand)}")
        #expect(many["kind"]?.text == "replyTooLarge" && many["limit"]?.int == 1000)
        try put("books", "c", "{\"editors\":[\(ids),\(others)]}")
        for (method, params) in [
            ("documents.get", "\"id\":\"c\""), ("documents.getMany", "\"ids\":[\"c\"]"),
            ("documents.find", "\"where\":{\"_id\":\"c\"}"),
        ] {
            let data = try client.refusal(method, "{\"collection\":\"books\",\(params),\(expand)}")
            #expect(data["kind"]?.text == "replyTooLarge", "\(method)")
        }
    }

    @Test func `what is brought along does not leave before it is synced`() throws {
        _ = try fill()
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.sync:sleep=600:1+")
        for (method, params) in [
            ("documents.get", "\"id\":\"b1\""), ("documents.getMany", "\"ids\":[\"b1\"]"),
            ("documents.find", "\"where\":{\"_id\":\"b1\"}"),
        ] {
            let (writer, reader) = (try daemon.connect(), try daemon.connect())
            // Whoever sees it sees it as late as the sync of what was sent now.
            let began = now()
            writer.send(
                Client.request(
                    "documents.put", "{\"collection\":\"people\",\"id\":\"ada\",\"value\":\"\(method)\"}", id: "1"))
            var isThere = false
            while !isThere, now() < began + 60 {
                let result = try reader.result(method, "{\"collection\":\"books\",\(params),\"expand\":[\"author\"]}")
                isThere = result["expanded"]?["people"]?["ada"]?["value"]?.text == method
            }
            #expect(isThere && now() - began > 0.55, "\(method)")
            _ = try writer.reply()
        }
    }

    @Test func `only references can be asked for, and only what may be read`() throws {
        _ = try fill()
        for (method, params) in [
            ("documents.get", "\"id\":\"b1\""), ("documents.getMany", "\"ids\":[\"b1\"]"),
            ("documents.find", "\"limit\":1"),
        ] {
            for (expand, path) in [("[\"author\",\"title\"]", "/1"), ("[\"a..b\"]", "/0")] {
                let data = try client.refusal(method, "{\"collection\":\"books\",\(params),\"expand\":\(expand)}")
                #expect(data["kind"]?.text == "invalidParams" && data["parameter"]?.text == "expand", "\(data)")
                #expect(data["path"]?.text == path)
            }
            #expect(
                try client.refusal(method, "{\"collection\":\"books\",\(params),\"expand\":7}")["parameter"]?.text
                    == "expand")
        }
        let roles = try RoleDaemon([
            "narrow": RoleDaemon.role(
                RoleDaemon.grant("documents", "books", "read", "list"), RoleDaemon.grant("documents", "towns", "read"))
        ])
        let admin = try roles.connect("admin")
        try admin.result(
            "documents.configure",
            """
            {"collection":"books","references":[{"field":"author","collection":"people","onDelete":"deny"},\
            {"field":"town","collection":"towns","onDelete":"deny"}]}
            """)
        try admin.result(
            "documents.put", "{\"collection\":\"books\",\"id\":\"b\",\"value\":{\"author\":\"ada\",\"town\":\"ulm\"}}")
        let narrow = try roles.connect("narrow")
        for (method, params) in [
            ("documents.get", "\"id\":\"b\""), ("documents.getMany", "\"ids\":[\"b\"]"),
            ("documents.find", "\"limit\":1"),
        ] {
            let data = try narrow.refusal(
                method, "{\"collection\":\"books\",\(params),\"expand\":[\"town\",\"author\"]}")
            #expect(data["kind"]?.text == "forbidden")
            #expect(data["grant"]?["scope"]?.text == "people" && data["grant"]?["allow"]?[0]?.text == "read")
            let result = try narrow.result(method, "{\"collection\":\"books\",\(params),\"expand\":[\"town\"]}")
            #expect(result["expanded"] == (try JSON("{\"towns\":{\"ulm\":{\"rev\":0}}}")))
        }
    }
}
