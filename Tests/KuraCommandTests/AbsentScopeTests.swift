import Testing

@testable import KuraCommand

/// Lists and counts of scopes that nothing was ever stored in.
@Suite struct AbsentScopeTests {
    @Test func `a scope that never existed is told, in every store, and the status stays 0`() throws {
        let commands = [
            ("docs list", "docs", "collection"), ("docs find", "docs", "collection"),
            ("docs count", "docs", "collection"),
            ("docs list --all", "docs", "collection"), ("docs find --json", "docs", "collection"),
            ("settings list", "settings", "domain"),
            ("models list", "models", "namespace"), ("blobs list", "blobs", "namespace"),
            ("settings export", "settings", "domain"),
        ]
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put countries DE '{"n":1}'; kura -q settings put app theme dark
            kura -q models put feed home 1; printf x | kura -q blobs put images a -
            kura -q docs put gone a 1; kura -q docs delete gone a
            try() { "$@" 2>errors >/dev/null; echo "$? $(wc -l <errors) $(cat errors)"; }
            \(commands.map { "try kura \($0.0.replacing(" --", with: " nowhere --"))\($0.0.contains("--") ? "" : " nowhere")" }
                .joined(separator: "\n"))
            echo .
            try kura docs list cuontries; try kura docs find nowhere -q; try kura settings export nowhere -q
            # What is there, and what was, says nothing.
            try kura docs find countries n=5; try kura docs count countries n=5; try kura docs list gone
            try kura settings list app --prefix zzz; try kura models list feed; try kura docs list countries
            try kura settings export app
            """)
        let lines = outcome.output.split(separator: "\n").map(String.init)
        try #require(lines.count == commands.count + 11, "\(outcome.output)")
        for ((command, noun, field), line) in zip(commands, lines) {
            #expect(line == "0 1 kura: 'kura \(noun) scopes' names no \(field) 'nowhere'", "\(command): \(line)")
        }
        let others = lines.dropFirst(commands.count + 1)
        #expect(
            others.first == "0 1 kura: 'kura docs scopes' names no collection 'cuontries': did you mean countries?",
            "\(others)")
        for line in others.dropFirst() { #expect(line == "0 0 ", "\(others)") }
    }

    @Test func `whoever may not ask for the scopes is told nothing`() {
        let server = FakeServer {
            [
                $0.method == "documents.list"
                    ? $0.result(#"{"documents":[],"rev":1}"#) : $0.error("forbidden", code: -32010)
            ]
        }
        let outcome = CapturedConsole().run("docs", "list", "c", on: server)
        #expect(outcome.status == .done && outcome.errors == "", "\(outcome.errors)")
        #expect(server.requests.count == 2)
    }
}
