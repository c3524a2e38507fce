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
            #expect(try client.result("storage.status")["space"]?["full"]?.bool == false)
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
}
