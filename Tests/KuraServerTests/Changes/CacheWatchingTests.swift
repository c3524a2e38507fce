import Glibc
import Testing

/// `changes.watch` of caches, and of whether space is low, over a real socket.
@Suite struct CacheWatchingTests {
    /// The changes of the next notification, which is about `subscription`.
    private func changes(_ client: Client, _ subscription: Int = 1) throws -> [JSON] {
        let line = try client.reply()
        #expect(line["method"]?.text == "changes.changed" && line["params"]?["subscription"]?.int == subscription)
        return try #require(line["params"]?["changes"]?.elements, "\(line)")
    }

    private func put(_ client: Client, _ key: String, _ more: String = "", in namespace: String = "feed") throws {
        let result = try client.result(
            "models.put", "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\",\"value\":1\(more)}")
        #expect(result["stored"]?.bool == true)
    }

    private func watch(_ client: Client, _ stores: String, _ more: String = "") throws -> JSON {
        let names = stores.split(separator: " ").map { "\"\($0)\"" }.joined(separator: ",")
        return try client.result("changes.watch", "{\"stores\":[\(names)]\(more)}")
    }

    @Test func `puts, deletions and invalidations are told, each with its revision`() throws {
        let daemon = try TemporaryDaemon()
        let (writer, watcher) = (try daemon.connect(), try daemon.connect())
        try put(writer, "before")
        let started = try watch(watcher, "models blobs")
        #expect(started["rev"]?.int == 1 && started["epoch"]?.text?.count == 36)
        #expect(started["epoch"] != (try writer.result("session.hello")["epoch"]))
        var rev = 1
        func expect(_ method: String, _ params: String, _ change: String, _ location: SourceLocation = #_sourceLocation)
            throws
        {
            try writer.result(method, params)
            rev += 1
            #expect(try changes(watcher) == [JSON("{\(change),\"rev\":\(rev)}")], sourceLocation: location)
        }
        let feed = "\"store\":\"models\",\"scope\":\"feed\""
        try expect("models.put", "{\"namespace\":\"feed\",\"key\":\"a\",\"value\":1}", "\(feed),\"key\":\"a\"")
        try expect(
            "models.delete", "{\"namespace\":\"feed\",\"key\":\"a\"}", "\(feed),\"key\":\"a\",\"deleted\":true")
        try expect(
            "models.delete", "{\"namespace\":\"feed\",\"key\":\"before\",\"logical\":true}",
            "\(feed),\"key\":\"before\",\"deleted\":true")
        try expect("models.invalidate", "{\"namespace\":\"feed\"}", "\(feed),\"mode\":\"stale\"")
        try expect(
            "models.invalidate", "{\"namespace\":\"feed\",\"prefix\":\"x\",\"mode\":\"drop\"}",
            "\(feed),\"prefix\":\"x\",\"mode\":\"drop\"")
        try expect(
            "models.invalidate", "{\"namespace\":\"feed\",\"tag\":\"t\"}", "\(feed),\"tag\":\"t\",\"mode\":\"stale\"")
        let images = "\"store\":\"blobs\",\"scope\":\"images\",\"key\":\"p\""
        try expect("blobs.put", BlobWorld.params("p", BlobWorld.data([1])), images)
        try expect(
            "blobs.put", BlobWorld.params("p", BlobWorld.data([2]) + ",\"variant\":\"w=1\""),
            "\(images),\"variant\":\"w=1\"")
        try expect("blobs.put", BlobWorld.params("p", BlobWorld.data(BlobWorld.bytes(50_000))), images)
        try expect("blobs.delete", BlobWorld.params("p"), "\(images),\"deleted\":true")
        // What changes nothing is not told, nor is what others are about.
        try writer.result("models.delete", "{\"namespace\":\"feed\",\"key\":\"none\"}")
        try writer.result("models.get", "{\"namespace\":\"feed\",\"key\":\"none\"}")
        try writer.result("blobs.delete", BlobWorld.params("none"))
        try writer.result("models.put", "{\"namespace\":\"feed\",\"key\":\"k\",\"value\":1,\"store\":false}")
        try writer.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try expect("models.put", "{\"namespace\":\"feed\",\"key\":\"z\",\"value\":1}", "\(feed),\"key\":\"z\"")
        try watcher.result("changes.unwatch", "{\"subscription\":1}")
        try put(writer, "later")
        #expect(try watcher.result("storage.ping")["pong"]?.bool == true)
    }

    @Test func `a subscriber is told of its stores, scope and prefix only, and of what it may read`() throws {
        let daemon = try RoleDaemon([
            "app": RoleDaemon.role(
                RoleDaemon.grant("models", "mine*", "read"), RoleDaemon.grant("settings", "*", "write"))
        ])
        let admin = try daemon.connect("admin")
        let client = try daemon.connect("app")
        func kind(_ params: String) throws -> String? { try client.refusal("changes.watch", params)["kind"]?.text }
        #expect(try kind("{\"stores\":[\"blobs\"]}") == "forbidden")
        #expect(try kind("{\"stores\":[\"models\",\"blobs\"]}") == "forbidden")
        #expect(try kind("{\"stores\":[\"storage\"]}") == "forbidden")
        #expect(try kind("{\"stores\":[\"models\"],\"scope\":\"others\"}") == "forbidden")
        #expect(try kind("{}") == "forbidden")
        _ = try watch(client, "models")
        _ = try watch(client, "models", ",\"scope\":\"mine1\",\"prefix\":\"b\"")
        let blobs = try daemon.connect("admin")
        _ = try watch(blobs, "blobs")
        try put(admin, "a", in: "others")
        try put(admin, "a", in: "mine1")
        #expect(try changes(client, 1).map { $0["scope"]?.text } == ["mine1"])
        try put(admin, "b", in: "mine1")
        var seen: [Int: [String?]] = [:]
        for _ in 0..<2 {
            let line = try client.reply()
            let changes = line["params"]?["changes"]?.elements ?? []
            seen[line["params"]?["subscription"]?.int ?? 0] = changes.map { $0["key"]?.text }
        }
        #expect(seen == [1: ["b"], 2: ["b"]])
        try BlobWorld.put(admin, "p", [1])
        #expect(try changes(blobs).map { $0["store"]?.text } == ["blobs"])
        try client.result("changes.unwatch", "{\"subscription\":2}")
        // What is granted no more is not shown any more.
        try daemon.reload(
            daemon.configuration(["app": RoleDaemon.role(RoleDaemon.grant("models", "mine2", "read"))]))
        #expect(try client.reply()["method"]?.text == "changes.overflow")
        try put(admin, "c", in: "mine1")
        try put(admin, "d", in: "mine2")
        #expect(try changes(client, 1).map { $0["key"]?.text } == ["d"])
    }

    @Test func `whoever comes back goes on where it was, or learns that it has missed something`() throws {
        let daemon = try TemporaryDaemon()
        let writer = try daemon.connect()
        var watcher = try daemon.connect()
        let epoch = try #require(try watch(watcher, "models")["epoch"]?.text)
        try put(writer, "a")
        let rev = try #require(try changes(watcher).last?["rev"]?.int)
        watcher.halfClose()
        _ = try watcher.lines()
        try put(writer, "b")
        try put(writer, "b")
        watcher = try daemon.connect()
        let resume = ",\"afterRev\":\(rev),\"epoch\":\"\(epoch)\""
        #expect(try watch(watcher, "models", resume)["rev"]?.int == rev)
        #expect(try changes(watcher) == [JSON("{\"store\":\"models\",\"scope\":\"feed\",\"key\":\"b\",\"rev\":3}")])
        func refusal(_ client: Client, _ more: String, _ stores: String = "\"models\"") throws -> JSON {
            try client.refusal("changes.watch", "{\"stores\":[\(stores)]\(more)}")
        }
        #expect(try refusal(watcher, ",\"afterRev\":1")["parameter"]?.text == "epoch")
        #expect(try refusal(watcher, ",\"afterRev\":9,\"epoch\":\"\(epoch)\"")["currentRev"]?.int == 3)
        #expect(try refusal(watcher, ",\"values\":true")["parameter"]?.text == "values")
        #expect(try refusal(watcher, "", "\"models\",\"settings\"")["parameter"]?.text == "stores")
        #expect(try refusal(watcher, "", "\"model\"")["index"]?.int == 0)
        for method in ["changes.list", "changes.wait"] {
            #expect(try watcher.refusal(method, "{\"afterRev\":0,\"stores\":[\"models\"]}")["index"]?.int == 0)
        }
        // Of blobs nothing was kept.
        try BlobWorld.put(writer, "p", [1])
        let compacted = try refusal(watcher, resume, "\"blobs\"")
        #expect(compacted["kind"]?.text == "compacted" && compacted["oldestRev"]?.int == 4)
        // Another run counts anew.
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let after = try daemon.connect()
        #expect(try refusal(after, resume)["kind"]?.text == "epochChanged")
        #expect(try watch(after, "models")["rev"]?.int == 0)
    }

    @Test func `a subscriber that does not read is told in the end that it has missed something`() throws {
        let daemon = try TemporaryDaemon()
        let (writer, watcher) = (try daemon.connect(), try daemon.connect())
        _ = try watch(watcher, "models")
        // In memory only: what waits to be written would have puts declined.
        try writer.result("models.configure", "{\"namespace\":\"feed\",\"persist\":false}")
        let key = String(repeating: "k", count: 400)
        // More than the ring keeps, and the socket and the backlog hold.
        var sent = 0
        for round in 0..<20 {
            var text = ""
            for number in 0..<500 {
                text += Client.request(
                    "models.put", "{\"namespace\":\"feed\",\"key\":\"\(key)\(round)-\(number)\",\"value\":1}", id: nil)
            }
            writer.send(text)
            try writer.result("storage.ping")
            sent += 500
        }
        try put(writer, "last")
        var overflow: JSON?
        var keys: [String] = []
        while keys.last != "last" {
            let line = try watcher.reply()
            if line["method"]?.text == "changes.overflow" {
                overflow = line["params"]
                try put(writer, "last")
            } else {
                keys += line["params"]?["changes"]?.elements.compactMap { $0["key"]?.text } ?? []
            }
        }
        #expect(overflow?["subscription"]?.int == 1)
        #expect(overflow?["resyncRev"]?.int ?? 0 > 4000 && keys.count < sent)
    }

    @Test func `what a lost file, damage or a move has taken is told as a namespace that was dropped`() throws {
        let daemon = try TemporaryDaemon(faults: "blob.table:fail:2,model.table:fail:3")
        let (writer, watcher) = (try daemon.connect(), try daemon.connect())
        _ = try watch(watcher, "models blobs")
        func expect(_ store: String, _ scope: String, _ more: String, _ location: SourceLocation = #_sourceLocation)
            throws
        {
            let change = try #require(try changes(watcher).last)
            #expect(
                change["store"]?.text == store && change["scope"]?.text == scope && change[more] != nil, "\(change)",
                sourceLocation: location)
        }
        try put(writer, "a")
        try expect("models", "feed", "key")
        // By itself.
        daemon.waitUntilIdle(seconds: 0.3)
        // The third write fails, and the file goes.
        try put(writer, "b")
        try expect("models", "feed", "key")
        try expect("models", "feed", "mode")
        try put(writer, "c")
        try expect("models", "feed", "key")
        try writer.result("models.configure", "{\"namespace\":\"feed\",\"partition\":true}")
        try expect("models", "feed", "mode")
        let digest = try #require(try BlobWorld.put(writer, "p", BlobWorld.bytes(50_000))["digest"]?.text)
        try expect("blobs", "images", "key")
        daemon.waitUntilIdle()
        unlink("\(daemon.data)/cache/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))")
        // Also the write that forgets it fails.
        #expect(try BlobWorld.read(writer, "p") == nil)
        try expect("blobs", "images", "mode")
        try expect("blobs", "images", "mode")
    }

    @Test func `that space becomes low and is fine again is told`() throws {
        let daemon = try TemporaryDaemon(faults: "space.look:fail:2")
        let client = try daemon.connect()
        #expect(try client.result("storage.status")["space"]?["low"]?.bool == false)
        _ = try watch(client, "storage models")
        #expect(try changes(client) == [JSON("{\"store\":\"storage\",\"rev\":1,\"low\":true}")])
        #expect(try changes(client) == [JSON("{\"store\":\"storage\",\"rev\":2,\"low\":false}")])
        #expect(try client.result("storage.status")["space"]?["timesLow"]?.int == 1)
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount"))
    func `a disk that another process fills is told, and that it is free again`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        mkdir(daemon.data, 0o700)
        guard mount("tmpfs", daemon.data, "tmpfs", 0, "size=64m,mode=0700") == 0 else { return }
        defer {
            daemon.kill()
            umount2(daemon.data, Int32(MNT_DETACH))
        }
        try daemon.start(environment: ["KURA_MIN_FREE_BYTES=\(16 << 20)"])
        let client = try daemon.connect()
        _ = try watch(client, "storage")
        let filler = daemon.data + "/filler"
        let descriptor = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        var information = statvfs()
        statvfs(daemon.data, &information)
        let free = Int(information.f_bavail) * Int(information.f_frsize)
        #expect(posix_fallocate(descriptor, 0, off_t(free - 12 << 20)) == 0)
        close(descriptor)
        #expect(try changes(client).map { $0["low"]?.bool } == [true])
        let declined = try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"k\",\"value\":1}")
        #expect(declined["reason"]?.text == "lowStorage")
        unlink(filler)
        #expect(try changes(client).map { $0["low"]?.bool } == [false])
        try put(client, "k")
    }
}
