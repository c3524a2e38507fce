import Glibc
import SQLite
import Testing

/// Requests that wait for the fold thread, or for a file, where neither gets any further: each is answered all the same.
@Suite struct FullDiskWaitsTests {
    /// What needs the tables is refused from now on: the disk is full for them alone.
    private static let full = "vfs.write@durable:full:1+"

    /// A directory with 40 tombstones to purge, and people whom books will refer to.
    private func prepared() throws -> TemporaryDaemon {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for number in 0..<40 {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(number)\",\"value\":\(number)}")
            try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"\(number)\"}")
        }
        try client.result("documents.put", "{\"collection\":\"people\",\"id\":\"ada\",\"value\":{}}")
        try client.result("documents.put", "{\"collection\":\"books\",\"id\":\"b\",\"value\":{\"p\":\"ada\"}}")
        #expect(daemon.terminate() == 0)
        return daemon
    }

    /// After a refusal and a start that finds room, it is done.
    private func expectRefused(_ daemon: TemporaryDaemon, _ method: String, _ params: String, before: String? = nil)
        throws
    {
        try daemon.start(faults: Self.full)
        if let before { try daemon.connect().result("documents.configure", before) }
        let refusal = try daemon.connect().refusal(method, params)
        #expect(["noSpace", "overloaded"].contains(refusal["kind"]?.text), "\(refusal)")
        daemon.kill()
        try daemon.start()
        try daemon.connect().result(method, params)
    }

    @Test func `a purge is answered where the tables' disk is full`() throws {
        try expectRefused(prepared(), "documents.purge", "{\"collection\":\"c\"}")
    }

    @Test func `a deletion that waits for a reference's index is answered where the tables' disk is full`() throws {
        let references =
            "{\"collection\":\"books\",\"references\":[{\"field\":\"p\",\"collection\":\"people\",\"onDelete\":\"nullify\"}]}"
        try expectRefused(
            prepared(), "documents.delete", "{\"collection\":\"people\",\"id\":\"ada\"}", before: references)
    }

    @Test func `a destruction that another process's snapshot of the tables holds up is told, and done once that ends`()
        throws
    {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for value in ["one", "two"] {
            try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"\(value)\"}")
        }
        try daemon.waitUntilFolded()
        // As a shell of sqlite3 has it in a transaction: it reads what the tables were.
        let stranger = try Connection(path: daemon.data + "/durable/kura.sqlite", mode: .readOnly)
        try stranger.execute("BEGIN")
        let look = try stranger.prepare("SELECT count(*) FROM sqlite_schema")
        #expect(try look.step())
        let first = "{\"service\":\"s\",\"account\":\"a\",\"version\":1}"
        let refusal = try client.refusal("secrets.destroyVersion", first)
        #expect(refusal["kind"]?.text == "overloaded", "\(refusal)")
        #expect(refusal["hint"]?.text?.contains("destroyed") == true, "\(refusal)")
        #expect(try client.refusal("secrets.get", first)["kind"]?.text == "notFound")
        look.reset()
        try stranger.execute("COMMIT")
        try client.result("secrets.destroyVersion", first)
        // It ends before its connection does.
        _ = consume look
        withExtendedLifetime(stranger) {}
    }

    @Test func `a feed that finds no descriptor for a segment is answered, and goes on when there is one`() throws {
        // It lets go of none of them: which it would depends on how far it has folded.
        let configuration = "{\"changes\":{\"retainBytes\":1000000000}}"
        let daemon = try TemporaryDaemon(configuration: configuration)
        let writer = try daemon.connect()
        let filler = String(repeating: "z", count: 60_000)
        // Several segments.
        for number in 0..<300 {
            try writer.result(
                "documents.put", "{\"collection\":\"c\",\"id\":\"\(number % 7)\",\"value\":\"\(number)\(filler)\"}")
        }
        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: configuration)
        let client = try daemon.connect()
        _ = daemon.settledDescriptorCount
        daemon.limitDescriptors(to: 3)
        let refusal = try client.call("changes.list", "{\"afterRev\":0,\"limit\":1}")
        #expect(refusal["error"]?["data"]?["kind"]?.text == "overloaded", "\(refusal)")
        daemon.limitDescriptors(to: 1000)
        let page = try client.result("changes.list", "{\"afterRev\":0,\"limit\":1}")
        #expect(page["changes"]?.elements.count == 1)
    }
}
