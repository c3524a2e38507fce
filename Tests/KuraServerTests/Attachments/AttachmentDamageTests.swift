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

    /// Changes a byte of the only content, or takes the content away.
    private func damage(_ how: String = "other bytes") throws {
        let path = world.daemon.data + "/" + (try file())
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
        for client in clients { #expect(try client.reply()["error"] == nil) }
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
}
