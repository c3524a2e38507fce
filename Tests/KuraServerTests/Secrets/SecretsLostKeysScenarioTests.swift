import Glibc
import Testing

/// keys/slots.json is gone, and secrets are there that only its keys open: nobody makes others in its place.
@Suite struct SecretsLostKeysScenarioTests {
    private let daemon: TemporaryDaemon
    private var slots: String { daemon.data + "/keys/slots.json" }
    private var aside: String { daemon.root + "/slots.json" }
    private static let secret = "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"one\"}"
    private static let name = "{\"service\":\"s\",\"account\":\"ada\"}"

    init() throws {
        daemon = try TemporaryDaemon()
    }

    /// Every file under keys/, and what is in it.
    private func keys() -> [String: [UInt8]] {
        let names = TemporaryDaemon.names(daemon.data + "/keys") ?? []
        return names.reduce(into: [:]) { $0[$1] = TemporaryDaemon.contents(daemon.data + "/keys/" + $1) }
    }

    private func refusesToStart(_ words: String) throws {
        let before = keys()
        try daemon.launch()
        #expect(daemon.wait() == 2)
        #expect(daemon.log.contains(words) && daemon.log.contains("Nothing was changed"), "\(daemon.log)")
        #expect(keys() == before)
    }

    @Test(arguments: [true, false]) func `a start without the slots is refused, and changes nothing`(
        isFolded: Bool
    ) throws {
        try daemon.connect().result("secrets.put", Self.secret)
        if isFolded { #expect(daemon.terminate() == 0) } else { daemon.kill() }
        rename(slots, aside)
        try refusesToStart("slots.json is missing")
        try refusesToStart("slots.json is missing")
        // Nor is something that cannot be read written over.
        mkdir(slots, 0o700)
        try refusesToStart("slots.json")
        rmdir(slots)
        rename(aside, slots)
        try daemon.start()
        #expect(try daemon.connect().result("secrets.get", Self.name)["secret"] == .string("one"))
    }

    @Test func `where no secret was ever put, a start makes new slots`() throws {
        try daemon.connect().result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        #expect(daemon.terminate() == 0)
        unlink(slots)
        try daemon.start()
        let client = try daemon.connect()
        #expect(try client.result("secrets.status")["state"]?.text == "unlocked")
        try client.result("secrets.put", Self.secret)
    }

    @Test func `told so, a start goes without the secrets, and everything else works`() throws {
        try daemon.connect().result("secrets.put", Self.secret)
        #expect(daemon.terminate() == 0)
        rename(slots, aside)
        try daemon.start(more: ["--without-secrets"])
        let client = try daemon.connect()
        let status = try client.result("secrets.status")
        #expect(status["state"]?.text == "unusable" && status["reason"]?.text?.contains("missing") == true)
        #expect(try client.refusal("secrets.unlock")["kind"]?.text == "integrity")
        #expect(try client.refusal("secrets.get", Self.name)["kind"]?.text == "sealed")
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        #expect(access(slots, F_OK) != 0)
        rename(aside, slots)
        #expect(try client.result("secrets.unlock")["state"]?.text == "unlocked")
        #expect(try client.result("secrets.get", Self.name)["secret"] == .string("one"))
    }

    @Test func `slots that go while the daemon runs are not made anew`() throws {
        let client = try daemon.connect()
        try client.result("secrets.put", Self.secret)
        rename(slots, aside)
        #expect(try client.refusal("secrets.addSlot", "{\"kind\":\"keyFile\"}")["kind"]?.text == "integrity")
        try client.result("secrets.lock")
        #expect(try client.refusal("secrets.unlock")["kind"]?.text == "integrity")
        #expect(access(slots, F_OK) != 0)
        rename(aside, slots)
        #expect(try client.result("secrets.unlock")["state"]?.text == "unlocked")
        #expect(try client.result("secrets.get", Self.name)["secret"] == .string("one"))
    }
}
