import Glibc
import Testing

/// Blobs over a real socket: what goes in comes out, in every form and of every size.
@Suite struct BlobsScenarioTests {
    private typealias World = BlobWorld
    private let world: BlobWorld
    private let client: Client

    init() throws {
        world = try BlobWorld(movesTime: true)
        client = try world.connect()
    }

    @Test(arguments: [0, 1, 2, 3, 1000, 16_384, 16_385, 200_000])
    func `what is put comes back, whatever its size`(_ size: Int) throws {
        let bytes = World.bytes(size)
        let stored = try World.put(client, "a", bytes, ",\"contentType\":\"image/png\"")
        #expect(stored["stored"]?.bool == true && stored["bytes"]?.int == size)
        #expect(try World.read(client, "a") == bytes)
        let stat = try client.result("blobs.stat", World.params("a"))
        #expect(stat["digest"] == stored["digest"] && stat["contentType"]?.text == "image/png")
        let (reply, descriptor) = try World.open(client, "a")
        let passed = try #require(descriptor)
        #expect(reply["bytes"]?.int == size && reply["data"] == nil)
        #expect(World.contents(of: passed) == bytes)
        close(passed)
        world.expectFiles(size > 16_384 ? 1 : 0)
        if size > 16_384 {
            let digest = try #require(stored["digest"]?.text)
            #expect(try AttachmentWorld.b2sum(world.path(digest)) == digest)
        }
    }

    @Test(arguments: [1000, 300_000])
    func `a blob that was read from a descriptor is the same as one that came in the line`(_ size: Int) throws {
        let bytes = World.bytes(size)
        let file = try world.file(bytes)
        let passed = try client.result("blobs.put", World.params("a", ",\"fd\":true"), descriptors: [file])
        close(file)
        let inline = try World.put(client, "b", bytes)
        #expect(passed["digest"] == inline["digest"] && passed["bytes"]?.int == size)
        #expect(try World.read(client, "a") == bytes)
        world.expectFiles(size > 16_384 ? 1 : 0)
    }

    @Test func `a memory file is taken as any other`() throws {
        let bytes = World.bytes(300_000)
        let name = "/kura-tests-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        let file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
        shm_unlink(name)
        var done = 0
        while done < bytes.count {
            done += max(0, bytes[done...].withUnsafeBytes { write(file, $0.baseAddress, $0.count) })
        }
        try client.result("blobs.put", World.params("a", ",\"fd\":true"), descriptors: [file])
        close(file)
        #expect(try World.read(client, "a") == bytes)
    }

    @Test func `equal contents are stored once, and go with the last blob that has them`() throws {
        let bytes = World.bytes(100_000)
        for key in ["a", "b", "c"] { try World.put(client, key, bytes) }
        try World.put(client, "a", bytes, namespace: "others")
        world.expectFiles(1)
        for key in ["a", "b", "c"] {
            #expect(try client.result("blobs.delete", World.params(key))["deleted"]?.bool == true)
        }
        #expect(try World.read(client, "a", namespace: "others") == bytes)
        world.expectFiles(1)
        try client.result("blobs.delete", World.params("a", namespace: "others"))
        world.expectFiles(0)
        #expect(try client.result("blobs.delete", World.params("a"))["deleted"]?.bool == false)
    }

    @Test(arguments: [true, false])
    func `a content that is put again over a damaged one is whole afterwards, under all its names`(isDown: Bool) throws
    {
        let bytes = World.bytes(100_000)
        let digest = try #require(try World.put(client, "a", bytes)["digest"]?.text)
        // Its file is kept open from here on.
        if let descriptor = try World.open(client, "a").1 { close(descriptor) }
        if isDown { #expect(world.daemon.terminate() == 0) }
        chmod(world.path(digest), 0o600)
        try TemporaryDaemon.overwrite(world.path(digest), at: 7, [~bytes[7]])
        if isDown { try world.daemon.start() }
        let again = try world.connect()
        try World.put(again, "b", bytes)
        for key in ["a", "b"] {
            #expect(try World.read(again, key) == bytes)
            let descriptor = try #require(try World.open(again, key).1)
            #expect(World.contents(of: descriptor) == bytes)
            close(descriptor)
        }
        world.expectFiles(1)
    }

    @Test func `a blob in the place of another lets the other's content go`() throws {
        let (first, second) = (World.bytes(50_000, seed: 1), World.bytes(60_000, seed: 2))
        try World.put(client, "a", first)
        try World.put(client, "a", second)
        #expect(try World.read(client, "a") == second)
        world.expectFiles(1)
        try World.put(client, "a", [1, 2, 3])
        #expect(try World.read(client, "a") == [1, 2, 3])
        world.expectFiles(0)
    }

    @Test func `nothing is stored over what is there when it is to be absent`() throws {
        try World.put(client, "a", [1])
        for bytes in [[UInt8(2)], World.bytes(40_000)] {
            let declined = try World.put(client, "a", bytes, ",\"ifAbsent\":true")
            #expect(declined["stored"]?.bool == false && declined["reason"]?.text == "present")
        }
        #expect(try World.read(client, "a") == [1])
        #expect(try World.put(client, "b", [2], ",\"ifAbsent\":true")["stored"]?.bool == true)
        world.expectFiles(0)
    }

    @Test(arguments: [10_000, 100_000])
    func `a part of a blob is had by its range`(_ size: Int) throws {
        let bytes = World.bytes(size)
        try World.put(client, "a", bytes)
        func part(_ range: String) throws -> [UInt8]? { try World.read(client, "a", ",\"range\":{\(range)}") }
        #expect(try part("\"offset\":5,\"length\":7") == Array(bytes[5..<12]))
        #expect(try part("\"offset\":\(size - 3)") == Array(bytes[(size - 3)...]))
        #expect(try part("\"length\":2") == Array(bytes[..<2]))
        #expect(try part("\"offset\":\(size)") == [])
        #expect(try part("") == bytes)
        for bad in ["\"offset\":\(size + 1)", "\"offset\":1,\"length\":\(size)", "\"length\":\(size + 1)"] {
            let refused = try client.refusal("blobs.get", World.params("a", ",\"range\":{\(bad)}"))
            #expect(refused["kind"]?.text == "rangeNotSatisfiable" && refused["limit"]?.int == size)
        }
        for bad in ["\"offset\":-1", "\"offset\":\"1\"", "\"from\":1", "\"length\":1.5"] {
            let refused = try client.refusal("blobs.get", World.params("a", ",\"range\":{\(bad)}"))
            #expect(refused["kind"]?.text == "invalidParams")
        }
        let (_, descriptor) = try World.open(client, "a", ",\"range\":{\"offset\":9}")
        let passed = try #require(descriptor)
        #expect(lseek(passed, 0, SEEK_CUR) == 9)
        close(passed)
    }

    @Test func `a digest that does not fit is an error, and nothing is stored`() throws {
        let bytes = World.bytes(100_000)
        let digest = try #require(try World.put(client, "a", bytes)["digest"]?.text)
        try World.put(client, "b", bytes, ",\"digest\":\"\(digest)\"")
        for wrong in [World.bytes(100_000, seed: 9), [1, 2, 3]] {
            let refused = try client.refusal(
                "blobs.put", World.params("c", World.data(wrong) + ",\"digest\":\"\(digest)\""))
            #expect(refused["kind"]?.text == "digestMismatch")
        }
        #expect(try World.read(client, "c") == nil)
        world.expectFiles(1)
        for bad in [String(digest.dropLast()), digest.uppercased(), "g" + digest.dropFirst()] {
            let refused = try client.refusal("blobs.put", World.params("c", World.data([1]) + ",\"digest\":\"\(bad)\""))
            #expect(refused["kind"]?.text == "invalidParams")
        }
    }

    @Test func `what is expired is gone, and a touch gives it more time`() throws {
        try World.put(client, "short", World.bytes(30_000), ",\"ttlSeconds\":100")
        try World.put(client, "touched", [1], ",\"ttlSeconds\":200")
        let touched = try client.result("blobs.touch", World.params("touched", ",\"ttlSeconds\":600"))
        #expect(touched["found"]?.bool == true)
        #expect(try client.result("blobs.touch", World.params("none"))["found"]?.bool == false)
        try world.daemon.advance(seconds: 201)
        #expect(try World.read(client, "short") == nil)
        #expect(try World.read(client, "touched") == [1])
        #expect(try client.result("blobs.list", "{\"namespace\":\"images\"}")["blobs"]?.elements.count == 1)
        // One of the same content that is put anew lives again.
        try World.put(client, "short", World.bytes(30_000))
        #expect(try World.read(client, "short")?.count == 30_000)
    }

    @Test func `several are looked at at once, and contents that are missing are told`() throws {
        let digest = try #require(try World.put(client, "a", [1])["digest"]?.text)
        try World.put(client, "a", [2], namespace: "others")
        let other = try #require(try World.put(client, "b", [3], namespace: "others")["digest"]?.text)
        let many = try client.result("blobs.statMany", "{\"namespace\":\"images\",\"keys\":[\"a\",\"x\",\"y\"]}")
        #expect(many["blobs"]?.elements.map { $0["key"]?.text } == ["a"])
        #expect(many["missing"]?.elements.map(\.text) == ["x", "y"])
        let missing = try client.result(
            "blobs.findMissing", "{\"namespace\":\"images\",\"digests\":[\"\(digest)\",\"\(other)\"]}")
        #expect(missing["missing"]?.elements.map(\.text) == [other])
        #expect(
            try client.refusal("blobs.findMissing", "{\"namespace\":\"images\",\"digests\":[\"x\"]}")["kind"]?.text
                == "invalidParams")
    }

    @Test func `a namespace is listed in pages, in the order of keys, and by prefix`() throws {
        let keys = (0..<25).map { "k\($0 < 10 ? "0" : "")\($0)" }
        for key in keys.shuffled() { try World.put(client, key, Array(key.utf8)) }
        try World.put(client, "k03", [9], ",\"variant\":\"small\"")
        try World.put(client, "other", [1])
        var found: [String] = []
        var cursor = ""
        repeat {
            let page = try client.result(
                "blobs.list", "{\"namespace\":\"images\",\"prefix\":\"k\",\"limit\":4\(cursor)}")
            for blob in page["blobs"]?.elements ?? [] {
                found.append((blob["key"]?.text ?? "") + (blob["variant"]?.text.map { "/" + $0 } ?? ""))
            }
            cursor = page["cursor"]?.text.map { ",\"cursor\":\"\($0)\"" } ?? ""
        } while !cursor.isEmpty
        #expect(found == (keys + ["k03/small"]).sorted())
        #expect(try client.result("blobs.list", "{\"namespace\":\"none\"}")["blobs"]?.elements.isEmpty == true)
        let scopes = try client.result("blobs.scopes")["scopes"]?.elements ?? []
        #expect(scopes.count == 1 && scopes[0]["count"]?.int == 27)
    }

    @Test func `keys are held to their limits, and base64 to its rules`() throws {
        for (params, kind) in [
            (World.params(String(repeating: "k", count: 10_000), World.data([1])), "invalidParams"),
            (World.params("", World.data([1])), "invalidParams"),
            (World.params("a\\u0000b", World.data([1])), "invalidParams"),
            (World.params("a"), "invalidParams"), (World.params("a", ",\"fd\":true"), "descriptorMissing"),
            (World.params("a", ",\"path\":\"/etc/hostname\""), "pathDenied"),
            (World.params("a", World.data([1]) + ",\"fd\":true"), "invalidParams"),
            (World.params("a", ",\"data\":\"Zg\""), "invalidParams"),
            (World.params("a", ",\"data\":\"Zh==\""), "invalidParams"),
            (World.params("a", ",\"data\":\"" + String(repeating: "A", count: 40_001) + "\""), "invalidParams"),
            (World.params("a", ",\"data\":\"" + String(repeating: "A", count: 39_996) + "A===\""), "invalidParams"),
            (World.params("a", World.data([1]) + ",\"ttlSeconds\":0"), "invalidParams"),
        ] {
            #expect(try client.refusal("blobs.put", params)["kind"]?.text == kind, "\(params.prefix(80))")
        }
        #expect(try World.read(client, "a") == nil)
        world.expectFiles(0)
    }
}
