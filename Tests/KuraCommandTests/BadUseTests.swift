import Testing

@testable import KuraCommand

/// What goes wrong says what to do: each with its own status, one line of what, one of how to go on.
@Suite struct BadUseTests {
    /// Commands, and what they must print and end with.
    private static let cases: [(command: String, status: Int, told: [String])] = [
        // Wrong types: some are known here, some to the daemon alone.
        ("kura settings put app a 1 --if-rev soon", 2, ["IF-REV is a whole number, not 'soon'"]),
        ("kura settings increment app theme", 1, ["kura: typeMismatch", "hint: the stored value is no integer"]),
        ("kura docs list c --limit many", 2, ["LIMIT is a whole number, not 'many'"]),
        ("kura docs count c 5", 2, ["hint: write FIELD=VALUE"]),
        (
            "kura docs import c /dev/null --offset -4", 2,
            ["(parameter offset)", "that 'kura docs import --help' gives"]
        ),
        (
            "kura docs configure c --indexes nonsense", 2,
            ["(parameter indexes, reason indexes are a list)", "hint: Compare with 'kura docs configure --help'"]
        ),
        (
            "kura transaction apply '{\"method\":\"nope\"}'", 2,
            ["kura: methodNotFound", "hint: operation 0, counted from 0, names no method that a transaction takes"]
        ),
        ("kura exec --setting A=app -- echo never", 2, ["'app' names no setting", "hint: write DOMAIN/KEY"]),
        ("kura docs find c '{\"a\":'", 2, ["CONDITION is a JSON object", "ends too early"]),
        // Words that nobody knows.
        ("kura setings list app", 2, ["unknown command 'setings'", "hint: did you mean settings?"]),
        ("kura get app theme", 2, ["hint: a noun comes first: 'kura settings get'"]),
        ("kura docs fnd c", 2, ["docs has no verb 'fnd'", "hint: did you mean find?"]),
        ("kura docs find c --limt 5", 2, ["no option --limt", "hint: did you mean --limit?"]),
        ("kura docs list c --columns ids", 2, ["no column 'ids'", "hint: did you mean id?"]),
        ("kura docs list", 2, ["docs list needs COLLECTION", "hint: usage: kura docs list COLLECTION"]),
        ("kura docs list c d", 2, ["does not know what to do with 'd'", "hint: usage:"]),
        ("kura top --json", 2, ["top is for people", "'kura storage stats'"]),
        // Files.
        ("kura docs import c nowhere.ndjson", 2, ["cannot open nowhere.ndjson: No such file"]),
        (
            "echo not JSON | kura docs import c", 1,
            ["kura: badRecord", "line 1, offset 0", "no JSON", "hint: --on-error skip"]
        ),
        (
            "touch there; kura backup there", 2,
            ["there is there already", "hint: --replace has it take the other's place"]
        ),
        ("kura backup -q whole && [[ -z $(kura restore -q whole --dry-run 2>&1) ]]", 0, []),
        ("[[ $(kura restore -q config.json --dry-run 2>&1) == 'kurad restore: config.json: '* ]]", 0, []),
        ("kura import config.json --from plst", 2, ["hint: did you mean plist?"]),
        // Somebody else was first; and not there at all.
        (
            "kura settings put app theme x --if-rev 99", 4,
            ["kura: conflict", "currentRev", "hint: Read the item again"]
        ),
        (
            "kura docs patch c nobody '{\"a\":1}'", 1,
            ["kura: notFound", "hint: `list` and `scopes` show what is there"]
        ),
        // Absent.
        (
            "kura exec --setting A=app/theme --setting B=app/none -- touch never", 7,
            ["no setting app/none", "hint: 'kura settings list app'"]
        ),
        ("test -e never", 1, []),
        // Too large.
        (
            "head -c 1200000 /dev/zero | tr '\\0' a | kura settings put app big -", 1,
            ["kura: valueTooLarge", "limit 1048576", "hint: Store less under one key."]
        ),
        // Sealed.
        (
            "kura secrets lock -q; kura secrets get mail ada", 5,
            ["kura: sealed", "hint: Have somebody unlock them ('kura secrets unlock')"]
        ),
        ("kura exec --env A=mail/ada -- echo never", 5, ["kura: sealed"]),
        // Denied, by the daemon.
        (
            "kura --socket reader.sock settings put app a 1", 1,
            ["kura: forbidden", "hint: "]
        ),
        ("kura --socket reader.sock docs get c d", 1, ["kura: forbidden", "hint: "]),
        // No daemon at all, and one that is gone.
        ("kura --socket nowhere.sock ping", 3, ["no daemon listens at nowhere.sock", "hint: start one with"]),
        ("kura --socket config.json ping", 3, ["nobody answers at config.json"]),
        (
            "kill -9 $daemon; wait $daemon; kura settings get app theme", 3,
            ["nobody answers at", "hint: start one with"]
        ),
        ("kura settings put app theme x", 3, ["nobody answers at", "hint: start one with"]),
    ]

    @Test func `each kind of bad use ends with its status, says what is wrong, and what to do`() throws {
        let commands = Self.cases.map { "{ \($0.command)\n} 2>&1 >/dev/null; printf '\\036%s\\035' $?" }
        let outcome = try Shell.run(
            """
            work=$(mktemp -d); cd "$work"
            export KURA_SOCKET=$work/kura.sock
            cat >config.json <<JSON
            {"sockets": [{"path": "$work/kura.sock", "role": "admin"}, {"path": "$work/reader.sock", "role": "reader"}],
             "roles": {"reader": {"grants": [{"store": "settings", "scope": "*", "allow": ["list", "read"]}]}}}
            JSON
            env -u KURA_SOCKET kurad --ephemeral --profile small --config config.json 2>log &
            daemon=$!
            trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null; rm -rf "$work"' EXIT
            for _ in {1..6000}; do [[ -S kura.sock && -S reader.sock ]] && break; sleep 0.01; done
            kura -q settings put app theme dark; printf x | kura -q secrets put mail ada; kura -q docs put c d '{"a":1}'
            printf '\\035'
            \(commands.joined(separator: "\n"))
            """)
        let printed = outcome.output.split(separator: "\u{1D}", omittingEmptySubsequences: false).dropFirst().map {
            $0.split(separator: "\u{1E}", omittingEmptySubsequences: false).map(String.init)
        }
        try #require(printed.count == Self.cases.count + 1, "\(outcome.output)")
        for (wanted, found) in zip(Self.cases, printed) {
            try #require(found.count == 2, "\(wanted.command): \(found)")
            #expect(Int(found[1]) == wanted.status, "\(wanted.command): \(found[0])")
            for text in wanted.told { #expect(found[0].contains(text), "\(wanted.command): \(found[0])") }
            #expect(wanted.told.isEmpty || found[0].contains("kura: "), "\(wanted.command)")
        }
    }

    @Test func `a daemon of another version is named as the reason when it does not know a method`() {
        let server = FakeServer { [$0.error("methodNotFound", code: -32601)] }
        let outcome = CapturedConsole().run("docs", "find", "c", on: server)
        #expect(outcome.status == .usage)
        #expect(
            outcome.errors.contains(
                "hint: this daemon does not know documents.find: it is another version than kura \(Kura.version)"))
        #expect(outcome.errors.contains("'kura status' tells which"))
    }

    @Test func `what is no daemon is told apart from one`() {
        let server = FakeServer { _ in ["HTTP/1.1 400 Bad Request"] }
        let outcome = CapturedConsole().run("settings", "get", "a", "k", on: server)
        #expect(outcome.status == .noDaemon && outcome.errors.contains("is this a Kura daemon's socket?"))
    }
}
