import Glibc
import Testing

/// A disk that is full of our own data: what takes something away goes on, and makes room for the rest.
@Suite struct OwnFullDiskTests {
    /// A daemon with so little room, filled with documents until there is none for two seconds.
    /// - Returns: the ids of those that were acknowledged.
    private func fill(_ client: Client, _ filling: Int) throws -> [String] {
        let value = String(repeating: "x", count: 40_000)
        var ids: [String] = []
        var refusedSince: Double?
        let deadline = now() + 60
        while now() < deadline, refusedSince.map({ now() - $0 < 2 }) ?? true {
            let id = "\(filling)-\(ids.count)"
            let reply = try client.call(
                "documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\"\(value)\"}")
            if let kind = reply["error"]?["data"]?["kind"] {
                #expect(kind == .string("noSpace"))
                refusedSince = refusedSince ?? now()
                usleep(20_000)
            } else {
                ids.append(id)
                refusedSince = nil
            }
        }
        #expect(refusedSince != nil)
        return ids
    }

    private func waitUntilWritable(_ client: Client) throws -> Bool {
        let deadline = now() + 60
        while now() < deadline {
            let reply = try client.call("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(now())}")
            if reply["result"] != nil { return true }
            usleep(20_000)
        }
        return false
    }

    @Test func `deletions are admitted on a full disk, and bring it back`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launchEphemeral(more: ["--profile", "small", "--disk-limit", "\(24 << 20)"])
        let client = try daemon.connect()
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"gone\",\"value\":1}")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        var there: [String] = []
        for filling in 0..<3 {
            there += try fill(client, filling)
            let full = try client.result("storage.status")
            #expect(full["space"]?["full"]?.bool == true && full["space"]?["missing"]?.int ?? 0 > 0)
            #expect(full["foldedRev"] == full["rev"])
            let reasons = try client.result("storage.health")["reasons"]?.elements ?? []
            #expect(reasons.contains(.string("diskFull")))
            if filling == 0 {
                try client.result("settings.delete", "{\"domain\":\"d\",\"key\":\"gone\"}")
                try client.result("secrets.delete", "{\"service\":\"s\",\"account\":\"a\"}")
            }
            let gone = there.prefix(there.count / 2)
            for id in gone { try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"\(id)\"}") }
            there.removeFirst(gone.count)
            // What was deleted for its room cannot be brought back.
            let restored = try client.refusal(
                "documents.restore", "{\"collection\":\"c\",\"id\":\"\(gone.last ?? "")\"}")
            #expect(["notFound", "noSpace"].contains(restored["kind"]?.text ?? ""))
            #expect(try waitUntilWritable(client))
            // The change that was accepted may be the one that fills it once more, until it is folded.
            try daemon.waitUntil { $0["space"]?["full"]?.bool == false }
        }
        #expect(daemon.log.contains("space is back"))
        for id in there {
            let found = try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
            #expect(found["value"]?.text?.utf8.count == 40_000, "\(id)")
        }
    }

    @Test func `a drop and a compaction are admitted on a full disk, too`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launchEphemeral(more: ["--profile", "small", "--disk-limit", "\(24 << 20)"])
        let client = try daemon.connect()
        _ = try fill(client, 0)
        try client.result("storage.compact", "{}")
        try client.result("documents.drop", "{\"collection\":\"c\"}")
        #expect(try waitUntilWritable(client))
    }

    private func full(_ profile: String = "small", _ bytes: Int = 24 << 20) throws -> (TemporaryDaemon, Client) {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launchEphemeral(more: ["--profile", profile, "--disk-limit", "\(bytes)"])
        return (daemon, try daemon.connect())
    }

    /// Puts documents until so few bytes are free; nothing is refused by then.
    private func fill(_ client: Client, bytes: Int, leaving left: Int) throws -> [String] {
        let value = String(repeating: "x", count: bytes)
        var ids: [String] = []
        while try client.result("storage.status")["space"]?["free"]?.int ?? 0 > left, ids.count < 1000 {
            for _ in 0..<4 {
                let id = "\(ids.count)"
                try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\"\(value)\"}")
                ids.append(id)
            }
            usleep(30_000)
        }
        return ids
    }

    private func isFolded(_ client: Client) throws -> Bool {
        let deadline = now() + 60
        while now() < deadline {
            let status = try client.result("storage.status")
            if status["foldedRev"] == status["rev"] { return true }
            usleep(20_000)
        }
        return false
    }

    @Test func `a deletion of all at once is folded on a nearly full disk`() throws {
        let (daemon, client) = try full()
        let ids = try fill(client, bytes: 100_000, leaving: 2 << 20)
        #expect(ids.count > 60)
        let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
        let reply = try client.result("documents.deleteMany", "{\"collection\":\"c\",\"ids\":[\(list)]}")
        #expect(reply["deleted"]?.int == ids.count)
        #expect(try isFolded(client))
        #expect(try waitUntilWritable(client))
        // What nothing is left of cannot come back; it was in the first of them that there was room for their last values.
        _ = try client.refusal("documents.restore", "{\"collection\":\"c\",\"id\":\"\(ids.last ?? "")\"}")
        withExtendedLifetime(daemon) {}
    }

    @Test func `a transaction that could not be folded is refused`() throws {
        let (daemon, client) = try full()
        _ = try fill(client, bytes: 40_000, leaving: 13 << 20)
        let value = String(repeating: "y", count: 1_000_000)
        let documents = (0..<12).map { "{\"id\":\"b\($0)\",\"value\":\"\(value)\"}" }.joined(separator: ",")
        let refusal = try client.refusal("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents)]}")
        #expect(
            refusal["kind"] == .string("noSpace") && refusal["hint"]?.text?.contains("larger than the room") == true)
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"b\",\"value\":\"\(value)\"}")
        #expect(try isFolded(client))
        withExtendedLifetime(daemon) {}
    }

    @Test func `what a selector finds is deleted in slices on a full disk, and secrets are cleared a part at a time`()
        throws
    {
        let (daemon, client) = try full()
        for number in 0..<150 {
            try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"\(number)\",\"secret\":\"x\"}")
        }
        let value = String(repeating: "z", count: 2000)
        var count = 0
        while count < 20_000 {
            let documents = (count..<count + 20).map { "{\"id\":\"\($0)\",\"value\":{\"t\":\"\(value)\"}}" }
            let reply = try client.call(
                "documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents.joined(separator: ","))]}")
            guard reply["result"] != nil else { break }
            count += 20
        }
        _ = try fill(client, 0)
        var cleared = 0
        for _ in 0..<20 {
            let reply = try client.result("secrets.clear", "{\"service\":\"s\",\"confirm\":\"s\"}")
            cleared += reply["deleted"]?.int ?? 0
            if reply["left"]?.int == 0 { break }
        }
        #expect(cleared == 150)
        let ids = (0..<1000).map { "\"\($0)\"" }.joined(separator: ",")
        let refusal = try client.refusal("documents.deleteMany", "{\"collection\":\"c\",\"ids\":[\(ids)]}")
        #expect(refusal["kind"] == .string("noSpace") && (16..<1000).contains(refusal["limit"]?.int ?? 0))
        let deleted = try client.result(
            "documents.deleteMany",
            "{\"collection\":\"c\",\"where\":{\"t\":{\"$exists\":true}},\"allowScan\":true,\"timeoutMs\":600000}")
        #expect(deleted["deleted"]?.int == count && deleted["slices"]?.int ?? 0 > 1)
        #expect(try waitUntilWritable(client))
        #expect(try isFolded(client))
        withExtendedLifetime(daemon) {}
    }
}
