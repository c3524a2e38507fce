import Glibc
import KuraStorage
import SQLite
import Testing

/// Looking for damage while the daemon serves, and after an unclean stop.
@Suite struct StorageCheckScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws { daemon = try TemporaryDaemon() }

    /// Documents of two collections, everything else once, all of it folded; then the daemon has stopped.
    private func fill() throws {
        let client = try daemon.connect()
        for key in 0..<300 {
            let text = String(repeating: "x", count: 4000) + "mark-\(key)"
            client.send(
                Client.request("documents.put", "{\"collection\":\"big\",\"id\":\"\(key)\",\"value\":\"\(text)\"}"))
            #expect(try client.reply()["error"] == nil)
        }
        for key in 0..<20 {
            try client.result("documents.put", "{\"collection\":\"small\",\"id\":\"\(key)\",\"value\":\(key)}")
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(key)}")
            let value = String(repeating: "v", count: 300) + "value-\(key)."
            try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"\(key)\",\"value\":\"\(value)\"}")
        }
        try client.result(
            "documents.attach", "{\"collection\":\"small\",\"id\":\"1\",\"name\":\"a.txt\",\"data\":\"YWJj\"}")
        let large = String(repeating: "QUJD", count: 8000)
        try client.result("blobs.put", "{\"namespace\":\"b\",\"key\":\"large\",\"data\":\"\(large)\"}")
        try client.result("blobs.put", "{\"namespace\":\"b\",\"key\":\"tiny\",\"data\":\"YWJj\"}")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"open sesame\"}")
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
    }

    private func check(_ client: Client) throws -> JSON {
        client.send(Client.request("storage.check", id: "\"check\""))
        while true {
            let reply = try client.reply()
            if reply["id"]?.text == "check" { return try #require(reply["result"], "\(reply)") }
        }
    }

    private func expect(_ result: JSON, _ what: String, _ place: String) {
        let problems = result["problems"]?.elements ?? []
        #expect(problems.contains { $0["what"]?.text == what && $0["where"]?.text == place }, "\(result)")
        #expect(problems.allSatisfy { $0["what"]?.text == what }, "nothing else: \(result)")
        #expect(result["problemCount"]?.int == problems.count)
    }

    /// Overwrites bytes of a file where a text begins, moved by `by`.
    private func damage(_ path: String, at text: String, by offset: Int = 0, _ bytes: [UInt8]) throws {
        let contents = try #require(TemporaryDaemon.contents(path))
        let needle = Array(text.utf8)
        let place = try #require(contents.firstRange(of: needle)?.lowerBound, "\(text) is not in \(path)")
        try overwrite(path, at: place + offset, bytes)
    }

    private func overwrite(_ path: String, at place: Int, _ bytes: [UInt8]) throws {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(pwrite(descriptor, bytes, bytes.count, off_t(place)) == bytes.count)
    }

    private func files(_ directory: String) -> [String] {
        (TemporaryDaemon.names(daemon.data + directory) ?? []).flatMap { half in
            (TemporaryDaemon.names(daemon.data + directory + "/" + half) ?? []).map { "\(directory)/\(half)/\($0)" }
        }
    }

    @Test func `a sound data directory has no problems, and everything of it is looked at`() throws {
        try fill()
        try daemon.start()
        let client = try daemon.connect()
        // Asked for before a look at the caches, which have been read then.
        try client.result("blobs.get", "{\"namespace\":\"b\",\"key\":\"none\"}")
        let before = FileSystem.modified(daemon.data + "/tmp")
        let result = try check(client)
        #expect(FileSystem.modified(daemon.data + "/tmp") == before, "nothing is copied there")
        #expect(result["problemCount"]?.int == 0, "\(result)")
        #expect(result["skipped"]?.elements.isEmpty == true, "\(result)")
        let checked = try #require(result["checked"])
        #expect(checked["documents"]?.int ?? 0 >= 320, "\(checked)")
        #expect(checked["segments"]?.int ?? 0 >= 1 && checked["changes"]?.int ?? 0 >= 340, "\(checked)")
        #expect(checked["caches"]?.int == 2 && checked["blobs"]?.int == 1, "\(checked)")
        #expect(checked["attachments"]?.int == 1 && checked["secrets"]?.int == 1, "\(checked)")
        // While others write.
        let writer = try daemon.connect()
        client.send(Client.request("storage.check", id: "\"check\""))
        for key in 0..<200 {
            try writer.result("documents.put", "{\"collection\":\"small\",\"id\":\"n\(key)\",\"value\":\(key)}")
        }
        var beside = try client.reply()
        // One that takes a while tells how far it is.
        while beside["method"]?.text == "progress" { beside = try client.reply() }
        #expect(beside["result"]?["problemCount"]?.int == 0, "\(beside)")
    }

    @Test func `documents that are damaged are told by their collection, and the others are served`() throws {
        try fill()
        let path = daemon.data + "/durable/kura.sqlite"
        let contents = try #require(TemporaryDaemon.contents(path))
        let place = try #require(contents.firstRange(of: Array("mark-150".utf8))?.lowerBound) / 4096 * 4096
        try overwrite(path, at: place, [UInt8](repeating: 0xEE, count: 4096))
        try daemon.start()
        let client = try daemon.connect()
        expect(try check(client), "collection", "big")
        let other = try client.result("documents.get", "{\"collection\":\"small\",\"id\":\"7\"}")
        #expect(other["value"]?.int == 7)
        try client.result("documents.put", "{\"collection\":\"small\",\"id\":\"new\",\"value\":1}")
    }

    @Test func `a row of a revision that is not there yet is told`() throws {
        try fill()
        do {
            let tables = try Connection(path: daemon.data + "/durable/kura.sqlite", mode: .readWrite)
            try tables.execute("UPDATE documents SET rev = 999999999 WHERE id = '7'")
        }
        try daemon.start()
        let result = try check(try daemon.connect())
        let problems = result["problems"]?.elements ?? []
        #expect(problems.count == 2 && problems.allSatisfy { $0["what"]?.text == "collection" }, "\(result)")
        #expect(problems.allSatisfy { $0["problem"]?.text?.contains("revision 999999999") == true }, "\(result)")
    }

    @Test func `a row that its id does not lead to is told`() throws {
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"small\",\"id\":\"needle-one\",\"value\":1}")
        try fill()
        // In the table or in the index, whichever comes first.
        try damage(daemon.data + "/durable/kura.sqlite", at: "needle-one", Array("nettle-one".utf8))
        try daemon.start()
        expect(try check(try daemon.connect()), "collection", "small")
    }

    @Test func `a closed segment that is damaged is told`() throws {
        try fill()
        let name = try #require((TemporaryDaemon.names(daemon.data + "/log") ?? []).first { $0.hasSuffix(".log") })
        try damage(daemon.data + "/log/\(name)", at: "mark-5", [0])
        try daemon.start()
        expect(try check(try daemon.connect()), "segment", "log/\(name)")
    }

    @Test func `a cache that is damaged is told, dropped, and begins anew`() throws {
        try fill()
        let path = daemon.data + "/cache/cache.sqlite"
        try daemon.start()
        let client = try daemon.connect()
        // A start that meets damage drops the file by itself: it comes behind what the start reads.
        #expect(try client.result("models.get", "{\"namespace\":\"feed\",\"key\":\"3\"}")["value"] != nil)
        let contents = try #require(TemporaryDaemon.contents(path))
        let place = try #require(contents.firstRange(of: Array("value-7.".utf8))?.lowerBound) / 4096 * 4096
        try overwrite(path, at: place, [UInt8](repeating: 0xEE, count: 64))
        expect(try check(client), "cache", "cache/cache.sqlite")
        try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"new\",\"value\":1}")
        // The thread of the caches drops it behind the reply.
        try waitFor("the damaged cache is gone") { try check(client)["problemCount"]?.int == 0 }
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let model = try daemon.connect().result("models.get", "{\"namespace\":\"feed\",\"key\":\"new\"}")
        #expect(model["value"]?.int == 1)
    }

    @Test func `contents that are not what their digests say are told, and the blob is forgotten`() throws {
        try fill()
        try daemon.start()
        let client = try daemon.connect()
        let (blob, attachment) = try (
            #require(files("/cache/blobs").first), #require(files("/durable/attachments").first)
        )
        for path in [blob, attachment] {
            chmod(daemon.data + path, 0o600)
            try overwrite(daemon.data + path, at: 1, [0x5A])
        }
        let result = try check(client)
        let found = Set((result["problems"]?.elements ?? []).compactMap { $0["what"]?.text })
        #expect(found == ["blob", "attachment"] && result["problemCount"]?.int == 2, "\(result)")
        // The loop hears of it a moment later.
        let deadline = now() + 60
        while try client.call("blobs.get", "{\"namespace\":\"b\",\"key\":\"large\"}")["result"]?["data"] != nil,
            now() < deadline
        {}
        #expect(try client.call("blobs.get", "{\"namespace\":\"b\",\"key\":\"large\"}")["result"]?["data"] == nil)
        #expect(try client.result("blobs.get", "{\"namespace\":\"b\",\"key\":\"tiny\"}")["data"]?.text == "YWJj")
    }

    @Test(arguments: ["directory", "FIFO", "link"])
    func `an attachment in whose place no regular file lies is told`(what: String) throws {
        try fill()
        let file = try #require(files("/durable/attachments").first)
        let (path, aside) = (daemon.data + file, daemon.root + "/aside")
        #expect(rename(path, aside) == 0)
        switch what {
        case "directory": #expect(mkdir(path, 0o700) == 0)
        case "FIFO": #expect(mkfifo(path, 0o600) == 0)
        default: #expect(symlink(aside, path) == 0)
        }
        try daemon.start()
        expect(try check(try daemon.connect()), "attachment", file.split(separator: "/").suffix(2).joined())
    }

    @Test func `a content that is damaged is told though the tables do not have its document yet`() throws {
        // In the others changes get to the tables at once.
        #expect(daemon.terminate() == 0)
        let world = try TemporaryDaemon(profile: "default")
        let client = try world.connect()
        try client.result("documents.put", "{\"collection\":\"small\",\"id\":\"1\",\"value\":1}")
        try client.result(
            "documents.attach", "{\"collection\":\"small\",\"id\":\"1\",\"name\":\"a\",\"data\":\"YWJj\"}")
        let directory = world.data + "/durable/attachments/"
        let half = try #require(TemporaryDaemon.names(directory)?.first)
        let rest = try #require(TemporaryDaemon.names(directory + half)?.first)
        let file = directory + half + "/" + rest
        chmod(file, 0o600)
        try overwrite(file, at: 0, [0])
        let found = try check(client)
        #expect(found["problemCount"]?.int == 1, "\(found)")
        #expect(found["checked"]?["attachments"]?.int == 1, "\(found)")
    }

    @Test func `an attachment that is gone, and files that belong to nothing, are told`() throws {
        try fill()
        let attachment = try #require(files("/durable/attachments").first)
        let other = attachment.split(separator: "/")
        let stray = "/durable/attachments/\(other[2])/" + String(repeating: "0", count: 62)
        #expect(rename(daemon.data + attachment, daemon.data + stray) == 0)
        TemporaryDaemon.write("x", to: daemon.data + "/log/notes.txt")
        TemporaryDaemon.write("x", to: daemon.data + "/durable/kura.bak")
        try daemon.start()
        let result = try check(try daemon.connect())
        let found = (result["problems"]?.elements ?? []).map { ($0["what"]?.text ?? "", $0["where"]?.text ?? "") }
        #expect(found.contains { $0.0 == "attachment" }, "\(result)")
        for place in [String(stray.dropFirst()), "log/notes.txt", "durable/kura.bak"] {
            #expect(found.contains { $0 == ("orphan", place) }, "\(place): \(result)")
        }
        #expect(result["problemCount"]?.int == 4, "\(result)")
    }

    @Test func `a sealed row whose tag does not hold is told, and sealed secrets are said to be left out`() throws {
        try fill()
        do {
            let tables = try SecretsTables(daemon.data)
            var row = try #require(try tables.rows().first { $0.table == "documents" })
            row.value[row.value.count - 1] ^= 1
            try tables.write(row.value, to: row)
        }
        try daemon.start()
        let client = try daemon.connect()
        let result = try check(client)
        #expect(result["problems"]?.elements.contains { $0["what"]?.text == "secret" } == true, "\(result)")
        try client.result("secrets.lock")
        let again = try check(client)
        #expect(again["skipped"]?.elements.first?.text == "secrets: sealed", "\(again)")
    }

    @Test func `a check tells how far it is, and ends with its client`() throws {
        try fill()
        try daemon.start(faults: "vfs.read@durable:sleep=20:1+")
        let client = try daemon.connect()
        client.send(Client.request("storage.check", id: "\"check\""))
        var progress = 0
        while true {
            let line = try client.reply()
            guard line["method"]?.text == "progress" else {
                #expect(line["result"]?["problemCount"]?.int == 0, "\(line)")
                break
            }
            #expect(line["params"]?["unit"]?.text == "bytes" && line["params"]?["id"]?.text == "check")
            progress += 1
        }
        #expect(progress > 0)
        do {
            let leaving = try daemon.connect()
            leaving.send(Client.request("storage.check"))
            usleep(100_000)
        }
        // Nobody waits for it: another one is admitted, and the daemon stops at once.
        #expect(try check(client)["problemCount"]?.int == 0)
        #expect(daemon.terminate() == 0)
    }

    @Test func `settings that are damaged are found by the look after an unclean stop, and the third start goes on`()
        throws
    {
        try fill()
        try daemon.start()
        daemon.kill()
        let path = daemon.data + "/durable/kura.sqlite"
        do {
            let root = try Connection(path: path, mode: .readOnly)
                .scalar("SELECT rootpage FROM sqlite_schema WHERE name = 'contents'")
            try overwrite(path, at: Int(try #require(root) - 1) * 4096, [UInt8](repeating: 0xEE, count: 4096))
        }
        for _ in 0..<2 {
            #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 1)
            #expect(TemporaryDaemon.names(daemon.data + "/quarantine") == nil)
        }
        #expect(daemon.log.contains("contents:"))
        try daemon.start()
        let client = try daemon.connect()
        #expect(try client.result("documents.get", "{\"collection\":\"big\",\"id\":\"150\"}")["value"] != nil)
        let recovered = try client.result("storage.status")["recovered"]?.elements ?? []
        #expect(recovered.contains { $0["phase"]?.text == "integrity" }, "\(recovered)")
        #expect(try check(client)["problems"]?.elements.allSatisfy { $0["what"]?.text == "orphan" } == true)
    }
}
