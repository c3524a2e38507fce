import Glibc
import SQLite
import Testing

@testable import KuraStorage

/// `session.hello {launch: true}`: what an application's start has the daemon do.
@Suite struct LaunchScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws { daemon = try TemporaryDaemon(movesTime: true) }

    /// Says that the application has started, and waits until everything is done that is due then.
    private func launch(_ client: Client, _ name: String, _ count: Int) throws -> JSON {
        // Between two of them there is a pause.
        try daemon.advance(seconds: 1)
        try client.result("session.hello", "{\"client\":\"\(name)\",\"version\":\"1\",\"launch\":true}")
        let deadline = now() + 60
        while now() < deadline {
            let stats = try client.result("storage.stats")
            let own = stats["launches"]?.elements.first { $0["client"]?.text == name }
            if let own, own["count"]?.int == count { return own }
            usleep(10_000)
        }
        Issue.record("the start of \(name) has come to nothing")
        return try JSON("{}")
    }

    @Test func `what an application has deleted logically goes at its start`() throws {
        let client = try daemon.connect()
        for key in 0..<5 {
            try client.result("models.put", "{\"namespace\":\"notes.parts\",\"key\":\"\(key)\",\"value\":\(key)}")
        }
        // Whatever is swept at the daemon's start has been.
        try client.result("storage.sweep")
        for key in 0..<3 {
            try client.result(
                "models.delete", "{\"namespace\":\"notes.parts\",\"key\":\"\(key)\",\"logical\":true}")
        }
        let first = try launch(client, "notes", 1)
        #expect(first["swept"]?.int == 3 && first["compacted"]?.bool == false, "\(first)")
        #expect(first["sweptBytes"]?.int ?? 0 > 0 && first["at"]?.text != nil)
        let second = try launch(client, "notes", 2)
        #expect(second["swept"]?.int == 0, "\(second)")
        let other = try launch(client, "other", 1)
        #expect(other["swept"]?.int == 0, "\(other)")
    }

    @Test func `one start in five of an application has large files compacted, and each has their sizes taken`() throws
    {
        let client = try daemon.connect()
        let text = String(repeating: "x", count: 4000)
        for (collection, count) in [("kept", 500), ("gone", 900)] {
            for start in stride(from: 0, to: count, by: 100) {
                let documents = (start..<start + 100).map { "{\"id\":\"d\($0)\",\"value\":\"\(text)\"}" }
                try client.result(
                    "documents.putMany",
                    "{\"collection\":\"\(collection)\",\"documents\":[\(documents.joined(separator: ","))]}")
            }
        }
        try daemon.waitUntilFolded()
        try client.result("documents.drop", "{\"collection\":\"gone\"}")
        try daemon.waitUntilFolded()
        let deadline = now() + 60
        while try TablesRecount.numbers(daemon.data, "SELECT count(*) FROM drops") != [0], now() < deadline {
            usleep(10_000)
        }
        let tables = daemon.data + "/durable/kura.sqlite"
        // Too little to be given back unasked.
        let free = try #require(try Connection(path: tables, mode: .readOnly).scalar("PRAGMA freelist_count"))
        #expect(free > 500)
        // What was folded lies in the WAL until a checkpoint, which a daemon makes once it is idle.
        while FileSystem.size(tables) <= 4 << 20, now() < deadline {
            try daemon.advance(seconds: 1)
            usleep(10_000)
        }
        for count in 1...5 {
            let report = try launch(client, "notes", count)
            #expect(report["compacted"]?.bool == (count == 5), "\(report)")
            let left = try Connection(path: tables, mode: .readOnly).scalar("PRAGMA freelist_count") ?? -1
            #expect(count == 5 ? left == 0 : left > 500, "\(count): \(left)")
            if count == 5 { #expect(report["freedBytes"]?.int ?? 0 > 1 << 20, "\(report)") }
            let sizes = try client.result("storage.stats")["databases"]?.elements ?? []
            #expect(
                sizes.first { $0["name"]?.text == "durable/kura.sqlite" }?["range"]?.text
                    == (count == 5 ? "2-4 MB" : "4-8 MB"), "\(sizes)")
        }
    }

    @Test func `a role without the daemon's administration sees its own start alone`() throws {
        #expect(daemon.terminate() == 0)
        let reading = "{\"store\":\"storage\",\"scope\":\"*\",\"allow\":[\"read\"]}"
        let socket = daemon.root + "/other.sock"
        try daemon.start(
            configuration: """
                {"sockets":[{"path":"\(daemon.socket)","role":"admin"},{"path":"\(socket)","role":"reader"}],\
                "roles":{"reader":{"grants":[\(reading)]}}}
                """)
        let (admin, reader) = (try daemon.connect(), try Client(path: socket))
        _ = try launch(admin, "notes", 1)
        _ = try launch(reader, "letters", 1)
        let own = try reader.result("storage.stats")["launches"]?.elements ?? []
        #expect(own.map { $0["client"]?.text } == ["letters"])
        #expect(try admin.result("storage.stats")["launches"]?.elements.count == 2)
    }
}
