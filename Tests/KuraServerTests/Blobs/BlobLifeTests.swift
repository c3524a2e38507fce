import Glibc
import KuraBytes
import KuraProtocol
import SQLite
import Testing

/// How blobs live and go: over starts and kills, with their parents, for want of room, and when their files are damaged.
@Suite struct BlobLifeTests {
    private typealias World = BlobWorld

    // MARK: Starting

    @Test(arguments: [false, true])
    func `blobs are there after a stop, and after a kill when they were written`(_ isKill: Bool) throws {
        let world = try BlobWorld()
        let client = try world.connect()
        let (small, large) = (World.bytes(5000), World.bytes(90_000, seed: 2))
        try World.put(client, "small", small, ",\"contentType\":\"a/b\"")
        try World.put(client, "large", large)
        try World.put(client, "large", [7], ",\"variant\":\"v\"")
        try World.put(client, "gone", World.bytes(50_000, seed: 3))
        try client.result("blobs.delete", World.params("gone"))
        try client.result("blobs.configure", "{\"namespace\":\"images\",\"ttlSeconds\":1000,\"maxEntries\":50}")
        if isKill {
            // A list is behind all that was written.
            _ = try client.result("blobs.list", "{\"namespace\":\"images\"}")
            world.daemon.kill()
        } else {
            #expect(world.daemon.terminate() == 0)
        }
        try world.daemon.start()
        let again = try world.connect()
        #expect(try World.read(again, "small") == small)
        #expect(try World.read(again, "large") == large)
        #expect(try World.read(again, "large", ",\"variant\":\"v\"") == [7])
        #expect(try World.read(again, "gone") == nil)
        #expect(try again.result("blobs.stat", World.params("small"))["contentType"]?.text == "a/b")
        let described = try again.result("blobs.describe", "{\"namespace\":\"images\"}")
        #expect(described["ttlSeconds"]?.int == 1000 && described["maxEntries"]?.int == 50)
        #expect(described["count"]?.int == 3 && described["bytes"]?.int == 95_001)
        world.expectFiles(1)
        // The parent is known as such again.
        try again.result("blobs.delete", World.params("large"))
        #expect(try World.read(again, "large", ",\"variant\":\"v\"") == nil)
        world.expectFiles(0)
    }

    @Test(arguments: ["blob.write:kill:1", "blob.link:kill:1", "blob.table:kill:1"])
    func `a kill leaves whole blobs or none, and no files that nobody knows`(_ fault: String) throws {
        let world = try BlobWorld(faults: fault)
        let client = try world.connect()
        let bytes = World.bytes(120_000)
        _ = try? World.put(client, "a", bytes)
        _ = try? client.result("blobs.list", "{\"namespace\":\"images\"}")
        #expect(world.daemon.wait() == 137, "\(fault) did not strike")
        try world.daemon.start()
        let again = try world.connect()
        let found = try World.read(again, "a")
        #expect(found == nil || found == bytes)
        world.expectFiles(found == nil ? 0 : 1)
        try World.put(again, "a", bytes)
        #expect(try World.read(again, "a") == bytes)
    }

    @Test(arguments: ["blob.open:full:1", "blob.write:full:1", "blob.link:full:1", "blob.write:fail:1"])
    func `a content that does not fit on the disk leaves nothing behind`(_ fault: String) throws {
        let world = try BlobWorld(faults: fault)
        let client = try world.connect()
        let refused = try client.refusal("blobs.put", World.params("a", World.data(World.bytes(100_000))))
        #expect(refused["kind"]?.text == (fault.contains("fail") ? "internalError" : "noSpace"))
        #expect(try World.read(client, "a") == nil)
        world.expectFiles(0)
        try World.put(client, "a", World.bytes(100_000))
        #expect(try World.read(client, "a")?.count == 100_000)
    }

    @Test func `a table that cannot be written is begun anew, and nothing wrong is shown`() throws {
        let world = try BlobWorld(faults: "blob.table:fail:1")
        let client = try world.connect()
        try World.put(client, "a", World.bytes(50_000))
        // All is forgotten when the write has failed.
        let deadline = now() + 60
        while try World.read(client, "a") != nil, now() < deadline { usleep(5000) }
        world.expectFiles(0)
        while try World.put(client, "c", [3])["stored"]?.bool != true, now() < deadline { usleep(5000) }
        #expect(world.daemon.terminate() == 0)
        try world.daemon.start()
        #expect(try World.read(world.connect(), "c") == [3])
    }

    @Test func `what was to be deleted by a write that failed is gone after a stop`() throws {
        let world = try BlobWorld()
        try World.put(world.connect(), "a", [1])
        #expect(world.daemon.terminate() == 0)
        // It waits behind a slow one when the daemon is told to stop.
        try world.daemon.start(faults: "blob.table:sleep=1000:1,blob.table:fail:2")
        let client = try world.connect()
        try World.put(client, "b", [2])
        usleep(200_000)
        try client.result("blobs.delete", World.params("a"))
        #expect(world.daemon.terminate() == 0)
        try world.daemon.start()
        #expect(try World.read(world.connect(), "a") == nil)
    }

    // MARK: Want of descriptors

    @Test func `what cannot be opened for want of descriptors is not damaged for that`() throws {
        let world = try BlobWorld()
        var client = try world.connect()
        let (small, large) = (World.bytes(5000), World.bytes(90_000, seed: 2))
        try World.put(client, "small", small)
        try World.put(client, "large", large)
        try client.result("models.put", "{\"namespace\":\"n\",\"key\":\"k\",\"value\":1}")
        // Nothing of it is in memory then.
        #expect(world.daemon.terminate() == 0)
        try world.daemon.start()
        client = try world.connect()
        try client.result("storage.sweep")
        func kinds() throws -> [String?] {
            let requests = [
                ("blobs.get", World.params("large")), ("blobs.get", World.params("large", ",\"as\":\"fd\"")),
                ("blobs.get", World.params("large", ",\"verify\":true")), ("blobs.get", World.params("small")),
                ("models.get", "{\"namespace\":\"n\",\"key\":\"k\"}"),
            ]
            return try requests.map { try client.call($0, $1)["error"]?["data"]?["kind"]?.text }
        }
        world.daemon.limitDescriptors(to: 3)
        let found = try kinds()
        #expect(found == [String?](repeating: "overloaded", count: 5), "\(found)")
        world.daemon.limitDescriptors(to: 1000)
        #expect(try World.read(client, "large") == large && World.read(client, "small") == small)
        #expect(try client.result("models.get", "{\"namespace\":\"n\",\"key\":\"k\"}")["value"]?.int == 1)
        #expect(try client.result("blobs.describe", "{\"namespace\":\"images\"}")["damaged"]?.int == 0)
        #expect(world.setAside.isEmpty)
    }

    // MARK: Damage

    @Test(arguments: ["short", "long", "gone", "other bytes", "directory", "link"])
    func `a damaged or vanished file is a miss, is set aside, and can come again`(_ damage: String) throws {
        let world = try BlobWorld()
        let client = try world.connect()
        let bytes = World.bytes(80_000)
        let digest = try #require(try World.put(client, "a", bytes)["digest"]?.text)
        try World.put(client, "b", bytes)
        // A namespace without blobs is forgotten with its counts, at some moment. This one is too small for a file.
        try World.put(client, "c", [1])
        let path = world.path(digest)
        chmod(path, 0o600)
        switch damage {
        case "short": truncate(path, 1000)
        case "long": truncate(path, 80_001)
        case "gone": unlink(path)
        case "other bytes":
            let file = open(path, O_WRONLY | O_CLOEXEC)
            var byte = ~bytes[70_000]
            pwrite(file, &byte, 1, 70_000)
            close(file)
        case "directory":
            unlink(path)
            mkdir(path, 0o700)
        default:
            unlink(path)
            symlink("/etc/passwd", path)
        }
        let verify = damage == "other bytes" ? ",\"verify\":true" : ""
        #expect(try World.read(client, "a", verify) == nil)
        #expect(try World.read(client, "b") == nil)
        let told = try client.result("blobs.describe", "{\"namespace\":\"images\"}")
        #expect(told["damaged"]?.int == 2, "\(told)")
        world.expectFiles(0)
        #expect(world.setAside.count == (damage == "gone" ? 0 : 1))
        try World.put(client, "a", bytes)
        #expect(try World.read(client, "a", ",\"verify\":true") == bytes)
        let (reply, descriptor) = try World.open(client, "a")
        #expect(reply["found"]?.bool == true)
        if let descriptor { close(descriptor) }
    }

    @Test(arguments: [false, true])
    func `after an unclean stop a file with other bytes is not shown, asked to or not`(comesAgain: Bool) throws {
        let world = try BlobWorld()
        let client = try world.connect()
        let bytes = World.bytes(80_000)
        let digest = try #require(try World.put(client, "a", bytes)["digest"]?.text)
        try World.put(client, "b", World.bytes(70_000, seed: 5))
        _ = try client.result("blobs.list", "{\"namespace\":\"images\"}")
        world.daemon.kill()
        chmod(world.path(digest), 0o600)
        let file = open(world.path(digest), O_WRONLY | O_CLOEXEC)
        var byte = ~bytes[5]
        pwrite(file, &byte, 1, 5)
        close(file)
        try world.daemon.start()
        let again = try world.connect()
        // Equal content takes the place of what nobody has hashed.
        if comesAgain { try World.put(again, "c", bytes) }
        #expect(try World.read(again, "a") == (comesAgain ? bytes : nil))
        #expect(try World.read(again, "c") == (comesAgain ? bytes : nil))
        #expect(try World.read(again, "b") == World.bytes(70_000, seed: 5))
    }

    @Test func `a small content that was changed in the table is not shown`() throws {
        let world = try BlobWorld()
        try World.put(world.connect(), "a", World.bytes(9000))
        try World.put(world.connect(), "b", World.bytes(8000, seed: 2))
        #expect(world.daemon.terminate() == 0)
        try Connection(path: world.daemon.data + "/cache/blobs.sqlite", mode: .readWrite).execute(
            "UPDATE blobContents SET data = CAST(substr(data, 1, 8999) || x'00' AS BLOB) WHERE length(data) = 9000")
        try world.daemon.start()
        let client = try world.connect()
        #expect(try World.read(client, "a") == nil)
        #expect(try World.read(client, "b") == World.bytes(8000, seed: 2))
        try World.put(client, "a", World.bytes(9000))
        #expect(try World.read(client, "a") == World.bytes(9000))
    }

    // MARK: Sweeping

    @Test func `a sweep removes what has expired, with its file, and nothing else`() throws {
        let world = try BlobWorld(movesTime: true)
        let client = try world.connect()
        // The one of the start is over: it would take them itself where it comes late.
        try client.result("storage.sweep")
        try World.put(client, "gone", World.bytes(50_000), ",\"ttlSeconds\":1")
        try World.put(client, "small", [1], ",\"ttlSeconds\":1")
        try World.put(client, "kept", World.bytes(40_000, seed: 2))
        let stat = try client.result("blobs.stat", World.params("kept"))
        #expect(stat["expiresAt"] != nil)
        try world.daemon.advance(seconds: 2)
        let swept = try client.result("storage.sweep")
        #expect(swept["running"]?.bool == false && swept["removed"]?.int == 2 && swept["bytes"]?.int == 50_001)
        let described = try client.result("blobs.describe", "{\"namespace\":\"images\"}")
        #expect(described["count"]?.int == 1 && described["expired"]?.int == 2 && described["bytes"]?.int == 40_000)
        world.expectFiles(1)
        #expect(try World.read(client, "kept") == World.bytes(40_000, seed: 2))
    }

    // MARK: Variants

    @Test func `one of many who miss a variant gets a token, and the others the parent`() throws {
        let world = try BlobWorld()
        let (first, second) = (try world.connect(), try world.connect())
        try World.put(first, "a", [1])
        let get = World.params("a", ",\"variant\":\"small\",\"orParent\":true,\"claim\":true,\"leaseSeconds\":3600")
        let won = try first.result("blobs.get", get)
        let token = try #require(won["token"]?.text)
        #expect(won["isParent"]?.bool == true)
        let other = try second.result("blobs.get", get)
        #expect(other["token"] == nil && other["isParent"]?.bool == true)
        func put(_ client: Client, _ token: String, _ key: String = "a") throws -> JSON {
            try client.call(
                "blobs.put", World.params(key, World.data([5]) + ",\"variant\":\"small\",\"token\":\"\(token)\""))
        }
        try World.put(first, "b", [1])
        for (token, key, reason) in [(String(repeating: "0", count: 64), "a", "unknown"), (token, "b", "ofAnotherKey")]
        {
            let refused = try put(second, token, key)["error"]?["data"]
            #expect(refused?["kind"]?.text == "tokenInvalid" && refused?["reason"]?.text == reason)
        }
        #expect(try put(first, token)["result"]?["stored"]?.bool == true)
        #expect(try put(first, token)["error"]?["data"]?["reason"]?.text == "spent")
        #expect(try World.read(second, "a", ",\"variant\":\"small\"") == [5])
        // A claim ends with its connection; what comes with it afterwards is late.
        var third: Client? = try world.connect()
        let lost = try #require(
            try third!.result("blobs.get", World.params("b", ",\"variant\":\"x\",\"claim\":true"))["token"]?.text)
        third = nil
        let deadline = now() + 60
        var next: String?
        while next == nil, now() < deadline {
            next = try second.result("blobs.get", World.params("b", ",\"variant\":\"x\",\"claim\":true"))["token"]?.text
        }
        #expect(next != nil && next != lost)
        let late = try first.result(
            "blobs.put", World.params("b", World.data([6]) + ",\"variant\":\"x\",\"token\":\"\(lost)\""))
        #expect(late["reason"]?.text == "late")
        #expect(try World.read(first, "b", ",\"variant\":\"x\"") == nil)
    }

    private func claim(_ client: Client, _ key: String, _ more: String = "") throws -> String? {
        try client.result("blobs.get", World.params(key, ",\"variant\":\"x\",\"claim\":true\(more)"))["token"]?.text
    }

    private func renewal(_ token: String, _ seconds: Int, of key: String = "a") -> String {
        World.params(key, ",\"variant\":\"x\",\"token\":\"\(token)\",\"leaseSeconds\":\(seconds)")
    }

    @Test func `a token that is renewed is good for as long as it was renewed for, and its put is stored`() throws {
        let world = try BlobWorld(movesTime: true)
        let (first, second) = (try world.connect(), try world.connect())
        try World.put(first, "a", [1])
        let token = try #require(try claim(first, "a", ",\"leaseSeconds\":60"))
        // By another connection as well: that of a script is one request.
        let renewed = try second.result("blobs.renew", renewal(token, 3600))
        #expect(renewed["expiresAt"]?.text?.count == 24, "\(renewed)")
        // Long after the minute nobody else makes it, and what comes with it is in time.
        try world.daemon.advance(seconds: 600)
        #expect(try claim(second, "a") == nil)
        let stored = try World.put(first, "a", [5], ",\"variant\":\"x\",\"token\":\"\(token)\"")
        #expect(stored["stored"]?.bool == true, "\(stored)")
        #expect(try second.refusal("blobs.renew", renewal(token, 60))["reason"]?.text == "spent")
    }

    @Test func `a renewed token without a lease still ends with its connection, and a lost one renews nothing`() throws
    {
        let world = try BlobWorld()
        var holder: Client? = try world.connect()
        let other = try world.connect()
        try World.put(other, "a", [1])
        let token = try #require(try claim(holder!, "a"))
        _ = try holder!.result("blobs.renew", renewal(token, 3600))
        #expect(try claim(other, "a") == nil)
        for (wrong, key, reason) in [
            (String(repeating: "0", count: 64), "a", "unknown"), (token, "b", "ofAnotherKey"),
        ] {
            let refused = try other.refusal("blobs.renew", renewal(wrong, 60, of: key))
            #expect(refused["kind"]?.text == "tokenInvalid" && refused["reason"]?.text == reason, "\(refused)")
        }
        for seconds in [0, 86_401] {
            let refused = try other.refusal("blobs.renew", renewal(token, seconds))
            #expect(refused["kind"]?.text == "invalidParams" && refused["parameter"]?.text == "leaseSeconds")
        }
        // A token of a model is none of a blob, whatever they are called.
        let model = try #require(
            try other.result("models.get", World.params("a", ",\"claim\":true,\"leaseSeconds\":3600"))["token"]?.text)
        #expect(try other.refusal("blobs.renew", renewal(model, 60))["reason"]?.text == "ofAnotherKey")
        holder = nil
        let deadline = now() + 60
        var next: String?
        while next == nil, now() < deadline { next = try claim(other, "a") }
        #expect(next != nil && next != token)
        #expect(try other.refusal("blobs.renew", renewal(token, 60))["reason"]?.text == "lost")
    }

    @Test func `variants go with their parent, and are stored with it only`() throws {
        let world = try BlobWorld()
        let client = try world.connect()
        let orphan = try World.put(client, "a", [2], ",\"variant\":\"small\"")
        #expect(orphan["stored"]?.bool == false && orphan["reason"]?.text == "parentMissing")
        let digest = try #require(try World.put(client, "a", [1])["digest"]?.text)
        try World.put(client, "a", [2], ",\"variant\":\"small\",\"variantOf\":\"\(digest)\"")
        try World.put(client, "a", World.bytes(30_000), ",\"variant\":\"wide\"")
        #expect(try World.read(client, "a", ",\"variant\":\"small\"") == [2])
        #expect(try World.read(client, "a") == [1])
        // In its stead: the parent, told as such.
        let parent = try client.result("blobs.get", World.params("a", ",\"variant\":\"none\",\"orParent\":true"))
        #expect(parent["isParent"]?.bool == true && parent["data"]?.text == "AQ==")
        #expect(try World.read(client, "a", ",\"variant\":\"none\"") == nil)
        // The same content again changes nothing; another one takes the variants along.
        try World.put(client, "a", [1])
        #expect(try World.read(client, "a", ",\"variant\":\"small\"") == [2])
        try World.put(client, "a", [9])
        #expect(try World.read(client, "a", ",\"variant\":\"small\"") == nil)
        world.expectFiles(0)
        let late = try World.put(client, "a", [2], ",\"variant\":\"small\",\"variantOf\":\"\(digest)\"")
        #expect(late["reason"]?.text == "parentChanged")
        try World.put(client, "a", [3], ",\"variant\":\"small\"")
        try client.result("blobs.delete", World.params("a"))
        #expect(try World.read(client, "a", ",\"variant\":\"small\"") == nil)
        #expect(try client.result("blobs.describe", "{\"namespace\":\"images\"}")["count"]?.int == 0)
    }

    // MARK: Room

    @Test func `a namespace keeps to its bounds, and what was read lately stays`() throws {
        let world = try BlobWorld()
        let client = try world.connect()
        try client.result("blobs.configure", "{\"namespace\":\"images\",\"maxEntries\":10}")
        for number in 0..<10 { try World.put(client, "k\(number)", [UInt8(number)]) }
        #expect(try World.read(client, "k0") == [0])
        for number in 10..<15 { try World.put(client, "k\(number)", [UInt8(number)]) }
        #expect(try World.read(client, "k0") == [0])
        #expect(try World.read(client, "k1") == nil)
        let described = try client.result("blobs.describe", "{\"namespace\":\"images\"}")
        #expect(described["count"]?.int == 10 && described["evicted"]?.int == 5)
        try client.result("blobs.configure", "{\"namespace\":\"images\",\"maxEntries\":null,\"maxBytes\":100000}")
        #expect(try World.put(client, "huge", World.bytes(100_001))["reason"]?.text == "overBudget")
        for number in 0..<4 { try World.put(client, "l\(number)", World.bytes(40_000, seed: number)) }
        #expect(try client.result("blobs.describe", "{\"namespace\":\"images\"}")["bytes"]?.int ?? .max <= 100_000)
        world.expectFiles(2)
    }

    @Test func `the bound of all blobs holds at every moment, and the largest namespace gives`() throws {
        let world = try BlobWorld(configuration: "{\"caches\":{\"blobBytes\":200000}}")
        let client = try world.connect()
        func described(_ namespace: String, _ member: String) throws -> Int {
            try client.result("blobs.describe", "{\"namespace\":\"\(namespace)\"}")[member]?.int ?? .max
        }
        for (number, namespace) in ["a", "a", "a", "a", "a", "a", "b", "b", "b", "b"].enumerated() {
            let stored = try World.put(
                client, "k\(number)", World.bytes(40_000, seed: number + 1), namespace: namespace)
            #expect(stored["stored"]?.bool == true, "\(stored)")
            let bytes = try described("a", "bytes") + (namespace == "b" ? described("b", "bytes") : 0)
            #expect(bytes <= 200_000, "\(number): \(bytes)")
        }
        #expect(try described("b", "count") >= 2 && described("a", "count") >= 2)
        world.expectFiles(5)
        let huge = try World.put(client, "huge", World.bytes(200_001))
        #expect(huge["stored"]?.bool == false && huge["reason"]?.text == "overBudget")
    }

    @Test func `a blob lives seven days when nobody says`() throws {
        let world = try BlobWorld()
        let client = try world.connect()
        try World.put(client, "a", [1])
        let stat = try client.result("blobs.stat", World.params("a"))
        func time(_ member: String) throws -> Int64 {
            let text = Array(try #require(stat[member]?.text).utf8)
            return try #require(text.withBytes { Timestamp.milliseconds($0) })
        }
        #expect(try time("expiresAt") - time("createdAt") == 7 * 86_400_000)
    }

    @Test func `a namespace's own time holds where a put does not say`() throws {
        let world = try BlobWorld(movesTime: true)
        let client = try world.connect()
        try client.result("blobs.configure", "{\"namespace\":\"images\",\"ttlSeconds\":60}")
        try World.put(client, "a", [1])
        try World.put(client, "b", [2], ",\"ttlSeconds\":600")
        try world.daemon.advance(seconds: 61)
        #expect(try World.read(client, "a") == nil)
        #expect(try World.read(client, "b") == [2])
        for bad in ["0", "-1", "\"x\"", "1.5", "true"] {
            let refused = try client.refusal("blobs.configure", "{\"namespace\":\"images\",\"ttlSeconds\":\(bad)}")
            #expect(refused["kind"]?.text == "invalidParams")
        }
    }

    @Test func `small blobs that are no longer in memory are read from the table`() throws {
        let world = try BlobWorld()
        let client = try world.connect()
        // More than the small profile keeps in memory.
        for number in 0..<400 { try World.put(client, "k\(number)", World.bytes(16_000, seed: number)) }
        for number in stride(from: 0, to: 400, by: 37) {
            #expect(try World.read(client, "k\(number)") == World.bytes(16_000, seed: number))
        }
    }
}
