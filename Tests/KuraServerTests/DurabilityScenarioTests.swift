import Glibc
import Testing

/// What survives, and what clients are told when it may not.
@Suite struct DurabilityScenarioTests {
    private func put(_ id: Int, _ value: String, key: Int? = nil) -> String {
        Client.request(
            "documents.put", "{\"collection\":\"c\",\"id\":\"\(key ?? id)\",\"value\":\(value)}", id: "\(id)")
    }

    @Test func `what was acknowledged before a kill is there after it, many times over`() throws {
        let daemon = try TemporaryDaemon()
        var acknowledged: [String: Int] = [:]
        for round in 1...8 {
            let client = try daemon.connect()
            var text = ""
            for id in 0..<3000 {
                text += Client.request(
                    "settings.put", "{\"domain\":\"d\",\"key\":\"\(id % 700)\",\"value\":\(round * 10_000 + id)}",
                    id: "\(id)")
            }
            client.send(text)
            // Killed with requests under way.
            for _ in 0..<round * 250 {
                let id = try #require(try client.reply()["id"]?.int)
                acknowledged["\(id % 700)"] = round * 10_000 + id
            }
            daemon.kill()
            // What arrived before the end counts as well.
            while let line = try? client.line(), let id = try? JSON(line)["id"]?.int {
                acknowledged["\(id % 700)"] = round * 10_000 + id
            }
            try daemon.start()
            let found =
                try daemon.connect().result("settings.list", "{\"domain\":\"d\",\"limit\":10000}")["values"]?.members
                ?? [:]
            for (key, value) in acknowledged {
                // A later write may have been stored without its reply having come.
                #expect(found[key]?.int ?? -1 >= value)
            }
        }
    }

    @Test func `a failed sync tells the writers that wait so, and the daemon exits 1`() throws {
        let daemon = try TemporaryDaemon()
        let before = try daemon.connect()
        try before.result("settings.put", "{\"domain\":\"d\",\"key\":\"kept\",\"value\":1}")
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.sync:fail:2")
        let client = try daemon.connect()
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"first\",\"value\":1}")
        client.send(
            Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"a\",\"value\":1}", id: "\"w\"")
                + Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"n\",\"value\":1}", id: nil)
                + "[\(Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"b\",\"value\":1}", id: "2").dropLast())]\n"
        )
        let lines = try client.lines()
        #expect(lines.count == 2)
        let single = try JSON(lines[0])
        #expect(single["id"] == .string("w"))
        #expect(single["error"]?["data"]?["kind"] == .string("outcomeUnknown"))
        let batch = try JSON(lines[1])
        #expect(batch[0]?["id"]?.int == 2)
        #expect(batch[0]?["error"]?["data"]?["kind"] == .string("outcomeUnknown"))
        #expect(daemon.wait() == 1)
        try daemon.start()
        let found = try daemon.connect().result("settings.list", "{\"domain\":\"d\"}")["values"]?.members ?? [:]
        #expect(found["kept"]?.int == 1 && found["first"]?.int == 1)
    }

    @Test func `a failed sync in the middle of a long batch still gives whole lines, none of them a success`() throws {
        // The batch takes several turns; the second turn's sync fails.
        let daemon = try TemporaryDaemon(faults: "log.sync:fail:2")
        let client = try daemon.connect()
        func increment(_ id: Int) -> String {
            String(Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: "\(id)").dropLast())
        }
        var text = ""
        for id in 0..<100 { text += Client.request("storage.ping", id: "\(id)") }
        text += "[" + (0..<1000).map(increment).joined(separator: ",") + "]\n"
        client.send(text)
        var lines = try (0..<101).compactMap { _ in try client.line() }
        if lines.count == 101, try JSON(lines[100])[0]?["result"] != nil {
            // On a busy machine one sync covers all of it: then the next one is the second.
            client.send(text)
            lines = try client.lines()
        }
        #expect(try client.line() == nil && daemon.wait() == 1)
        #expect(lines.count >= 100)
        for line in lines { #expect(throws: Never.self) { try JSON(line) } }
    }

    @Test func `no reply leaves before the sync that covers it`() throws {
        // The second sync takes its time; what it covers has to wait, whatever stood before in the same turn.
        let daemon = try TemporaryDaemon(faults: "log.sync:sleep=400:2+")
        let client = try daemon.connect()
        func increment(_ id: Int) -> String {
            String(Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: "\(id)").dropLast())
        }
        var text = ""
        for id in 0..<100 { text += Client.request("storage.ping", id: "\(id)") }
        text += "[" + (0..<1000).map(increment).joined(separator: ",") + "]\n"
        let started = now()
        client.send(text)
        for _ in 0..<101 { _ = try client.line() }
        let time = now() - started
        // The batch takes two turns, and the sync of the second one 400 ms. On a busy machine one sync covers both.
        if time <= 0.35 { usleep(1_000_000) }
        let syncs = try daemon.connect().result("storage.status")["log"]?["syncs"]?.int
        #expect(time > 0.35 || syncs == 1, "\(time) s, \(syncs ?? -1) syncs")
    }

    @Test func `a reply that shows what is not synced waits for the sync, another does not`() throws {
        let daemon = try TemporaryDaemon(faults: "log.sync:sleep=500:1+")
        let writer = try daemon.connect()
        let reader = try daemon.connect()
        let other = try daemon.connect()
        for client in [writer, reader, other] { try client.result("storage.ping") }
        // Two clients in one turn or not: the first sync runs on its thread or inline, both take 500 ms.
        let started = now()
        writer.send(Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}"))
        #expect(try writer.reply()["result"]?["rev"]?.int == 1)
        #expect(now() - started > 0.45)
        // Whoever sees them sees them as late as the sync of what was sent now; who does not is answered at once.
        let sent = now()
        writer.send(
            String(repeating: Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"n\"}"), count: 1200))
        var seen = 0
        while seen == 0, now() < sent + 60 {
            seen = try reader.result("settings.get", "{\"domain\":\"d\",\"key\":\"n\"}")["value"]?.int ?? 0
        }
        #expect(seen > 0 && now() - sent > 0.45)
        for _ in 0..<1200 { _ = try writer.line() }
        _ = other
    }

    @Test func `a full disk refuses exactly the changes of that turn and restores everything`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for index in 0..<20 {
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"\(index)\",\"value\":\(index)}")
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(index)\",\"value\":\(index)}")
        }
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:1")
        let again = try daemon.connect()
        func picture(_ client: Client) throws -> [JSON] {
            let status = try client.result("storage.status")
            return try [
                client.result("settings.list", "{\"domain\":\"d\"}"), client.result("settings.scopes"),
                client.result("documents.scopes"), status["settings"]!, status["documents"]!, status["rev"]!,
                status["overlay"]!["items"]!, status["overlay"]!["bytes"]!,
                client.result("documents.getMany", "{\"collection\":\"c\",\"ids\":[\"1\",\"2\",\"3\",\"new\"]}"),
            ]
        }
        let before = try picture(again)
        // One segment of the stream, so one turn; whoever waited for the start counts as present for some milliseconds, and would have it sliced.
        usleep(20_000)
        try again.result("storage.ping")
        let requests = [
            ("settings.put", "{\"domain\":\"d\",\"key\":\"1\",\"value\":\"changed\"}"),
            ("settings.get", "{\"domain\":\"d\",\"key\":\"1\"}"),
            ("settings.delete", "{\"domain\":\"d\",\"key\":\"2\"}"),
            ("settings.putMany", "{\"domain\":\"d\",\"values\":{\"3\":0,\"new\":1},\"delete\":[\"4\"]}"),
            ("settings.increment", "{\"domain\":\"d\",\"key\":\"5\"}"),
            ("settings.put", "{\"domain\":\"d\",\"key\":\"6\",\"value\":6}"),
            ("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":\"changed\"}"),
            ("documents.put", "{\"collection\":\"new\",\"value\":1}"),
            ("documents.delete", "{\"collection\":\"c\",\"id\":\"2\"}"),
            (
                "documents.putMany",
                "{\"collection\":\"c\",\"documents\":[{\"id\":\"3\",\"value\":0},{\"id\":\"new\",\"value\":0}]}"
            ),
            ("storage.ping", "{}"),
        ]
        again.send(requests.enumerated().map { Client.request($1.0, $1.1, id: "\($0)") }.joined())
        let replies = try requests.map { _ in try again.reply() }
        for (index, reply) in replies.enumerated() {
            #expect(reply["id"]?.int == index)
            let refused = reply["error"]?["data"]?["kind"] == .string("noSpace")
            #expect(refused == ![1, 5, 10].contains(index), "\(requests[index].0): \(reply)")
        }
        #expect(replies[1]["result"]?["value"]?.int == 1)
        #expect(try picture(again) == before)
        // The fault was for once: the same requests succeed now, in the same order of revisions.
        let rev = try #require(before[5].int)
        for (request, next) in zip(requests.filter { !["settings.get", "storage.ping"].contains($0.0) }, 1...)
        where next < 5 {
            #expect(try again.result(request.0, request.1)["rev"]?.int == rev + next)
        }
        daemon.kill()
        try daemon.start()
        #expect(
            try daemon.connect().result("settings.get", "{\"domain\":\"d\",\"key\":\"1\"}")["value"]
                == .string("changed"))
    }

    @Test func `twenty thousand documents are right after a restart, clean or not`() throws {
        let daemon = try TemporaryDaemon()
        let count = 20_000
        let filler = String(repeating: "x", count: 200)
        var text = ""
        for id in 0..<count { text += put(id, "{\"n\":\(id),\"t\":\"\(filler)\"}") }
        // Some are changed, some deleted.
        for id in 0..<1000 { text += put(id, "\"changed\"", key: id * 3) }
        for id in 0..<500 { text += Client.request("documents.delete", "{\"collection\":\"c\",\"id\":\"\(id * 7)\"}") }
        #expect(try daemon.connect().exchange(text).allSatisfy { $0.contains("\"result\"") })
        for isClean in [false, true] {
            if isClean { #expect(daemon.terminate() == 0) } else { daemon.kill() }
            if isClean { Self.dropPages(daemon.data) }
            try daemon.start()
            let client = try daemon.connect()
            let status = try client.result("storage.status")
            #expect(status["documents"]?["count"]?.int == count - 500)
            #expect(status["rev"]?.int == count + 1500)
            var next = 0
            while next < count {
                let ids = (next..<next + 500).map { "\"\($0)\"" }.joined(separator: ",")
                let found = try client.result("documents.getMany", "{\"collection\":\"c\",\"ids\":[\(ids)]}")
                let missing = Set(found["missing"]?.elements.compactMap(\.text) ?? [])
                #expect(missing == Set((next..<next + 500).filter { $0 % 7 == 0 && $0 / 7 < 500 }.map(String.init)))
                for document in found["documents"]?.elements ?? [] {
                    let id = try #require(Int(document["id"]?.text ?? ""))
                    if id % 3 == 0, id / 3 < 1000 {
                        #expect(document["value"] == .string("changed"))
                    } else {
                        #expect(document["value"]?["n"]?.int == id)
                    }
                }
                next += 500
            }
        }
    }

    /// Asks the kernel to forget the pages of the files in the data directory.
    private static func dropPages(_ path: String) {
        sync()
        for directory in ["durable", "log"] {
            for name in TemporaryDaemon.names("\(path)/\(directory)") ?? [] {
                guard let file = fopen("\(path)/\(directory)/\(name)", "re") else { continue }
                posix_fadvise(fileno(file), 0, 0, 4)
                fclose(file)
            }
        }
    }

    @Test func `documents that lie on the disk only are read right, and do not hold others up`() throws {
        let daemon = try TemporaryDaemon()
        let count = 4000
        let filler = String(repeating: "y", count: 2000)
        let text = (0..<count).map { put($0, "{\"n\":\($0),\"t\":\"\(filler)\"}") }.joined()
        #expect(try daemon.connect().exchange(text).count == count)
        #expect(daemon.terminate() == 0)
        Self.dropPages(daemon.data)
        try daemon.start()
        let client = try daemon.connect()
        var order = Array(0..<count)
        order.shuffle()
        let lines = try client.exchange(
            order.map { Client.request("documents.get", "{\"collection\":\"c\",\"id\":\"\($0)\"}", id: "\($0)") }
                .joined())
        let replies = try lines.map { try JSON($0) }
        #expect(replies.map { $0["id"]?.int } == order)
        #expect(replies.map { $0["result"]?["value"]?["n"]?.int } == order)
    }

    @Test func `a flood over a small overlay is answered whole, within the bounds of memory`() throws {
        let daemon = try TemporaryDaemon(faults: "fold.slice:sleep=50:1+")
        let socket = daemon.socket
        let filler = String(repeating: "z", count: 1000)
        // 24 MB of documents through an overlay of 4 MiB.
        try onThreads(3) { index in
            let client = try Client(path: socket)
            let text = (0..<8000).map {
                Client.request(
                    "documents.put", "{\"collection\":\"c\(index)\",\"id\":\"\($0)\",\"value\":\"\(filler)\"}",
                    id: "\($0)")
            }.joined()
            let lines = try client.exchange(text)
            #expect(lines.count == 8000)
            #expect(lines.allSatisfy { $0.contains("\"result\"") })
        }
        try daemon.waitUntilFolded()
        let status = try daemon.connect().result("storage.status")
        #expect(status["documents"]?["count"]?.int == 24_000)
        let overlay = try #require(status["overlay"])
        #expect(try #require(overlay["peakBytes"]?.int) <= #require(overlay["limit"]?.int) + (1 << 20))
        let cache = try #require(status["cache"])
        #expect(try #require(cache["bytes"]?.int) <= #require(cache["limit"]?.int), "the cache is over its bound")
    }

    @Test func `what is out of band overtakes a write that waits for room, and nothing else does`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "fold.slice"))
        let filler = String(repeating: "z", count: 500_000)
        let flood = try Client(path: daemon.socket)
        // 4.5 MB in an overlay of 4 MiB: it is full, and stays so until the first fold is through.
        for number in 0..<9 {
            try flood.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(number)\",\"value\":\"\(filler)\"}")
        }
        let probe = try daemon.connect()
        #expect(try probe.result("storage.health")["reasons"] == .array([.string("overloaded")]))
        let client = try daemon.connect()
        let put = "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}"
        client.send(
            Client.request("settings.put", put, id: "1")
                + Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}", id: "2")
                + Client.request("storage.ping", id: "3")
                + "[" + Client.request("storage.ping", id: "4").dropLast() + "]\n"
                + Client.request("session.can", "{\"method\":\"nothing\"}", id: "5"))
        #expect(try client.reply()["id"]?.int == 3)
        #expect(try client.reply()["id"]?.int == 5)
        client.send(Client.request("storage.health", id: "6"))
        #expect(try client.reply()["id"]?.int == 6)
        try daemon.goOn(at: "fold.slice")
        #expect(try client.reply()["id"]?.int == 1)
        let read = try client.reply()
        #expect(read["id"]?.int == 2 && read["result"]?["value"]?.int == 1)
        #expect(try client.reply()[0]?["id"]?.int == 4)
        #expect(try probe.result("storage.health")["ready"]?.bool == true)
    }
}
