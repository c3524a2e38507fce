import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// What a newer version has written: this one says so, and leaves it as it is.
@Suite struct NewerVersionScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon(starts: false)
        try #require(EarlierRelease.newest).unpack(to: daemon)
    }

    enum Kind: String, CaseIterable {
        case tables, tablesInWAL, log, keys, recovery, all
    }

    /// Says of a kind of file that the next version has written it.
    private func raise(_ kind: Kind) throws {
        switch kind {
        case .tables, .tablesInWAL:
            let connection = try Connection(path: daemon.data + "/durable/kura.sqlite", mode: .readWrite)
            try connection.setPersistWAL(true)
            try connection.setCheckpointOnClose(kind == .tables)
            try connection.execute("PRAGMA journal_mode=WAL; PRAGMA user_version=\(Formats.tables + 1);")
            connection.close()
            // A newer version writes both places.
            let newer = Int32(Formats.tables + 1)
            try LayoutRecord(from: newer, to: newer).write(beside: daemon.data + "/durable/kura.sqlite")
            let file = try #require(TemporaryDaemon.contents(daemon.data + "/durable/kura.sqlite"))
            #expect(
                (Int(file[63]) == Formats.tables + 1) == (kind == .tables), "in the file or in its WAL, as it is to be")
        case .log:
            let segment = try Segment(
                creating: 999, in: daemon.data + "/log", capacity: Segment.leastCapacity, recycled: nil)
            try Self.raiseLayout(ofSegment: segment.path)
        case .keys:
            let path = daemon.data + "/keys/slots.json"
            let text = String(decoding: try #require(TemporaryDaemon.contents(path)), as: UTF8.self)
            // Its end is another one too.
            let tail = try #require(text.firstRange(of: ",\"mac\""))
            let newer =
                text[..<tail.lowerBound].replacing("{\"format\":1,", with: "{\"format\":\(KeySlots.newestFormat + 1),")
                + "}\n"
            TemporaryDaemon.write(String(newer), to: path)
            chmod(path, 0o600)
        case .recovery:
            TemporaryDaemon.write("{\"format\":2,\"notices\":[{\"format\":2}]}\n", to: daemon.data + "/recovered.json")
            chmod(daemon.data + "/recovered.json", 0o600)
        case .all:
            for kind in [Kind.tables, .log, .keys, .recovery] { try raise(kind) }
        }
    }

    /// Writes both heads of a segment as the next version would.
    static func raiseLayout(ofSegment path: String) throws {
        var head = try #require(try Segment.head(path))
        head.layout += 1
        var bytes = ByteBuffer()
        head.append(to: &bytes)
        for place in [0, SegmentFormat.headCopy] { try TemporaryDaemon.overwrite(path, at: place, Array(bytes.bytes)) }
    }

    private func words(_ kind: Kind) -> [String] {
        switch kind {
        case .tables, .tablesInWAL:
            ["durable/kura.sqlite has layout \(Formats.tables + 1), this version knows \(Formats.tables)"]
        case .log: [".log has log layout \(Formats.log + 1), this version knows \(Formats.log)"]
        case .keys:
            ["keys/slots.json has format \(KeySlots.newestFormat + 1), this version knows \(KeySlots.newestFormat)"]
        case .recovery: ["recovered.json has format 2, this version knows 1"]
        case .all: [Kind.tables, .log, .keys, .recovery].flatMap(words)
        }
    }

    @Test(arguments: Kind.allCases)
    func `a directory with a file of a newer format is refused with the format, and not a byte is changed`(
        kind: Kind
    ) throws {
        try raise(kind)
        let before = TemporaryDaemon.tree(daemon.data)
        #expect(before.count > 20)
        for _ in 0..<3 {
            #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 2)
        }
        #expect(daemon.log.contains("was written by a newer version of Kura"))
        for words in words(kind) { #expect(daemon.log.contains(words), "\(daemon.log)") }
        #expect(access(daemon.socket, F_OK) != 0)

        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 9)
        #expect(daemon.log.contains("error: formats: "))
        let after = TemporaryDaemon.tree(daemon.data)
        #expect(Set(before.keys) == Set(after.keys))
        for (name, bytes) in before { #expect(after[name] == bytes, "\(name)") }
    }

    @Test func `without the secrets a newer file of their keys keeps nothing else from starting`() throws {
        try raise(.keys)
        let before = TemporaryDaemon.contents(daemon.data + "/keys/slots.json")
        try daemon.start(more: ["--without-secrets"])
        let client = try daemon.connect()
        #expect(try client.result("settings.get", "{\"domain\":\"app\",\"key\":\"theme\"}")["value"]?.text == "light")
        #expect(try client.result("secrets.status")["state"]?.text == "unusable")
        let refusal = try client.refusal("secrets.get", "{\"service\":\"mail\",\"account\":\"ada\"}")
        #expect(refusal["kind"]?.text == "sealed", "\(refusal)")
        #expect(daemon.terminate() == 0)
        #expect(TemporaryDaemon.contents(daemon.data + "/keys/slots.json") == before)
    }

    @Test func `a file of keys that is damaged in its number is damaged, not newer`() throws {
        try TemporaryDaemon.overwrite(daemon.data + "/keys/slots.json", at: 10, [UInt8(ascii: "3")])
        try daemon.start()
        #expect(daemon.log.contains("keys/slots.json is damaged"))
    }

    @Test func `caches of a newer layout are dropped, and nothing else`() throws {
        let path = daemon.data + "/cache/cache.sqlite"
        let file = try Connection(path: path, mode: .readWrite)
        try file.execute("PRAGMA user_version=\(Caches.layoutVersion + 1)")
        file.close()
        try daemon.start()
        let client = try daemon.connect()
        let deadline = now() + 60
        var state = try client.result("models.get", "{\"namespace\":\"feed\",\"key\":\"home\"}")["state"]?.text
        while state != "miss", now() < deadline {
            usleep(10_000)
            state = try client.result("models.get", "{\"namespace\":\"feed\",\"key\":\"home\"}")["state"]?.text
        }
        #expect(state == "miss")
        #expect(try client.result("settings.get", "{\"domain\":\"app\",\"key\":\"theme\"}")["value"]?.text == "light")
        #expect(!daemon.log.contains("damaged"), "\(daemon.log)")
    }

    @Test func `backups and bundles of a newer format are refused with its number, and leave nothing behind`() throws {
        let backup = daemon.data + "/backups/made-then.kurabackup"
        try TemporaryDaemon.overwrite(backup, at: 8, [2, 0])
        let before = TemporaryDaemon.tree(daemon.data)
        let target = daemon.root + "/target"
        #expect(try daemon.run(["restore", backup, "--data-dir", target]) == 1)
        #expect(daemon.log.contains("its format is of version 2, which this kurad does not know"), "\(daemon.log)")
        #expect(access(target, F_OK) != 0)
        #expect(TemporaryDaemon.tree(daemon.data) == before)

        // A bundle is such a file that begins otherwise.
        let bundle = daemon.root + "/bundle"
        TemporaryDaemon.write("KURABNDL" + String(repeating: " ", count: 100), to: bundle)
        try TemporaryDaemon.overwrite(bundle, at: 8, [2, 0])
        let text = TemporaryDaemon.contents(bundle)
        let status = try daemon.run(["--data-dir", target, "--socket", daemon.socket, "--seed-bundle", bundle])
        #expect(status == 2)
        #expect(daemon.log.contains("was not laid down: its format is of version 2"), "\(daemon.log)")
        #expect(TemporaryDaemon.contents(bundle) == text)
        #expect(access(target + "/durable/kura.sqlite", F_OK) != 0)
    }

    @Test func `a log of a newer layout is not added to a backup`() throws {
        try raise(.log)
        let before = TemporaryDaemon.tree(daemon.data)
        let target = daemon.root + "/target"
        let status = try daemon.run([
            "restore", daemon.data + "/backups/made-then.kurabackup", "--data-dir", target, "--at", "newest", "--log",
            daemon.data + "/log", "--unproved",
        ])
        #expect(status == 1)
        #expect(daemon.log.contains("has log layout \(Formats.log + 1), made by a newer version"), "\(daemon.log)")
        #expect(access(target, F_OK) != 0)
        #expect(TemporaryDaemon.tree(daemon.data) == before)
    }
}
