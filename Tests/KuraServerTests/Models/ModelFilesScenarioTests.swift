import Glibc
import SQLite
import Testing

/// The model cache's files: which namespace they are of, and what is left of it when one of them is lost.
@Suite struct ModelFilesScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon()
    }

    private var partitions: [String] {
        (TemporaryDaemon.names(daemon.data + "/cache") ?? []).filter { $0.hasPrefix("models-") }.sorted()
    }

    private func put(_ client: Client, _ key: String, _ value: Int, in namespace: String) throws {
        let result = try client.result(
            "models.put", "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\",\"value\":\(value),\"ttlSeconds\":600}")
        #expect(result["stored"]?.bool == true)
    }

    private func get(_ client: Client, _ key: String, in namespace: String) throws -> JSON {
        try client.result("models.get", "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\"}")
    }

    private func configure(_ client: Client, _ namespace: String, isPartition: Bool = true) throws {
        try client.result("models.configure", "{\"namespace\":\"\(namespace)\",\"partition\":\(isPartition)}")
    }

    /// Stops and starts it.
    private func restart(faults: String? = nil, _ meanwhile: () throws -> Void = {}) throws -> Client {
        #expect(daemon.terminate() == 0)
        try meanwhile()
        try daemon.start(faults: faults)
        return try daemon.connect()
    }

    @Test func `so many namespaces have files of their own and no more, so that nobody takes all descriptors`() throws {
        let client = try daemon.connect()
        for at in 0..<64 { try configure(client, "n\(at)") }
        let error = try client.call("models.configure", "{\"namespace\":\"more\",\"partition\":true}")["error"]
        #expect(error?["data"]?["kind"]?.text == "quotaExceeded" && error?["data"]?["limit"]?.int == 64)
        // Who has one keeps it, without one there is no bound, and one that is given up makes room.
        try configure(client, "n0")
        try configure(client, "more", isPartition: false)
        try configure(client, "n0", isPartition: false)
        try configure(client, "more")
    }

    @Test func `a partition whose name is lost is shown under no other name`() throws {
        var client = try daemon.connect()
        try configure(client, "first")
        try put(client, "k", 1, in: "first")
        client = try restart {
            for suffix in ["", "-wal", "-shm"] { unlink(daemon.data + "/cache/cache.sqlite" + suffix) }
        }
        // It gets the number that the other one had.
        try put(client, "other", 2, in: "second")
        #expect(partitions.isEmpty, "\(partitions)")
        try configure(client, "second")
        client = try restart()
        #expect(try get(client, "k", in: "second")["state"]?.text == "miss")
        #expect(try get(client, "other", in: "second")["value"]?.int == 2)
    }

    @Test func `a namespace that moves into a file finds nothing in it`() throws {
        var client = try daemon.connect()
        let (file, copy) = (daemon.data + "/cache/models-1.sqlite", daemon.root + "/copy")
        try configure(client, "n")
        try put(client, "k", 1, in: "n")
        // What a stop has left of it may lie in its WAL.
        func move(_ from: String, _ to: String) {
            #expect(rename(from, to) == 0)
            for suffix in ["-wal", "-shm"] { rename(from + suffix, to + suffix) }
        }
        client = try restart { move(file, copy) }
        try configure(client, "n", isPartition: false)
        try put(client, "other", 2, in: "n")
        client = try restart()
        // As a removal that a kill has come before would have left it.
        move(copy, file)
        // What is in memory moves along.
        #expect(try get(client, "other", in: "n")["value"]?.int == 2)
        try configure(client, "n")
        client = try restart()
        #expect(try get(client, "k", in: "n")["state"]?.text == "miss")
        #expect(try get(client, "other", in: "n")["value"]?.int == 2)
    }

    @Test func `what is left in the main file of a namespace without a name is nobody's`() throws {
        var client = try daemon.connect()
        try put(client, "k", 1, in: "first")
        client = try restart {
            try Connection(path: daemon.data + "/cache/cache.sqlite", mode: .readWrite).execute(
                "DELETE FROM model_namespaces")
        }
        try put(client, "other", 2, in: "second")
        client = try restart()
        #expect(try get(client, "k", in: "second")["state"]?.text == "miss")
        #expect(try get(client, "other", in: "second")["value"]?.int == 2)
    }

    // MARK: Bytes that change at rest

    /// Puts a value of some pages, changes a byte of it in the file between two runs, and starts again.
    private func damageValue(_ byte: UInt8) throws -> Client {
        var client = try daemon.connect()
        try put(client, "other", 1, in: "n")
        let text = String(repeating: "needle.", count: 3000)
        try client.result("models.put", "{\"namespace\":\"n\",\"key\":\"k\",\"value\":\"\(text)\",\"ttlSeconds\":600}")
        client = try restart {
            let path = daemon.data + "/cache/cache.sqlite"
            let contents = try #require(TemporaryDaemon.contents(path))
            let places = contents.ranges(of: Array("needle.".utf8))
            try TemporaryDaemon.overwrite(path, at: places[places.count / 2].lowerBound, [byte])
        }
        return client
    }

    // Another value, and what makes a line of the protocol that is no JSON.
    @Test(arguments: ["X", "\""])
    func `a byte that changes in a value at rest is a miss and told, and never a value`(byte: String) throws {
        let client = try damageValue(try #require(byte.utf8.first))
        let found = try get(client, "k", in: "n")
        #expect(found["state"]?.text == "miss" && found["value"] == nil, "\(found)")
        try waitFor("the file is dropped") { daemon.log.contains("cache files were damaged") }
        #expect(daemon.log.ranges(of: "cache files were damaged").count == 1)
        #expect(try client.result("storage.status")["recovered"] == nil)
        // It begins anew.
        try put(client, "k", 2, in: "n")
        let again = try restart()
        #expect(try get(again, "k", in: "n")["value"]?.int == 2)
        #expect(daemon.log.ranges(of: "cache files were damaged").count == 1)
    }

    // MARK: Writes that fail

    private func writes(_ client: Client) throws -> Int? {
        try client.result("storage.status")["disk"]?["cache"]?["writes"]?.int
    }

    private func keys(_ numbers: Range<Int>) -> String { numbers.map { "\"k\($0)\"" }.joined(separator: ",") }

    @Test func `what a write that failed half-way was to delete does not come back`() throws {
        var client = try daemon.connect()
        let entries = (0..<1000).map { "{\"key\":\"k\($0)\",\"value\":\($0)}" }.joined(separator: ",")
        try client.result("models.putMany", "{\"namespace\":\"n\",\"entries\":[\(entries)],\"ttlSeconds\":600}")
        client = try restart(faults: "model.table:fail:2")
        let deleted = try client.result("models.deleteMany", "{\"namespace\":\"n\",\"keys\":[\(keys(0..<1000))]}")
        #expect(deleted["deleted"]?.int == 1000)
        try put(client, "later", 1, in: "n")
        client = try restart()
        let found = try client.result("models.getMany", "{\"namespace\":\"n\",\"keys\":[\(keys(0..<1000))]}")
        #expect(found["entries"]?.elements.count == 0)
        // On a busy machine it may have been in one write with what failed.
        let later = try get(client, "later", in: "n")
        #expect(later["value"]?.int == 1 || later["state"]?.text == "miss", "\(later)")
    }

    @Test func `a touch behind a put that could not be written brings no old value back`() throws {
        var client = try daemon.connect()
        try put(client, "k", 1, in: "n")
        client = try restart(faults: "model.table:sleep=1000:1,model.table:fail:2")
        // While the first is written the next two wait.
        try put(client, "x", 1, in: "n")
        usleep(300_000)
        try put(client, "k", 2, in: "n")
        usleep(300_000)
        try client.result("models.touch", "{\"namespace\":\"n\",\"key\":\"k\",\"ttlSeconds\":600}")
        usleep(800_000)
        #expect(try get(client, "k", in: "n")["value"]?.int == 2)
        client = try restart()
        #expect(try get(client, "k", in: "n")["value"]?.int ?? 2 == 2)
    }

    @Test func `what was invalidated stays so when the file that says so is lost`() throws {
        var client = try daemon.connect()
        for namespace in ["all", "tag", "prefix"] {
            try configure(client, namespace)
            try client.result(
                "models.put",
                "{\"namespace\":\"\(namespace)\",\"key\":\"k\",\"value\":1,\"ttlSeconds\":600,\"tags\":[\"t\"]}")
        }
        try put(client, "before", 1, in: "main")
        client = try restart(faults: "model.table:fail:4")
        // The sweep of a start would write as well, and the next one is a minute away.
        try client.result("storage.sweep")
        for more in ["all\"", "tag\",\"tag\":\"t\"", "prefix\",\"prefix\":\"k\""] {
            // Each is a write of its own.
            let before = try writes(client)
            try client.result("models.invalidate", "{\"namespace\":\"\(more)}")
            let deadline = now() + 60
            while try writes(client) == before, now() < deadline { usleep(5000) }
            usleep(50_000)
        }
        // The main file is dropped with this one.
        try put(client, "k", 1, in: "main")
        usleep(500_000)
        client = try restart()
        #expect(try get(client, "k", in: "main")["state"]?.text == "miss")
        for namespace in ["all", "tag", "prefix"] {
            let state = try get(client, "k", in: namespace)["state"]?.text
            #expect(state == "stale", "\(namespace)")
        }
    }

    @Test func `a stop that could not write its last changes is no clean one`() throws {
        var client = try daemon.connect()
        try put(client, "k", 1, in: "n")
        #expect(daemon.terminate() == 0)
        #expect(access(daemon.data + "/cache/clean", F_OK) == 0)
        try daemon.start(faults: "model.table:fail:1")
        client = try daemon.connect()
        try put(client, "k", 2, in: "n")
        #expect(daemon.terminate() == 0)
        #expect(access(daemon.data + "/cache/clean", F_OK) != 0)
        try daemon.start()
        client = try daemon.connect()
        #expect(try get(client, "k", in: "n")["state"]?.text == "miss")
    }

    @Test func `namespaces without entries go with a sweep, and stay away`() throws {
        var client = try daemon.connect()
        for namespace in ["a", "b", "c"] {
            try put(client, "k", 1, in: namespace)
            try client.result("models.delete", "{\"namespace\":\"\(namespace)\",\"key\":\"k\"}")
        }
        let won = try client.result(
            "models.get", "{\"namespace\":\"c\",\"key\":\"k\",\"claim\":true,\"leaseSeconds\":3600}")
        let token = try #require(won["token"]?.text)
        // The second one finds it as the first one has left it.
        for _ in 0..<2 { try client.result("storage.sweep") }
        func names(_ client: Client) throws -> [String?] {
            try client.result("models.scopes")["scopes"]?.elements.map { $0["namespace"]?.text } ?? []
        }
        // Its winner brings something yet.
        #expect(try names(client) == ["c"])
        let stored = try client.result(
            "models.put", "{\"namespace\":\"c\",\"key\":\"k\",\"value\":1,\"token\":\"\(token)\"}")
        #expect(stored["stored"]?.bool == true && stored["stale"] == nil)
        client = try restart()
        #expect(try names(client) == ["c"])
        try put(client, "k", 2, in: "d")
        client = try restart()
        #expect(try names(client) == ["c", "d"] && get(client, "k", in: "d")["value"]?.int == 2)
        #expect(try get(client, "k", in: "c")["value"]?.int == 1)
    }
}
