import Glibc
import Testing

/// What is left of attachments when the daemon dies, or the disk is full, at each step.
@Suite struct AttachmentDurabilityTests {
    private typealias World = AttachmentWorld

    /// Each point on the way of a content, in and out, and of the changes that refer to it.
    @Test(arguments: [
        "attachment.write:kill:2", "attachment.copied:kill:2", "attachment.link:kill:2", "attachment.linked:kill:2",
        "log.append:kill:3", "log.commit:kill:3", "log.sync:kill:3", "fold.slice:kill:1", "fold.commit:kill:1",
        "attachment.remove:kill:1", "attachment.remove:kill:2",
    ])
    func `after a kill, what was acknowledged is whole, and nothing else is left`(_ fault: String) throws {
        let world = try AttachmentWorld(faults: fault)
        let client = try world.connect()
        var acknowledged: [String: String] = [:]
        var isAlive = true
        // Goes on until the fault has struck.
        let deadline = now() + 60
        var round = 0
        while isAlive, now() < deadline {
            round += 1
            let id = "\(round % 3)"
            do {
                try World.put(client, id)
                try World.attach(client, id, "a", "content \(round)")
                acknowledged[id] = "content \(round)"
                if round % 2 == 0 {
                    acknowledged[id] = nil
                    try client.result("documents.detach", World.params(id, "a"))
                }
                if round > 4 { try? world.daemon.waitUntilFolded() }
            } catch { isAlive = false }
        }
        #expect(world.daemon.wait() == 137, "\(fault) did not strike")
        try world.daemon.start()
        let again = try world.connect()
        var digests: Set<String> = []
        for id in ["0", "1", "2"] {
            let document = try again.result("documents.get", World.params(id))
            for attachment in document["attachments"]?.elements ?? [] {
                digests.insert(try #require(attachment["digest"]?.text))
                // What was under way may have come so far, whole.
                #expect(try World.read(again, id, "a")?.hasPrefix("content ") == true)
            }
        }
        for (id, text) in acknowledged where id != "\(round % 3)" { #expect(try World.read(again, id, "a") == text) }
        try world.daemon.waitUntilFolded()
        try world.expectContents(digests.count)
        #expect(Set(world.contents) == digests)
        try world.expectWholeContents()
    }

    @Test(arguments: [
        "attachment.write:full:1", "attachment.write:fail:1", "attachment.link:full:1", "log.append:full:2",
    ])
    func `a content that does not fit on the disk leaves nothing behind`(_ fault: String) throws {
        let world = try AttachmentWorld(faults: fault)
        let client = try world.connect()
        try World.put(client, "1")
        let refused = try client.refusal("documents.attach", World.params("1", "a", ",\"data\":\"YQ==\""))
        #expect(refused["kind"]?.text == (fault.contains("fail") ? "internalError" : "noSpace"))
        #expect(try World.names(client, "1") == [])
        try world.expectContents(0)
        // The daemon goes on, and there is room again.
        let deadline = now() + 60
        while try client.call("documents.attach", World.params("1", "a", ",\"data\":\"YQ==\""))["result"] == nil {
            try #require(now() < deadline)
            usleep(20_000)
        }
        #expect(try World.read(client, "1", "a") == "a")
        try world.daemon.waitUntilFolded()
        try world.expectContents(1)
    }

    @Test func `without descriptors it is said so, and nothing is taken for damaged`() throws {
        let world = try AttachmentWorld()
        let client = try world.connect()
        try World.put(client, "1")
        try World.attach(client, "1", "a", "content")
        try client.result("blobs.put", "{\"namespace\":\"n\",\"key\":\"k\",\"data\":\"YQ==\"}")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        let large = World.base64([UInt8](repeating: 7, count: 90_000))
        let requests = [
            ("documents.attach", World.params("1", "b", ",\"data\":\"YQ==\"")),
            ("documents.attachment", World.params("1", "a")),
            ("documents.attachment", World.params("1", "a", ",\"as\":\"fd\"")),
            ("blobs.put", "{\"namespace\":\"n\",\"key\":\"large\",\"data\":\"\(large)\"}"),
            ("secrets.rotate", "{\"rootKey\":true}"),
        ]
        world.daemon.limitDescriptors(to: 3)
        let found = try requests.map { try client.call($0, $1)["error"]?["data"]?["kind"]?.text }
        #expect(found == [String?](repeating: "overloaded", count: 5), "\(found)")
        world.daemon.limitDescriptors(to: 1000)
        #expect(try World.read(client, "1", "a") == "content")
        try client.result(requests[0].0, requests[0].1)
        #expect(try World.names(client, "1") == ["a", "b"])
        try world.daemon.waitUntilFolded()
        try world.expectContents(2)
    }

    @Test func `a content's directory has its name on the disk before anybody is told, whoever made it`() throws {
        let world = try AttachmentWorld()
        var client = try world.connect()
        try World.put(client, "1")
        /// Syncs of contents and their directories that bringing one in takes.
        func syncs() throws -> Int {
            func count() throws -> Int {
                let files = try client.result("storage.diskWrites", "{\"window\":\"hour\"}")["files"]?.elements ?? []
                return files.first { $0["group"]?.text == "tables" && $0["kind"]?.text == "content" }?["syncs"]?.int
                    ?? 0
            }
            let before = try count()
            try World.attach(client, "1", "a", "content")
            let after = try count()
            try client.result("documents.detach", World.params("1", "a"))
            try world.daemon.waitUntilFolded()
            try world.expectContents(0)
            return after - before
        }
        // The content, the directory with all of them, its own.
        #expect(try syncs() == 3)
        #expect(try syncs() == 2, "its name is known to be there")
        // Whether the run before came to it is not known.
        world.daemon.kill()
        try world.daemon.start()
        client = try world.connect()
        #expect(try syncs() == 3)
    }

    @Test func `a turn that is taken back keeps descriptors and contents where they belong`() throws {
        // The change of the second request is refused by the disk, with the third behind it in the same turn.
        let world = try AttachmentWorld(faults: "log.append:full:2")
        let client = try world.connect()
        try World.put(client, "1")
        let files = try (1...3).map { try world.file(Array("file \($0)".utf8)) }
        let text = (1...3).map {
            Client.request("documents.attach", World.params("1", "n\($0)", ",\"fd\":true"), id: "\($0)")
        }.joined()
        try client.send(text, descriptors: files)
        files.forEach { close($0) }
        for number in 1...3 {
            let reply = try client.reply()
            #expect(reply["id"]?.int == number)
            if reply["error"] != nil { #expect(reply["error"]?["data"]?["kind"]?.text == "noSpace") }
            if reply["result"] != nil { #expect(try World.names(world.connect(), "1").contains("n\(number)")) }
        }
        for name in try World.names(client, "1") {
            #expect(try World.read(client, "1", name) == "file \(name.dropFirst())")
        }
        world.expectNoneHeld()
    }

    @Test func `a file that shrinks or grows while it is read is refused`() throws {
        for grows in [false, true] { try expectRefused(grows) }
    }

    /// A daemon where the first piece of a content that is brought waits to be written.
    private func pausing() throws -> AttachmentWorld {
        let world = try AttachmentWorld()
        #expect(world.daemon.terminate() == 0)
        try world.daemon.start(faults: world.daemon.pause(at: "attachment.write"))
        return world
    }

    private func expectRefused(_ grows: Bool) throws {
        let world = try pausing()
        let client = try world.connect()
        try World.put(client, "1")
        let file = try world.file([UInt8](repeating: 1, count: 600 << 10), flags: O_RDWR)
        try client.send(
            Client.request("documents.attach", World.params("1", "a", ",\"fd\":true")), descriptors: [file])
        try world.daemon.waitUntilPaused(at: "attachment.write")
        ftruncate(file, grows ? 700 << 10 : 100 << 10)
        try world.daemon.goOn(at: "attachment.write")
        let data = try client.reply()["error"]?["data"]
        #expect(data?["kind"]?.text == "transferFailed")
        #expect(data?["hint"]?.text == "the file changed its size while it was read")
        close(file)
        try world.expectContents(0)
    }

    @Test func `while a content is copied, others are served, and its own connection waits`() throws {
        let world = try pausing()
        let client = try world.connect()
        let other = try world.connect()
        try World.put(client, "1")
        client.send(
            Client.request("documents.attach", World.params("1", "a", ",\"data\":\"YQ==\""), id: "1")
                + Client.request("documents.get", World.params("1"), id: "2"))
        try world.daemon.waitUntilPaused(at: "attachment.write")
        for _ in 0..<5 { try other.result("storage.ping") }
        #expect(!client.hasInput)
        try world.daemon.goOn(at: "attachment.write")
        #expect(try client.reply()["id"]?.int == 1)
        #expect(try client.reply()["result"]?["attachments"]?.elements.count == 1)
    }

    @Test func `what a client asked for is done, though it has gone while its content was copied`() throws {
        let world = try pausing()
        var client: Client? = try world.connect()
        try World.put(client!, "1")
        client!.send(Client.request("documents.attach", World.params("1", "a", ",\"data\":\"YQ==\"")))
        try world.daemon.waitUntilPaused(at: "attachment.write")
        client = nil
        let other = try world.connect()
        try other.result("storage.ping")
        try world.daemon.goOn(at: "attachment.write")
        try waitFor("the attachment") { try !World.names(other, "1").isEmpty }
        #expect(try World.read(other, "1", "a") == "a")
        try world.daemon.waitUntilFolded()
        try world.expectContents(1)
    }
}
