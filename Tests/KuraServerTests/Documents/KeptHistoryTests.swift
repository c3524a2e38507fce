import Glibc
import KuraTestSupport
import Testing

@testable import KuraStorage

/// What collections keep of their documents' former versions, when the log has let go of them.
@Suite struct KeptHistoryTests {
    private let daemon: TemporaryDaemon

    /// The log keeps as little as it can.
    private let configuration = "{\"profile\":\"small\",\"changes\":{\"retainBytes\":0,\"retainSeconds\":0}}"

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

    private func keep(_ client: Client, _ history: String) throws {
        try client.result("documents.configure", "{\"collection\":\"c\",\"history\":\(history)}")
    }

    /// Asks again while rows lie in a segment that cannot be read yet.
    private func ask(_ client: Client, _ method: String, _ params: String) throws -> JSON {
        let deadline = now() + 60
        while true {
            let reply = try client.call(method, params)
            guard reply["error"]?["data"]?["kind"]?.text == "overloaded", now() < deadline else { return reply }
            usleep(1000)
        }
    }

    /// Has the log let go of all that was written so far.
    private func forget(_ client: Client) throws {
        let rev = try #require(
            try client.result("documents.put", "{\"collection\":\"other\",\"id\":\"x\",\"value\":1}")["rev"]?.int)
        let text = String(repeating: "x", count: 300_000)
        let deadline = now() + 60
        var number = 0
        func isForgotten() throws -> Bool {
            let reply = try client.call("changes.list", "{\"afterRev\":\(rev - 1),\"limit\":1}")
            return reply["error"]?["data"]?["kind"]?.text == "compacted"
        }
        while try !isForgotten() {
            try #require(now() < deadline)
            number += 1
            try client.result("documents.put", "{\"collection\":\"other\",\"id\":\"x\",\"value\":\"\(number)\(text)\"}")
        }
    }

    private func write(_ client: Client, _ count: Int, _ model: inout Model, _ random: inout SplitMix) throws {
        for number in 1...count {
            let id = "d\(Int.random(in: 0..<4, using: &random))"
            let isThere = model[id]?.last?.number != nil
            let reply: JSON
            var new: Int?
            switch Int.random(in: 0..<8, using: &random) {
            case 0 where isThere: reply = try client.result("documents.delete", "{\(place(id))}")
            case 1 where !isThere && model[id] != nil:
                reply = try client.result("documents.restore", "{\(place(id))}")
                new = model[id]?.dropLast().last?.number
            case 2...4 where isThere:
                reply = try client.result("documents.patch", "{\(place(id)),\"mergePatch\":{\"n\":\(number)}}")
                new = number
            default:
                let text = String(repeating: "t", count: Int.random(in: 1...20_000, using: &random))
                reply = try client.result(
                    "documents.put", "{\(place(id)),\"value\":{\"n\":\(number),\"text\":\"\(text)\"}}")
                new = number
            }
            let rev = try #require(reply["rev"]?.int)
            if model[id]?.last?.rev != rev { model[id, default: []].append(Version(rev: rev, number: new)) }
            if Int.random(in: 0..<20, using: &random) == 0 { usleep(300_000) }
        }
    }

    /// `count`: former versions that are there for certain.
    private func check(_ client: Client, _ model: Model, kept count: Int, _ random: inout SplitMix) throws {
        for (id, versions) in model {
            var listed: [Version] = []
            var (before, isComplete) = ("", false)
            while true {
                let limit = Int.random(in: 1...7, using: &random)
                let reply = try ask(
                    client, "documents.history", "{\(place(id)),\"values\":true,\"limit\":\(limit)\(before)}")
                let page = try #require(reply["result"], "\(reply)")
                for version in page["versions"]?.elements ?? [] {
                    listed.append(Version(rev: version["rev"]?.int ?? 0, number: version["value"]?["n"]?.int))
                    #expect((version["deleted"]?.bool ?? false) == (version["value"] == nil))
                }
                isComplete = page["complete"]?.bool ?? false
                if page["hasMore"]?.bool != true { break }
                before = ",\"beforeRev\":\(try #require(listed.last).rev)"
            }
            #expect(listed == versions.suffix(listed.count).reversed(), "\(id)")
            #expect(listed.count >= min(count + 1, versions.count), "\(id): \(listed.count) of \(versions.count)")
            #expect(!isComplete || listed.count == versions.count, "\(id)")
            for (position, version) in versions.enumerated() {
                let until = position + 1 < versions.count ? versions[position + 1].rev : version.rev + 1
                let rev = Int.random(in: version.rev..<until, using: &random)
                let reply = try ask(client, "documents.get", "{\(place(id)),\"atRev\":\(rev)}")
                if position < versions.count - count - 1, reply["error"]?["data"]?["kind"]?.text == "compacted" {
                    continue
                }
                let found = try #require(reply["result"], "\(id) at \(rev), \(versions.count - position): \(reply)")
                #expect(found["value"]?["n"]?.int == version.number, "\(id) at \(rev)")
                #expect(found["rev"]?.int == (version.number == nil ? 0 : version.rev))
            }
        }
    }

    @Test(arguments: 1...3) func `so many former versions are there, over folds and kills`(_ seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var model: Model = [:]
        var client = try daemon.connect()
        let count = Int.random(in: 1...6, using: &random)
        try keep(client, "{\"count\":\(count)}")
        for round in 0..<3 {
            try write(client, 60, &model, &random)
            if round == 1 { try forget(client) }
            try check(client, model, kept: count, &random)
            daemon.kill()
            try daemon.start(configuration: configuration)
            client = try daemon.connect()
            try check(client, model, kept: count, &random)
        }
        try forget(client)
        try check(client, model, kept: count, &random)
    }

    @Test func `what was overwritten comes back though the log has not got it`() throws {
        let client = try daemon.connect()
        try keep(client, "{\"count\":5}")
        for number in 1...3 { try client.result("documents.put", "{\(place("a")),\"value\":\(number)}") }
        try client.result("documents.put", "{\(place("b")),\"value\":{\"n\":1}}")
        try forget(client)
        let rev = try #require(try client.result("documents.put", "{\(place("a")),\"value\":4}")["rev"]?.int)
        let reply = try ask(client, "transaction.undo", "{\"rev\":\(rev)}")
        #expect(reply["result"]?["undone"]?.int == 1, "\(reply)")
        #expect(try client.result("documents.get", "{\(place("a"))}")["value"]?.int == 3)
        // Folded meanwhile.
        let patched = try #require(
            try client.result("documents.patch", "{\(place("b")),\"mergePatch\":{\"n\":2}}")["rev"]?.int)
        usleep(1_500_000)
        #expect(try ask(client, "transaction.undo", "{\"rev\":\(patched)}")["result"]?["undone"]?.int == 1)
        #expect(try client.result("documents.get", "{\(place("b"))}")["value"]?["n"]?.int == 1)
    }

    @Test func `what is kept no more is not shown, and what is purged or dropped neither`() throws {
        let client = try daemon.connect()
        for end in ["configure", "purge", "drop"] {
            try keep(client, "{\"count\":9}")
            for number in 1...3 {
                for id in ["a", "b"] { try client.result("documents.put", "{\(place(id)),\"value\":\(number)}") }
            }
            try forget(client)
            let before = try ask(client, "documents.history", "{\(place("a")),\"values\":true}")
            #expect(
                before["result"]?["versions"]?.elements.map { $0["value"]?.int }.prefix(3) == [3, 2, 1], "\(before)")
            switch end {
            case "configure": try keep(client, "null")
            case "purge":
                try client.result("documents.delete", "{\(place("a"))}")
                try client.result("documents.purge", "{\"collection\":\"c\",\"olderThanDays\":0}")
            default: try client.result("documents.drop", "{\"collection\":\"c\"}")
            }
            try keep(client, "{\"count\":9}")
            try client.result("documents.put", "{\(place("a")),\"value\":4}")
            try forget(client)
            let after = try ask(client, "documents.history", "{\(place("a")),\"values\":true}")
            let expected = end == "configure" ? [4, 3] : [4]
            #expect(after["result"]?["versions"]?.elements.map { $0["value"]?.int } == expected, "\(end): \(after)")
        }
    }

    @Test func `what cannot be kept is refused, and what is kept is described`() throws {
        let client = try daemon.connect()
        for (history, path) in [
            ("7", ""), ("{}", ""), ("{\"bytes\":100000}", ""), ("{\"count\":0}", "/count"), ("{\"days\":1.5}", "/days"),
            ("{\"count\":1,\"bytes\":1}", "/bytes"), ("{\"count\":1,\"more\":1}", ""),
        ] {
            let refusal = try client.call("documents.configure", "{\"collection\":\"c\",\"history\":\(history)}")
            #expect(refusal["error"]?["data"]?["kind"]?.text == "invalidParams", "\(history): \(refusal)")
            #expect(refusal["error"]?["data"]?["parameter"]?.text == "history")
            #expect(refusal["error"]?["data"]?["path"]?.text == path, "\(refusal)")
        }
        #expect(try client.result("documents.describe", "{\"collection\":\"c\"}")["history"] == nil)
        try keep(client, "{\"days\":3.0,\"count\":2}")
        let kept = try client.result("documents.describe", "{\"collection\":\"c\"}")["history"]
        #expect(kept?["count"]?.int == 2 && kept?["days"]?.int == 3 && kept?["bytes"]?.int == 256 << 20)
        try keep(client, "null")
        #expect(try client.result("documents.describe", "{\"collection\":\"c\"}")["history"] == nil)
    }

    @Test(arguments: 1...2) func `documents are found as they were, or it is said that this is not known`(
        _ seed: UInt64
    )
        throws
    {
        var random = SplitMix(state: seed)
        var client = try daemon.connect()
        try keep(client, "{\"count\":8}")
        var now: [String: Int] = [:]
        var states: [(rev: Int, documents: [String: Int])] = []
        for number in 0..<100 {
            let id = "d\(Int.random(in: 0..<6, using: &random))"
            let isDeleted = now[id] != nil && Int.random(in: 0..<4, using: &random) == 0
            let reply =
                isDeleted
                ? try client.result("documents.delete", "{\(place(id))}")
                : try client.result("documents.put", "{\(place(id)),\"value\":{\"n\":\(number)}}")
            now[id] = isDeleted ? nil : number
            states.append((try #require(reply["rev"]?.int), now))
            if number % 30 == 29 { usleep(1_200_000) }
        }
        try forget(client)
        daemon.kill()
        try daemon.start(configuration: configuration)
        client = try daemon.connect()
        var known = 0
        for (rev, documents) in states {
            for (more, least) in [("", 0), ("\"sort\":[\"n\"],", 0), ("\"where\":{\"n\":{\"$gte\":50}},", 50)] {
                guard let found = try find(client, "\(more)\"atRev\":\(rev)") else { continue }
                known += 1
                let expected = documents.filter { $0.value >= least }
                #expect(Dictionary(found) { first, _ in first } == expected && found.count == expected.count, "\(rev)")
                if more.contains("sort") { #expect(found.map(\.1) == found.map(\.1).sorted()) }
            }
        }
        #expect(known >= 3 * 8)
        let newest = try find(client, "\"atRev\":\(try #require(states.last).rev)")
        #expect(newest?.count == now.count)
    }

    /// All pages; nil when it is not known any more.
    private func find(_ client: Client, _ question: String) throws -> [(String, Int)]? {
        var (found, cursor): ([(String, Int)], String) = ([], "")
        while true {
            let reply = try client.call("documents.find", "{\"collection\":\"c\",\(question),\"limit\":2\(cursor)}")
            if reply["error"]?["data"]?["kind"]?.text == "compacted" { return nil }
            let page = try #require(reply["result"], "\(reply)")
            for document in page["documents"]?.elements ?? [] {
                found.append((document["id"]?.text ?? "", document["value"]?["n"]?.int ?? -1))
            }
            guard let next = page["cursor"]?.text else { return found }
            cursor = ",\"cursor\":\"\(next)\""
        }
    }

    @Test func `a history takes no more bytes than it may`() throws {
        let client = try daemon.connect()
        try keep(client, "{\"days\":30,\"bytes\":100000}")
        let text = String(repeating: "x", count: 9000)
        for number in 0..<60 {
            try client.result("documents.put", "{\(place("a")),\"value\":{\"n\":\(number),\"text\":\"\(text)\"}}")
        }
        try forget(client)
        let deadline = now() + 60
        var listed: [Int?] = []
        repeat {
            let reply = try ask(client, "documents.history", "{\(place("a")),\"values\":true}")
            listed = (reply["result"]?["versions"]?.elements ?? []).map { $0["value"]?["n"]?.int }
        } while listed.count > 12 && now() < deadline
        #expect(listed == Array((60 - listed.count..<60).reversed()))
        #expect(listed.count == 12, "\(listed.count)")
    }

    @Test func `behind a restore former versions are kept again`() throws {
        var client = try daemon.connect()
        try keep(client, "{\"count\":5}")
        for number in 1...2 { try client.result("documents.put", "{\(place("a")),\"value\":\(number)}") }
        try client.result("storage.backup", "{\"name\":\"one\"}")
        let other = try TemporaryDaemon(starts: false)
        try BackupRestore.restore(daemon.data + "/backups/one.kurabackup", into: other.data, BackupOpener())
        try other.start(configuration: configuration)
        client = try other.connect()
        #expect(try client.result("documents.describe", "{\"collection\":\"c\"}")["history"]?["count"]?.int == 5)
        for number in 3...5 { try client.result("documents.put", "{\(place("a")),\"value\":\(number)}") }
        try forget(client)
        let reply = try ask(client, "documents.history", "{\(place("a")),\"values\":true}")
        #expect(reply["result"]?["versions"]?.elements.map { $0["value"]?.int } == [5, 4, 3, 2], "\(reply)")
        #expect(reply["result"]?["complete"]?.bool == false)
        other.kill()
    }
}
