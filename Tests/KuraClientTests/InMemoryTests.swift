import Glibc
import KuraClient
import KuraTesting
import Testing

/// What is particular to daemons inside of a process; what they answer is in the suites that run with both.
@Suite struct InMemoryTests {
    static let count = SettingKey("count", default: 0)

    @Test func `several live side by side, each with data of its own`() async throws {
        var clients: [Kura] = []
        for _ in 0..<8 { clients.append(try await Kura.inMemory()) }
        #expect(Set(clients.map(\.path)).count == 8)
        #expect(Set(clients.compactMap { $0.server?.epoch }).count == 8)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, kura) in clients.enumerated() {
                group.addTask {
                    for _ in 0...number { try await kura.settings["app"].increment(Self.count) }
                    try await kura.secrets["mail"].put("ada", Secret(text: "\(number)"))
                }
            }
            try await group.waitForAll()
        }
        // The others go on when some end.
        for kura in clients[..<4] { await kura.close() }
        for (number, kura) in clients.enumerated().dropFirst(4) {
            #expect(try await kura.settings["app"].get(Self.count) == number + 1)
            #expect(try await kura.secrets["mail"].get("ada")?.secret.text == "\(number)")
        }
    }

    @Test func `clients of several roles share one daemon, which outlasts each of them`() async throws {
        let daemon = try await InMemoryDaemon(
            configuration: """
                {"roles":{"reader":{"grants":[{"store":"settings","scope":"app","allow":["read","list"]}]}},
                 "limits":{"batchItems":7}}
                """)
        let owner = try await daemon.connect()
        let reader = try await daemon.connect(role: "reader")
        #expect(owner.server?.role == "admin" && reader.server?.role == "reader")
        #expect(reader.server?.limits["batchItems"] == 7)
        try await owner.settings["app"].put(Self.count, 3)
        await owner.close()
        #expect(try await reader.settings["app"].get(Self.count) == 3)
        let refused = await #expect(throws: KuraError.self) { try await reader.settings["app"].put(Self.count, 4) }
        #expect(refused?.kind == .forbidden)
        let nobody = await #expect(throws: KuraError.self) { try await daemon.connect(role: "writer") }
        #expect(nobody?.kind == .serverGone)
        #expect(nobody?.advice.contains("reader") == true)
        await daemon.stop()
        let gone = await #expect(throws: KuraError.self) { try await daemon.connect() }
        #expect(gone?.kind == .serverGone)
    }

    @Test(
        arguments: [
            ("{", "no JSON object"), (#"{"dataDir":"/tmp"}"#, "dataDir"), (#"{"socket":"/tmp/s"}"#, "socket"),
            (#"{"sockets":[{"path":"/tmp/s","role":"admin"}]}"#, "sockets"), (#"{"nonsense":1}"#, "nonsense"),
            (#"{"backups":{"every":"1d"}}"#, "backups"), (#"{"settingsLocks":"/nowhere/locks"}"#, "/nowhere/locks"),
            (#"{"roles":{"admin":{"grants":[]}}}"#, "admin"),
        ]
    )
    func `what cannot be is refused, with what is wrong`(configuration: String, word: String) async throws {
        let error = await #expect(throws: KuraError.self) { try await Kura.inMemory(configuration: configuration) }
        #expect(error?.kind == .serverGone)
        #expect(error?.message.contains(word) == true, "\(error as Any)")
    }

    @Test func `each counts what itself writes`() async throws {
        let (idle, busy) = (try await Kura.inMemory(), try await Kura.inMemory())
        let (none, some) = (try DiskWriteMeter(socket: idle.path), try DiskWriteMeter(socket: busy.path))
        var unwritten: DiskWrites?
        let written = try await some.measure {
            unwritten = try await none.measure {
                for number in 0..<50 { try await busy.settings["app"].put("k\(number)", number) }
            }
        }
        #expect(written.log > 0 && unwritten?.log == 0, "\(written), \(unwritten as Any)")
    }

    @Test func `it goes with its client, and its directory with it`() async throws {
        var kura: Kura? = try await Kura.inMemory()
        let path = try #require(kura?.path)
        try await kura?.settings["app"].put(Self.count, 1)
        kura = nil
        let directory = String(path[..<path.lastIndex(of: "/")!])
        try await eventually("the directory is gone") { access(directory, F_OK) != 0 }
        let gone = await #expect(throws: KuraError.self) { try await Kura.connect(to: path) }
        #expect(gone?.kind == .serverGone)
    }

    @Test func `others' clients are told that it has been closed`() async throws {
        let kura = try await Kura.inMemory()
        let other = try await Kura.connect(to: kura.path, options: .init(patience: .milliseconds(50)))
        #expect(try await other.settings["app"].get(Self.count) == 0)
        await kura.close()
        let gone = await #expect(throws: KuraError.self) { try await other.settings["app"].get(Self.count) }
        #expect(gone?.kind == .serverGone)
    }

    @Test func `a hundred that came and went leave nothing`() async throws {
        let peer = try PeerProcess(["cycles", "100"])
        #expect(try await peer.ended(within: 300) == 0)
        let lines = peer.lines
        try #require(lines.count == 1, "\(lines)")
        let words = lines[0].split(separator: " ")
        func number(_ name: String) -> Int? {
            words.firstIndex(of: name[...]).flatMap { Int(words[$0 + 1]) }
        }
        #expect(number("descriptors") == 0, "\(lines)")
        // Those of the tasks come and go.
        #expect((number("threads") ?? .max) < 20, "\(lines)")
        #expect(lines[0].contains("named none"), "\(lines)")
        // KiB: one has some 4 MiB, so that 100 that stay would be far more.
        #expect((number("resident") ?? .max) < 64 << 10, "\(lines)")
    }

    @Test func `the process stays as it is, and its signals its own`() async throws {
        let peer = try PeerProcess(["host"])
        #expect(try await peer.ended(within: 120) == -SIGTERM)
        #expect(peer.lines == ["unchanged"])
    }

    @Test func `a daemon in a process of its own answers the same client`() async throws {
        let kura = try await Kura.ephemeralDaemon(options: .init(timeout: .seconds(120)))
        try await kura.settings["app"].put(Self.count, 5)
        let status = try await kura.call("storage.status", json: [])
        #expect(String(decoding: status.result, as: UTF8.self).contains("\"pid\":\(getpid())") == false)
        #expect(try await kura.settings["app"].get(Self.count) == 5)
        await kura.close()
    }
}
