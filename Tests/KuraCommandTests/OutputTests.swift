import Glibc
import KuraProtocol
import Synchronization
import Testing

@testable import KuraCommand

@Suite struct OutputTests {
    private let pipe = CapturedConsole(catalogue: .extended)
    private let terminal = CapturedConsole(isTerminal: true, environment: ["NO_COLOR": "1"], catalogue: .extended)

    /// A server that has one result for everything.
    private static func server(_ result: String) -> FakeServer { FakeServer { [$0.result(result)] } }

    @Test func `a list is a table on a terminal and a line an item elsewhere`() {
        let server = Self.server(
            #"{"scopes":[{"domain":"app","count":2,"bytes":17,"rev":4},{"domain":"日本","count":10,"bytes":3,"rev":5}],"rev":5}"#
        )
        #expect(
            terminal.run("settings", "scopes", on: server).output == """
                domain  count  bytes  rev
                app         2     17    4
                日本       10      3    5

                """)
        let lines = """
            {"domain":"app","count":2,"bytes":17,"rev":4}
            {"domain":"日本","count":10,"bytes":3,"rev":5}

            """
        #expect(pipe.run("settings", "scopes", on: server).output == lines)
        #expect(terminal.run("settings", "scopes", "--ndjson", on: server).output == lines)
        for console in [pipe, terminal] {
            let whole = console.run("--json", "settings", "scopes", on: server).output
            #expect(whole.hasPrefix(#"{"scopes":[{"domain":"app","#) && whole.hasSuffix(#","rev":5}"# + "\n"))
        }
        #expect(pipe.run("settings", "scopes", "-q", on: server).output == "")
    }

    @Test func `a map's items are keys and values`() {
        let server = Self.server(#"{"values":{"a":"dark","b":{"c":[1]}},"rev":5}"#)
        #expect(
            pipe.run("settings", "list", "app", on: server).output == """
                {"key":"a","value":"dark"}
                {"key":"b","value":{"c":[1]}}

                """)
        #expect(
            terminal.run("settings", "list", "app", on: server).output == """
                key  value
                a    dark
                b    {"c":[1]}

                """)
        let empty = terminal.run("settings", "list", "app", on: Self.server(#"{"values":{},"rev":0}"#))
        #expect(empty.output == "" && empty.errors == "kura: none\n" && empty.status == .done)
    }

    @Test func `what is missing or not all is said beside the result`() {
        let some = Self.server(#"{"documents":[{"id":"a","value":1,"rev":1}],"missing":["b","c"],"rev":1}"#)
        let outcome = pipe.run("docs", "get-many", "c", "a", "b", "c", on: some)
        #expect(outcome.output == #"{"id":"a","value":1,"rev":1}"# + "\n")
        #expect(outcome.errors == "kura: missing: b, c\n")
        let page = Self.server(#"{"values":{"a":1},"rev":5,"cursor":"x"}"#)
        #expect(pipe.run("settings", "list", "app", on: page).errors.hasPrefix("kura: there is more: --all"))
        #expect(pipe.run("settings", "list", "app", "-q", on: page).errors == "")
    }

    @Test func `get prints the bare value: text as it is, the rest as JSON`() {
        let text = Self.server(#"{"value":"dark \"blue\"\n\u001b[31m","rev":5}"#)
        #expect(pipe.run("settings", "get", "a", "k", on: text).output == "dark \"blue\"\n\u{1B}[31m\n")
        #expect(terminal.run("settings", "get", "a", "k", on: text).output == "dark \"blue\"\n\\u001b[31m\n")
        #expect(
            pipe.run("settings", "get", "a", "k", "--json", on: text).output
                == #"{"value":"dark \"blue\"\n\u001b[31m","rev":5}"# + "\n")
        let object = Self.server(#"{"value":{"a":1.50},"rev":5,"layer":"app"}"#)
        #expect(pipe.run("settings", "get", "a", "k", on: object).output == "{\"a\":1.50}\n")
        #expect(terminal.run("settings", "get", "a", "k", on: object).output == "{\n  \"a\": 1.50\n}\n")
        // Who asks for more than the value gets it.
        #expect(pipe.run("settings", "get", "a", "k", "--explain", on: object).output.contains("layer"))
    }

    @Test func `an absent value prints nothing and has a status of its own`() {
        let outcome = pipe.run("settings", "get", "a", "k", on: Self.server(#"{"rev":0}"#))
        #expect(outcome.status == .absent && outcome.output == "" && outcome.errors == "kura: nothing is there\n")
        let quiet = pipe.run("settings", "get", "a", "k", "-q", on: Self.server(#"{"rev":0}"#))
        #expect(quiet.status == .absent && quiet.errors == "")
        #expect(
            pipe.run("settings", "get", "a", "k", "--json", on: Self.server(#"{"rev":0}"#)).output == "{\"rev\":0}\n")
    }

    @Test func `count prints the number, a small result names and values, a large one indented JSON`() {
        #expect(terminal.run("docs", "count", "c", on: Self.server(#"{"count":12,"rev":5}"#)).output == "12\n")
        let written = Self.server(#"{"id":"a\u0007","rev":5}"#)
        #expect(terminal.run("docs", "put", "c", "1", on: written).output == "id   a\\u0007\nrev  5\n")
        #expect(pipe.run("docs", "put", "c", "1", on: written).output == #"{"id":"a\u0007","rev":5}"# + "\n")
        let large = Self.server(#"{"server":"kurad","limits":{"a":1}}"#)
        #expect(terminal.run("session", "hello", on: large).output.contains("\n  \"limits\": {\n"))
    }

    @Test func `colours of an answer are none of ours`() {
        let coloured = CapturedConsole(isTerminal: true)
        let status = Self.server(#"{"version":"1\u001b[31m","pid":1,"profile":"\u001b[31m"}"#)
        let stored = Self.server(#"{"id":"a\u001b[31m","\u001b[31mrev":5,"rev":5}"#)
        for output in [
            coloured.run("status", on: status).output, coloured.run("docs", "put", "c", "1", on: stored).output,
        ] {
            #expect(output.contains("\\u001b[31m") && !output.contains("\u{1B}[31m"), "\(output)")
        }
        #expect(coloured.run("status", on: status).output.contains("\u{1B}[32mready\u{1B}[0m"))
    }

    @Test func `colour is for terminals, unless the environment or an option says otherwise`() {
        let server = Self.server(#"{"values":{"a":1},"rev":5}"#)
        let list = ["--socket", server.path, "settings", "list", "app"]
        #expect(CapturedConsole(isTerminal: true).run(list).output.contains("\u{1B}[1m"))
        #expect(!terminal.run(list).output.contains("\u{1B}"))
        #expect(!CapturedConsole(isTerminal: true, environment: ["TERM": "dumb"]).run(list).output.contains("\u{1B}"))
        #expect(!CapturedConsole(isTerminal: true).run(list + ["--color=never"]).output.contains("\u{1B}"))
        #expect(terminal.run(list + ["--color", "always"]).output.contains("\u{1B}"))
        #expect(!pipe.run(list).output.contains("\u{1B}"))
        #expect(pipe.run("--color=always", "xyzzy").errors.contains("\u{1B}[31mkura:"))
    }

    // MARK: Pages

    private static func pages() -> FakeServer {
        FakeServer { request in
            if request.params.contains("\"cursor\":\"one\"") {
                return [request.result(#"{"values":{"b":2},"rev":5,"cursor":"two"}"#)]
            }
            if request.params.contains("\"cursor\":\"two\"") { return [request.result(#"{"values":{"c":3},"rev":6}"#)] }
            return [request.result(#"{"values":{"a":1},"rev":5,"cursor":"one"}"#)]
        }
    }

    @Test func `--all follows the cursor, in every form`() {
        let lines = """
            {"key":"a","value":1}
            {"key":"b","value":2}
            {"key":"c","value":3}

            """
        let server = Self.pages()
        #expect(pipe.run("settings", "list", "app", "--all", "--limit", "1", on: server).output == lines)
        #expect(
            server.requests == [
                #"settings.list {"domain":"app","limit":1}"#,
                #"settings.list {"domain":"app","limit":1,"cursor":"one"}"#,
                #"settings.list {"domain":"app","limit":1,"cursor":"two"}"#,
            ])
        #expect(
            pipe.run("settings", "list", "app", "--all", "--json", on: Self.pages()).output
                == #"{"values":{"a":1,"b":2,"c":3},"rev":6}"# + "\n")
        let table = terminal.run("settings", "list", "app", "--all", on: Self.pages())
        #expect(table.output == "key  value\na        1\nb        2\nc        3\n" && table.errors == "")
        #expect(pipe.run("settings", "scopes", "--all").status == .usage)
    }

    // MARK: Subscriptions

    private static func feed() -> FakeServer {
        FakeServer { request in
            // Another connection, from where the last one ended.
            if request.params.contains("\"afterRev\":9") { return [request.error("compacted", code: -32013)] }
            return [
                request.result(#"{"subscription":"s1","rev":5}"#),
                #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":"s1","rev":6,"changes":["#
                    + #"{"store":"settings","key":"a","value":1},{"store":"settings","key":"bb","deleted":true}]}}"#,
                #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":"s1","rev":7,"changes":[]}}"#,
                #"{"jsonrpc":"2.0","method":"changes.overflow","params":{"subscription":"s1","resyncRev":9}}"#, "",
            ]
        }
    }

    @Test func `a subscription prints its notifications until the daemon ends it`() {
        let server = Self.feed()
        let outcome = pipe.run("watch", "--store", "settings", "--after-rev", "5", on: server)
        #expect(
            server.requests == [
                #"changes.watch {"stores":["settings"],"afterRev":5}"#,
                #"changes.watch {"stores":["settings"],"afterRev":9}"#,
            ])
        #expect(
            outcome.output == """
                {"store":"settings","key":"a","value":1}
                {"store":"settings","key":"bb","deleted":true}
                {"method":"changes.overflow","params":{"subscription":"s1","resyncRev":9}}

                """)
        #expect(outcome.errors.hasPrefix("kura: watching from revision 5; ^C ends it\n"))
        #expect(outcome.status == .refused && outcome.errors.contains("compacted: No"))
        let whole = pipe.run("changes", "watch", "--json", on: Self.feed()).output
        #expect(whole.hasPrefix(#"{"subscription":"s1","rev":5}"# + "\n" + #"{"method":"changes.changed","params":{"#))
        #expect(whole.split(separator: "\n").count == 4)
        #expect(
            terminal.run("watch", on: Self.feed()).output == """
                store     key  value
                settings  a    1
                store     key  value  deleted
                settings  bb          true
                {"method":"changes.overflow","params":{"subscription":"s1","resyncRev":9}}

                """)
    }

    @Test func `what is lost is printed, and the next connection goes on behind it`() {
        let server = FakeServer { request in
            if request.params.contains("\"afterRev\":9") { return [request.error("compacted", code: -32013)] }
            return [
                request.result(#"{"subscription":"s1","rev":5}"#),
                #"{"jsonrpc":"2.0","method":"changes.lost","params":{"subscription":"s1","fromRev":5,"toRev":9}}"#, "",
            ]
        }
        let outcome = pipe.run("watch", "--after-rev", "5", on: server)
        #expect(server.requests == [#"changes.watch {"afterRev":5}"#, #"changes.watch {"afterRev":9}"#])
        #expect(
            outcome.output
                == #"{"method":"changes.lost","params":{"subscription":"s1","fromRev":5,"toRev":9}}"# + "\n")
    }

    @Test func `--columns picks what a subscription tells of each item`() {
        let columns = ["watch", "--columns", "key,value"]
        let feed = Self.feed()
        let lines = pipe.run(["--socket", feed.path] + columns).output
        #expect(lines.hasPrefix("{\"key\":\"a\",\"value\":1}\n{\"key\":\"bb\"}\n{\"method\":\"changes.overflow\""))
        let other = Self.feed()
        #expect(
            terminal.run(["--socket", other.path] + columns).output.hasPrefix("key  value\na    1\nbb\n{\"method\""))
        #expect(pipe.run(columns + ["--json"]).status == .usage)
    }

    // MARK: Files

    @Test func `a file's descriptor goes with the request`() throws {
        let source = "/tmp/kura-cli-\(getpid())-source"
        let target = "/tmp/kura-cli-\(getpid())-target"
        defer {
            unlink(source)
            unlink(target)
        }
        _ = try Shell.run("printf hello > \(source)")
        let server = FakeServer { request in
            guard request.descriptors.count == 1 else { return [request.error("invalidParams", code: -32602)] }
            if request.method == "records.export" {
                _ = write(request.descriptors[0], "hello", 5)
                return [request.result(#"{"exported":5}"#)]
            }
            var bytes = [UInt8](repeating: 0, count: 16)
            return [request.result("{\"imported\":\(read(request.descriptors[0], &bytes, 16))}")]
        }
        #expect(pipe.run("records", "import", "c", source, on: server).output == "{\"imported\":5}\n")
        #expect(pipe.run("records", "export", "c", target, on: server).output == "{\"exported\":5}\n")
        #expect(try Shell.run("cat \(target)").output == "hello")
        let absent = pipe.run("records", "import", "c", "/nonexistent/x", on: server)
        #expect(absent.status == .usage && absent.errors.hasPrefix("kura: cannot open /nonexistent/x: No such file"))
    }
}

@Suite struct ExitCodeTests {
    private let console = CapturedConsole(catalogue: .extended)

    private func status(_ kind: String, _ code: Int, retryable: Bool = false) -> ExitCode {
        let server = FakeServer { [$0.error(kind, code: code, retryable: retryable)] }
        return console.run("settings", "put", "a", "k", "1", on: server).status
    }

    @Test func `the daemon's errors are told apart by kind, unknown ones by what they say of themselves`() {
        #expect(status("conflict", -32003) == .conflict)
        #expect(status("outcomeUnknown", -32009) == .outcomeUnknown)
        #expect(status("noSpace", -32008, retryable: true) == .tryAgain)
        #expect(status("valueTooLarge", -32004) == .refused)
        #expect(status("invalidParams", -32602) == .usage)
        #expect(status("compacted", -32050) == .refused)
        #expect(status("busy", -32051, retryable: true) == .tryAgain)
    }

    @Test func `every kind of the table keeps its number`() {
        let numbers = ErrorKind.allCases.reduce(into: [Int32: [String]]()) {
            $0[ExitCode.of($1).rawValue, default: []].append("\($1.facts.name)")
        }
        #expect(numbers[2] == ["parseError", "invalidRequest", "methodNotFound", "invalidParams"])
        #expect(numbers[4] == ["conflict"] && numbers[6] == ["outcomeUnknown"])
        #expect(Set(numbers[5] ?? []).isSuperset(of: ["noSpace", "overloaded", "shuttingDown"]))
        #expect(numbers[0] == nil && numbers[3] == nil && numbers[7] == nil)
    }

    @Test func `an error is a line for people, and JSON for programs`() {
        let server = FakeServer { [$0.error("conflict", code: -32003, ",\"currentRev\":7")] }
        let plain = console.run("settings", "put", "a", "k", "1", on: server)
        #expect(plain.errors.hasPrefix("kura: conflict: No (currentRev 7)\nhint: Read the item again"))
        let json = console.run("settings", "put", "a", "k", "1", "--json", on: server)
        #expect(
            json.errors
                == #"{"code":-32003,"message":"No","data":{"kind":"conflict","retryable":false,"currentRev":7}}"# + "\n"
        )
    }

    @Test func `without a daemon the path that was tried and the way to start one are told`() {
        for arguments in [["ping"], ["status"], ["settings", "put", "a", "k", "1"], ["call", "storage.ping"]] {
            let outcome = console.run(["--socket", "/nonexistent/k.sock"] + arguments)
            #expect(outcome.status == .noDaemon && outcome.output == "")
            #expect(outcome.errors.hasPrefix("kura: no daemon listens at /nonexistent/k.sock\nhint: start one with"))
            #expect(
                outcome.errors.contains("scripts/run") && outcome.errors.contains("kurad --socket /nonexistent/k.sock"))
        }
        var other = console
        other.environment = ["KURA_SOCKET": "/nonexistent/other.sock"]
        #expect(other.run("ping").errors.contains("/nonexistent/other.sock"))
    }

    @Test func `a write without an answer is of unknown outcome, a read has none`() {
        let closing = FakeServer { _ in [] }
        #expect(console.run("settings", "put", "a", "k", "1", on: closing).status == .outcomeUnknown)
        #expect(console.run("call", "settings.put", "domain=a", on: closing).status == .outcomeUnknown)
        #expect(console.run("settings", "get", "a", "k", on: closing).status == .noDaemon)
        let isOver = Mutex(false)
        let silent = FakeServer { request in
            while !isOver.withLock({ $0 }) { usleep(10_000) }
            return [request.result("{}")]
        }
        defer { isOver.withLock { $0 = true } }
        let outcome = console.run("settings", "get", "a", "k", "--timeout", "0.05", on: silent)
        #expect(outcome.status == .noDaemon && outcome.errors.contains("did not answer within 50 ms"))
        #expect(console.run("settings", "put", "a", "k", "1", "--timeout=.05", on: silent).status == .outcomeUnknown)
    }

    @Test func `a terminal gets no control character from a daemon, and a pipe gets what it has said`() {
        let hostile =
            #"{"version":"9\u001b]0;owned\u0007","epoch":"\u009b2J","rev":3,"foldedRev":3,"profile":"\u202e"}"#
        let raw = "{\"version\":\"9\u{9B}2J\u{7F}\",\"rev\":3,\"foldedRev\":3}"
        for status in [hostile, raw] {
            let server = FakeServer { request in
                [
                    request.result(
                        request.method == "storage.health" ? #"{"live":true,"ready":true,"reasons":[]}"# : status)
                ]
            }
            for arguments in [
                ["status"], ["call", "storage.status"], ["status", "--json"], ["ping"], ["status", "--wide"],
            ] {
                let outcome = CapturedConsole(isTerminal: true, environment: ["NO_COLOR": "1"], catalogue: .extended)
                    .run(
                        ["--socket", server.path] + arguments)
                let dangerous = (outcome.output + outcome.errors).unicodeScalars.filter {
                    $0.value < 0x20 && $0 != "\n" && $0 != "\t" || (0x7F...0x9F).contains($0.value)
                        || $0.value == 0x202E
                }
                #expect(dangerous.isEmpty, "\(arguments): \(outcome.output.debugDescription)")
            }
            #expect(console.run("status", on: server).output == status + "\n")
        }
    }

    @Test func `status is done only when the daemon is ready`() {
        let status = #"{"version":"9","rev":3,"foldedRev":3}"#
        let ready = FakeServer { request in
            [request.result(request.method == "storage.health" ? #"{"live":true,"ready":true,"reasons":[]}"# : status)]
        }
        let good = console.run("status", on: ready)
        #expect(good.status == .done && good.output == status + "\n" && good.errors == "")
        #expect(
            CapturedConsole(isTerminal: true, catalogue: .extended).run("status", on: ready).output.contains("ready"))
        let starting = FakeServer { request in
            let health = #"{"live":true,"ready":false,"reasons":["recovering the log"]}"#
            return [request.result(request.method == "storage.health" ? health : status)]
        }
        let outcome = console.run("status", on: starting)
        #expect(outcome.status == .tryAgain && outcome.output == status + "\n")
        #expect(outcome.errors.hasPrefix("kura: the daemon is not ready: recovering the log\n"))
        let older = FakeServer { request in
            request.method == "storage.health"
                ? [request.error("methodNotFound", code: -32601)] : [request.result(status)]
        }
        #expect(console.run("status", on: older).status == .done)
    }

    @Test func `the program ends with the status`() throws {
        let script = """
            kura --version >/dev/null; echo $?
            kura settings gett 2>/dev/null; echo $?
            kura --socket /nonexistent/k.sock ping 2>/dev/null; echo $?
            kura; echo $?
            kura settings put a $'\\xff' 1 2>&1
            kura ping >/dev/full --help; echo $?
            """
        let output = try Shell.run(script).output
        #expect(output.hasPrefix("0\n2\n3\nkura - the storage service"))
        #expect(output.contains("\n2\nkura: argument 4 is not UTF-8\n"))
        #expect(output.hasSuffix("\n1\n"))
    }

    @Test func `bench measures this daemon unless a target is named, and says when it is not there`() throws {
        #expect(BenchCommand.completed(["--seconds", "1"], socket: "/s") == ["--seconds", "1", "--target", "kura:/s"])
        #expect(BenchCommand.completed(["--target=x"], socket: "/s") == ["--target=x"])
        #expect(BenchCommand.completed(["compare", "--a", "x", "--b", "y"], socket: "/s").count == 5)
        #expect(
            BenchCommand.completed(["spawn", "--", "kurad"], socket: "/s")
                == ["spawn", "--target", "kura:/s", "--", "kurad"])
        let script = """
            mkdir -p /tmp/kura-bench-$$/bin && cp "$(command -v kura)" /tmp/kura-bench-$$/bin/kura
            cd /tmp/kura-bench-$$ && PATH=/usr/bin:/bin bin/kura bench 2>&1; echo $?
            printf '#!/bin/sh\\necho "bench: $*"\\nexit 3\\n' >bin/kura-bench; chmod +x bin/kura-bench
            bin/kura --socket /s bench --json --depth 2; echo $?
            rm -r /tmp/kura-bench-$$
            """
        let output = try Shell.run(script).output
        #expect(output.hasPrefix("kura: kura-bench lies neither beside kura nor in $PATH\nhint:"))
        #expect(output.hasSuffix("\n2\nbench: --json --depth 2 --target kura:/s\n3\n"))
    }
}
