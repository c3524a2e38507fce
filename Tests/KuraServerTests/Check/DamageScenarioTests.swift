import Glibc
import Testing

/// Damage that is met while the daemon serves is told: to the client, in the log, in `storage.status` and by doctor.
@Suite struct DamageScenarioTests {
    private let daemon: TemporaryDaemon
    private static let documents = 2000

    init() throws { daemon = try TemporaryDaemon(movesTime: true) }

    private func put(_ client: Client, _ keys: Range<Int>) throws {
        client.send(
            keys.map { key in
                let text = String(repeating: "x", count: 300) + "mark-\(key)."
                return Client.request(
                    "documents.put", "{\"collection\":\"big\",\"id\":\"\(key)\",\"value\":\"\(text)\"}")
            }.joined())
        for _ in keys { #expect(try client.reply()["error"] == nil) }
    }

    /// Documents in the tables, a snapshot of most of them, then so many of their pages overwritten.
    /// - Returns: ids of documents that lie in damaged pages, and of some that do not.
    private func damage(_ pages: Int = 40, snapshot: Bool = true) throws -> (damaged: Set<Int>, whole: Set<Int>) {
        let client = try daemon.connect()
        try put(client, 0..<Self.documents - 100)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        if snapshot { try client.result("storage.backup", "{\"name\":\"before\"}") }
        try put(client, Self.documents - 100..<Self.documents)
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)

        let path = daemon.data + "/durable/kura.sqlite"
        let file = try #require(TemporaryDaemon.contents(path))
        var leaves: [(page: Int, ids: Set<Int>)] = []
        for page in 1..<file.count / 4096 {
            let bytes = file[page * 4096..<(page + 1) * 4096]
            // A leaf of a table: https://sqlite.org/fileformat2.html#b_tree_pages
            guard bytes.first == 0x0D else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            let ids = text.split(separator: "mark-").dropFirst().compactMap { Int($0.prefix { $0.isNumber }) }
            if !ids.isEmpty { leaves.append((page, Set(ids))) }
        }
        #expect(leaves.count > 2 * pages)
        var random = SplitMix(state: 5)
        leaves.shuffle(using: &random)
        for leaf in leaves.prefix(pages) {
            try TemporaryDaemon.overwrite(path, at: leaf.page * 4096, [UInt8](repeating: 0xEE, count: 4096))
        }
        let whole = leaves.dropFirst(pages).reduce(into: Set<Int>()) { $0.formUnion($1.ids) }
        return (leaves.prefix(pages).reduce(into: Set<Int>()) { $0.formUnion($1.ids) }, whole)
    }

    private func lines(_ event: String) -> [String] {
        daemon.log.split(separator: "\n").map(String.init).filter { $0.contains("\"event\":\"\(event)\"") }
    }

    private func waitForLines(_ event: String, _ count: Int) -> [String] {
        let deadline = now() + 60
        while lines(event).count < count, now() < deadline { usleep(10_000) }
        return lines(event)
    }

    @Test func `pages that are damaged are told everywhere, and what is not is served`() throws {
        let (damaged, whole) = try damage()
        try daemon.start()
        let client = try daemon.connect()
        for _ in 0..<5 {
            let refused = try client.refusal("documents.find", "{\"collection\":\"big\",\"limit\":1000}")
            #expect(refused["kind"]?.text == "integrity", "\(refused)")
            #expect(refused["hint"]?.text?.contains("kura doctor") == true)
        }
        #expect(
            try client.refusal("documents.list", "{\"collection\":\"big\",\"limit\":1000}")["kind"]?.text == "integrity"
        )
        #expect(try client.refusal("storage.backup", "{\"name\":\"after\"}")["kind"]?.text == "integrity")
        let id = try #require(damaged.first)
        #expect(
            try client.refusal("documents.get", "{\"collection\":\"big\",\"id\":\"\(id)\"}")["kind"]?.text
                == "integrity")
        for id in whole.prefix(200) {
            let value = try client.result("documents.get", "{\"collection\":\"big\",\"id\":\"\(id)\"}")["value"]
            #expect(value?.text?.hasSuffix("mark-\(id).") == true)
        }
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":2}")

        // One line, however often it was met.
        let found = waitForLines("damage found", 1)
        #expect(found.count == 1, "\(daemon.log)")
        #expect(found.first?.contains("\"level\":\"error\"") == true)
        #expect(found.first?.contains("\"file\":\"durable/kura.sqlite\",\"kind\":\"damaged\"") == true)
        let status = try #require(try client.result("storage.status")["damage"]?.elements.first)
        #expect(status["file"]?.text == "durable/kura.sqlite" && status["kind"]?.text == "damaged")
        #expect((status["count"]?.int ?? 0) >= 8)
        let help = try #require(status["help"]?.text)
        #expect(found.first?.contains("--at newest --log") == true)

        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 9)
        #expect(daemon.log.contains("error: damage: durable/kura.sqlite was found damaged"), "\(daemon.log)")
        #expect(daemon.terminate() == 0)
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 9)

        // What it says to do brings everything back.
        let words = try #require(help.firstRange(of: "kura restore ")?.upperBound)
        let arguments = help[words...].prefix { $0 != "," }.split(separator: " ").map(String.init)
        #expect(try daemon.run(["restore"] + arguments) == 0, "\(daemon.log)")
        #expect(rename(daemon.data, daemon.root + "/broken") == 0)
        #expect(rename(daemon.data + ".restored", daemon.data) == 0)
        try daemon.start()
        let restored = try daemon.connect()
        for id in damaged {
            let value = try restored.result("documents.get", "{\"collection\":\"big\",\"id\":\"\(id)\"}")["value"]
            #expect(value?.text?.hasSuffix("mark-\(id).") == true)
        }
        #expect(try restored.result("storage.status")["damage"] == nil)
    }

    @Test func `a check that somebody asks for tells the log, and doctor later`() throws {
        _ = try damage(3, snapshot: false)
        try daemon.start(configuration: "{\"checks\":{\"every\":\"never\"}}")
        let client = try daemon.connect()
        client.send(Client.request("storage.check", id: "\"check\""))
        var reply = try client.reply()
        while reply["id"]?.text != "check" { reply = try client.reply() }
        let count = try #require(reply["result"]?["problemCount"]?.int)
        #expect(count > 0)
        #expect(waitForLines("everything looked through", 1).first?.contains("\"problems\":\"\(count)\"") == true)
        #expect(daemon.log.contains("\"what\":\"collection\",\"where\":\"big\""))
        #expect(daemon.terminate() == 0)
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 9)
        #expect(daemon.log.contains("error: damage: "))
        #expect(daemon.log.contains("there is no snapshot in"), "\(daemon.log)")
    }

    @Test func `a disk that does not give a page is another kind of damage`() throws {
        let client = try daemon.connect()
        try put(client, 0..<Self.documents)
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        // More than a start reads, and fewer than the collection has pages.
        try daemon.start(faults: "vfs.read@durable:fail:120+")
        let reader = try daemon.connect()
        let deadline = now() + 60
        var refused: JSON?
        while refused == nil, now() < deadline {
            refused = try reader.call("documents.find", "{\"collection\":\"big\",\"limit\":1000}")["error"]?["data"]
        }
        #expect(refused?["kind"]?.text == "integrity", "\(daemon.log)")
        #expect(waitForLines("damage found", 1).first?.contains("\"kind\":\"unreadable\"") == true, "\(daemon.log)")
    }

    @Test func `an attachment's content that is gone is told like a damaged page`() throws {
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        try client.result(
            "documents.attach", "{\"collection\":\"c\",\"id\":\"1\",\"name\":\"a\",\"data\":\"YWJj\"}")
        let group = try #require(TemporaryDaemon.names(daemon.data + "/durable/attachments")?.first)
        let name = try #require(TemporaryDaemon.names(daemon.data + "/durable/attachments/" + group)?.first)
        let file = "durable/attachments/\(group)/\(name)"
        #expect(unlink(daemon.data + "/" + file) == 0)
        let refused = try client.refusal("documents.attachment", "{\"collection\":\"c\",\"id\":\"1\",\"name\":\"a\"}")
        #expect(refused["kind"]?.text == "integrity", "\(refused)")
        #expect(waitForLines("damage found", 1).first?.contains("\"file\":\"\(file)\"") == true, "\(daemon.log)")
        #expect(try client.result("storage.status")["damage"]?[0]?["file"]?.text == file)
    }

    @Test(arguments: ["emptied", "removed", "moved"])
    func `tables that are taken away under a daemon are damage that is told, and no request is called off`(
        how: String
    ) throws {
        let client = try daemon.connect()
        try put(client, 0..<10)
        try daemon.waitUntilFolded()
        let tables = daemon.data + "/durable/kura.sqlite"
        switch how {
        case "emptied": #expect(truncate(tables, 0) == 0)
        case "removed": #expect(unlink(tables) == 0)
        default: #expect(rename(daemon.data, daemon.root + "/moved") == 0)
        }
        #expect(try client.refusal("storage.backup", "{\"name\":\"b\"}")["kind"]?.text == "integrity")
        #expect(try client.refusal("documents.list", "{\"collection\":\"big\"}")["kind"]?.text == "integrity")
        let found = waitForLines("damage found", 1).first
        #expect(found?.contains("\"file\":\"durable/kura.sqlite\"") == true, "\(daemon.log)")
        #expect(how == "emptied" || found?.contains("put it back") == true, "\(daemon.log)")
        let status = try client.result("storage.status")["damage"]?[0]
        #expect(status?["file"]?.text == "durable/kura.sqlite")
        #expect(status?["kind"]?.text == (how == "emptied" ? "damaged" : "unreadable"))
    }

    @Test(arguments: ["durable/attachments", "durable/kura.sqlite"])
    func `a directory of contents that is gone is told by what was to be written there`(told: String) throws {
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        try daemon.waitUntilFolded()
        if told == "durable/attachments" {
            #expect(rmdir(daemon.data + "/durable/attachments") == 0)
        } else {
            #expect(rename(daemon.data, daemon.root + "/moved") == 0)
        }
        let attach = "{\"collection\":\"c\",\"id\":\"1\",\"name\":\"a\",\"data\":\"YWJj\"}"
        #expect(try client.refusal("documents.attach", attach)["kind"]?.text == "integrity")
        let found = waitForLines("damage found", 1).first
        #expect(found?.contains("\"file\":\"\(told)\"") == true, "\(daemon.log)")
        #expect(found?.contains("it is not there") == true && found?.contains("errno") == false, "\(daemon.log)")
    }

    @Test func `snapshots that are not made are counted, with the reason and the age of the newest`() throws {
        _ = try damage()
        try daemon.start(configuration: "{\"backups\":{\"every\":\"1s\"}}")
        let client = try daemon.connect()
        try waitFor("two are not made") {
            try daemon.advance(seconds: 1)
            return try client.result("storage.status")["backups"]?["failures"]?.int ?? 0 >= 2
        }
        let backups = try #require(try client.result("storage.status")["backups"])
        #expect(backups["everySeconds"]?.int == 1 && backups["newestAt"] == nil)
        #expect(backups["lastFailure"]?.text?.contains("malformed") == true, "\(backups)")
        #expect(backups["lastFailureAt"] != nil)
        let line = waitForLines("no snapshot was made", 1).first
        #expect(line?.contains("\"level\":\"error\"") == true)
    }

    @Test func `the newest snapshot's age is known at once, also to the next daemon`() throws {
        let every = "{\"backups\":{\"every\":\"1h\"}}"
        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: every)
        try daemon.waitUntil { $0["backups"]?["newestAt"] != nil }
        let first = try daemon.connect().result("storage.status")["backups"]?["newestAt"]?.text
        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: every)
        try daemon.waitUntil { $0["backups"]?["newestAt"] != nil }
        let second = try daemon.connect().result("storage.status")["backups"]
        #expect(second?["newestAt"]?.text?.prefix(18) == first?.prefix(18) && second?["failures"]?.int == 0)

        // Older than two of them should be.
        let name = try #require(TemporaryDaemon.names(daemon.data + "/backups")?.first { $0.hasPrefix("auto-") })
        var times = [timespec(), timespec()]
        for index in 0..<2 { times[index].tv_sec = Glibc.time(nil) - 7300 }
        #expect(utimensat(AT_FDCWD, daemon.data + "/backups/" + name, times, 0) == 0)
        let arguments = ["doctor", "--data-dir", daemon.data, "--config", daemon.root + "/config.json"]
        #expect(try daemon.run(arguments) == 8)
        #expect(daemon.log.contains("warning: backups: "), "\(daemon.log)")
    }

    @Test func `what removes rows and meets damage ends the daemon once, and the next start has what was acknowledged`()
        throws
    {
        _ = try damage(snapshot: false)
        try daemon.start()
        var client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"other\",\"id\":\"a\",\"value\":1}")
        try client.result("documents.drop", "{\"collection\":\"big\"}")
        #expect(try #require(daemon.wait()) != 0)
        try daemon.start()
        client = try daemon.connect()
        #expect("\(try client.result("storage.status", "{}"))".contains("could not be written, since they are damaged"))
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
        #expect(try client.result("documents.get", "{\"collection\":\"other\",\"id\":\"a\"}")["value"]?.int == 1)
        #expect(try client.result("documents.count", "{\"collection\":\"big\"}")["count"]?.int == 0)
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
    }

    @Test func `a root key that does not open its slot is an error of doctor`() throws {
        let client = try daemon.connect()
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        #expect(daemon.terminate() == 0)
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 0, "\(daemon.log)")
        try TemporaryDaemon.overwrite(daemon.data + "/keys/root.key", at: 5, [1, 2, 3, 4])
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 9)
        #expect(daemon.log.contains("keys/root.key opens no slot"))
        TemporaryDaemon.write("short", to: daemon.data + "/keys/root.key")
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 9)
        #expect(daemon.log.contains("keys/root.key has 5 bytes"))
    }
}
