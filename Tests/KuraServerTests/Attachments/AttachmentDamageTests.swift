import Glibc
import Testing

/// What becomes of attachments whose files are not what they were.
@Suite struct AttachmentDamageTests {
    private typealias World = AttachmentWorld
    private let world: AttachmentWorld
    private let client: Client

    init() throws {
        world = try AttachmentWorld()
        client = try world.connect()
        try World.put(client, "1")
        try World.put(client, "2")
    }

    /// The only content's file, below the data directory.
    private func file() throws -> String {
        let digest = try #require(world.contents.first)
        return "durable/attachments/\(digest.prefix(2))/\(digest.dropFirst(2))"
    }

    /// Changes a byte of a content, the only one unless it is named, or takes the content away.
    private func damage(_ name: String? = nil, _ how: String = "other bytes") throws {
        let path = try world.daemon.data + "/" + (name ?? file())
        if how == "gone" {
            #expect(unlink(path) == 0)
            return
        }
        chmod(path, 0o600)
        try TemporaryDaemon.overwrite(path, at: 3, [0x58])
        chmod(path, 0o400)
    }

    private func kind(_ client: Client, _ id: String) throws -> String? {
        try client.refusal("documents.attachment", World.params(id, "a"))["kind"]?.text
    }

    /// Waits for the log's line about a file, which is one however often it was met, and looks for it in the status and doctor's words.
    private func expectTold(_ file: String, _ location: SourceLocation = #_sourceLocation) throws {
        func lines() -> Int {
            world.daemon.log.split(separator: "\n").count {
                $0.contains("\"event\":\"damage found\"") && $0.contains("\"file\":\"\(file)\"")
            }
        }
        try waitFor("the damage in the log") { lines() > 0 }
        #expect(lines() == 1, sourceLocation: location)
        let status = try world.connect().result("storage.status")
        #expect(status["damage"]?[0]?["file"]?.text == file, "\(status)", sourceLocation: location)
        #expect(try world.daemon.run(["doctor", "--data-dir", world.daemon.data]) == 9, sourceLocation: location)
    }

    @Test(arguments: [true, false])
    func `a content that comes again over a damaged one is whole afterwards, for all documents`(isDown: Bool) throws {
        try World.attach(client, "1", "a", "content")
        try world.daemon.waitUntilFolded()
        if isDown { #expect(world.daemon.terminate() == 0) }
        try damage()
        if isDown { try world.daemon.start() }
        let again = try world.connect()
        if !isDown { #expect(try kind(again, "1") == "integrity") }
        try World.attach(again, "2", "a", "content")
        #expect(try World.read(again, "2", "a") == "content" && World.read(again, "1", "a") == "content")
        try world.daemon.waitUntilFolded()
        try world.expectContents(1)
        try world.expectWholeContents()
        // Also where the list stays as it was.
        try damage()
        let rev = try World.attach(again, "1", "a", "content")["rev"]
        #expect(try World.attach(again, "1", "a", "content")["rev"] == rev)
        #expect(try World.read(again, "1", "a") == "content")
        try world.expectContents(1)
    }

    @Test func `a directory in a content's place is named by an attach, and gives way once it is moved`() throws {
        try World.attach(client, "1", "a", "content")
        try world.daemon.waitUntilFolded()
        let file = try file()
        let path = world.daemon.data + "/" + file
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        let data = ",\"data\":\"\(World.base64(Array("content".utf8)))\""
        let refused = try client.refusal("documents.attach", World.params("2", "a", data))
        #expect(refused["kind"]?.text == "integrity", "\(refused)")
        try expectTold(file)
        let help = try world.connect().result("storage.status")["damage"]?[0]?["help"]?.text
        #expect(help?.contains("\(path) is a directory") == true, "\(help ?? "")")
        #expect(rmdir(path) == 0)
        try World.attach(client, "2", "a", "content")
        #expect(try World.read(client, "1", "a") == "content")
        try world.expectContents(1)
    }

    @Test func `a second link to a content that a stop has left goes with the next start`() throws {
        try World.attach(client, "1", "a", "content")
        try world.daemon.waitUntilFolded()
        let digest = try #require(world.contents.first)
        let path = try world.daemon.data + "/" + file()
        #expect(world.daemon.terminate() == 0)
        let marker = world.daemon.data + "/tmp/content-" + digest
        #expect(access(marker, F_OK) == 0 || link(path, marker) == 0)
        try world.daemon.start()
        try world.expectContents(1)
        #expect(try World.read(world.connect(), "1", "a") == "content")
    }

    @Test func `contents that come many at once over a damaged one leave one file and nothing else`() throws {
        try World.attach(client, "1", "a", "content")
        try damage()
        let clients = try (0..<8).map { _ in try world.connect() }
        for (number, client) in clients.enumerated() {
            client.send(
                Client.request(
                    "documents.attach",
                    World.params("2", "n\(number)", ",\"data\":\"\(World.base64(Array("content".utf8)))\"")))
        }
        for client in clients {
            let reply = try client.reply()
            #expect(reply["error"] == nil, "\(reply)")
        }
        try world.daemon.waitUntilFolded()
        try world.expectContents(1)
        try world.expectWholeContents()
    }

    @Test func `a start that goes on from a snapshot takes its contents in the place of damaged ones`() throws {
        try World.attach(client, "1", "a", "content")
        try client.result("storage.backup", "{\"name\":\"before\"}")
        #expect(world.daemon.terminate() == 0)
        try damage()
        TemporaryDaemon.write("no database", to: world.daemon.data + "/durable/kura.sqlite")
        for name in TemporaryDaemon.names(world.daemon.data + "/log") ?? [] where name.hasSuffix(".log") {
            unlink(world.daemon.data + "/log/" + name)
        }
        for _ in 0..<2 {
            #expect(try world.daemon.run(["--data-dir", world.daemon.data, "--socket", world.daemon.socket]) == 1)
        }
        try world.daemon.start()
        #expect(try World.read(world.connect(), "1", "a") == "content")
    }

    @Test(arguments: ["other bytes", "gone"])
    func `an export names damage as the reason, and tells of it as a read does`(how: String) throws {
        try World.attach(client, "1", "a", "content")
        try World.attach(client, "2", "b", String(repeating: "x", count: 100))
        let content = try #require(try client.result("documents.get", World.params("1"))["attachments"]?[0])
        let digest = try #require(content["digest"]?.text)
        let file = "durable/attachments/\(digest.prefix(2))/\(digest.dropFirst(2))"
        try damage(file, how)
        let (reader, writer) = try world.daemon.pipe()
        try client.send(
            Client.request("documents.export", "{\"collection\":\"cards\",\"fd\":true,\"attachments\":true}"),
            descriptors: [writer])
        close(writer)
        let text = TemporaryDaemon.everything(from: reader)
        close(reader)
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        let result = try #require(reply["result"], "\(reply)")
        #expect(result["exported"]?.int == 2 && text.contains("\"name\":\"b\"") && !text.contains("\"name\":\"a\""))
        #expect(result["attachmentsLeftOut"]?.int == 1 && result["attachmentsDamaged"]?.int == 1, "\(result)")
        #expect(result["warnings"]?.elements.count == 1 && result["warnings"]?[0]?.text?.contains("damaged") == true)
        try expectTold(file)
    }

    @Test func `a backup that has left a damaged content out tells of it as a read does`() throws {
        try World.attach(client, "1", "a", "content")
        let file = try file()
        try client.result("storage.backup", "{\"name\":\"whole\"}")
        try damage(file)
        for name in ["one", "two"] {
            let made = try client.result("storage.backup", "{\"name\":\"\(name)\"}")
            #expect(made["leftOut"]?[0]?["reason"]?.text == "damaged", "\(made)")
        }
        try expectTold(file)
        // What is said to help is the newest that has the content.
        let help = try world.connect().result("storage.status")["damage"]?[0]?["help"]?.text
        #expect(help?.contains("/whole.kurabackup") == true, "\(help ?? "")")
        // The whole name is known behind the daemon's end, and what has come again is no damage to a check.
        #expect(world.daemon.terminate() == 0)
        #expect(try world.daemon.run(["doctor", "--data-dir", world.daemon.data]) == 9)
        #expect(world.daemon.log.contains("\(file) was found damaged while"), "\(world.daemon.log)")
        try world.daemon.start()
        let again = try world.connect()
        try World.attach(again, "1", "a", "content")
        #expect(try again.result("storage.check")["problemCount"]?.int == 0)
    }

    @Test func `thinning leaves the newest snapshot that has left out nothing for damage`() throws {
        try World.attach(client, "1", "a", "content")
        func snapshot(_ name: String) throws { try client.result("storage.backup", "{\"name\":\"auto-\(name)\"}") }
        func kept() throws -> [String?] {
            try client.result("backups.prune", "{\"hourly\":0,\"daily\":0,\"weekly\":0}")
            return try client.result("backups.list")["backups"]?.elements.map { $0["name"]?.text } ?? []
        }
        for name in ["1", "2"] { try snapshot(name) }
        let file = try file()
        try damage(file)
        for name in ["3", "4"] { try snapshot(name) }
        #expect(try kept() == ["auto-4", "auto-2"])
        try World.attach(client, "2", "a", "content")
        try snapshot("5")
        #expect(try kept() == ["auto-5"])
    }
}
