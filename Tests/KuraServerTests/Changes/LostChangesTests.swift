import Glibc
import Testing

/// The feed behind an unclean stop, where some changes were acknowledged before they were synced.
@Suite struct LostChangesTests {
    private let daemon: TemporaryDaemon

    /// Each restart leaves a segment, and none is to be let go.
    private let configuration = "{\"changes\":{\"retainBytes\":1000000000}}"

    init() throws {
        daemon = try TemporaryDaemon(configuration: configuration)
    }

    /// Strict changes of three stores, and then `r` is relaxed.
    /// - Returns: the newest revision.
    private func begin(_ client: Client) throws -> Int {
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"x\",\"value\":{}}")
        for key in ["a", "b", "a"] { _ = try put(client, key, domain: "strict") }
        try client.result("settings.configure", "{\"domain\":\"r\",\"durability\":\"relaxed\",\"flushSeconds\":3600}")
        return try put(client, "first", domain: "strict")
    }

    @discardableResult
    private func put(_ client: Client, _ key: String, domain: String = "r") throws -> Int {
        let params = "{\"domain\":\"\(domain)\",\"key\":\"\(key)\",\"value\":\"\(UInt64.random(in: 0 ... .max))\"}"
        return try #require(try client.result("settings.put", params)["rev"]?.int)
    }

    private func restart() throws -> Client {
        daemon.kill()
        try daemon.start(configuration: configuration)
        return try daemon.connect()
    }

    /// The changes that follow `rev`, read in pages, none of which says that something is lost.
    private func changes(_ client: Client, after rev: Int, limit: Int = 2) throws -> [JSON] {
        var (rev, changes) = (rev, [] as [JSON])
        while true {
            let page = try client.result("changes.list", "{\"afterRev\":\(rev),\"limit\":\(limit),\"values\":true}")
            #expect(page["lost"] == nil, "\(page)")
            changes += page["changes"]?.elements ?? []
            rev = try #require(page["rev"]?.int)
            if page["hasMore"]?.bool != true { return changes }
        }
    }

    /// What is written behind this call is lost: the daemon is killed, and its files are again as they were. A power cut does the
    /// same to what has not been synced.
    private func losing(_ body: () throws -> Void) throws -> Client {
        try daemon.waitUntilFolded()
        // Nothing moves while it is copied.
        Glibc.kill(daemon.pid, SIGSTOP)
        let copied = try shell("cp -a '\(daemon.data)' '\(daemon.data).before'")
        Glibc.kill(daemon.pid, SIGCONT)
        try #require(copied == 0)
        try body()
        daemon.kill()
        try #require(try shell("rm -rf '\(daemon.data)' && mv '\(daemon.data).before' '\(daemon.data)'") == 0)
        try daemon.start(configuration: configuration)
        return try daemon.connect()
    }

    private func shell(_ line: String) throws -> Int32 {
        try ShellCommand.run(with: line) { "sh \($0)" }.status
    }

    @Test func `a kill takes nothing from the feed, from whichever revision it is read`() throws {
        var client = try daemon.connect()
        var revs = [0, 1, try begin(client)]
        for round in 0..<3 {
            for key in 0..<5 { revs.append(try put(client, "\(key)-\(round)")) }
            revs.append(try put(client, "sync", domain: "strict"))
            let before = try revs.map { try changes(client, after: $0) }
            client = try restart()
            #expect(try client.result("storage.status")["rev"]?.int == revs[revs.count - 1] + 1_000_000)
            for (from, expected) in zip(revs, before) {
                #expect(try changes(client, after: from) == expected, "from \(from) in round \(round)")
            }
            // The log's file that was written is one of the past now, and is read from the disk.
            #expect(daemon.terminate() == 0)
            try daemon.start(configuration: configuration)
            client = try daemon.connect()
            for (from, expected) in zip(revs, before) {
                #expect(try changes(client, after: from) == expected, "from \(from) in round \(round), read again")
            }
        }
    }

    @Test func `pages go on over a kill`() throws {
        let client = try daemon.connect()
        let strict = try begin(client)
        for key in 0..<5 { try put(client, "\(key)") }
        try put(client, "sync", domain: "strict")
        let all = try changes(client, after: 0, limit: 1)
        var (rev, seen) = (0, [] as [JSON])
        var isOver = false
        while !isOver {
            let page = try daemon.connect().result("changes.list", "{\"afterRev\":\(rev),\"limit\":1,\"values\":true}")
            seen += page["changes"]?.elements ?? []
            rev = try #require(page["rev"]?.int)
            isOver = page["hasMore"]?.bool == false
            #expect(page["lost"] == nil)
            if seen.count < all.count { _ = try restart() }
        }
        #expect(seen == all && rev > strict + 1_000_000)
    }

    @Test func `a subscription and a wait go on over a kill`() throws {
        let first = try daemon.connect()
        _ = try begin(first)
        let rev = try put(first, "sync", domain: "strict")
        var client = try restart()
        let next = try put(client, "after", domain: "strict")
        #expect(next == rev + 1_000_001)
        try client.result("changes.watch", "{\"afterRev\":\(rev)}")
        let event = try client.reply()
        #expect(event["method"]?.text == "changes.changed" && event["params"]?["rev"]?.int == next, "\(event)")
        #expect(event["params"]?["changes"]?[0]?["key"]?.text == "after")
        client = try daemon.connect()
        let waited = try client.result("changes.wait", "{\"afterRev\":\(rev)}")
        #expect(waited["changes"]?[0]?["key"]?.text == "after" && waited["lost"] == nil)
    }

    @Test func `a client that has seen a lost change is told so once, and every other one nothing`() throws {
        let first = try daemon.connect()
        let strict = try begin(first)
        var seen: [Int] = []
        let client = try losing {
            for key in 0..<5 { seen.append(try put(first, "\(key)")) }
        }
        #expect(seen == Array(strict + 1...strict + 5))
        #expect(try client.result("settings.get", "{\"domain\":\"r\",\"key\":\"0\"}")["rev"]?.int == 0)
        let raised = strict + 1_000_000
        let lost = try JSON("{\"fromRev\":\(strict + 1),\"toRev\":\(raised)}")
        let again = try put(client, "again", domain: "strict")
        // The second time as a file of the past.
        for round in 0..<2 {
            let client = try daemon.connect()
            for rev in seen {
                let page = try client.result("changes.list", "{\"afterRev\":\(rev)}")
                #expect(page["lost"] == lost && page["rev"]?.int ?? 0 >= raised, "\(page)")
                #expect(page["changes"]?[0]?["key"]?.text == "again")
                #expect(try client.result("changes.wait", "{\"afterRev\":\(rev),\"scope\":\"x\"}")["lost"] == lost)
                let watcher = try daemon.connect()
                try watcher.result("changes.watch", "{\"afterRev\":\(rev)}")
                let event = try watcher.reply()
                #expect(event["method"]?.text == "changes.lost", "\(event)")
                #expect(event["params"]?["fromRev"]?.int == strict + 1 && event["params"]?["toRev"]?.int == raised)
                let change = try watcher.reply()
                #expect(change["method"]?.text == "changes.changed" && change["params"]?["rev"]?.int ?? 0 >= again)
                #expect(change["params"]?["changes"]?[0]?["key"]?.text == "again")
            }
            let quiet = try daemon.connect()
            try quiet.result("changes.watch", "{\"afterRev\":\(seen[0]),\"scope\":\"nothing\"}")
            #expect(try quiet.reply()["method"]?.text == "changes.lost")
            for rev in [strict - 1, strict, raised] {
                #expect(try changes(client, after: rev).last?["key"]?.text == "again", "from \(rev)")
            }
            if round == 0 {
                #expect(daemon.terminate() == 0)
                try daemon.start(configuration: configuration)
            }
        }
    }
}
