import Glibc
import KuraTestSupport
import Testing

/// Documents as they were: `documents.history`, and `documents.get` with `atRev`.
@Suite struct DocumentHistoryTests {
    private let daemon: TemporaryDaemon

    /// Segments of 1 MiB, all of which stay.
    private let configuration = "{\"profile\":\"small\",\"changes\":{\"retainBytes\":1000000000}}"

    init() throws {
        daemon = try TemporaryDaemon(configuration: configuration)
    }

    private struct Version: Equatable {
        var rev: Int
        /// nil when it is deleted.
        var number: Int?
    }

    /// By id: its versions, the oldest first.
    private typealias Model = [String: [Version]]

    private func place(_ id: String) -> String { "\"collection\":\"c\",\"id\":\"\(id)\"" }

    private func write(_ client: Client, _ count: Int, _ model: inout Model, _ random: inout SplitMix) throws {
        for number in 1...count {
            let id = "d\(Int.random(in: 0..<5, using: &random))"
            let isThere = model[id]?.last?.number != nil
            let reply: JSON
            var new: Int?
            switch Int.random(in: 0..<8, using: &random) {
            case 0 where isThere: reply = try client.result("documents.delete", "{\(place(id))}")
            case 1...4 where isThere:
                reply = try client.result("documents.patch", "{\(place(id)),\"mergePatch\":{\"n\":\(number)}}")
                new = number
            default:
                let text = (0..<500).map { _ in "\(UInt64.random(in: 0 ... .max, using: &random))" }.joined()
                reply = try client.result(
                    "documents.put", "{\(place(id)),\"value\":{\"n\":\(number),\"text\":\"\(text)\"}}")
                new = number
            }
            let rev = try #require(reply["rev"]?.int)
            // A patch that changes nothing is no version.
            if model[id]?.last?.rev != rev { model[id, default: []].append(Version(rev: rev, number: new)) }
        }
    }

    private func check(_ client: Client, _ model: Model, _ random: inout SplitMix) throws {
        let newest = try #require(model.values.compactMap(\.last?.rev).max())
        for (id, versions) in model {
            var listed: [Version] = []
            var before = ""
            while true {
                let page = try client.result(
                    "documents.history",
                    "{\(place(id)),\"values\":true,\"limit\":\(Int.random(in: 1...20, using: &random))\(before)}")
                for version in page["versions"]?.elements ?? [] {
                    listed.append(Version(rev: version["rev"]?.int ?? 0, number: version["value"]?["n"]?.int))
                    #expect((version["deleted"]?.bool ?? false) == (version["value"] == nil))
                    #expect(version["updatedAt"]?.text?.hasPrefix("20") == true)
                }
                #expect(page["complete"]?.bool != page["hasMore"]?.bool)
                if page["hasMore"]?.bool != true { break }
                before = ",\"beforeRev\":\(try #require(listed.last).rev)"
            }
            #expect(listed == versions.reversed(), "\(id)")
            for _ in 0..<20 {
                let rev = Int.random(in: 0...newest, using: &random)
                let then = versions.last { $0.rev <= rev }
                let found = try client.result("documents.get", "{\(place(id)),\"atRev\":\(rev)}")
                #expect(found["value"]?["n"]?.int == then?.number, "\(id) at \(rev): \(then as Any)")
                #expect(found["rev"]?.int == (then?.number == nil ? 0 : then?.rev))
            }
        }
    }

    @Test(arguments: [1, 2]) func `each version is found, from whatever segment, and by the next start`(_ seed: UInt64)
        throws
    {
        var random = SplitMix(state: seed)
        var model: Model = [:]
        var client = try daemon.connect()
        try write(client, 400, &model, &random)
        #expect((try client.result("storage.status")["log"]?["segments"]?.int ?? 0) > 1)
        try check(client, model, &random)
        daemon.kill()
        try daemon.start(configuration: configuration)
        client = try daemon.connect()
        try check(client, model, &random)
        try write(client, 100, &model, &random)
        try check(client, model, &random)
    }

    @Test func `a version says who made it, and in which members it differs`() throws {
        let client = try daemon.connect()
        try client.result("session.hello", "{\"client\":\"notes\",\"version\":\"2\"}")
        try client.result("documents.put", "{\(place("a")),\"value\":{\"n\":1,\"x\":2}}")
        try client.result("documents.patch", "{\(place("a")),\"mergePatch\":{\"x\":3}}")
        let versions = try client.result("documents.history", "{\(place("a"))}")["versions"]?.elements ?? []
        #expect(versions.map { $0["rev"]?.int } == [2, 1])
        #expect(versions.map { $0["client"]?.text } == ["notes/2", "notes/2"])
        #expect(versions.map { $0["bytes"]?.int } == [13, 13])
        #expect(versions.map { $0["value"] } == [nil, nil])
        #expect(versions.map { $0["members"]?.elements.compactMap(\.text) } == [["x"], nil])
    }

    /// Asks again while the newest rows lie in a segment that is not closed yet.
    private func ask(_ client: Client, _ method: String, _ params: String) throws -> JSON {
        let deadline = now() + 60
        while true {
            let reply = try client.call(method, params)
            guard reply["error"]?["data"]?["kind"]?.text == "overloaded", now() < deadline else { return reply }
            usleep(1000)
        }
    }

    private func numbers(_ client: Client, _ id: String) throws -> [Int?] {
        let history = try client.result("documents.history", "{\(place(id)),\"values\":true}")
        #expect(history["complete"]?.bool == true)
        return (history["versions"]?.elements ?? []).map { $0["value"]?.int }
    }

    @Test(arguments: [false, true]) func `nothing is shown of what was purged or dropped`(_ isDrop: Bool) throws {
        var client = try daemon.connect()
        for number in 1...3 { try client.result("documents.put", "{\(place("a")),\"value\":\(number)}") }
        try client.result("documents.put", "{\(place("b")),\"value\":1}")
        if isDrop {
            try client.result("documents.drop", "{\"collection\":\"c\"}")
        } else {
            try client.result("documents.delete", "{\(place("a"))}")
            #expect(
                try client.result("documents.purge", "{\"collection\":\"c\",\"olderThanDays\":0}")["purged"]?.int == 1)
        }
        for start in 0..<2 {
            #expect(try numbers(client, "a") == (start == 0 ? [] : [8, 7]))
            #expect(try client.result("documents.get", "{\(place("a")),\"atRev\":2}")["value"] == nil)
            if start == 0 {
                for number in 7...8 { try client.result("documents.put", "{\(place("a")),\"value\":\(number)}") }
            }
            #expect(try numbers(client, "a") == [8, 7])
            #expect(try client.result("documents.get", "{\(place("a")),\"atRev\":2}")["value"] == nil)
            daemon.kill()
            try daemon.start(configuration: configuration)
            client = try daemon.connect()
        }
    }

    @Test func `a change of the same batch is told`() throws {
        let client = try daemon.connect()
        try client.result("documents.put", "{\(place("a")),\"value\":1}")
        client.send(
            """
            [{"jsonrpc":"2.0","id":1,"method":"documents.put","params":{\(place("a")),"value":2}},\
            {"jsonrpc":"2.0","id":2,"method":"documents.history","params":{\(place("a")),"values":true}}]\n
            """)
        let replies = try client.reply().elements
        let versions = replies.first { $0["id"]?.int == 2 }?["result"]?["versions"]?.elements ?? []
        #expect(versions.map { $0["value"]?.int } == [2, 1])
    }

    @Test func `behind what the log has let go of only the present is known`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"profile\":\"small\",\"changes\":{\"retainBytes\":1000000}}")
        let client = try daemon.connect()
        for number in 1...2 { try client.result("documents.put", "{\(place("a")),\"value\":\(number)}") }
        try client.result("documents.put", "{\(place("gone")),\"value\":1}")
        var random = SplitMix(state: 1)
        while try client.call("changes.list", "{\"afterRev\":3,\"limit\":1}")["result"] != nil {
            let text = (0..<1000).map { _ in "\(UInt64.random(in: 0 ... .max, using: &random))" }.joined()
            try client.result("documents.put", "{\(place("large")),\"value\":\"\(text)\"}")
        }
        let reply = try ask(client, "documents.history", "{\(place("a")),\"values\":true}")
        let history = try #require(reply["result"], "\(reply)")
        #expect(history["versions"]?.elements.map { $0["value"]?.int } == [2])
        #expect(history["complete"]?.bool == false && history["hasMore"]?.bool == false)
        #expect(try client.result("documents.get", "{\(place("a")),\"atRev\":2}")["value"]?.int == 2)
        let refusal = try ask(client, "documents.get", "{\(place("a")),\"atRev\":1}")
        #expect(refusal["error"]?["data"]?["kind"]?.text == "compacted")
        #expect((refusal["error"]?["data"]?["oldestRev"]?.int ?? 0) > 1)
    }

    @Test func `a burst that no segment has room for is told as soon as it is closed, with nothing written besides`()
        throws
    {
        let client = try daemon.connect()
        try client.result("documents.put", "{\(place("a")),\"value\":1}")
        let text = String(repeating: "x", count: 300_000)
        // More than memory has of an active segment.
        for number in 0..<20 {
            client.send(Client.request("documents.put", "{\(place("large\(number)")),\"value\":\"\(text)\"}"))
        }
        client.send(Client.request("documents.history", "{\(place("a")),\"values\":true}"))
        for _ in 0..<20 { #expect(try client.reply()["result"] != nil) }
        let first = try client.reply()
        #expect(first["result"] != nil || first["error"]?["data"]?["kind"]?.text == "overloaded", "\(first)")
        let reply = try ask(client, "documents.history", "{\(place("a")),\"values\":true}")
        #expect(reply["result"]?["versions"]?.elements.map { $0["value"]?.int } == [1], "\(reply)")
    }

    @Test func `what cannot be asked is refused`() throws {
        let client = try daemon.connect()
        try client.result("documents.put", "{\(place("a")),\"value\":1}")
        for more in ["\"atRev\":9", "\"atRev\":1,\"expand\":[\"x\"]"] {
            let refusal = try client.call("documents.get", "{\(place("a")),\(more)}")
            #expect(refusal["error"]?["data"]?["kind"]?.text == "invalidParams", "\(refusal)")
            #expect(refusal["error"]?["data"]?["parameter"]?.text == "atRev")
        }
        #expect(try client.result("documents.history", "{\(place("none"))}")["versions"]?.elements.isEmpty == true)
        #expect(try client.result("documents.get", "{\(place("none")),\"atRev\":0,\"default\":7}")["value"]?.int == 7)
    }
}
