import Glibc
import Testing

/// Those who come at once: how many are let in a turn, and from which door.
@Suite struct AcceptingScenarioTests {
    private static let crowd = 300

    /// What each of some requests sees that one client has sent at once, each of which takes a turn: while the daemon stood still a
    /// crowd has connected.
    private func status(
        _ daemon: TemporaryDaemon, of client: Client, _ count: Int, crowd: () throws -> [Client]
    ) throws -> [JSON] {
        // Whoever waited for the start counts as present for some milliseconds, and would have the client put off.
        try client.result("storage.ping")
        usleep(20_000)
        Glibc.kill(daemon.pid, SIGSTOP)
        let guests = try crowd()
        for id in 0..<count { client.send(Client.request("storage.status", id: "\(id)")) }
        Glibc.kill(daemon.pid, SIGCONT)
        defer { withExtendedLifetime(guests) {} }
        return try (0..<count).map { _ in try #require(try client.reply()["result"]) }
    }

    @Test func `while somebody is served a few are let in a turn`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"requestsPerTurn\":1}}")
        let client = try daemon.connect()
        let states = try status(daemon, of: client, 6) { try (0..<Self.crowd).map { _ in try daemon.connect() } }
        let open = states.compactMap { $0["connections"]?["open"]?.int }
        #expect(open.count == 6)
        #expect(open[5] > 1, "they are let in all the same: \(open)")
        #expect(zip(open, open.dropFirst()).allSatisfy { $1 - $0 <= 8 }, "let in at once: \(open)")
    }

    @Test func `a crowd at one socket does not keep those at another waiting`() throws {
        let daemon = try RoleDaemon(["app": RoleDaemon.role(RoleDaemon.grant("settings", "a", "read"))])
        let limited = String(daemon.configuration(daemon.roles).dropLast()) + ",\"limits\":{\"requestsPerTurn\":1}}"
        #expect(daemon.daemon.terminate() == 0)
        try daemon.daemon.start(configuration: limited)
        let client = try daemon.connect("admin")
        let seen = try status(daemon.daemon, of: client, 4) {
            try (0..<Self.crowd).map { _ in try daemon.connect("admin") } + [try daemon.connect("app")]
        }
        // By the third turn each socket has come first once.
        #expect(seen[3]["sockets"]?.elements.map { $0["connections"]?.int ?? 0 }.last == 1, "\(seen[3])")
    }
}
