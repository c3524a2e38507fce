import Testing

@testable import KuraCommand

/// Recordings of connections that have other roles than admin.
@Suite struct ReplayRolesTests {
    private static let recording =
        RecordedTrafficTests.head + """
            {"at":1,"connection":1,"role":"app"}
            {"at":2,"connection":1,"request":{"jsonrpc":"2.0","id":1,"method":"secrets.list","params":{}}}
            {"at":3,"connection":1,"reply":1,"error":"forbidden"}
            {"at":4,"connection":2,"role":"admin"}
            {"at":5,"connection":2,"request":{"jsonrpc":"2.0","id":1,"method":"storage.ping"}}
            {"at":6,"connection":2,"reply":1}

            """ + RecordedTrafficTests.end

    private func replay(_ configuration: String, _ options: String) throws -> Shell.Outcome {
        let file = try RecordedFile(Self.recording)
        let other = try RecordedFile(configuration)
        return try Shell.run(
            "kura replay \(file.path) --speed max --expect same \(options.replacing("CONFIG", with: other.path)) 2>&1; echo \"exit $?\""
        )
    }

    @Test func `roles are those of a configuration, and it is said where there is none`() throws {
        let configuration = #"""
            {"dataDir": "/nonexistent/kura", "sockets": [{"path": "/nonexistent/kura.sock", "role": "app"}],
             "roles": {"app": {"grants": [{"store": "settings", "scope": "*", "allow": ["read"]}]}}}
            """#
        let outcome = try replay(configuration, "--config CONFIG")
        #expect(outcome.output.hasSuffix("by kind\nexit 0\n") && !outcome.output.contains("admin here"), "\(outcome)")
        let without = try replay("{}", "")
        #expect(
            without.output.contains(
                "has connections of the role app, which is admin here: --config gives the daemon roles\n"),
            "\(without)")
        #expect(without.output.contains("secrets.list: forbidden, now a result: 1"), "\(without)")
        let other = try replay("{}", "--config CONFIG")
        #expect(other.output.contains("the role app, which is not in that configuration, and admin here"), "\(other)")
    }

    @Test func `a configuration that the daemon refuses is told at once`() throws {
        let outcome = try replay(#"{"roles": {"app": 7}}"#, "--config CONFIG")
        #expect(outcome.output.contains("kurad: "), "\(outcome)")
        #expect(outcome.output.hasSuffix("kura: the daemon to play it into does not start\nexit 3\n"), "\(outcome)")
        #expect(try replay("7", "--config CONFIG").output.contains("is no configuration"))
        #expect(try replay("{}", "--config CONFIG --socket nowhere --yes").output.contains("exit 2"))
    }
}
