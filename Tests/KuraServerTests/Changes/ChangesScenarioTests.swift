import Glibc
import Testing

/// The change feed over a real socket.
@Suite struct ChangesScenarioTests {
    private func put(_ client: Client, _ key: String, _ value: String, domain: String = "d") throws {
        try client.result("settings.put", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\",\"value\":\(value)}")
    }

    private func keys(_ result: JSON?) -> [String] {
        (result?["changes"]?.elements ?? []).compactMap { $0["key"]?.text }
    }

    /// The next notification's parameters.
    private func event(_ client: Client, _ method: String = "changes.changed") throws -> JSON {
        let line = try client.reply()
        #expect(line["method"] == .string(method) && line["id"] == nil, "\(line)")
        return try #require(line["params"])
    }

    // MARK: Listing

    @Test func `a list has each item's newest state in the order of revisions, deletions included`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("session.hello", "{\"client\":\"notes\"}")
        for value in 1...3 { try put(client, "a", "\(value)") }
        try put(client, "b", "[1.50]")
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"x\",\"value\":{}}")
        try client.result("settings.delete", "{\"domain\":\"d\",\"key\":\"b\"}")
        let all = try client.result("changes.list", "{\"afterRev\":0,\"values\":true}")
        #expect(
            all
                == (try JSON(
                    """
                    {"changes":[{"store":"settings","scope":"d","key":"a","rev":3,"value":3,"client":"notes"},\
                    {"store":"documents","scope":"c","key":"x","rev":5,"value":{},"client":"notes"},\
                    {"store":"settings","scope":"d","key":"b","rev":6,"deleted":true,"client":"notes"}],\
                    "rev":6,"hasMore":false}
                    """)))
        #expect(keys(try client.result("changes.list", "{\"afterRev\":3}")) == ["x", "b"])
        #expect(keys(try client.result("changes.list", "{\"afterRev\":0,\"stores\":[\"documents\"]}")) == ["x"])
        #expect(keys(try client.result("changes.list", "{\"afterRev\":0,\"scope\":\"d\",\"prefix\":\"b\"}")) == ["b"])
        #expect(keys(try client.result("changes.list", "{\"afterRev\":0,\"scope\":\"none\"}")) == [])
        #expect(try client.result("changes.list", "{\"afterRev\":6}")["rev"]?.int == 6)
        let none = try client.refusal("changes.list", "{\"afterRev\":0,\"stores\":[\"secret\"]}")
        #expect(none["kind"] == .string("invalidParams") && none["index"]?.int == 0)
    }

    @Test func `pages follow each other without a gap, and a transaction is never divided`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for round in 0..<30 {
            let values = (0..<10).map { "\"k\(round)-\($0)\":\(round)" }.joined(separator: ",")
            try client.result("settings.putMany", "{\"domain\":\"d\",\"values\":{\(values)}}")
            try put(client, "single\(round)", "1")
        }
        var rev = 0
        var seen: [String] = []
        while true {
            let page = try client.result("changes.list", "{\"afterRev\":\(rev),\"limit\":3}")
            let changes = page["changes"]?.elements ?? []
            rev = try #require(page["rev"]?.int)
            #expect(changes.allSatisfy { $0["rev"]?.int ?? 0 <= rev })
            let bySize = Dictionary(grouping: changes) { $0["rev"]?.int ?? 0 }.mapValues(\.count)
            for (rev, count) in bySize { #expect(count == (rev % 2 == 1 ? 10 : 1)) }
            seen += keys(page)
            if page["hasMore"]?.bool != true { break }
        }
        #expect(rev == 60 && seen.count == 330 && Set(seen).count == 330)
    }

    @Test func `another history's revision and epoch are refused`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try put(client, "a", "1")
        let epoch = try #require(try client.result("session.hello")["epoch"]?.text)
        for method in ["changes.list", "changes.watch", "changes.wait"] {
            let future = try client.refusal(method, "{\"afterRev\":2}")
            #expect(future["kind"] == .string("invalidParams") && future["parameter"] == .string("afterRev"))
            #expect(future["currentRev"]?.int == 1)
            let other = try client.refusal(method, "{\"afterRev\":1,\"epoch\":\"0\"}")
            #expect(other["kind"] == .string("epochChanged"))
        }
        #expect(try client.result("changes.watch", "{\"epoch\":\"\(epoch)\"}")["epoch"] == .string(epoch))
    }

    // MARK: Watching

    @Test func `events come to those who asked for them, until they have had enough`() throws {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        let watcher = try daemon.connect()
        try put(writer, "before", "1")
        let started = try watcher.result("changes.watch", "{\"values\":true}")
        #expect(started["subscription"]?.int == 1 && started["rev"]?.int == 1)
        #expect(try watcher.result("changes.watch", "{\"scope\":\"other\"}")["subscription"]?.int == 2)
        try put(writer, "a", "{\"n\":1}")
        let first = try event(watcher)
        #expect(
            first
                == (try JSON(
                    """
                    {"subscription":1,"rev":2,"changes":[{"store":"settings","scope":"d","key":"a","rev":2,"value":{"n":1}}]}
                    """)))
        try put(writer, "b", "1", domain: "other")
        let both = [try event(watcher), try event(watcher)]
        #expect(Set(both.map { $0["subscription"]?.int }) == [1, 2])
        #expect(both.allSatisfy { keys($0) == ["b"] && $0["rev"]?.int == 3 })
        #expect(try watcher.result("changes.unwatch", "{\"subscription\":1}")["ended"]?.bool == true)
        #expect(try watcher.result("changes.unwatch", "{\"subscription\":1}")["ended"]?.bool == false)
        try put(writer, "c", "1")
        try put(writer, "d", "1", domain: "other")
        #expect(try event(watcher)["subscription"]?.int == 2)
        // A number is never used again.
        #expect(try watcher.result("changes.watch")["subscription"]?.int == 3)
        #expect(try writer.result("storage.status")["connections"]?["subscriptions"]?.int == 2)
        watcher.halfClose()
        #expect(try watcher.lines() == [])
        #expect(try writer.result("storage.status")["connections"]?["subscriptions"]?.int == 0)
    }

    @Test func `no event leaves before its change is on the disk`() throws {
        let daemon = try TemporaryDaemon(faults: "log.sync:sleep=400:1+")
        let watcher = try daemon.connect()
        let writer = try daemon.connect()
        try watcher.result("changes.watch")
        let started = now()
        writer.send(Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}"))
        #expect(keys(try event(watcher)) == ["k"])
        #expect(now() - started > 0.35)
        // Nor does a list show it.
        _ = try writer.reply()
        writer.send(Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"l\",\"value\":1}"))
        usleep(50_000)
        let list = try daemon.connect().result("changes.list", "{\"afterRev\":0}")
        #expect(keys(list) == ["k"] || now() - started > 0.75)
    }

    @Test func `a change whose sync fails is told to nobody`() throws {
        let daemon = try TemporaryDaemon(faults: "log.sync:fail:2")
        let watcher = try daemon.connect()
        let writer = try daemon.connect()
        try watcher.result("changes.watch")
        watcher.send(
            Client.request("changes.wait", "{\"afterRev\":0,\"scope\":\"never\"}", id: "7")
                + Client.request("storage.ping", id: "8"))
        // What was not read before the failure has no answer: the second reply says that the first request waits.
        #expect(try watcher.reply()["id"]?.int == 8)
        try put(writer, "kept", "1")
        #expect(keys(try event(watcher)) == ["kept"])
        writer.send(Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"lost\",\"value\":1}"))
        let rest = try watcher.lines()
        #expect(rest.count == 1)
        #expect(try JSON(rest[0])["error"]?["data"]?["kind"] == .string("shuttingDown"))
        #expect(daemon.wait() == 1)
    }

    @Test func `a turn that finds the disk full subscribes once all the same`() throws {
        let daemon = try TemporaryDaemon(faults: "log.append:full:1")
        let client = try daemon.connect()
        client.send(
            Client.request("changes.watch", id: "1")
                + Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"a\",\"value\":1}", id: "2")
                + Client.request("changes.unwatch", "{\"subscription\":2}", id: "3"))
        #expect(try client.reply()["result"]?["subscription"]?.int == 1)
        #expect(try client.reply()["error"]?["data"]?["kind"] == .string("noSpace"))
        #expect(try client.reply()["result"]?["ended"]?.bool == false)
        let writer = try daemon.connect()
        while try writer.call("settings.put", "{\"domain\":\"d\",\"key\":\"b\",\"value\":1}")["result"] == nil {}
        #expect(keys(try event(client)) == ["b"])
        #expect(try client.result("storage.status")["connections"]?["subscriptions"]?.int == 1)
    }

    @Test func `a subscription goes on without a gap after kills and restarts`() throws {
        let daemon = try TemporaryDaemon()
        var rev = 0
        var mirror: [String: Int] = [:]
        var told: [Int] = []
        var value = 0
        for round in 0..<6 {
            let writer = try daemon.connect()
            for _ in 0..<200 {
                value += 1
                writer.send(
                    Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"\(value % 50)\",\"value\":\(value)}"))
            }
            for _ in 0..<200 { #expect(try writer.reply()["result"] != nil) }
            if round % 2 == 1 { try daemon.waitUntilFolded() }
            daemon.kill()
            try daemon.start()
            let watcher = try daemon.connect()
            try watcher.result("changes.watch", "{\"afterRev\":\(rev),\"values\":true}")
            while rev < value {
                let event = try event(watcher)
                for change in event["changes"]?.elements ?? [] {
                    mirror[change["key"]?.text ?? ""] = change["value"]?.int
                    told.append(change["rev"]?.int ?? 0)
                }
                rev = event["rev"]?.int ?? 0
            }
        }
        #expect(told == told.sorted() && Set(told).count == told.count)
        #expect(mirror == Dictionary(uniqueKeysWithValues: (value - 49...value).map { ("\($0 % 50)", $0) }))
    }

    @Test func `a client that does not read gets the newest state when it does, and hinders nobody`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"changes\":{\"retainBytes\":67108864}}")
        let watcher = try daemon.connect()
        let other = try daemon.connect()
        let writer = try daemon.connect()
        try watcher.result("changes.watch", "{\"values\":true}")
        try other.result("changes.watch", "{\"prefix\":\"last\"}")
        let filler = String(repeating: "x", count: 4000)
        for round in 1...1500 { try put(writer, "\(round % 10)", "\"\(round) \(filler)\"") }
        try put(writer, "last", "1")
        #expect(keys(try event(other)) == ["last"])
        var rev = 0
        var bytes = 0
        var newest: [String: String] = [:]
        while rev < 1501 {
            let event = try event(watcher)
            for change in event["changes"]?.elements ?? [] {
                let text = change["value"]?.text ?? ""
                bytes += text.utf8.count
                newest[change["key"]?.text ?? ""] = text.split(separator: " ").first.map(String.init)
            }
            rev = event["rev"]?.int ?? 0
        }
        // What its socket and its output hold came as it was written, the rest coalesced.
        #expect(bytes < 2_000_000, "\(bytes) bytes for 6,000,000 written")
        for round in 1491...1500 { #expect(newest["\(round % 10)"] == "\(round)") }
    }

    @Test func `what retention has let go is told by an overflow, or refused as compacted`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"changes\":{\"retainBytes\":0}}")
        let watcher = try daemon.connect()
        let writer = try daemon.connect()
        try watcher.result("changes.watch", "{\"values\":true}")
        let filler = String(repeating: "x", count: 100_000)
        var value = 0
        for _ in 0..<5 {
            value += 1
            try put(writer, "\(value)", "\"\(filler)\"")
        }
        // The ring holds 1 MiB, and a segment leaves the log when it has been folded and checkpointed.
        let deadline = now() + 60
        // While a segment cannot be closed yet, `overloaded` says to ask again.
        func kind() throws -> JSON? { try writer.call("changes.list", "{\"afterRev\":3}")["error"]?["data"]?["kind"] }
        while try kind() != .string("compacted") {
            try #require(now() < deadline)
            for _ in 0..<20 {
                value += 1
                try put(writer, "\(value)", "\"\(filler)\"")
            }
        }
        let late = try writer.refusal("changes.list", "{\"afterRev\":3}")
        #expect(late["kind"] == .string("compacted"))
        var oldest = try #require(late["oldestRev"]?.int)
        #expect(oldest > 3 && oldest <= value)
        // Retention goes on behind the writers for a moment.
        var page = try writer.call("changes.list", "{\"afterRev\":\(oldest)}")
        while let error = page["error"]?["data"], now() < deadline + 60 {
            if let moved = error["oldestRev"]?.int {
                try #require(moved > oldest && moved <= value)
                oldest = moved
            } else {
                #expect(error["kind"] == .string("overloaded"))
            }
            page = try writer.call("changes.list", "{\"afterRev\":\(oldest)}")
        }
        #expect(page["result"]?["rev"]?.int ?? 0 >= oldest)
        #expect(try writer.refusal("changes.watch", "{\"afterRev\":3}")["kind"] == .string("compacted"))
        #expect(try writer.refusal("changes.wait", "{\"afterRev\":3}")["kind"] == .string("compacted"))
        // The watcher has not read since the beginning.
        var rev = 0
        var overflow: Int?
        while overflow == nil {
            let line = try watcher.reply()
            if line["method"] == .string("changes.overflow") {
                overflow = line["params"]?["resyncRev"]?.int
            } else {
                rev = line["params"]?["rev"]?.int ?? 0
            }
        }
        #expect(try #require(overflow) > rev)
        try put(writer, "after", "1")
        #expect(keys(try event(watcher)) == ["after"])
        // It is known after a restart.
        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: "{\"changes\":{\"retainBytes\":0}}")
        #expect(try daemon.connect().refusal("changes.list", "{\"afterRev\":3}")["kind"] == .string("compacted"))
    }

    @Test func `a quiet subscription is told how far it is`() throws {
        let daemon = try TemporaryDaemon(
            configuration: "{\"changes\":{\"progressSeconds\":600}}", movesTime: true)
        let watcher = try daemon.connect()
        let writer = try daemon.connect()
        try watcher.result("changes.watch", "{\"scope\":\"other\"}")
        for value in 1...5 { try put(writer, "a", "\(value)") }
        try daemon.advance(seconds: 300)
        try writer.result("storage.ping")
        #expect(!watcher.hasInput)
        try daemon.advance(seconds: 301)
        let mark = try event(watcher)
        #expect(mark["rev"]?.int == 5 && mark["changes"]?.elements.isEmpty == true)
    }

    @Test func `one subscription too many is refused, and a place is free again when one ends`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"subscriptions\":3,\"totalSubscriptions\":4}}")
        let first = try daemon.connect()
        let second = try daemon.connect()
        for _ in 0..<3 { try first.result("changes.watch") }
        #expect(try first.refusal("changes.watch")["limit"]?.int == 3)
        try second.result("changes.watch")
        let refusal = try second.refusal("changes.watch")
        #expect(refusal["kind"] == .string("tooManySubscriptions") && refusal["limit"]?.int == 4)
        try first.result("changes.unwatch", "{\"subscription\":2}")
        try second.result("changes.watch")
    }

    // MARK: Waiting

    @Test func `a wait is answered by the change, out of band, and by nothing when its time is over`() throws {
        let daemon = try TemporaryDaemon(movesTime: true)
        let client = try daemon.connect()
        let writer = try daemon.connect()
        client.send(
            Client.request("changes.wait", "{\"afterRev\":0,\"prefix\":\"w\",\"values\":true}", id: "\"slow\"")
                + Client.request("storage.ping", id: "2"))
        #expect(try client.reply()["id"]?.int == 2)
        try put(writer, "other", "1")
        try put(writer, "w", "5")
        let reply = try client.reply()
        #expect(reply["id"] == .string("slow"))
        #expect(reply["result"]?["changes"]?[0]?["value"]?.int == 5 && reply["result"]?["rev"]?.int == 2)
        // What is there already is answered at once, also when the time given is none.
        #expect(keys(try client.result("changes.wait", "{\"afterRev\":1,\"timeoutMs\":0}")) == ["w"])
        client.send(
            Client.request("changes.wait", "{\"afterRev\":2,\"timeoutMs\":300000}")
                + Client.request("storage.ping", id: "2"))
        #expect(try client.reply()["id"]?.int == 2)
        try daemon.advance(seconds: 200)
        try writer.result("storage.ping")
        #expect(!client.hasInput)
        try daemon.advance(seconds: 101)
        let none = try #require(try client.reply()["result"])
        #expect(keys(none) == [] && none["rev"]?.int == 2 && none["hasMore"]?.bool == false)
        // Out of a batch nothing can come later.
        client.send("[\(Client.request("changes.wait", "{\"afterRev\":2}").dropLast())]\n")
        #expect(keys(try client.reply()[0]?["result"]) == [])
    }

    @Test func `a client that has closed its side still gets what it waits for`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        client.send(Client.request("changes.wait", "{\"afterRev\":0}"))
        client.halfClose()
        usleep(100_000)
        try put(try daemon.connect(), "a", "1")
        let lines = try client.lines()
        #expect(lines.count == 1)
        #expect(keys(try JSON(lines[0])["result"]) == ["a"])
    }

    @Test func `a wait does not outlive a client that is gone, nor hold up the daemon's end`() throws {
        let daemon = try TemporaryDaemon()
        let other = try daemon.connect()
        do {
            let gone = try daemon.connect()
            gone.send(Client.request("changes.wait", "{\"afterRev\":0,\"timeoutMs\":600000}"))
            try gone.result("storage.ping")
        }
        try daemon.waitForConnections(1, over: other)
        #expect(try other.result("storage.status")["connections"]?["subscriptions"]?.int == 0)
        other.send(Client.request("changes.wait", "{\"afterRev\":0,\"timeoutMs\":600000}", id: "9"))
        other.send(Client.request("storage.ping", id: "10"))
        #expect(try other.reply()["id"]?.int == 10)
        #expect(daemon.terminate() == 0)
        #expect(!daemon.hasDrainedOvertime)
        #expect(try other.reply()["result"]?["rev"]?.int == 0)
    }
}
