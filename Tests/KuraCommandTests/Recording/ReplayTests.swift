import Glibc
import KuraProtocol
import Testing

@testable import KuraCommand

/// `kura record` and `kura replay` against real daemons, and against servers that answer as the tests say.
@Suite struct ReplayTests {
    static let puts = """
        {"at":1,"connection":1,"role":"admin"}
        {"at":2,"connection":2,"role":"admin"}
        {"at":10,"connection":1,"request":{"jsonrpc":"2.0","id":"p","method":"documents.put","params":{"collection":"c","value":1}}}
        {"at":20,"connection":1,"reply":"p","minted":{"id":"recorded","rev":900}}
        {"at":30,"connection":2,"request":{"jsonrpc":"2.0","id":1,"method":"documents.put","params":{"collection":"c","id":"recorded","value":2,"ifRev":900}}}
        {"at":40,"connection":2,"reply":1,"minted":{"id":"recorded","rev":901}}
        {"at":50,"connection":2,"request":{"jsonrpc":"2.0","id":1,"method":"documents.patch","params":{"collection":"c","id":"nobody","mergePatch":{}}}}

        """

    private func recorded(_ last: String) throws -> RecordedFile {
        try RecordedFile(RecordedTrafficTests.head + Self.puts + last + RecordedTrafficTests.end)
    }

    private static let found = #"{"at":60,"connection":2,"reply":1,"error":"notFound"}"# + "\n"
    private static let got = #"{"at":60,"connection":2,"reply":1,"minted":{"rev":1}}"# + "\n"

    @Test func `a request has the ids and revisions of this run, and waits for the reply that it needs`() throws {
        let server = FakeServer { request in
            switch request.id {
            case 0: [request.result("{\"id\":\"fresh\",\"rev\":5}")]
            default: [request.result("{\"id\":\"fresh\",\"rev\":6}")]
            }
        }
        let single = Self.puts.replacing("\"connection\":2", with: "\"connection\":1").replacing("\"p\"", with: "0")
            .split(separator: "\n").enumerated().filter { $0.offset != 1 && $0.offset != 6 }.map { $0.element + "\n" }
        let file = try RecordedFile(RecordedTrafficTests.head + single.joined() + RecordedTrafficTests.end)
        let outcome = CapturedConsole().run("replay", file.path, "--speed", "max", "--yes", on: server)
        #expect(outcome.status == .done, "\(outcome)")
        #expect(
            server.requests == [
                #"documents.put {"collection":"c","value":1}"#,
                #"documents.put {"collection":"c","id":"fresh","value":2,"ifRev":5}"#,
            ])
        #expect(outcome.output.contains("all were answered as in the recording"), "\(outcome)")
    }

    @Test func `a real daemon that is thrown away answers as the recorded one`() throws {
        let file = try recorded(Self.found)
        let outcome = try Shell.run("kura replay \(file.path) --speed max --expect same --json --loop 2")
        #expect(outcome.status == 0, "\(outcome)")
        let runs = outcome.output.split(separator: "\n").map(String.init)
        #expect(runs.count == 2)
        let run = try JSON(try #require(runs.first))
        #expect(run["requests"]?.int == 3 && run["differences"]?.int == 0, "\(outcome)")
        let put = try #require(run["methods"]?.elements.first { $0["method"]?.text == "documents.put" })
        #expect(put["requests"]?.int == 2 && put["recorded"]?["maxMicroseconds"]?.int == 10)
        #expect(put["replayed"]?["count"]?.int == 2)
    }

    @Test func `an outcome of another kind is told with an example, and is what --expect same ends with`() throws {
        let file = try recorded(Self.got)
        let outcome = try Shell.run("kura replay \(file.path) --speed max --expect same")
        #expect(outcome.status == ExitCode.negative.rawValue, "\(outcome)")
        #expect(
            outcome.output.contains(
                "documents.patch: a result, now notFound: 1, such as line 8, connection 2, id 1, at 0.000 s"),
            "\(outcome)")
        #expect(try Shell.run("kura replay \(file.path) --speed max").status == 0)
    }

    @Test func `the recorded pauses are kept, and divided by the speed`() throws {
        let file = try RecordedFile(
            RecordedTrafficTests.head + Self.puts.replacing("\"at\":50", with: "\"at\":400000")
                + Self.found.replacing("\"at\":60", with: "\"at\":400010") + RecordedTrafficTests.end)
        func microseconds(_ speed: String) throws -> Int {
            let outcome = try Shell.run("kura replay \(file.path) --speed \(speed) --json")
            return try #require(try JSON(String(outcome.output.dropLast()))["microseconds"]?.int, "\(outcome)")
        }
        #expect(try microseconds("1") >= 400_000)
        #expect(try microseconds("4") >= 100_000)
    }

    @Test func `a daemon that closes the connection is told as no reply`() throws {
        let server = FakeServer { _ in [] }
        let file = try RecordedFile(
            RecordedTrafficTests.head + RecordedTrafficTests.body.replacing("\"id\":1", with: "\"id\":1")
                + RecordedTrafficTests.end)
        let outcome = CapturedConsole().run(
            "replay", file.path, "--speed", "max", "--yes", "--expect", "same", on: server)
        #expect(outcome.status == .negative, "\(outcome)")
        #expect(outcome.output.contains("settings.get: notFound, now no reply: 1"), "\(outcome)")
    }

    @Test func `another daemon than a throw-away one needs a word, and bad files and options change nothing`() throws {
        let server = FakeServer { _ in [] }
        let file = try recorded(Self.found)
        for (arguments, message) in [
            ([file.path], "a replay changes what the daemon at \(server.path) keeps"),
            ([file.path + "-not", "--yes"], "cannot read"), ([file.path, "--yes", "--speed", "0"], "--speed takes"),
            ([file.path, "--yes", "--loop", "often"], "--loop takes"),
            ([file.path, "--yes", "--expect", "more"], "--expect takes"),
        ] {
            let outcome = CapturedConsole().run(["--socket", server.path, "replay"] + arguments)
            #expect(outcome.status == .usage && outcome.errors.contains(message), "\(arguments): \(outcome)")
        }
        let other = try RecordedFile("{}\n")
        let outcome = CapturedConsole().run("replay", other.path, "--yes", on: server)
        #expect(outcome.status == .usage && outcome.errors.contains("is no recording"), "\(outcome)")
        #expect(server.requests == [])
    }

    @Test func `what the recorded daemon had found and this one does not is told`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura settings put app theme dark -q; kura docs put c '{"a":1}' --id x -q
            kura record - >session.jsonl 2>/dev/null & recording=$!
            until [[ -s session.jsonl ]]; do sleep 0.05; done
            kura settings get app theme; kura docs get c x; kura docs put c '{"a":2}' --id x --if-rev 2
            kura settings list app; kura docs find c; kura settings get app nothing --default 1
            kura docs put c '{"a":3}' --id y --if-rev 0; kura docs get c y
            kill $recording; wait $recording
            kura replay session.jsonl --speed max --expect same 2>&1; echo "replayed $?"
            """)
        #expect(
            outcome.output.contains("session.jsonl begins at revision 2, not 0: what was there before is not here"),
            "\(outcome)")
        let told = [
            "settings.get: a result with value, now one without: 1",
            "documents.get: a result with value, now one without: 1",
            "documents.put: a result, now conflict: 1", "settings.list: a result with values, now one without: 1",
            "documents.find: a result with documents, now one without: 1", "5 requests were answered otherwise",
            "replayed 13",
        ]
        for line in told { #expect(outcome.output.contains(line), "\(line) in \(outcome)") }
    }

    @Test func `a recording is ended by a signal, is whole, and replays`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura record - >session.jsonl 2>told & recording=$!
            until [[ -s session.jsonl ]]; do sleep 0.05; done
            kura settings put app theme dark -q; kura secrets put postbox charlotte <<<'open sesame' -q
            kura docs put c '{"a":1}' -q
            kill $recording; wait $recording; echo "ended $?"
            grep -c '^-: 3 requests, 3 replies' told; tail -1 session.jsonl | grep -c '"end":'
            grep -c -e sesame -e postbox -e charlotte session.jsonl
            kura record session.jsonl --seconds 1; echo "again $?"
            kura replay session.jsonl --speed max --expect same | tail -1; echo "replayed ${PIPESTATUS[0]}"
            """)
        #expect(outcome.output.contains("ended 0\n1\n1\n0\n"), "\(outcome)")
        #expect(outcome.output.contains("again 2\n"), "\(outcome)")
        #expect(outcome.output.contains("all were answered as in the recording, by kind\nreplayed 0"), "\(outcome)")
    }
}
