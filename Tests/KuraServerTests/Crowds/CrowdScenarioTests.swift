import Glibc
import Testing

/// A daemon in a crowd: memory, descriptors and turns are bounded, and everybody is told. The long form is `scripts/crowds`.
@Suite struct CrowdScenarioTests {
    private static let tight = "{\"limits\":{\"bufferBytes\":1048576}}"
    private static let half = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\""

    private func buffers(_ client: Client) throws -> JSON {
        let deadline = now() + 60
        var status = try client.call("storage.status")
        // Full buffers may refuse this reply too, for a while.
        while status["error"]?["data"]?["kind"] == .string("overloaded"), now() < deadline {
            usleep(5000)
            status = try client.call("storage.status")
        }
        return try #require(status["result"]?["buffers"])
    }

    private func number(_ name: String, _ client: Client) throws -> Int {
        try #require(try buffers(client)[name]?.int)
    }

    /// Sends without waiting for room.
    private func push(_ client: Client, _ text: String) {
        let bytes = Array(text.utf8)
        bytes.withUnsafeBytes {
            _ = Glibc.send(client.descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
    }

    @Test func `those who hoard half lines are told so, a small client is served, and the bound holds`() throws {
        let daemon = try TemporaryDaemon(configuration: Self.tight)
        let small = try daemon.connect()
        try small.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        let text = Self.half + String(repeating: "x", count: 120_000)
        let hoarders = try (0..<24).map { _ in try daemon.connect() }
        for hoarder in hoarders { push(hoarder, text) }
        // Served meanwhile, also one that comes only now.
        for _ in 0..<50 {
            #expect(try small.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
            try daemon.connect().result("storage.ping")
        }
        try daemon.waitUntil {
            ($0["buffers"]?["overloaded"]?.int ?? 0) > 0 && ($0["buffers"]?["pauses"]?.int ?? 0) > 0
        }
        let peak = try number("peakBytes", small)
        #expect(peak <= 1 << 20, "\(peak) bytes")
        var told = 0
        for hoarder in hoarders {
            var poll = pollfd(fd: hoarder.descriptor, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 0) > 0 else { continue }
            told += 1
            let error = try #require(try hoarder.reply()["error"]?["data"])
            #expect(error["kind"] == .string("overloaded"))
            #expect(error["retryable"]?.bool == true)
            #expect(error["limit"]?.int == 1 << 20)
            // The rest of the line goes nowhere, and the next one is answered.
            hoarder.send("and more\"}\n")
            try hoarder.result("storage.ping")
        }
        #expect(told > 0)
        #expect(daemon.log.contains("the buffers of all connections together are full"))
    }

    @Test func `a crowd of small half lines gives way to those who come`() throws {
        let daemon = try TemporaryDaemon(configuration: Self.tight)
        let text = Self.half + String(repeating: "x", count: 10_000)
        let crowd = try (0..<200).map { _ in try daemon.connect() }
        for client in crowd { push(client, text) }
        let client = try daemon.connect()
        try client.result("storage.ping")
        #expect(try number("overloaded", client) > 0)
        let peak = try number("peakBytes", client)
        #expect(peak <= 1 << 20, "\(peak) bytes")
    }

    @Test func `what buffers took is given back when the crowd has gone`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        do {
            let crowd = try (0..<200).map { _ in try daemon.connect() }
            for one in crowd { one.send(Self.half + String(repeating: "x", count: 100_000)) }
            try daemon.waitUntil { ($0["buffers"]?["bytes"]?.int ?? 0) > 200 * 100_000 }
        }
        try daemon.waitForConnections(1, over: client)
        // The pool keeps a few blocks.
        #expect(try number("bytes", client) < 5 << 20)
        #expect(try number("overloaded", client) == 0)
    }

    /// Clients that have asked for much and read nothing, which takes so many bytes at least.
    private func hoard(_ bytes: Int, _ daemon: TemporaryDaemon, domain: String, key: String) throws -> [Client] {
        var hoarders: [Client] = []
        let probe = try daemon.connect()
        let before = try number("bytes", probe)
        let get = Client.request("settings.get", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\"}")
        let deadline = now() + 60
        while try number("bytes", probe) - before < bytes, now() < deadline {
            hoarders.append(try daemon.connect())
            for _ in 0..<20 { push(hoarders.last!, get) }
            usleep(2000)
        }
        return hoarders
    }

    @Test func `a reply that does not fit among the others' buffers is refused, and smaller ones are not`() throws {
        let daemon = try TemporaryDaemon(configuration: Self.tight)
        let client = try daemon.connect()
        let value = String(repeating: "v", count: 120_000)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"large\",\"value\":\"\(value)\"}")
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"small\",\"value\":1}")
        let large = "{\"domain\":\"d\",\"key\":\"large\"}"
        #expect(try client.result("settings.get", large)["value"] == .string(value))
        let hoarders = try hoard(600_000, daemon, domain: "d", key: "large")
        let refusal = try client.refusal("settings.get", large)
        #expect(refusal["kind"] == .string("overloaded"))
        #expect(refusal["retryable"]?.bool == true)
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"small\"}")["value"]?.int == 1)
        #expect(
            try client.refusal("settings.getMany", "{\"domain\":\"d\",\"keys\":[\"large\"]}")["kind"]
                == .string("overloaded"))
        #expect(try number("overloaded", client) >= 2)
        #expect(try number("peakBytes", client) <= 1 << 20)
        withExtendedLifetime(hoarders) {}
    }

    @Test func `small replies that nobody reads do not go over the bound either`() throws {
        let daemon = try TemporaryDaemon(configuration: Self.tight)
        let client = try daemon.connect()
        let value = String(repeating: "v", count: 20_000)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(value)\"}")
        let get = Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")
        let batch = "[" + (0..<200).map { _ in get.dropLast() }.joined(separator: ",") + "]\n"
        let deaf = try (0..<150).map { _ in try daemon.connect() }
        for (index, one) in deaf.enumerated() {
            if index % 3 == 0 { push(one, batch) }
            for _ in 0..<30 { push(one, get) }
        }
        try daemon.waitUntil { ($0["buffers"]?["overloaded"]?.int ?? 0) > 0 }
        for _ in 0..<20 {
            _ = try client.call("storage.ping")
            for one in deaf { push(one, get) }
        }
        // A block between two uses may be counted for both.
        let peak = try number("peakBytes", client)
        #expect(peak <= (1 << 20) + (1 << 16), "\(peak) bytes")
        // Who reads late is served, if it has not been let go.
        #expect(deaf.contains { (try? $0.reply())?["result"] != nil })
    }

    @Test func `pages that wait and overrides are counted`() throws {
        let daemon = try TemporaryDaemon(
            configuration: "{\"limits\":{\"outputBytes\":65536}}", faults: "fold.slice:sleep=2000:1+")
        let client = try daemon.connect()
        let value = String(repeating: "v", count: 100_000)
        for id in 0..<5 {
            try client.result(
                "documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\"\(value)\"}")
        }
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(value)\"}")
        let reader = try daemon.connect()
        try reader.result("session.hello", "{\"enable\":[\"outOfOrder\"]}")
        let before = try number("bytes", client)
        // The page comes when the output is at its bound, so it has to wait.
        reader.send(Client.request("documents.list", "{\"collection\":\"c\"}", id: "7"))
        for _ in 0..<20 { push(reader, Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")) }
        // The output has its bound and one reply above it, the page 500,000 bytes.
        try daemon.waitUntil { ($0["buffers"]?["bytes"]?.int ?? 0) >= before + 350_000 }
        var replies: [JSON] = []
        for _ in 0..<21 { replies.append(try reader.reply()) }
        #expect(replies.first { $0["id"]?.int == 7 }?["result"]?["documents"]?.elements.count == 5)
        try daemon.waitUntil { ($0["buffers"]?["bytes"]?.int ?? .max) < before + 150_000 }

        let overriding = try (0..<5).map { _ in try daemon.connect() }
        let free = try number("bytes", client)
        let long = String(repeating: "o", count: 60_000)
        for one in overriding {
            try one.result("settings.override", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(long)\"}")
        }
        let full = try number("bytes", client)
        #expect(full >= free + 300_000)
        for one in overriding { try one.result("settings.clearOverrides") }
        // Blocks that are kept for later uses come and go.
        #expect(try number("bytes", client) <= full - 200_000)
    }

    @Test func `a reply is bounded whatever is asked for`() throws {
        let daemon = try TemporaryDaemon(configuration: Self.tight)
        let client = try daemon.connect()
        let limit = try #require(try client.result("session.hello")["limits"]?["replyBytes"]?.int)
        #expect(limit == (1 << 20) / 5)
        let value = String(repeating: "v", count: 60_000)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(value)\"}")
        try client.result("documents.put", "{\"collection\":\"d\",\"id\":\"k\",\"value\":\"\(value)\"}")
        // The same one again and again is as long.
        let keys = [String](repeating: "\"k\"", count: 1000).joined(separator: ",")
        for request in [
            ("settings.getMany", "{\"domain\":\"d\",\"keys\":[\(keys)]}"),
            ("documents.getMany", "{\"collection\":\"d\",\"ids\":[\(keys)]}"),
        ] {
            let refusal = try client.refusal(request.0, request.1)
            #expect(refusal["kind"] == .string("replyTooLarge"))
            #expect(refusal["limit"]?.int == limit)
        }
        let three = "[\"k\",\"k\",\"k\"]"
        #expect(
            try client.result("documents.getMany", "{\"collection\":\"d\",\"ids\":\(three)}")["documents"]?.elements
                .count
                == 3)
        #expect(try number("peakBytes", client) <= 1 << 20)
    }

    @Test func `who is refused and writes first can still read why`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"connections\":2}}")
        let inside = try (0..<2).map { _ in try daemon.connect() }
        for client in inside { try client.result("storage.ping") }
        let before = daemon.settledDescriptorCount
        for _ in 0..<3 {
            let began = now()
            let refused = try daemon.connect()
            // It has been refused by now, and does not know.
            usleep(30_000)
            let request = Array(Client.request("storage.ping").utf8)
            var sent = 0
            for _ in 0..<20 {
                sent += request.withUnsafeBytes {
                    Glibc.send(refused.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
            }
            let told = try? refused.reply()["error"]?["data"]?["kind"]
            let isTold = sent == 20 * request.count && told == .string("overloaded")
            // It has two seconds to see it, which a machine that is busy may let pass.
            #expect(isTold || now() - began > 1.9, "\(sent) bytes sent, \(String(describing: told))")
            if isTold { #expect(try refused.line() == nil) }
        }
        // One that stays is let go all the same.
        let stays = try daemon.connect()
        #expect(try stays.reply()["error"]?["data"]?["kind"] == .string("overloaded"))
        let deadline = now() + 60
        while daemon.descriptorCount > before, now() < deadline { usleep(20_000) }
        #expect(daemon.descriptorCount == before)
        withExtendedLifetime(stays) {}
    }

    @Test func `hello states what else is bounded`() throws {
        let daemon = try TemporaryDaemon(
            configuration: "{\"limits\":{\"passedDescriptors\":9,\"transfers\":3,\"totalSubscriptions\":7}}")
        let limits = try #require(try daemon.connect().result("session.hello")["limits"])
        #expect(limits["descriptors"]?.int == 64)
        #expect(limits["passedDescriptors"]?.int == 9)
        #expect(limits["transfers"]?.int == 3)
        #expect(limits["totalSubscriptions"]?.int == 7)
    }

    @Test func `a client that reads nothing is let go in the end, with a line in the log`() throws {
        let daemon = try TemporaryDaemon(
            configuration: "{\"limits\":{\"outputBytes\":65536,\"stallSeconds\":600}}", movesTime: true)
        let client = try daemon.connect()
        let value = String(repeating: "v", count: 100_000)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(value)\"}")
        let deaf = try daemon.connect()
        for _ in 0..<50 { deaf.send(Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")) }
        try waitFor("the deaf one is let go") {
            try daemon.advance(seconds: 200)
            return try number("closed", client) == 1
        }
        #expect(daemon.log.contains("closed a client that does not read its replies"))
        // One that reads slowly is not.
        let slow = try daemon.connect()
        for _ in 0..<50 { slow.send(Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")) }
        for _ in 0..<50 {
            #expect(try slow.reply()["result"]?["value"] == .string(value))
            try daemon.advance(seconds: 20)
            // It has sent what there is room for.
            try client.result("storage.ping")
        }
        #expect(try number("closed", client) == 1)
    }

    @Test func `a line without an end is skipped without being kept`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"lineBytes\":65536}}")
        let client = try daemon.connect()
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        for _ in 0..<64 { client.send(chunk) }
        client.send("\n")
        #expect(try client.reply()["error"]?["data"]?["kind"] == .string("lineTooLong"))
        try client.result("storage.ping")
        #expect(try number("peakBytes", client) < 4 << 20)
    }

    @Test func `with no descriptor left clients are told so, and let in when there are some again`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("storage.ping")
        // Room for eight more: so many numbers below the limit are free, of which its own threads may take some yet.
        let open = Set((TemporaryDaemon.names("/proc/\(daemon.pid)/fd") ?? []).compactMap(Int.init))
        let free = (0...).lazy.filter { !open.contains($0) }.prefix(8)
        daemon.limitDescriptors(to: Array(free)[7] + 1)
        var guests: [Client] = []
        var refused = 0
        for _ in 0..<60 {
            let guest = try Client(path: daemon.socket, seconds: 5)
            guest.send(Client.request("storage.ping"))
            let reply = try guest.reply()
            if reply["result"] != nil {
                guests.append(guest)
            } else {
                refused += 1
                #expect(reply["error"]?["data"]?["kind"] == .string("overloaded"))
                #expect(try guest.line() == nil)
            }
        }
        #expect(refused >= 40)
        #expect(guests.count >= 3)
        #expect(try number("turnedAway", client) == refused)
        guests.removeAll()
        try daemon.waitForConnections(1, over: client)
        for _ in 0..<3 { guests.append(try daemon.connect()) }
        for guest in guests { try guest.result("storage.ping") }
        #expect(daemon.log.contains("clients were turned away"))
    }

    @Test func `descriptors that nobody takes are bounded, and one who passes a single one is served`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"passedDescriptors\":16}}")
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        let before = daemon.settledDescriptorCount
        let hoarders = try (0..<10).map { _ in try daemon.connect() }
        for hoarder in hoarders { try hoarder.send("{\"jsonrpc\":", descriptors: [Int32](repeating: 0, count: 8)) }
        try daemon.waitUntil { ($0["buffers"]?["descriptorsLost"]?.int ?? 0) > 0 }
        // They are closed by another thread, soon.
        let bound = before + hoarders.count + 16 + 8
        try waitFor("they are closed") { daemon.descriptorCount <= bound }
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let exported = try client.result(
            "documents.export", "{\"collection\":\"c\",\"fd\":true}", descriptors: [ends[1]])
        #expect(exported["exported"]?.int == 1)
        // Whose descriptors were closed is told so, and gets nobody else's. There was room for some, whichever these were.
        var missing = 0
        for hoarder in hoarders {
            hoarder.send(
                "\"2.0\",\"id\":1,\"method\":\"documents.export\",\"params\":{\"collection\":\"c\",\"fd\":true}}\n")
            if try hoarder.reply()["error"]?["data"]?["kind"] == .string("descriptorMissing") { missing += 1 }
        }
        #expect(missing > 0)
        #expect(daemon.log.contains("more descriptors than can be kept"))
    }

    @Test func `subscriptions count, and end with their connection`() throws {
        let daemon = try TemporaryDaemon(
            configuration: "{\"limits\":{\"bufferBytes\":1048576,\"subscriptions\":65536}}")
        let client = try daemon.connect()
        let watcher = try daemon.connect()
        let before = try number("bytes", client)
        var count = 0
        while true {
            count += 1
            let reply = try watcher.call("changes.watch", "{\"prefix\":\"k\(count)\"}")
            if reply["result"] != nil { continue }
            #expect(reply["error"]?["data"]?["kind"] == .string("overloaded"))
            break
        }
        #expect(count > 1000)
        #expect(try number("bytes", client) - before > count * 200)
        watcher.halfClose()
        #expect(try watcher.lines().isEmpty)
        try daemon.waitForConnections(1, over: client)
        #expect(try number("bytes", client) <= before + 64 << 10)
        try client.result("changes.watch")
    }

    @Test func `a batch of very many members is refused at the first one too many`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let ones = [UInt8](repeating: UInt8(ascii: "1"), count: 1_000_000)
        client.send(
            Array("[".utf8) + Array(ones.map { [$0] }.joined(separator: [UInt8(ascii: ",")])) + Array("]\n".utf8))
        #expect(try client.reply()["error"]?["data"]?["kind"] == .string("batchTooLarge"))
        // What follows is not looked at.
        client.send("[" + String(repeating: "1,", count: 1001) + "what is this\n")
        #expect(try client.reply()["error"]?["data"]?["kind"] == .string("batchTooLarge"))
        try client.result("storage.ping")
    }

    @Test func `what a client has not read goes with it, and is not kept until somebody looks`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let value = String(repeating: "v", count: (1 << 20) - 64)
        for number in 0..<8 {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"d\(number)\",\"value\":\"\(value)\"}")
        }
        let ids = (0..<8).map { "\"d\($0)\"" }.joined(separator: ",")
        let ask = Client.request("documents.getMany", "{\"collection\":\"c\",\"ids\":[\(ids)]}")
        /// A client that reads nothing of its replies and goes when there is one.
        func stall() throws {
            let guest = try daemon.connect()
            for _ in 0..<4 { guest.send(ask) }
            let deadline = now() + 60
            while try number("bytes", client) < 7 << 20, now() < deadline { usleep(2000) }
            // It asks on, and is looked at again.
            for _ in 0..<4 {
                guest.send(ask)
                usleep(5000)
                try client.result("storage.ping")
            }
        }
        for _ in 0..<2 {
            try stall()
            try daemon.waitForConnections(1, over: client)
        }
        let before = try daemon.residentBytes()
        for _ in 0..<32 {
            try stall()
            try daemon.waitForConnections(1, over: client)
        }
        let after = try daemon.residentBytes()
        // Of 256 MiB of replies that nobody has read.
        #expect(after - before < 64 << 20, "\(before >> 20) MiB before, \(after >> 20) MiB after")
        #expect(try number("bytes", client) < 16 << 20)
    }
}
