import Testing

@testable import KuraCommand

/// The table that `kura replay` prints.
@Suite struct ReplayTableTests {
    private static let names = [
        "documents.describe", "documents.deleteMany", "secrets.changePassphrase", "storage.ping",
    ]

    private static let recording: String = {
        let lines = names.enumerated().flatMap { place, name in
            [
                #"{"at":\#(place * 10 + 1),"connection":1,"request":{"jsonrpc":"2.0","id":1,"method":"\#(name)"}}"#,
                #"{"at":\#(place * 10 + 2),"connection":1,"reply":1,"error":"invalidParams"}"#,
            ]
        }
        return RecordedTrafficTests.head + "{\"at\":1,\"connection\":1,\"role\":\"admin\"}\n"
            + lines.joined(separator: "\n") + "\n" + RecordedTrafficTests.end
    }()

    private func replay(_ console: CapturedConsole) throws -> String {
        let server = FakeServer { [$0.error("invalidParams", code: -32602)] }
        let file = try RecordedFile(Self.recording)
        return console.run("replay", file.path, "--speed", "max", "--yes", on: server).output
    }

    @Test func `methods' names stay whole, on a terminal at the cost of times`() throws {
        for width in [60, 70, 80, 100] {
            let output = try replay(CapturedConsole(isTerminal: true, width: width, environment: ["NO_COLOR": "1"]))
            let table = output.split(separator: "\n").prefix(5)
            for name in Self.names { #expect(output.contains("\n\(name) "), "\(width): \(output)") }
            #expect(table.allSatisfy { Visible.width(String($0)) <= width }, "\(width): \(output)")
            #expect(output.contains("max trip") == (width == 100), "\(width): \(output)")
        }
    }

    @Test func `nothing is cut where no terminal reads it, and the times are explained`() throws {
        let output = try replay(CapturedConsole(width: 20))
        for name in Self.names { #expect(output.contains("\n\(name) "), "\(output)") }
        #expect(output.contains("max in  p50 trip"), "\(output)")
        #expect(output.contains("\nin: within the recorded daemon,"), "\(output)")
    }
}
