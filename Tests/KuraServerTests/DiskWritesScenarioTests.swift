import Glibc
import Testing

/// The write bill: what was written, for whom, and what is known of it later.
@Suite struct DiskWritesScenarioTests {
    private func ask(_ client: Client, by grouping: String, window: String = "hour") throws -> JSON {
        try client.result("storage.diskWrites", "{\"window\":\"\(window)\",\"by\":\"\(grouping)\"}")
    }

    private func groups(_ bill: JSON) -> [String: (changes: Int, logical: Int, bytes: Int)] {
        (bill["groups"]?.elements ?? []).reduce(into: [:]) { groups, group in
            groups[group["name"]?.text ?? "?"] = (
                group["changes"]?.int ?? -1, group["logicalBytes"]?.int ?? -1, group["bytes"]?.int ?? -1
            )
        }
    }

    private func write(_ client: Client, as name: String, _ count: Int) throws {
        try client.result("session.hello", "{\"client\":\"\(name)\",\"version\":\"1\"}")
        for number in 0..<count {
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\(number % 4)\",\"value\":\(number)}")
        }
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(name)\",\"value\":\"\(name)\"}")
        try client.result("models.put", "{\"namespace\":\"n\",\"key\":\"\(name)\",\"value\":[1,2,3]}")
    }

    @Test func `each change is on the bill of who asked for it, once`() throws {
        let daemon = try TemporaryDaemon()
        let (mail, notes) = (try daemon.connect(), try daemon.connect())
        try write(mail, as: "mail", 30)
        try write(notes, as: "notes", 10)
        // Nothing is written for what changes nothing.
        try notes.result("settings.put", "{\"domain\":\"d\",\"key\":\"k1\",\"value\":9}")
        try notes.result("secrets.put", "{\"service\":\"hush\",\"account\":\"me\",\"secret\":\"s3cret\"}")
        try daemon.waitUntilFolded()

        let clients = groups(try ask(mail, by: "client"))
        #expect(clients["mail/1"]?.changes == 32)
        #expect((clients["notes/1"]?.changes ?? 0) >= 14, "a secret is more than one change")
        // The audit is of several clients: its blocks are the daemon's own.
        #expect((clients[""]?.changes ?? 0) > 0 && clients.count == 3)
        let methods = groups(try ask(mail, by: "method"))
        #expect(methods["settings.put"]?.changes == 40)
        #expect(methods["documents.put"]?.changes == 2)
        #expect(methods["models.put"]?.changes == 2)
        #expect(Set(methods.keys) == ["settings.put", "documents.put", "models.put", "secrets.put", ""])
        #expect(Set(groups(try ask(mail, by: "user")).keys) == ["\(getuid())", ""])

        let bill = try ask(mail, by: "store")
        let stores = groups(bill)
        #expect(Set(stores.keys) == ["settings", "documents", "models", "secrets"])
        let totals = try #require(bill["totals"])
        #expect(totals["noOpWrites"]?.int == 1)
        #expect(totals["changes"]?.int == stores.values.reduce(0) { $0 + $1.changes })
        // What is not shared out is upkeep: together they are all.
        let shared = stores.values.reduce(0) { $0 + $1.bytes } + (totals["upkeepBytes"]?.int ?? 0)
        #expect(abs(shared - (totals["bytes"]?.int ?? 0)) <= 8, "\(shared) of \(totals)")
        let parts = (bill["series"]?.elements ?? []).reduce(0) { $0 + ($1["bytes"]?.int ?? 0) }
        #expect(parts == totals["bytes"]?.int)
        let status = try #require(try mail.result("storage.status")["disk"])
        #expect(status["log"]?["bytesWritten"]?.int ?? 0 >= totals["log"]?.int ?? .max)

        for grouping in ["scope", "key"] {
            let text = "\(try ask(mail, by: grouping))"
            #expect(!text.contains("hush") && !text.contains("\"me\""), "names of secrets are nobody's business")
        }
        let scopes = groups(try ask(mail, by: "scope"))
        #expect((10...60).contains(scopes["d"]?.changes ?? 0), "\(scopes)")
    }

    @Test func `the bill outlives a stop, and counts what the one before has counted`() throws {
        let daemon = try TemporaryDaemon()
        try write(try daemon.connect(), as: "mail", 20)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let client = try daemon.connect()
        try write(client, as: "mail", 5)
        let month = groups(try ask(client, by: "client", window: "month"))
        #expect(month["mail/1"]?.changes == 29)
        // Minutes are of this process.
        #expect(groups(try ask(client, by: "client"))["mail/1"]?.changes == 7)
        #expect(try ask(client, by: "client", window: "day")["totals"]?["changes"]?.int == 29)
    }

    @Test func `what could be written less is told, with what it has cost and what to do`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("session.hello", "{\"client\":\"mail\",\"version\":\"1\"}")
        for number in 0..<400 {
            try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"position\",\"value\":\(number)}")
        }
        for _ in 0..<400 {
            try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"dark\"}")
        }
        for part in 0..<2 {
            let list = (0..<600).map { "{\"id\":\"\(part)-\($0)\",\"value\":{\"n\":\($0)}}" }.joined(separator: ",")
            try client.result("documents.putMany", "{\"collection\":\"notes\",\"documents\":[\(list)]}")
        }
        for number in 0..<10 {
            let query = "{\"collection\":\"notes\",\"where\":{\"n\":\(1000 + number)}}"
            #expect(try client.result("documents.find", query)["documents"]?.elements.isEmpty == true)
        }
        for number in 0..<12 {
            let name = "\"namespace\":\"icons\",\"key\":\"\(number)\""
            try client.result("blobs.put", "{\(name),\"data\":\"AAEC\"}")
            try client.result("blobs.delete", "{\(name)}")
        }
        let advice = try ask(client, by: "store")["advice"]?.elements ?? []
        func found(_ kind: String) throws -> JSON {
            try #require(advice.first { $0["kind"]?.text == kind }, "no \(kind) in \(advice)")
        }
        let key = try found("rewrittenKey")
        #expect(key["scope"]?.text == "app" && key["key"]?.text == "position" && key["client"]?.text == "mail/1")
        #expect((key["bytes"]?.int ?? 0) > 100 * 100)
        let same = try found("sameValue")
        #expect(same["client"]?.text == "mail/1" && same["method"]?.text == "settings.put")
        #expect((200...400).contains(same["count"]?.int ?? 0) && same["bytes"]?.int == 0)
        let single = try found("oneByOne")
        #expect(single["client"]?.text == "mail/1" && single["method"]?.text == "settings.put")
        #expect((single["bytes"]?.int ?? 0) > 200 * 1000, "each took a page of the log and more")
        #expect(single["fix"]?.text?.contains("settings.putMany") == true)
        let scan = try found("scan")
        #expect(scan["scope"]?.text == "notes" && scan["documents"]?.int == 12_000 && scan["count"]?.int == 10)
        #expect(scan["fix"]?.text == "an index on the fields n, in this order, would help")
        let blobs = try found("shortLivedBlob")
        #expect(blobs["scope"]?.text == "icons" && blobs["count"]?.int == 12 && blobs["bytes"]?.int == 36)
        for advice in advice {
            #expect(advice["what"]?.text?.isEmpty == false && advice["fix"]?.text?.isEmpty == false)
        }
        #expect(!advice.contains { $0["method"]?.text == "documents.putMany" })
    }

    @Test func `who writes one by one is not paid for by who writes much in the same minute`() throws {
        let daemon = try TemporaryDaemon(movesTime: true)
        let (single, bulk) = (try daemon.connect(), try daemon.connect())
        for (client, name) in [(single, "single"), (bulk, "bulk")] {
            try client.result("session.hello", "{\"client\":\"\(name)\",\"version\":\"1\"}")
        }
        let text = String(repeating: "x", count: 8000)
        func bytes() throws -> Int { groups(try ask(single, by: "client"))["single/1"]?.bytes ?? 0 }
        let before = try bytes()
        for number in 0..<100 {
            try single.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(number)}")
        }
        // A commit each, whose sync gives a block at least. The log is shared out once a second, here before the bulk comes.
        try waitFor("it is shared out") { try bytes() - before >= 100 * 2048 }
        // What is shared out together begins anew each second, with the next turn.
        try daemon.advance(seconds: 2)
        _ = try bytes()
        let documents = (0..<200).map { "{\"id\":\"\($0)\",\"value\":\"\(text)\"}" }
        try bulk.result(
            "documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents.joined(separator: ","))]}")
        // By what they weigh it would be a hundredth of the bulk's.
        let cost = try bytes() - before
        #expect(cost >= 100 * 2048, "\(cost)")
        let bill = try ask(single, by: "client")
        let totals = try #require(bill["totals"])
        let shared = groups(bill).values.reduce(0) { $0 + $1.bytes } + (totals["upkeepBytes"]?.int ?? 0)
        #expect(abs(shared - (totals["bytes"]?.int ?? 0)) <= 8, "parts and upkeep are the whole")
    }

    @Test func `writes, syncs and what becomes of names are counted by kind of file`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        func files(_ group: String, _ kind: String) throws -> JSON? {
            try ask(client, by: "store")["files"]?.elements.first {
                $0["group"]?.text == group && $0["kind"]?.text == kind
            }
        }
        let before = try files("caches", "content")
        let content = String(repeating: "A", count: 80_000)
        try client.result("blobs.put", "{\"namespace\":\"n\",\"key\":\"k\",\"data\":\"\(content)\"}")
        let made = try #require(try files("caches", "content"))
        #expect((made["bytes"]?.int ?? 0) - (before?["bytes"]?.int ?? 0) == 60_000)
        #expect((made["creates"]?.int ?? 0) - (before?["creates"]?.int ?? 0) == 1)
        try client.result("blobs.delete", "{\"namespace\":\"n\",\"key\":\"k\"}")
        let deadline = now() + 60
        while try files("caches", "content")?["deletes"]?.int == made["deletes"]?.int, now() < deadline {
            usleep(10_000)
        }
        let gone = try #require(try files("caches", "content"))
        #expect((gone["deletes"]?.int ?? 0) - (made["deletes"]?.int ?? 0) == 1)
        #expect((gone["metadataBytes"]?.int ?? 0) - (made["metadataBytes"]?.int ?? 0) == 8192)
        // A content that must last is written under another name, synced and renamed.
        let attachments = try files("tables", "content")
        func renames() throws -> Int { try ask(client, by: "store")["totals"]?["renames"]?.int ?? -1 }
        let renamed = try renames()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        try client.result(
            "documents.attach", "{\"collection\":\"c\",\"id\":\"1\",\"name\":\"a\",\"data\":\"\(content)\"}")
        let kept = try #require(try files("tables", "content"))
        #expect((kept["bytes"]?.int ?? 0) - (attachments?["bytes"]?.int ?? 0) == 60_000)
        // Segments of the log are made under another name as well.
        #expect(try renames() > renamed)
        #expect((kept["syncs"]?.int ?? 0) > (attachments?["syncs"]?.int ?? 0))
        // All kinds together are the whole.
        let bill = try ask(client, by: "store")
        for name in ["bytes", "writes", "syncs", "creates", "renames", "deletes", "metadataBytes", "blockBytes"] {
            let sum = bill["files"]?.elements.reduce(0) { $0 + ($1[name]?.int ?? 0) }
            #expect(sum == bill["totals"]?[name]?.int, "\(name)")
        }
    }

    @Test func `a history that was altered costs the history, and nothing else`() throws {
        let daemon = try TemporaryDaemon()
        try write(try daemon.connect(), as: "mail", 3)
        #expect(daemon.terminate() == 0)
        let file = open(daemon.data + "/writes", O_RDWR | O_CLOEXEC)
        try #require(file >= 0)
        var byte: UInt8 = 0
        pread(file, &byte, 1, 40)
        byte ^= 1
        pwrite(file, &byte, 1, 40)
        close(file)
        try daemon.start()
        let client = try daemon.connect()
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k2\"}")["value"]?.int == 2)
        #expect(try ask(client, by: "client", window: "month")["totals"]?["changes"]?.int == 0)
    }

    @Test func `what it tells is what the kernel has counted, within five percent`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        // Else the kernel keeps the numbers from everybody else, root too in a container.
        try daemon.start(environment: ["KURA_DUMPABLE=1"])
        let client = try daemon.connect()
        // What the start has written besides: keys, reserves, marks.
        let before = (kernel: try written(daemon), told: try ask(client, by: "store")["totals"]?["bytes"]?.int ?? 0)
        // Large commits: the kernel counts pages, and the page at the end of a commit once more with the next one.
        let value = String(repeating: "v", count: 2000)
        for round in 0..<8 {
            let list = (0..<1000).map { "{\"id\":\"\($0)\",\"value\":\"\(value)\(round)\"}" }.joined(separator: ",")
            try client.result("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(list)]}")
        }
        try daemon.waitUntilFolded()
        let kernel = try written(daemon) - before.kernel
        // A file system in memory counts nothing.
        guard kernel > 0 else { return }
        let told = (try ask(client, by: "store")["totals"]?["bytes"]?.int ?? 0) - before.told
        #expect(abs(told - kernel) * 20 <= kernel, "told \(told), kernel \(kernel)")
    }

    /// Bytes that the kernel counts as written by the daemon.
    private func written(_ daemon: TemporaryDaemon) throws -> Int {
        let bytes = try #require(TemporaryDaemon.contents("/proc/\(daemon.pid)/io"))
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("write_bytes: ") })
        return try #require(Int(line.dropFirst("write_bytes: ".count)))
    }
}
