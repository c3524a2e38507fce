import Glibc
import Testing

/// Live queries over a real socket.
@Suite struct LiveScenarioTests {
    private func put(_ client: Client, _ id: String, _ value: String, collection: String = "c") throws {
        try client.result("documents.put", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\",\"value\":\(value)}")
    }

    private func event(_ client: Client, _ method: String = "documents.changed") throws -> JSON {
        let line = try client.reply()
        #expect(line["method"] == .string(method) && line["id"] == nil, "\(line)")
        return try #require(line["params"])
    }

    private func ids(_ event: JSON) -> [String] { (event["documents"]?.elements ?? []).compactMap { $0["id"]?.text } }

    private func steps(_ event: JSON) -> [String] {
        (event["changes"]?.elements ?? []).map {
            "\($0["change"]?.text ?? "") \($0["id"]?.text ?? "")" + ($0["position"]?.int.map { " \($0)" } ?? "")
        }
    }

    @Test func `the answer comes first, then how it changes, to whoever watches in whatever process`() throws {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        for (id, number) in [("a", 5), ("b", 2), ("c", 9)] { try put(writer, id, "{\"n\":\(number)}") }
        let one = try daemon.connect()
        let other = try daemon.connect()
        let begun = try one.result(
            "documents.watch", "{\"collection\":\"c\",\"where\":{\"n\":{\"$gt\":4}},\"sort\":[\"n\"]}")
        #expect(begun["subscription"]?.int == 1 && begun["rev"]?.int == 3)
        let first = try event(one)
        #expect(
            first
                == (try JSON(
                    """
                    {"subscription":1,"rev":3,"snapshot":true,"documents":[{"id":"a","value":{"n":5},"rev":1},\
                    {"id":"c","value":{"n":9},"rev":3}],"hasMore":false}
                    """)))
        try other.result("documents.watch", "{\"collection\":\"c\"}")
        #expect(ids(try event(other)) == ["a", "b", "c"])
        try put(writer, "b", "{\"n\":7}")
        #expect(
            try event(one)
                == (try JSON(
                    """
                    {"subscription":1,"rev":4,"changes":[{"change":"inserted","id":"b","value":{"n":7},"rev":4,"position":1}]}
                    """)))
        #expect(steps(try event(other)) == ["updated b"])
        try writer.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        #expect(steps(try event(one)) == ["removed a"])
        #expect(steps(try event(other)) == ["removed a"])
        // Neither what does not match, nor another collection.
        try put(writer, "z", "{\"n\":1}")
        try put(writer, "z", "{\"n\":100}", collection: "d")
        #expect(steps(try event(other)) == ["inserted z 2"])
        try put(writer, "b", "{\"n\":10}")
        #expect(steps(try event(one)) == ["moved b 1"])
        #expect(try one.result("documents.unwatch", "{\"subscription\":1}")["ended"]?.bool == true)
        #expect(try one.result("documents.unwatch", "{\"subscription\":1}")["ended"]?.bool == false)
        #expect(try writer.result("storage.status")["connections"]?["subscriptions"]?.int == 1)
        other.halfClose()
        while try other.line() != nil {}
        #expect(try writer.result("storage.status")["connections"]?["subscriptions"]?.int == 0)
    }

    @Test func `a collection that is not there yet is empty, and then is not`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("documents.watch", "{\"collection\":\"new\",\"limit\":3}")
        #expect(ids(try event(client)) == [])
        client.send(Client.request("documents.put", "{\"collection\":\"new\",\"id\":\"x\",\"value\":1}", id: nil))
        #expect(steps(try event(client)) == ["inserted x 0"])
    }

    @Test func `when one leaves a limited list the next comes in, also when all that were kept have left`() throws {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        let watcher = try daemon.connect()
        let documents = (100..<200).map { "{\"id\":\"d\($0)\",\"value\":{\"n\":\($0)}}" }.joined(separator: ",")
        try writer.result("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents)]}")
        try watcher.result("documents.watch", "{\"collection\":\"c\",\"sort\":[\"n\"],\"limit\":2}")
        #expect(ids(try event(watcher)) == ["d100", "d101"])
        try writer.result("documents.delete", "{\"collection\":\"c\",\"id\":\"d100\"}")
        #expect(steps(try event(watcher)) == ["removed d100", "inserted d102 1"])
        // One transaction takes more away than is kept beside the list.
        let operations = (101..<190).map {
            "{\"method\":\"documents.delete\",\"params\":{\"collection\":\"c\",\"id\":\"d\($0)\"}}"
        }.joined(separator: ",")
        try writer.result("transaction.apply", "{\"operations\":[\(operations)]}")
        let refilled = try event(watcher)
        #expect(Set(steps(refilled)) == ["removed d101", "removed d102", "inserted d190 0", "inserted d191 1"])
        #expect(refilled["changes"]?.elements.last?["value"]?["n"]?.int == 191)
    }

    @Test func `no notification leaves before its change is on the disk`() throws {
        let daemon = try TemporaryDaemon(faults: "log.sync:sleep=400:2+")
        let watcher = try daemon.connect()
        let writer = try daemon.connect()
        try put(writer, "a", "1")
        try watcher.result("documents.watch", "{\"collection\":\"c\"}")
        #expect(ids(try event(watcher)) == ["a"])
        let started = now()
        writer.send(Client.request("documents.put", "{\"collection\":\"c\",\"id\":\"b\",\"value\":1}"))
        #expect(steps(try event(watcher)) == ["inserted b 1"])
        #expect(now() - started > 0.35)
    }

    @Test func `who comes back gets the values that have changed, and the whole list`() throws {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        for id in ["a", "b", "c"] { try put(writer, id, "{\"v\":1}") }
        try put(writer, "b", "{\"v\":2}")
        try writer.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        try put(writer, "elsewhere", "1", collection: "d")
        func beginning(_ params: String) throws -> [String] {
            let client = try daemon.connect()
            try client.result("documents.watch", params)
            return (try event(client)["documents"]?.elements ?? []).map {
                "\($0["id"]?.text ?? "")\($0["rev"]?.int ?? 0)\($0["value"] == nil ? "" : "v")"
            }
        }
        #expect(try beginning("{\"collection\":\"c\",\"afterRev\":3}") == ["b4v", "c3"])
        #expect(try beginning("{\"collection\":\"c\",\"afterRev\":4}") == ["b4", "c3"])
        #expect(try beginning("{\"collection\":\"c\",\"afterRev\":0}") == ["b4v", "c3v"])
        // What stands in a limited list may have come in for another, without having changed.
        #expect(try beginning("{\"collection\":\"c\",\"afterRev\":4,\"limit\":5}") == ["b4v", "c3v"])
        #expect(try beginning("{\"collection\":\"c\",\"afterRev\":5,\"limit\":5}") == ["b4", "c3"])
        let future = try writer.refusal("documents.watch", "{\"collection\":\"c\",\"afterRev\":7}")
        #expect(future["kind"] == .string("invalidParams") && future["currentRev"]?.int == 6)
        let other = try writer.refusal("documents.watch", "{\"collection\":\"c\",\"afterRev\":1,\"epoch\":\"x\"}")
        #expect(other["kind"] == .string("epochChanged"))
    }

    @Test func `a list goes on where it was after a kill`() throws {
        let daemon = try TemporaryDaemon()
        var rev = 0
        for round in 1...3 {
            let writer = try daemon.connect()
            for id in 0..<20 { try put(writer, "d\(id)", "{\"round\":\(round)}") }
            daemon.kill()
            try daemon.start()
            let watcher = try daemon.connect()
            try watcher.result("documents.watch", "{\"collection\":\"c\",\"afterRev\":\(rev)}")
            let beginning = try event(watcher)
            #expect(beginning["documents"]?.elements.count == 20)
            #expect(
                beginning["documents"]?.elements.allSatisfy { $0["value"]?["round"]?.int == round } == true)
            rev = beginning["rev"]?.int ?? 0
            #expect(rev == round * 20)
        }
    }

    @Test func `a long beginning comes in pieces of one state, and a client that does not read hinders nobody`() throws
    {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        let watcher = try daemon.connect()
        let filler = String(repeating: "x", count: 1000)
        for round in 0..<4 {
            let documents = (0..<500).map { "{\"id\":\"d\(round)-\($0)\",\"value\":\"\(filler)\"}" }
            try writer.result(
                "documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
        try watcher.result("documents.watch", "{\"collection\":\"c\"}")
        // Meanwhile the list changes, far more than its client reads.
        for value in 0..<300 { try put(writer, "d0-0", "{\"last\":\(value)}") }
        var seen = 0
        var pieces = 0
        var rev: Int?
        while true {
            let piece = try event(watcher)
            #expect(piece["snapshot"]?.bool == true && rev ?? piece["rev"]?.int == piece["rev"]?.int)
            rev = piece["rev"]?.int
            seen += piece["documents"]?.elements.count ?? 0
            pieces += 1
            if piece["hasMore"]?.bool == false { break }
        }
        #expect(seen == 2000 && pieces > 10)
        var steps = 0
        var last = rev ?? 0
        while last < 304 {
            let change = try event(watcher)
            #expect(change["changes"]?.elements.count == 1)
            last = change["rev"]?.int ?? 0
            steps += 1
            if last == 304 { #expect(change["changes"]?[0]?["value"]?["last"]?.int == 299) }
        }
        #expect(steps < 50, "what happened meanwhile is told as few steps, not \(steps)")
    }

    @Test func `a collection that is dropped has nothing left, and what comes under its name is new`() throws {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        let watcher = try daemon.connect()
        for id in ["a", "b", "c"] { try put(writer, id, "{\"n\":1}") }
        try watcher.result("documents.watch", "{\"collection\":\"c\",\"sort\":[\"n\"],\"limit\":2}")
        #expect(ids(try event(watcher)) == ["a", "b"])
        try writer.result("documents.drop", "{\"collection\":\"c\"}")
        #expect(Set(steps(try event(watcher))) == ["removed a", "removed b"])
        try put(writer, "b", "{\"n\":2}")
        #expect(steps(try event(watcher)) == ["inserted b 0"])
        // The same when all of it happens at once, for the client.
        watcher.send(Client.request("storage.ping", id: "\"x\""))
        #expect(try watcher.reply()["id"] == .string("x"))
        try writer.result("documents.drop", "{\"collection\":\"c\"}")
        try put(writer, "c", "{\"n\":3}")
        var list = ["b"]
        while list != ["c"] {
            for step in steps(try event(watcher)) {
                let words = step.split(separator: " ").map(String.init)
                if words[0] == "removed" { list.removeAll { $0 == words[1] } } else { list.append(words[1]) }
            }
        }
    }

    @Test func `what is too large is refused, or ends`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"liveDocuments\":3,\"liveBytes\":100000}}")
        let writer = try daemon.connect()
        let watcher = try daemon.connect()
        for id in ["a", "b", "c"] { try put(writer, id, "1") }
        try watcher.result("documents.watch", "{\"collection\":\"c\"}")
        #expect(ids(try event(watcher)).count == 3)
        try put(writer, "d", "1")
        let ended = try event(watcher, "documents.ended")
        #expect(ended["subscription"]?.int == 1 && ended["error"]?["data"]?["kind"] == .string("liveQueryTooLarge"))
        #expect(ended["error"]?["data"]?["limit"]?.int == 3)
        #expect(try writer.result("storage.status")["connections"]?["subscriptions"]?.int == 0)
        let refused = try watcher.refusal("documents.watch", "{\"collection\":\"c\"}")
        #expect(refused["kind"] == .string("liveQueryTooLarge") && refused["limit"]?.int == 3)
        try watcher.result("documents.watch", "{\"collection\":\"c\",\"limit\":2}")
        #expect(ids(try event(watcher)) == ["a", "b"])
        try put(writer, "a", "\"\(String(repeating: "x", count: 120_000))\"")
        let bytes = try event(watcher, "documents.ended")
        #expect(bytes["error"]?["data"]?["limit"]?.int == 100_000)
    }

    @Test func `bad queries are refused by name and place`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let condition = try client.refusal("documents.watch", "{\"collection\":\"c\",\"where\":{\"a\":{\"$bad\":1}}}")
        #expect(condition["parameter"] == .string("where") && condition["path"] == .string("/a/$bad"))
        let sort = try client.refusal("documents.watch", "{\"collection\":\"c\",\"sort\":[{\"a\":\"up\"}]}")
        #expect(sort["parameter"] == .string("sort") && sort["path"] == .string("/0"))
        #expect(
            try client.refusal("documents.watch", "{\"collection\":\"c\",\"limit\":1001}")["parameter"]
                == .string("limit"))
        let many = (0..<10_001).map { "{\"id\":\"\($0)\",\"value\":1}" }
        for start in [0, 5000] {
            let part = many[start..<(start == 0 ? 5000 : 10_001)].joined(separator: ",")
            try client.result("documents.putMany", "{\"collection\":\"big\",\"documents\":[\(part)]}")
        }
        let scan = try client.refusal("documents.watch", "{\"collection\":\"big\",\"where\":{\"a\":1}}")
        #expect(scan["kind"] == .string("indexNeeded"))
        try client.result("documents.watch", "{\"collection\":\"big\",\"where\":{\"a\":1},\"allowScan\":true}")
        #expect(ids(try event(client)) == [])
    }

    @Test func `a turn that finds the disk full begins a live query once all the same`() throws {
        let daemon = try TemporaryDaemon(faults: "log.append:full:1")
        let client = try daemon.connect()
        client.send(
            Client.request("documents.watch", "{\"collection\":\"new\"}", id: "1")
                + Client.request("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}", id: "2")
                + Client.request("documents.unwatch", "{\"subscription\":2}", id: "3"))
        #expect(try client.reply()["result"]?["subscription"]?.int == 1)
        #expect(try client.reply()["error"]?["data"]?["kind"] == .string("noSpace"))
        #expect(try client.reply()["result"]?["ended"]?.bool == false)
        #expect(ids(try event(client)) == [])
        let writer = try daemon.connect()
        while try writer.call("documents.put", "{\"collection\":\"new\",\"id\":\"b\",\"value\":1}")["result"] == nil {}
        #expect(steps(try event(client)) == ["inserted b 0"])
        #expect(try client.result("storage.status")["connections"]?["subscriptions"]?.int == 1)
    }

    @Test func `a change whose sync fails is told to nobody`() throws {
        let daemon = try TemporaryDaemon(faults: "log.sync:fail:2")
        let watcher = try daemon.connect()
        let writer = try daemon.connect()
        try watcher.result("documents.watch", "{\"collection\":\"c\"}")
        #expect(ids(try event(watcher)) == [])
        try put(writer, "kept", "1")
        #expect(steps(try event(watcher)) == ["inserted kept 0"])
        writer.send(Client.request("documents.put", "{\"collection\":\"c\",\"id\":\"lost\",\"value\":1}"))
        #expect(try watcher.lines() == [])
        #expect(daemon.wait() == 1)
    }

    @Test func `one notification a turn tells all that has happened, and names one revision`() throws {
        var random = SplitMix(state: 5)
        let world = try FeedWorld(seed: 5, random: &random)
        let peer = try world.connect()
        let writer = try world.connect()
        _ = try world.call(peer, "documents.watch", "{\"collection\":\"live\"}")
        var beginning: [JSON] = []
        world.turns {
            beginning += peer.takeNotifications()
            return !beginning.isEmpty
        }
        var told = 0
        for round in 0..<60 {
            writer.send(
                (0..<5).map {
                    Client.request(
                        "documents.put", "{\"collection\":\"live\",\"id\":\"d\($0)\",\"value\":\(round)}", id: "\($0)")
                }.joined())
            world.turn()
            let events = peer.takeNotifications()
            #expect(events.count <= 1)
            told += events.count
        }
        world.turns {
            let events = peer.takeNotifications()
            #expect(events.count <= 1)
            told += events.count
            return told > 0 && events.last?["params"]?["rev"]?.int == 300
        }
        #expect(told <= 61)
    }
}
