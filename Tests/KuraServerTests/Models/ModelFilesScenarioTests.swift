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
        client = try restart { #expect(rename(file, copy) == 0) }
        try configure(client, "n", isPartition: false)
        try put(client, "other", 2, in: "n")
        client = try restart()
        // As a removal that a kill has come before would have left it.
        #expect(rename(copy, file) == 0)
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
}
