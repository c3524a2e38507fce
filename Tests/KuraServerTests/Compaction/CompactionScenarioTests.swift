import Glibc
import SQLite
import Testing

@testable import KuraStorage

/// Database files become smaller: by themselves, and by `storage.compact`.
@Suite struct CompactionScenarioTests {
    private let daemon: TemporaryDaemon
    private var tables: String { daemon.data + "/durable/kura.sqlite" }

    init() throws { daemon = try TemporaryDaemon(movesTime: true) }

    /// Puts documents of four kilobytes.
    private func fill(_ collection: String, _ ids: Range<Int>, _ client: Client) throws {
        let text = String(repeating: "x", count: 4000)
        for start in stride(from: ids.lowerBound, to: ids.upperBound, by: 100) {
            let documents = (start..<min(start + 100, ids.upperBound)).map {
                "{\"id\":\"d\($0)\",\"value\":{\"n\":\($0),\"text\":\"\(text)\"}}"
            }
            try client.result(
                "documents.putMany",
                "{\"collection\":\"\(collection)\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    private func expectDocuments(_ collection: String, _ ids: Range<Int>, _ client: Client) throws {
        #expect(
            try client.result("documents.count", "{\"collection\":\"\(collection)\"}")["count"]?.int == ids.count)
        for id in ids {
            let found = try client.result("documents.get", "{\"collection\":\"\(collection)\",\"id\":\"d\(id)\"}")
            #expect(found["value"]?["n"]?.int == id)
        }
    }

    private func expectSound() throws {
        let connection = try Connection(path: tables, mode: .readOnly)
        #expect(
            try connection.scalar("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1)
    }

    private func waitUntil(_ what: String, _ holds: () -> Bool) {
        let deadline = now() + 90
        var isSo = holds()
        while !isSo, now() < deadline {
            usleep(20_000)
            isSo = holds()
        }
        #expect(isSo, "\(what): \(Compaction.size(tables)) bytes")
    }

    /// 12 MiB in two collections, everything folded.
    private func grow(_ client: Client) throws {
        try fill("gone", 0..<2900, client)
        try fill("kept", 0..<100, client)
        try daemon.waitUntilFolded()
        #expect(Compaction.size(tables) > 10 << 20)
    }

    /// 5 MiB: what is kept, 4 MiB that may stay free, and the trees; and no WAL besides.
    private func waitUntilSmall() throws {
        try daemon.waitUntilFolded()
        try waitUntilDropped()
        // Then it is time to look what is free.
        try daemon.advance(seconds: 10)
        waitUntil("smaller by itself") { Compaction.size(tables) < 5_500_000 && FileSystem.size(tables + "-wal") == 0 }
    }

    @Test func `a store that has held much becomes small by itself when a collection is dropped`() throws {
        let client = try daemon.connect()
        try grow(client)
        try client.result("documents.drop", "{\"collection\":\"gone\"}")
        try waitUntilSmall()
        try expectDocuments("kept", 0..<100, client)
        try expectSound()
    }

    @Test func `so it does when documents become small`() throws {
        let client = try daemon.connect()
        try grow(client)
        for id in 0..<2900 {
            try client.result("documents.put", "{\"collection\":\"gone\",\"id\":\"d\(id)\",\"value\":{\"n\":\(id)}}")
        }
        try waitUntilSmall()
        try expectDocuments("kept", 0..<100, client)
        try expectDocuments("gone", 0..<2900, client)
        try expectSound()
    }

    @Test func `what an earlier run has left free is given back by the next`() throws {
        let client = try daemon.connect()
        try fill("kept", 0..<100, client)
        #expect(daemon.terminate() == 0)
        do {
            let connection = try Connection(path: tables, mode: .readWrite)
            try connection.execute(
                """
                CREATE TABLE filler(text);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                INSERT INTO filler SELECT hex(zeroblob(2000)) FROM n;
                DROP TABLE filler;
                """)
        }
        #expect(Compaction.size(tables) > 10 << 20)
        try daemon.start()
        try waitUntilSmall()
        try expectDocuments("kept", 0..<100, try daemon.connect())
    }

    @Test func `a compaction leaves nothing free, and tells of each file`() throws {
        let client = try daemon.connect()
        try fill("kept", 0..<100, client)
        try fill("gone", 0..<300, client)
        let value = String(repeating: "v", count: 3000)
        for key in 0..<300 {
            try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"\(key)\",\"value\":\"\(value)\"}")
        }
        try daemon.waitUntilFolded()
        for key in 0..<299 { try client.result("models.delete", "{\"namespace\":\"feed\",\"key\":\"\(key)\"}") }
        try client.result("documents.drop", "{\"collection\":\"gone\"}")
        try daemon.waitUntilFolded()
        try waitUntilDropped()
        let result = try client.result("storage.compact")
        let files = result["files"]?.elements ?? []
        #expect(
            files.map { $0["name"]?.text ?? "" } == ["cache/blobs.sqlite", "cache/cache.sqlite", "durable/kura.sqlite"])
        #expect(result["before"]?.int == files.reduce(0) { $0 + ($1["before"]?.int ?? 0) })
        #expect(result["after"]?.int == files.reduce(0) { $0 + ($1["after"]?.int ?? 0) })
        let last = try #require(files.last)
        #expect(last["after"]?.int ?? .max < last["before"]?.int ?? 0)
        #expect(last["after"]?.int == Compaction.size(tables) && FileSystem.size(tables + "-wal") == 0)
        #expect(try Connection(path: tables, mode: .readOnly).scalar("PRAGMA freelist_count") == 0)
        try expectDocuments("kept", 0..<100, client)
        try expectSound()
        let model = try client.result("models.get", "{\"namespace\":\"feed\",\"key\":\"299\"}")
        #expect(model["value"]?.text == value)
        // With nothing to do it ends as well.
        let again = try client.result("storage.compact")
        #expect(again["after"] == again["before"] && again["after"] == result["after"])
    }

    private func waitUntilDropped() throws {
        let deadline = now() + 60
        while try TablesRecount.numbers(daemon.data, "SELECT count(*) FROM drops") != [0], now() < deadline {
            usleep(10_000)
        }
    }

    /// Pages that are free and too few to be given back unasked.
    private func free(_ client: Client) throws {
        try fill("gone", 0..<700, client)
        try fill("kept", 0..<50, client)
        try daemon.waitUntilFolded()
        try client.result("documents.drop", "{\"collection\":\"gone\"}")
        try daemon.waitUntilFolded()
        try waitUntilDropped()
    }

    @Test func `a compaction tells how far it is, writers go on, and it ends with its client`() throws {
        let client = try daemon.connect()
        try free(client)
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "tend.commit:sleep=700:1+")
        let asking = try daemon.connect()
        asking.send(Client.request("storage.compact", id: "\"c\""))
        let writer = try daemon.connect()
        for id in 0..<50 { try writer.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\(id)\",\"value\":\(id)}") }
        var progress = 0
        while true {
            let line = try asking.reply()
            guard line["method"]?.text == "progress" else {
                #expect(line["result"]?["after"]?.int ?? .max < line["result"]?["before"]?.int ?? 0, "\(line)")
                break
            }
            #expect(line["params"]?["unit"]?.text == "bytes" && line["params"]?["total"]?.int ?? 0 > 1 << 20)
            progress += 1
        }
        #expect(progress > 0)
        do { try daemon.connect().send(Client.request("storage.compact")) }
        #expect(try writer.result("storage.compact")["files"]?.elements.isEmpty == false)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a compaction that finds no room is refused or goes on in the reserve's, and the daemon goes on`() throws
    {
        let client = try daemon.connect()
        try free(client)
        #expect(daemon.terminate() == 0)
        // The slice that it strikes may be another one's.
        try daemon.start(faults: "tend.slice:full:1")
        let asking = try daemon.connect()
        let first = try asking.call("storage.compact")
        if let error = first["error"] { #expect(error["data"]?["kind"]?.text == "noSpace") }
        // Changes are refused until the reserve is back.
        let deadline = now() + 60
        var last = try asking.call("storage.compact")
        while last["error"] != nil, now() < deadline {
            usleep(50_000)
            last = try asking.call("storage.compact")
        }
        last = try #require(last["result"])
        let before = first["result"]?["before"]?.int ?? last["before"]?.int ?? 0
        #expect(last["after"]?.int ?? .max < before)
        try expectDocuments("kept", 0..<50, asking)
    }

    @Test(arguments: [
        "tend.slice:kill:1", "tend.slice:kill:3", "tend.commit:kill:1", "tend.commit:kill:2",
        "vfs.write@durable:kill:2", "vfs.write@durable:kill:30", "vfs.sync@durable:kill:1", "vfs.sync@durable:kill:2",
    ]) func `a kill in the midst of a compaction loses nothing`(fault: String) throws {
        let client = try daemon.connect()
        try free(client)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":7}")
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: fault)
        let asking = try daemon.connect()
        #expect((try? asking.call("storage.compact")) == nil, "\(fault)")
        _ = daemon.wait()
        daemon.kill()
        try daemon.start()
        let reader = try daemon.connect()
        try expectDocuments("kept", 0..<50, reader)
        #expect(try reader.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 7)
        try reader.result("storage.compact")
        try expectSound()
        #expect(try Connection(path: tables, mode: .readOnly).scalar("PRAGMA freelist_count") == 0)
    }

    @Test func `a reader that stays keeps its snapshot, and a compaction ends without the WAL's bytes`() throws {
        let client = try daemon.connect()
        try free(client)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try daemon.waitUntilFolded()
        let reader = try Connection(path: tables, mode: .readOnly)
        try reader.execute("BEGIN")
        let before = try reader.scalar("SELECT count(*) FROM documents")
        #expect(try client.result("storage.compact")["files"]?.elements.isEmpty == false)
        #expect(try reader.scalar("SELECT count(*) FROM documents") == before)
        try reader.execute("COMMIT")
        reader.close()
        try client.result("storage.compact")
        #expect(FileSystem.size(tables + "-wal") == 0)
        try expectDocuments("kept", 0..<50, client)
    }

    @Test func `a backup that is made meanwhile has everything`() throws {
        let client = try daemon.connect()
        try free(client)
        try client.result("storage.backup", "{\"name\":\"before\"}")
        let asking = try daemon.connect()
        for round in 0..<5 {
            try fill("gone", 0..<300, client)
            try daemon.waitUntilFolded()
            try client.result("documents.drop", "{\"collection\":\"gone\"}")
            asking.send(Client.request("storage.compact", id: "\(round)"))
            try client.result("storage.backup", "{\"name\":\"b\(round)\"}")
            let verified = try client.result("backups.verify", "{\"name\":\"b\(round)\"}")
            #expect(verified["counts"]?["documents"]?.int == 50, "\(verified)")
            while try asking.reply()["result"] == nil {}
        }
        try expectSound()
    }

    // MARK: At a start

    /// Leaves a cache's file with much that is free.
    private func growCache() throws {
        let client = try daemon.connect()
        for key in 0..<20 {
            try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"\(key)\",\"value\":\(key)}")
        }
        #expect(daemon.terminate() == 0)
        let connection = try Connection(path: cache, mode: .readWrite)
        try connection.execute(
            """
            PRAGMA journal_mode=WAL; CREATE TABLE filler(text);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO filler SELECT hex(zeroblob(1900)) FROM n;
            DROP TABLE filler;
            """)
    }

    private var cache: String { daemon.data + "/cache/cache.sqlite" }

    /// Starts the daemon and ends it, so that the next start is the n-th; before it gives anything back.
    private func pass(_ starts: Int) throws {
        let record = try #require(TemporaryDaemon.contents(daemon.data + "/boot.json"))
        let text = String(decoding: record, as: UTF8.self)
        let counted = try #require(text.firstRange(of: "\"starts\":"))
        let digits = text[counted.upperBound...].prefix { $0.isNumber }
        let changed = text.replacing("\"starts\":\(digits)", with: "\"starts\":\(starts)")
            .replacing(/,"check":\d+/, with: "")
        TemporaryDaemon.write(changed, to: daemon.data + "/boot.json")
        chmod(daemon.data + "/boot.json", 0o600)
    }

    private func expectModels() throws {
        let client = try daemon.connect()
        for key in 0..<20 {
            let model = try client.result("models.get", "{\"namespace\":\"feed\",\"key\":\"\(key)\"}")
            #expect(model["value"]?.int == key, "\(key): \(model)")
        }
    }

    @Test(arguments: [3, 4]) func `one start in five writes a file anew that is mostly free`(before: Int) throws {
        try growCache()
        try pass(before)
        let inode = Self.inode(cache)
        try daemon.start()
        try expectModels()
        #expect((Self.inode(cache) != inode) == (before == 4))
        if before == 4 { #expect(FileSystem.size(cache) < 200_000) }
    }

    @Test(arguments: ["cache.copy", "cache.copied", "cache.settled", "cache.replaced"])
    func `a kill at any moment of it leaves the old file or the new one, whole`(point: String) throws {
        try growCache()
        try pass(4)
        try daemon.launch(faults: point + ":kill")
        #expect(daemon.wait() == 128 + SIGKILL)
        #expect(!FileSystem.exists(cache + "-wal") || point == "cache.copy" || point == "cache.copied")
        try daemon.start()
        try expectModels()
        #expect(daemon.terminate() == 0)
        #expect((TemporaryDaemon.names(daemon.data + "/tmp") ?? []).isEmpty)
        // The next one in five.
        try pass(9)
        try daemon.start()
        try expectModels()
        #expect(FileSystem.size(cache) < 200_000)
    }

    private static func inode(_ path: String) -> UInt64 {
        var information = stat()
        return stat(path, &information) == 0 ? UInt64(information.st_ino) : 0
    }
}
