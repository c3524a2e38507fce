import Glibc
import SQLite
import Testing

@testable import KuraServer

/// Looking through everything by itself.
@Suite struct IdleCheckScenarioTests {
    private let daemon: TemporaryDaemon
    private static let often = "{\"checks\":{\"every\":\"1s\"}}"

    init() throws {
        daemon = try TemporaryDaemon(movesTime: true)
        let client = try daemon.connect()
        for key in 0..<200 {
            let text = String(repeating: "x", count: 2000) + "mark-\(key)"
            client.send(
                Client.request("documents.put", "{\"collection\":\"big\",\"id\":\"\(key)\",\"value\":\"\(text)\"}"))
            #expect(try client.reply()["error"] == nil)
        }
        try client.result("documents.put", "{\"collection\":\"small\",\"id\":\"a\",\"value\":1}")
        try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"k\",\"value\":\"value-of-a-model\"}")
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
    }

    private func waitUntilChecked() throws {
        try daemon.advance(seconds: 2)
        try daemon.waitUntil { $0["check"]?["at"]?.text != nil }
    }

    private func check() throws -> JSON? { try daemon.connect().result("storage.status")["check"] }

    @Test func `a sound data directory is looked through once, and the next start knows when`() throws {
        try daemon.start(configuration: Self.often)
        try waitUntilChecked()
        #expect(try check()?["problems"]?.int == 0)
        #expect(daemon.terminate() == 0)
        #expect(daemon.log.contains("everything looked through"))
        let lines = daemon.log.split(separator: "\n").count { $0.contains("everything looked through") }
        #expect(lines >= 1 && !daemon.log.contains("damage found"))
        try daemon.start(configuration: "{\"checks\":{\"every\":\"never\"}}")
        #expect(try check()?["at"]?.text != nil && check()?["running"]?.bool == false)
    }

    @Test func `damage is told in the log and counted, a damaged cache is dropped, and the rest is served`() throws {
        let path = daemon.data + "/durable/kura.sqlite"
        let contents = try #require(TemporaryDaemon.contents(path))
        let place = try #require(contents.firstRange(of: Array("mark-150".utf8))?.lowerBound) / 4096 * 4096
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        let bytes = [UInt8](repeating: 0xEE, count: 4096)
        #expect(pwrite(descriptor, bytes, bytes.count, off_t(place)) == bytes.count)
        close(descriptor)
        try daemon.start(configuration: Self.often)
        try waitUntilChecked()
        #expect(try check()?["problems"]?.int ?? 0 > 0)
        #expect(daemon.log.contains("damage found") && daemon.log.contains("\"where\":\"big\""))
        let client = try daemon.connect()
        #expect(try client.result("documents.get", "{\"collection\":\"small\",\"id\":\"a\"}")["value"]?.int == 1)
    }

    @Test func `what somebody asks for counts as well`() throws {
        try daemon.start(configuration: "{\"checks\":{\"every\":\"never\"}}")
        #expect(try check() == nil)
        try daemon.connect().result("storage.check")
        #expect(try check()?["problems"]?.int == 0)
        #expect(!daemon.log.contains("everything looked through"))
    }

    @Test func `it says that it is under way, and the daemon stops in its midst at once`() throws {
        // Each read of the tables takes a while.
        try daemon.start(configuration: Self.often, faults: "vfs.read@durable:sleep=10:1+")
        try daemon.advance(seconds: 2)
        try daemon.waitUntil { $0["check"]?["running"]?.bool == true }
        #expect(daemon.terminate() == 0)
    }

    @Test func `a hundred requests a second are quiet, more are not`() {
        #expect(IdleChecks.Pace.isQuiet(0, milliseconds: 100) && IdleChecks.Pace.isQuiet(10, milliseconds: 100))
        #expect(!IdleChecks.Pace.isQuiet(11, milliseconds: 100))
        #expect(IdleChecks.Pace.isQuiet(100, milliseconds: 1000))
    }

    @Test(arguments: [
        ("{\"checks\":{\"every\":\"soon\"}}", "checks.every is a time"),
        ("{\"checks\":{\"often\":1}}", "known is every"),
        ("{\"checks\":7}", "checks is an object"),
    ]) func `a configuration that says something else is refused`(text: String, reason: String) throws {
        TemporaryDaemon.write(text, to: daemon.root + "/bad.json")
        #expect(
            try daemon.run([
                "--data-dir", daemon.data, "--socket", daemon.socket, "--config", daemon.root + "/bad.json",
            ])
                != 0)
        #expect(daemon.log.contains(reason))
    }
}
