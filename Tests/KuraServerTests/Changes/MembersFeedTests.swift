import KuraTestSupport
import Testing

/// The feed says in which members documents differ.
@Suite struct MembersFeedTests {
    private let daemon: TemporaryDaemon

    /// Segments of 1 MiB, all of which stay.
    private let configuration = "{\"profile\":\"small\",\"changes\":{\"retainBytes\":1000000000}}"

    init() throws {
        daemon = try TemporaryDaemon(configuration: configuration)
    }

    /// A change as the test knows it. `members`: nil where all may differ.
    private struct Written {
        var id: String
        var rev: Int
        var members: Set<String>?
    }

    /// Changes of a few documents by all verbs, over several segments.
    private func write(_ client: Client, _ random: inout SplitMix, _ documents: inout [String: [String: Int]]) throws
        -> [Written]
    {
        var written: [Written] = []
        for number in 1...400 {
            let id = "d\(Int.random(in: 0..<6, using: &random))"
            let place = "\"collection\":\"c\",\"id\":\"\(id)\""
            var document = documents[id]
            let reply: JSON
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where document != nil:
                reply = try client.result("documents.delete", "{\(place)}")
                document = nil
            case 1...3 where document != nil:
                let member = "m\(Int.random(in: 0..<4, using: &random))"
                reply = try client.result("documents.increment", "{\(place),\"path\":\"\(member)\",\"by\":\(number)}")
                document![member, default: 0] += number
            case 4...6 where document != nil:
                let (put, gone) = (
                    "m\(Int.random(in: 0..<4, using: &random))", "m\(Int.random(in: 4..<6, using: &random))"
                )
                reply = try client.result(
                    "documents.patch", "{\(place),\"mergePatch\":{\"\(put)\":\(number),\"\(gone)\":null}}")
                document![put] = number
                document![gone] = nil
            default:
                document = [:]
                for member in 0..<6 where Bool.random(using: &random) {
                    document!["m\(member)"] = Int.random(in: 0..<2, using: &random)
                }
                // Long ones, so that there are several segments.
                document!["filler"] = number
                let text = (0..<1000).map { _ in "\(UInt64.random(in: 0 ... .max, using: &random))" }.joined()
                let members = document!.map { "\"\($0.key)\":\($0.key == "filler" ? "\"\(text)\"" : "\($0.value)")" }
                reply = try client.result("documents.put", "{\(place),\"value\":{\(members.joined(separator: ","))}}")
            }
            let (old, rev) = (documents[id], try #require(reply["rev"]?.int))
            documents[id] = document
            guard rev > written.last?.rev ?? 0 else { continue }
            var members: Set<String>?
            if let old, let document {
                members = Set(old.keys).union(document.keys).filter { old[$0] != document[$0] }
            }
            written.append(Written(id: id, rev: rev, members: members))
        }
        return written
    }

    /// Reads the feed from its beginning, in pages of about `limit` changes.
    private func check(_ client: Client, _ written: [Written], limit: Int) throws {
        var rev = 0
        while true {
            let page = try client.result("changes.list", "{\"afterRev\":\(rev),\"limit\":\(limit),\"members\":true}")
            let end = try #require(page["rev"]?.int)
            let covered = written.filter { $0.rev > rev && $0.rev <= end }
            for change in page["changes"]?.elements ?? [] {
                let steps = covered.filter { $0.id == change["key"]?.text }
                #expect(steps.last?.rev == change["rev"]?.int)
                #expect(change["value"] == nil)
                let expected: Set<String>? =
                    steps.contains { $0.members == nil } ? nil : Set(steps.flatMap { $0.members ?? [] })
                let told = change["members"].map { $0.elements.compactMap(\.text) }
                #expect(told.map { Set($0) } == expected, "\(change)")
                #expect(told?.count == expected?.count, "no name twice")
            }
            rev = end
            if page["hasMore"]?.bool != true { break }
        }
    }

    @Test(arguments: [1, 2]) func `members that differ are told, from whatever segment, and by the next start`(
        _ seed: UInt64
    ) throws {
        var random = SplitMix(state: seed)
        var client = try daemon.connect()
        var documents: [String: [String: Int]] = [:]
        var written = try write(client, &random, &documents)
        #expect((try client.result("storage.status")["log"]?["segments"]?.int ?? 0) > 1)
        for limit in [1, 9, 1000] { try check(client, written, limit: limit) }
        daemon.kill()
        try daemon.start(configuration: configuration)
        client = try daemon.connect()
        written += try write(client, &random, &documents)
        for limit in [1, 9, 1000] { try check(client, written, limit: limit) }
    }

    @Test func `who does not ask is not told, and other stores have none`() throws {
        let client = try daemon.connect()
        for value in 1...2 {
            _ = try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"d\",\"value\":{\"n\":\(value)}}")
            _ = try client.result("settings.put", "{\"domain\":\"s\",\"key\":\"k\",\"value\":{\"n\":\(value)}}")
        }
        let plain = try client.result("changes.list", "{\"afterRev\":2,\"values\":true}")["changes"]?.elements ?? []
        #expect(plain.count == 2 && plain.allSatisfy { $0["members"] == nil })
        let asked = try client.result("changes.list", "{\"afterRev\":2,\"members\":true}")["changes"]?.elements ?? []
        #expect(asked.map { $0["members"].map { $0.elements.compactMap(\.text) } } == [["n"], nil])
        let waited = try client.result("changes.wait", "{\"afterRev\":2,\"members\":true}")["changes"]?.elements ?? []
        #expect(waited.first?["members"]?.elements.compactMap(\.text) == ["n"])
    }

    @Test func `subscriptions that want it and those that do not are told apart`() throws {
        let client = try daemon.connect()
        _ = try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"d\",\"value\":{\"n\":1,\"x\":1}}")
        let plain = try client.result("changes.watch")["subscription"]?.int
        let wanting = try client.result("changes.watch", "{\"members\":true}")["subscription"]?.int
        _ = try client.result("documents.patch", "{\"collection\":\"c\",\"id\":\"d\",\"mergePatch\":{\"x\":2}}")
        var told: [Int: JSON] = [:]
        while told.count < 2 {
            let event = try client.reply()
            guard let number = event["params"]?["subscription"]?.int,
                let change = event["params"]?["changes"]?.elements.first
            else { continue }
            told[number] = change
        }
        #expect(told[plain ?? 0]?["members"] == nil)
        #expect(told[wanting ?? 0]?["members"]?.elements.compactMap(\.text) == ["x"])
    }

    @Test func `names of several changes come together, however long they are`() throws {
        let client = try daemon.connect()
        for round in 0..<40 {
            let place = "\"collection\":\"c\",\"id\":\"d\(round)\""
            let rev = try #require(client.result("documents.put", "{\(place),\"value\":{\"z\":0}}")["rev"]?.int)
            var names: [String] = []
            for number in 0..<5 + round % 2 {
                names.append("n\(number)" + String(repeating: "x", count: 180))
                try client.result("documents.patch", "{\(place),\"mergePatch\":{\"\(names[number])\":1}}")
            }
            // A reader of its own has a page of its own.
            let watcher = try daemon.connect()
            try watcher.result("changes.watch", "{\"afterRev\":\(rev),\"members\":true}")
            let told = try watcher.reply()["params"]?["changes"]?.elements.first
            let listed = try client.result("changes.list", "{\"afterRev\":\(rev),\"members\":true}")["changes"]?
                .elements.first
            for change in [told, listed] {
                let members = change?["members"].map { Set($0.elements.compactMap(\.text)) }
                #expect(members == (names.count == 5 ? Set(names) : nil), "1,024 bytes are listed at most")
            }
        }
    }

    @Test func `caches have no members`() throws {
        let refusal = try daemon.connect().call("changes.watch", "{\"stores\":[\"models\"],\"members\":true}")
        #expect(refusal["error"]?["data"]?["kind"]?.text == "invalidParams")
        #expect(refusal["error"]?["data"]?["parameter"]?.text == "members")
    }
}
