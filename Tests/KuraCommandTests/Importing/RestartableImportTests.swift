import Glibc
import Synchronization
import Testing

@testable import KuraCommand

/// Imports during which the daemon goes.
@Suite struct RestartableImportTests {
    private let pipe = CapturedConsole()

    /// A file that goes with the test.
    private final class File {
        let path = "/tmp/kura-import-\(getpid())-\(UInt32.random(in: 0 ... .max))"

        init(_ text: String) throws {
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
            try #require(descriptor >= 0)
            #expect(write(descriptor, text, text.utf8.count) == text.utf8.count)
            close(descriptor)
        }

        deinit { unlink(path) }
    }

    /// Goes during the first import, when it has told of some of it; the next takes all that is left.
    private func server(done: Int, imported: Int) -> FakeServer {
        let count = Atomic(0)
        return FakeServer { request in
            guard request.method == "documents.import" else { return [request.result(#"{"pong":true}"#)] }
            // As the daemon does: the place in the file is moved for everybody who has it.
            if let descriptor = request.descriptors.first {
                var bytes = [UInt8](repeating: 0, count: 65_536)
                _ = read(descriptor, &bytes, bytes.count)
            }
            if count.add(1, ordering: .relaxed).oldValue == 0 {
                let told =
                    "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{\"id\":\(request.id),\"done\":\(done),\"total\":99,\"unit\":\"bytes\",\"imported\":\(imported)}}"
                return done > 0 ? [told, ""] : [""]
            }
            return [request.result(#"{"imported":2,"skipped":0,"errors":[],"offset":54,"rev":1}"#)]
        }
    }

    private static func imports(_ server: FakeServer) -> [String] {
        server.requests.filter { $0.hasPrefix("documents.import") }
    }

    @Test func `what has ids goes on where the daemon was last known to be, and counts as one`() throws {
        let file = try File((0..<3).map { "{\"id\":\"d\($0)\",\"value\":\($0)}\n" }.joined())
        let server = server(done: 22, imported: 1)
        let outcome = pipe.run("docs", "import", "c", file.path, "--json", on: server)
        #expect(outcome.status == .done, "\(outcome)")
        #expect(outcome.output == #"{"imported":3,"skipped":0,"errors":[],"offset":54,"rev":1}"# + "\n")
        #expect(outcome.errors.contains("going on at byte 22, with 1 stored"), "\(outcome.errors)")
        let imports = Self.imports(server)
        #expect(imports.count == 2 && !imports[0].contains("offset"), "\(imports)")
        #expect(
            imports.last?.contains("\"offset\":22") == true && imports.last?.contains("\"format\":\"lines\"") == true)
    }

    @Test func `what gets its ids from the daemon is not stored twice, and the command to go on with is told`() throws {
        let file = try File("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n")
        let first = server(done: 8, imported: 1)
        let outcome = pipe.run("docs", "import", "c", file.path, on: first)
        #expect(outcome.status == .outcomeUnknown && Self.imports(first).count == 1, "\(outcome)")
        #expect(outcome.errors.contains("what lies before byte 8 is stored, what lies behind it may be"))
        #expect(outcome.errors.contains("go on with: kura docs import c \(file.path) --offset 8"), "\(outcome.errors)")
        // With a member that is the id they are told apart.
        let second = server(done: 8, imported: 1)
        let again = pipe.run("docs", "import", "c", file.path, "--id", "a", on: second)
        #expect(again.status == .done && Self.imports(second).count == 2, "\(again)")
    }

    @Test func `records of a file that is cut off meanwhile are not counted`() throws {
        let file = try File("{\"a\":1}\n{\"a\":2}\n")
        for (offset, words) in [(16, "the 2 before it are stored"), (1000, "; what stands before it is stored")] {
            let server = FakeServer { request in
                guard request.method == "documents.import" else { return [request.result(#"{"pong":true}"#)] }
                return [request.error("badRecord", code: -32_000, ",\"offset\":\(offset)")]
            }
            let outcome = CapturedConsole().run("docs", "import", "c", file.path, "--id", "a", on: server)
            #expect(outcome.errors.contains(words), "\(outcome)")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a line without an end costs no more than itself when the hint is worded`() throws {
        let length = 64 << 20
        // A hole, of which nothing is a line's end, and what is refused behind it or in it.
        for (offset, words) in [(length + 1, "the 1 before it are stored"), (0, "the 0 before it are stored")] {
            let file = try File("")
            #expect(truncate(file.path, off_t(length)) == 0)
            let end = open(file.path, O_WRONLY | O_APPEND)
            #expect(write(end, "\n{\"a\":1}\n", 9) == 9)
            close(end)
            let server = FakeServer { request in
                guard request.method == "documents.import" else { return [request.result(#"{"pong":true}"#)] }
                return [request.error("badRecord", code: -32_000, ",\"offset\":\(offset)")]
            }
            let outcome = CapturedConsole().run("docs", "import", "c", file.path, "--id", "a", on: server)
            #expect(outcome.errors.contains(words), "\(outcome)")
        }
    }

    @Test func `where bad records are passed over it begins again, so that all of them are named`() throws {
        let file = try File("{\"a\":1}\n{\"a\":2}\n")
        let server = server(done: 8, imported: 1)
        let outcome = pipe.run(
            "docs", "import", "c", file.path, "--id", "a", "--on-error", "skip", "--json", on: server)
        #expect(outcome.status == .done && outcome.output.contains("\"imported\":2,"), "\(outcome)")
        #expect(Self.imports(server).allSatisfy { !$0.contains("offset") } && Self.imports(server).count == 2)
    }

    @Test func `an import of a folder's files and of settings goes on`() throws {
        let count = Atomic(0)
        let server = FakeServer { request in
            if request.method == "storage.ping" { return [request.result(#"{"pong":true}"#)] }
            if count.add(1, ordering: .relaxed).oldValue == 0 { return [""] }
            return [request.result(#"{"stored":true,"rev":1,"added":1,"changed":0,"removed":0}"#)]
        }
        let folder = try #require(try Shell.run("mktemp -d").output.split(separator: "\n").first.map(String.init))
        defer { _ = try? Shell.run("rm -rf \(folder)") }
        _ = try Shell.run(
            "mkdir \(folder)/in; echo a >\(folder)/in/a; echo b >\(folder)/in/b; echo '{\"x\":1}' >\(folder)/s.json")
        let files = pipe.run("import", "\(folder)/in", on: server)
        #expect(files.status == .done && files.output.contains("\"stored\":2"), "\(files)")
        #expect(server.requests.filter { $0.hasPrefix("blobs.put") }.count == 3)
        count.store(0, ordering: .relaxed)
        let settings = pipe.run("import", "\(folder)/s.json", on: server)
        #expect(settings.status == .done && settings.output.contains("\"stored\":1"), "\(settings)")
    }

    /// Answers each write from its second time on, and keeps the keys that they come with.
    private func forgetful(_ result: String, always: Bool = false) -> FakeServer {
        let last = Mutex("")
        return FakeServer { request in
            let isFirst = last.withLock { known in
                defer { known = request.params }
                return known != request.params
            }
            return isFirst || always ? [""] : [request.result(result)]
        }
    }

    @Test func `imports of settings and of secrets go on, and are sent the same again under the same key`() throws {
        let settings = forgetful(#"{"rev":1,"added":1,"changed":0,"removed":0}"#)
        let lines = CapturedConsole(input: #"{"app":{"a":1}}"#).run("settings", "import", on: settings)
        #expect(lines.status == .done && lines.output.hasPrefix(#"{"rev":1"#), "\(lines)")
        #expect(settings.requests.count == 2 && Set(settings.requests).count == 1, "\(settings.requests)")
        #expect(settings.keylessRequests.first == #"settings.import {"values":{"app":{"a":1}}}"#)
        #expect(settings.keylessRequests != settings.requests)
        #expect(lines.errors.contains("the daemon is gone; waiting for it"))
        let given = CapturedConsole(input: #"{"app":{"a":1}}"#).run(
            "settings", "import", "--request-key", "mine", on: settings)
        #expect(given.status == .done)
        #expect(settings.requests.last?.hasSuffix(#""requestKey":"mine"}"#) == true, "\(settings.requests)")

        let secrets = forgetful(#"{"rev":1,"results":[]}"#)
        let map = "{" + (0..<501).map { "\"n\($0)\":\"v\"" }.joined(separator: ",") + "}"
        let stored = CapturedConsole(input: map).run("secrets", "import", "app", "--if-absent", on: secrets)
        #expect(stored.status == .done && stored.errors.hasSuffix("kura: 501 secrets of app stored\n"), "\(stored)")
        // Two pieces, twice each, each under a key of its own.
        #expect(secrets.requests.count == 4 && Set(secrets.requests).count == 2)
        let keys = secrets.requests.map { String($0.suffix(60)) }
        #expect(keys[0] == keys[1] && keys[1] != keys[2] && keys.allSatisfy { $0.contains("\"requestKey\":\"kura-") })
    }

    @Test func `what has no daemon to go on with says how to go on, and that nobody knows what is stored`() throws {
        let gone = forgetful("{}", always: true)
        let settings = CapturedConsole(input: #"{"app":{"a":1}}"#).run("settings", "import", on: gone)
        #expect(settings.status == .outcomeUnknown && gone.requests.count == 11, "\(settings)")
        #expect(settings.errors.contains("hint: the same command again stores nothing twice"), "\(settings.errors)")
        let server = FakeServer { request in
            request.params.contains("n500") ? [""] : [request.result(#"{"rev":1,"results":[]}"#)]
        }
        let map = "{" + (0..<501).map { "\"n\($0)\":\"v\"" }.joined(separator: ",") + "}"
        for (options, hint) in [
            ([], "hint: the same command again stores all of them; those that are stored already get another version"),
            (
                ["--if-absent"],
                "hint: 'kura secrets list app' tells which are stored: leave these out, and import the rest"
            ),
        ] {
            let secrets = CapturedConsole(input: map).run(
                ["--socket", server.path, "secrets", "import", "app"] + options)
            #expect(secrets.status == .outcomeUnknown && secrets.errors.contains(hint), "\(secrets.errors)")
            #expect(secrets.errors.contains("; the first 500 of 501 are stored"), "\(secrets.errors)")
        }
        // What is refused is not sent again.
        let refusing = FakeServer { [$0.error("forbidden", code: -32006)] }
        let refused = CapturedConsole(input: #"{"app":{"a":1}}"#).run("settings", "import", on: refusing)
        #expect(refused.status == .refused && refusing.requests.count == 1)
    }

    @Test func `settings whose names are too many for a kept result are sent without a key`() {
        let names = (0..<4_000).map { "\($0)" + String(repeating: "x", count: 60) }
        #expect(SettingsImport.isKept(Array(names.prefix(3_000))) && !SettingsImport.isKept(names))
        let server = forgetful(#"{"rev":1,"added":1,"changed":0,"removed":0}"#)
        let text = "{\"app\":{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}}"
        let outcome = CapturedConsole(input: text).run("settings", "import", on: server)
        #expect(outcome.status == .done && server.requests.count == 2 && server.requests == server.keylessRequests)
    }

    @Test func `secrets that are imported when the daemon is killed are there once, each in its first version`() throws
    {
        let outcome = try Shell.run(
            """
            work=$(mktemp -d); cd "$work"
            export KURA_SOCKET=$work/kura.sock KURA_MIN_FREE_BYTES=0
            trap 'kill $daemon 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
            begin() {
                kurad --data-dir "$work/data" --profile small 2>>"$work/log" &
                daemon=$!
                for _ in {1..6000}; do kura -q ping 2>/dev/null && break; sleep 0.01; done
            }
            seq 1 1200 | sed 's/.*/N&=v&/' >in.env
            KURA_FAULTS=log.commit:kill:3 begin
            first=$daemon
            kura secrets import app in.env --if-absent 2>told &
            import=$!
            wait $first; echo "the daemon's status $?"
            begin
            wait $import; echo "exit $?"
            kura secrets list app --all | jq -s -c '[length, ([.[].version] | unique)]'
            grep -c 'waiting for it' told; tail -1 told
            """)
        #expect(
            outcome.output == """
                the daemon's status 137
                exit 0
                [1200,[1]]
                1
                kura: 1200 secrets of app stored

                """, "\(outcome.output)")
    }

    @Test func `a daemon that is killed in the midst of an import and started again has all of it, once`() throws {
        let outcome = try Shell.run(
            """
            work=$(mktemp -d); cd "$work"
            export KURA_SOCKET=$work/kura.sock KURA_MIN_FREE_BYTES=0
            trap 'kill $daemon 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
            begin() {
                kurad --data-dir "$work/data" --profile small 2>>"$work/log" &
                daemon=$!
                for _ in {1..6000}; do kura -q ping 2>/dev/null && break; sleep 0.01; done
            }
            seq 1 20000 | jq -c '{id: "d\\(.)", value: {n: ., text: ("t" * 200)}}' >in.ndjson
            KURA_FAULTS=log.append:sleep=150:3+,log.commit:kill:9 begin
            first=$daemon
            kura docs import c in.ndjson >out 2>told &
            import=$!
            wait $first; echo "the daemon's status $?"
            begin
            wait $import; echo "exit $?"
            jq -c '[.imported, .skipped]' out; kura docs count c
            kura docs export c -q >back.ndjson; sort in.ndjson >a; sort back.ndjson | cmp - a && echo the same
            grep -c 'waiting for it' told; grep -cE 'going on at byte|beginning again' told
            """)
        #expect(
            outcome.output == """
                the daemon's status 137
                exit 0
                [20000,0]
                20000
                the same
                1
                1

                """, "\(outcome.output)")
    }
}
