import Glibc
import Testing

/// `documents.attach`, `attachment` and `detach` over a real socket.
@Suite struct AttachmentsScenarioTests {
    private typealias World = AttachmentWorld
    private let world: AttachmentWorld
    private let client: Client

    init() throws {
        world = try AttachmentWorld()
        client = try world.connect()
    }

    // MARK: Coming and going

    @Test func `a content comes as base64 and as a descriptor, and goes out as both`() throws {
        try World.put(client, "1")
        let rev = try World.attach(client, "1", "b.txt", "hello", ",\"contentType\":\"text/plain\"")["rev"]?.int
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 131 >> 3) }
        let file = try world.file(bytes)
        let attached = try client.result(
            "documents.attach", World.params("1", "a.bin", ",\"fd\":true"), descriptors: [file])
        close(file)
        #expect(attached["bytes"]?.int == 1_000_000)
        let document = try client.result("documents.get", World.params("1"))
        #expect(document["rev"] == attached["rev"] && document["rev"]?.int != rev)
        let list = try #require(document["attachments"]?.elements)
        #expect(list.map { $0["name"]?.text } == ["a.bin", "b.txt"])
        #expect(list[0]["digest"] == attached["digest"] && list[0]["bytes"]?.int == 1_000_000)
        #expect(list[1]["contentType"]?.text == "text/plain" && list[0]["contentType"] == nil)
        #expect(try World.read(client, "1", "b.txt") == "hello")
        // The descriptor comes with the reply's first byte.
        client.send(Client.request("documents.attachment", World.params("1", "a.bin", ",\"as\":\"fd\""), id: "9"))
        let (text, descriptor) = try client.receiveDescriptor()
        let passed = try #require(descriptor)
        let reply = try JSON(String(text.dropLast()))
        #expect(reply["id"]?.int == 9 && reply["result"]?["digest"] == attached["digest"])
        #expect(reply["result"]?["data"] == nil)
        var found = [UInt8](repeating: 0, count: 1_000_001)
        #expect(pread(passed, &found, found.count, 0) == 1_000_000)
        #expect(found.dropLast() == bytes[...])
        // It is for reading only.
        var byte: UInt8 = 0
        #expect(pwrite(passed, &byte, 1, 0) < 0)
        close(passed)
        try world.expectWholeContents()
        try world.expectContents(2)
        world.expectNoneHeld()
    }

    @Test func `attachments are there after a kill and after a clean stop`() throws {
        try World.put(client, "1", "{\"x\":1.0}")
        try World.attach(client, "1", "a", "first")
        try World.attach(client, "1", "b", "second")
        world.daemon.kill()
        try world.daemon.start()
        #expect(try World.read(world.connect(), "1", "a") == "first")
        try world.daemon.waitUntilFolded()
        #expect(world.daemon.terminate() == 0)
        try world.daemon.start()
        let client = try world.connect()
        #expect(try World.names(client, "1") == ["a", "b"])
        #expect(try World.read(client, "1", "b") == "second")
        #expect(try client.result("documents.get", World.params("1"))["value"] == JSON("{\"x\":1.0}"))
        try world.expectContents(2)
    }

    @Test func `equal contents lie there once, and go with their last use`() throws {
        for id in ["1", "2", "3"] {
            try World.put(client, id)
            try World.attach(client, id, "same", "equal")
        }
        try World.attach(client, "1", "again", "equal")
        try world.expectContents(1)
        for id in ["1", "2"] { try client.result("documents.detach", World.params(id, "same")) }
        try world.daemon.waitUntilFolded()
        #expect(try World.read(client, "1", "again") == "equal")
        // Another content takes the place of the first.
        try World.attach(client, "3", "same", "other")
        #expect(try client.result("documents.detach", World.params("1", "again"))["detached"]?.bool == true)
        try world.daemon.waitUntilFolded()
        try world.expectContents(1)
        #expect(try World.read(client, "3", "same") == "other")
        // What was removed can come again.
        try World.attach(client, "2", "same", "equal")
        try world.daemon.waitUntilFolded()
        try world.expectContents(2)
        #expect(try World.read(client, "2", "same") == "equal")
    }

    @Test func `an attachment that is there already is no change, and one that is not is none to take away`() throws {
        try World.put(client, "1")
        let rev = try World.attach(client, "1", "a", "x")["rev"]
        #expect(try World.attach(client, "1", "a", "x")["rev"] == rev)
        #expect(
            try client.result("documents.detach", World.params("1", "b"))
                == .object(["rev": rev!, "detached": .boolean(false)]))
        #expect(try World.attach(client, "1", "a", "x", ",\"contentType\":\"a/b\"")["rev"] != rev)
        #expect(try client.result("documents.detach", World.params("1", "a"))["detached"]?.bool == true)
        #expect(try client.result("documents.get", World.params("1"))["attachments"] == nil)
        #expect(try World.read(client, "1", "a") == nil)
    }

    // MARK: With their documents

    @Test(arguments: [false, true])
    func `attachments live and die with their document`(folds: Bool) throws {
        func settle() throws { if folds { try world.daemon.waitUntilFolded() } }
        try World.put(client, "1", "{\"n\":1}")
        try World.attach(client, "1", "a", "kept")
        // Writing the document anew, or in parts, leaves them.
        try World.put(client, "1", "{\"n\":2}")
        try client.result("documents.patch", World.params("1", nil, ",\"mergePatch\":{\"m\":1}"))
        try client.result("documents.increment", World.params("1", nil, ",\"path\":\"n\""))
        try settle()
        #expect(try World.names(client, "1") == ["a"])
        // A tombstone keeps them, and `restore` brings them back.
        try client.result("documents.delete", World.params("1"))
        #expect(try World.read(client, "1", "a") == nil)
        #expect(
            try client.refusal("documents.attach", World.params("1", "b", ",\"data\":\"\""))["kind"]?.text == "notFound"
        )
        try settle()
        try client.result("documents.restore", World.params("1"))
        #expect(try World.read(client, "1", "a") == "kept")
        try world.expectContents(1)
        // Put again over its tombstone it begins without, and what was is gone for good.
        try client.result("documents.deleteMany", "{\"collection\":\"cards\",\"ids\":[\"1\"]}")
        try settle()
        try World.put(client, "1", "{}")
        #expect(try World.names(client, "1") == [])
        try client.result("documents.delete", World.params("1"))
        try client.result("documents.restore", World.params("1"))
        #expect(try World.names(client, "1") == [])
        try world.daemon.waitUntilFolded()
        try world.expectContents(0)
    }

    @Test(arguments: [false, true])
    func `what is dropped or purged lets its contents go, and a new collection begins without`(_ isDrop: Bool) throws {
        for id in ["1", "2"] {
            try World.put(client, id)
            try World.attach(client, id, "a", "content \(id)")
        }
        try world.daemon.waitUntilFolded()
        try world.expectContents(2)
        try client.result("documents.delete", World.params("1"))
        try world.daemon.waitUntilFolded()
        if isDrop {
            try client.result("documents.drop", "{\"collection\":\"cards\"}")
        } else {
            #expect(try client.result("documents.purge", "{\"collection\":\"cards\"}")["purged"]?.int == 1)
        }
        try World.put(client, "1")
        #expect(try World.names(client, "1") == [])
        // What was counted meanwhile is told with the next fold.
        let deadline = now() + 60
        while world.contents.count != (isDrop ? 0 : 1), now() < deadline {
            try World.put(client, "1")
            try world.daemon.waitUntilFolded()
        }
        try world.expectContents(isDrop ? 0 : 1)
        #expect(try World.read(client, "2", "a") == (isDrop ? nil : "content 2"))
        world.daemon.kill()
        try world.daemon.start()
        #expect(try World.names(world.connect(), "2") == (isDrop ? [] : ["a"]))
    }

    @Test func `a list that was emptied before a kill does not come back`() throws {
        try World.put(client, "1")
        try World.attach(client, "1", "a", "x")
        try world.daemon.waitUntilFolded()
        try client.result("documents.detach", World.params("1", "a"))
        world.daemon.kill()
        try world.daemon.start()
        let client = try world.connect()
        #expect(try World.names(client, "1") == [])
        try world.daemon.waitUntilFolded()
        try world.expectContents(0)
        // Nor with its document: there is no list of none.
        try client.result("documents.delete", World.params("1"))
        try client.result("documents.restore", World.params("1"))
        #expect(try client.result("documents.get", World.params("1"))["attachments"] == nil)
    }

    @Test func `a document and its attachments come in one transaction, or neither does`() throws {
        func operation(_ method: String, _ params: String) -> String {
            "{\"method\":\"documents.\(method)\",\"params\":\(params)}"
        }
        func attach(_ id: String, _ name: String, _ data: String) -> String {
            operation("attach", World.params(id, name, ",\"data\":\"\(data)\""))
        }
        let good = [
            operation("put", World.params("1", nil, ",\"value\":{}")), attach("1", "a", "YQ=="),
            attach("1", "b", "YmI="),
        ]
        let file = try world.file([1, 2, 3])
        let third = operation("attach", World.params("1", "c", ",\"fd\":true"))
        let params = "{\"operations\":[\((good + [third]).joined(separator: ","))],\"requestKey\":\"once\"}"
        let result = try client.result("transaction.apply", params, descriptors: [file])
        close(file)
        let rev = try #require(result["rev"]?.int)
        #expect(result["results"]?.elements.allSatisfy { $0["rev"]?.int == rev } == true)
        #expect(try World.names(client, "1") == ["a", "b", "c"])
        #expect(try client.result("documents.get", World.params("1"))["version"]?.int == 1)
        // A retry finds what was answered, and needs no descriptor.
        #expect(try client.result("transaction.apply", params) == result)
        let failing = [
            operation("put", World.params("2", nil, ",\"value\":{}")), attach("2", "x", "eHh4eA=="),
            operation("put", World.params("1", nil, ",\"value\":1,\"ifRev\":0")),
        ]
        let refused = try client.refusal("transaction.apply", "{\"operations\":[\(failing.joined(separator: ","))]}")
        #expect(refused["kind"]?.text == "conflict" && refused["operation"]?.int == 2)
        #expect(try client.result("documents.get", World.params("2"))["rev"]?.int == 0)
        world.daemon.kill()
        try world.daemon.start()
        let again = try world.connect()
        #expect(try World.names(again, "1") == ["a", "b", "c"])
        try world.daemon.waitUntilFolded()
        try world.expectContents(3)
        try world.expectWholeContents()
    }

    @Test func `requests in a batch, and of a client that waives the order, keep their contents apart`() throws {
        for id in 0..<8 { try World.put(client, "\(id)") }
        let batch = (0..<8).map { id in
            String(
                Client.request(
                    "documents.attach",
                    World.params("\(id)", "n", ",\"data\":\"\(World.base64(Array("batch \(id)".utf8)))\""), id: "\(id)"
                ).dropLast())
        }
        client.send("[" + batch.joined(separator: ",") + "]\n")
        let line = try #require(try client.line())
        #expect(try JSON(line).elements.compactMap { $0["result"]?["rev"]?.int }.count == 8)
        for id in 0..<8 { #expect(try World.read(client, "\(id)", "n") == "batch \(id)") }
        let free = try world.connect()
        try free.result("session.hello", "{\"enable\":[\"outOfOrder\"]}")
        let files = try (0..<8).map { try world.file(Array("file \($0)".utf8)) }
        for (id, file) in files.enumerated() {
            try free.send(
                Client.request("documents.attach", World.params("\(id)", "m", ",\"fd\":true"), id: "\(id)")
                    + Client.request(
                        "documents.attach",
                        World.params("\(id)", "k", ",\"data\":\"\(World.base64(Array("text \(id)".utf8)))\""),
                        id: "\(id + 100)")
                    + Client.request("documents.get", World.params("\(id)"), id: "\(id + 200)"), descriptors: [file])
            close(file)
        }
        for _ in 0..<24 { #expect(try free.reply()["result"] != nil) }
        for id in 0..<8 {
            #expect(try World.read(client, "\(id)", "m") == "file \(id)")
            #expect(try World.read(client, "\(id)", "k") == "text \(id)")
        }
        world.expectNoneHeld()
    }

    // MARK: Bad input

    @Test func `descriptors of anything but a regular file are refused and closed`() throws {
        try World.put(client, "1")
        let path = world.daemon.root + "/pipe-x"
        try #require(mkfifo(path, 0o600) == 0)
        let fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        let directory = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let device = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        let writeOnly = try world.file([1], flags: O_WRONLY)
        let pathOnly = try world.file([1], flags: 0o10000000)
        for (descriptor, hint) in [
            (fifo, "the descriptor is of no regular file"), (directory, "the descriptor is of no regular file"),
            (device, "the descriptor is of no regular file"), (writeOnly, "the descriptor could not be read"),
            (pathOnly, "the descriptor could not be read"),
        ] {
            let reply = try client.call(
                "documents.attach", World.params("1", "a", ",\"fd\":true"), descriptors: [descriptor])
            #expect(reply["error"]?["data"]?["kind"]?.text == "transferFailed", "\(reply)")
            #expect(reply["error"]?["data"]?["hint"]?.text == hint)
            close(descriptor)
        }
        // Two for one: the next is taken, the other closed when the line is done.
        let (first, second) = (try world.file(Array("first".utf8)), try world.file(Array("second".utf8)))
        _ = try client.result("documents.attach", World.params("1", "a", ",\"fd\":true"), descriptors: [first, second])
        close(first)
        close(second)
        #expect(try World.read(client, "1", "a") == "first")
        #expect(
            try client.refusal("documents.attach", World.params("1", "a", ",\"fd\":true"))["kind"]?.text
                == "descriptorMissing")
        // One that is refused before it is looked at takes its descriptor with it.
        let (third, fourth) = (try world.file(Array("third".utf8)), try world.file(Array("fourth".utf8)))
        try client.send(
            Client.request("documents.attach", World.params("none", "a", ",\"fd\":true"), id: "1")
                + Client.request("documents.attach", World.params("1", "a", ",\"fd\":true"), id: "2"),
            descriptors: [third, fourth])
        close(third)
        close(fourth)
        #expect(try client.reply()["error"]?["data"]?["kind"]?.text == "notFound")
        #expect(try client.reply()["result"] != nil)
        #expect(try World.read(client, "1", "a") == "fourth")
        world.expectNoneHeld()
        try world.daemon.waitUntilFolded()
        try world.expectContents(1)
    }

    @Test func `parameters are held to their limits`() throws {
        try World.put(client, "1")
        func kind(_ more: String, name: String = "a") throws -> String? {
            try client.refusal("documents.attach", World.params("1", name, more))["kind"]?.text
        }
        #expect(try kind("") == "invalidParams")
        #expect(try kind(",\"fd\":false") == "invalidParams")
        #expect(try kind(",\"fd\":true,\"data\":\"\"") == "invalidParams")
        for bad in ["Zg", "Zg=", "Z m9", "Zh==", "Zm-_"] {
            #expect(try kind(",\"data\":\"\(bad)\"") == "invalidParams")
        }
        #expect(try kind(",\"data\":\"\"", name: String(repeating: "n", count: 256)) == "invalidParams")
        #expect(try kind(",\"data\":\"\"", name: "a\\u0000") == "invalidParams")
        #expect(try kind(",\"data\":\"\",\"ifRev\":77") == "conflict")
        #expect(
            try kind(",\"data\":\"" + World.base64([UInt8](repeating: 7, count: (8 << 20) + 3)) + "\"")
                == "invalidParams")
        // A file of holes: refused by its size, before anything is copied.
        let huge = try world.file([], flags: O_RDWR)
        ftruncate(huge, (512 << 20) + 1)
        let reply = try client.call("documents.attach", World.params("1", "a", ",\"fd\":true"), descriptors: [huge])
        close(huge)
        #expect(reply["error"]?["data"]?["kind"]?.text == "valueTooLarge")
        #expect(reply["error"]?["data"]?["limit"]?.int == 512 << 20)
        // Nothing is a content too.
        try World.attach(client, "1", "empty", "")
        #expect(try World.read(client, "1", "empty") == "")
        for number in 1..<256 { try World.attach(client, "1", "n\(number)", "x") }
        let full = try client.refusal("documents.attach", World.params("1", "more", ",\"data\":\"\""))
        #expect(full["kind"]?.text == "quotaExceeded" && full["limit"]?.int == 256)
        try world.daemon.waitUntilFolded()
        try world.expectContents(2)
    }

    @Test func `attachments are counted among their collection's sizes and in the write bill`() throws {
        let client = try world.connect()
        try AttachmentWorld.put(client, "1")
        try AttachmentWorld.put(client, "2")
        func scope(_ client: Client) throws -> JSON? {
            try client.result("documents.scopes")["scopes"]?.elements.first { $0["collection"]?.text == "cards" }
        }
        #expect(try scope(client)?["attachmentBytes"] == nil)
        func written() throws -> (bytes: Int, syncs: Int) {
            let disk = try client.result("storage.status")["disk"]?["durable"]
            return (try #require(disk?["bytesWritten"]?.int), try #require(disk?["syncs"]?.int))
        }
        let before = try written()
        let text = String(repeating: "a", count: 300_000)
        try AttachmentWorld.attach(client, "1", "x", text)
        let after = try written()
        #expect(after.bytes - before.bytes >= 300_000 && after.syncs - before.syncs >= 2)
        #expect(try scope(client)?["attachmentBytes"]?.int == 300_000)
        // Equal contents count for each, as in quotas.
        try AttachmentWorld.attach(client, "2", "y", text)
        #expect(try scope(client)?["attachmentBytes"]?.int == 600_000)
        world.daemon.kill()
        try world.daemon.start()
        let again = try world.connect()
        #expect(try scope(again)?["attachmentBytes"]?.int == 600_000)
        try again.result("documents.delete", AttachmentWorld.params("1"))
        #expect(try scope(again)?["attachmentBytes"]?.int == 300_000)
        try again.result("documents.detach", AttachmentWorld.params("2", "y"))
        #expect(try scope(again)?["attachmentBytes"] == nil)
        #expect(try scope(again)?["count"]?.int == 1)
    }

    @Test func `what is too large for a reply is had by its descriptor`() throws {
        try World.put(client, "1")
        let file = try world.file([UInt8](repeating: 65, count: (8 << 20) + 1))
        try client.result("documents.attach", World.params("1", "a", ",\"fd\":true"), descriptors: [file])
        close(file)
        let refused = try client.refusal("documents.attachment", World.params("1", "a"))
        #expect(refused["kind"]?.text == "valueTooLarge" && refused["limit"]?.int == 8 << 20)
        client.send(Client.request("documents.attachment", World.params("1", "a", ",\"as\":\"fd\"")))
        let passed = try #require(try client.receiveDescriptor().descriptor)
        #expect(lseek(passed, 0, SEEK_END) == (8 << 20) + 1)
        close(passed)
    }

    // MARK: Who may

    @Test func `grants and quotas count attachments`() throws {
        let daemon = try RoleDaemon([
            "reader": RoleDaemon.role(RoleDaemon.grant("documents", "cards", "read")),
            "writer": RoleDaemon.role(
                RoleDaemon.grant("documents", "cards", "read", "write"),
                quotas: "{\"bytes\":1000,\"items\":2,\"scopes\":1}"),
        ])
        let writer = try daemon.connect("writer")
        let reader = try daemon.connect("reader")
        try World.put(writer, "1")
        try World.put(writer, "2")
        try World.attach(writer, "1", "a", String(repeating: "x", count: 900))
        #expect(try World.read(reader, "1", "a")?.count == 900)
        for method in ["attach", "detach"] {
            let more = method == "attach" ? ",\"data\":\"\"" : ""
            #expect(
                try reader.refusal("documents." + method, World.params("1", "a", more))["kind"]?.text == "forbidden")
        }
        // Equal contents count each time.
        let full = try writer.refusal(
            "documents.attach",
            World.params("2", "a", ",\"data\":\"\(World.base64([UInt8](repeating: 120, count: 900)))\""))
        #expect(full["kind"]?.text == "quotaExceeded" && full["limit"]?.int == 1000)
        let used = try daemon.connect("admin").result("storage.status")["quotas"]?["writer"]
        #expect(used?["bytes"]?.int == 904 && used?["items"]?.int == 2 && used?["scopes"]?.int == 1)
        try writer.result("documents.detach", World.params("1", "a"))
        try World.attach(writer, "2", "a", String(repeating: "x", count: 900))
        // Deleting a document gives its attachments' bytes back.
        try writer.result("documents.delete", World.params("2"))
        #expect(try daemon.connect("admin").result("storage.status")["quotas"]?["writer"]?["bytes"]?.int == 2)
        // A start counts the same.
        try World.attach(writer, "1", "b", String(repeating: "y", count: 500))
        daemon.daemon.kill()
        try daemon.daemon.start(configuration: daemon.configuration(daemon.roles))
        let again = try daemon.connect("admin").result("storage.status")["quotas"]?["writer"]
        #expect(again?["bytes"]?.int == 502 && again?["items"]?.int == 1)
    }
}
