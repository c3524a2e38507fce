import Glibc
import KuraClient
import Sodium
import Testing

@testable import KuraCommand

/// `secrets put` and `get`, `import`, `export`, `identity` and `exec`.
@Suite struct SecretToolsTests {
    private static func reference(_ text: String) throws(Failure) -> [String?] {
        let reference = try SecretReference(text)
        return [reference.service, reference.account, reference.field]
    }

    @Test func `a reference is a service, an account and perhaps a field`() throws {
        #expect(try Self.reference("mail/ada") == ["mail", "ada", nil])
        #expect(try Self.reference("db/main#password") == ["db", "main", "password"])
        #expect(try Self.reference("a/b/c#d#e") == ["a", "b/c#d", "e"])
        #expect(try Self.reference("a/b#") == ["a", "b", nil])
        #expect(try Self.reference("a/b#c#") == ["a", "b#c", nil])
        for text in ["", "mail", "/ada", "mail/", "mail/#x"] {
            #expect(throws: Failure.self) { try SecretReference(text) }
        }
    }

    // MARK: put and get

    private static let get = #"{"secret":"open \n sesame","rev":1,"version":1,"createdAt":"2026-01-01T00:00:00.000Z"}"#

    @Test func `put reads the secret from standard input, whatever it is`() {
        let server = FakeServer { [$0.result(#"{"rev":1,"version":1}"#)] }
        _ = CapturedConsole(input: "open \"sesame\"\n").run("secrets", "put", "mail", "ada", on: server)
        _ = CapturedConsole(input: "a\u{0}b\n").run("secrets", "put", "mail", "ada", "--label", "x", on: server)
        _ = CapturedConsole(input: "{ \"user\": \"a\",\n\"password\": \"\\u00e9\" }")
            .run("secrets", "put", "db", "main", "--object", on: server)
        _ = CapturedConsole(input: "AAEC\n").run("secrets", "put", "mail", "ada", "--secret-base64", on: server)
        _ = CapturedConsole().run("secrets", "put", "mail", "ada", "--secret-sealed", "QUJD", on: server)
        #expect(
            server.requests == [
                #"secrets.put {"service":"mail","account":"ada","secret":"open \"sesame\""}"#,
                #"secrets.put {"service":"mail","account":"ada","secretBase64":"YQBiCg==","label":"x"}"#,
                #"secrets.put {"service":"db","account":"main","secret":{"user":"a","password":"\u00e9"}}"#,
                #"secrets.put {"service":"mail","account":"ada","secretBase64":"AAEC"}"#,
                #"secrets.put {"service":"mail","account":"ada","secretSealed":"QUJD"}"#,
            ])
        let refused = CapturedConsole(input: "[1]").run("secrets", "put", "db", "main", "--object", on: server)
        #expect(refused.status == .usage && refused.errors.contains("no JSON object"))
        #expect(CapturedConsole().run("secrets", "put", "mail", "ada", "words", on: server).status == .usage)
        #expect(server.requests.count == 5)
    }

    @Test func `get writes the very bytes into a pipe, and asks on a terminal`() {
        let text = FakeServer { [$0.result(Self.get)] }
        #expect(CapturedConsole().run("secrets", "get", "mail", "ada", on: text).output == "open \n sesame")
        #expect(CapturedConsole().run("secrets", "get", "mail", "ada", "--json", on: text).output == Self.get + "\n")
        #expect(CapturedConsole().run("secrets", "get", "mail", "ada", "-q", on: text).output == "")
        let refused = CapturedConsole(isTerminal: true).run("secrets", "get", "mail", "ada", on: text)
        #expect(refused.status == .refused && refused.output == "" && refused.errors.contains("--show"))
        let asked = CapturedConsole(isTerminal: true).run("secrets", "get", "mail", "ada", "--json", on: text)
        #expect(asked.status == .refused && asked.output == "")
        for shown in [
            CapturedConsole(isTerminal: true, confirms: true).run("secrets", "get", "mail", "ada", on: text),
            CapturedConsole(isTerminal: true).run("secrets", "get", "mail", "ada", "--show", on: text),
        ] { #expect(shown.status == .done && shown.output == "open \n sesame\n") }
        let bytes = FakeServer { [$0.result(#"{"secretBase64":"YQBi","rev":1,"version":1}"#)] }
        #expect(CapturedConsole().run("secrets", "get", "mail", "ada", on: bytes).output == "a\u{0}b")
        let texts = FakeServer { [$0.result(#"{"secret":{"user":"a"},"rev":1,"version":1}"#)] }
        #expect(CapturedConsole().run("secrets", "get", "mail", "ada", on: texts).output == #"{"user":"a"}"#)
        let absent = FakeServer { [$0.result(#"{"rev":0}"#)] }
        let outcome = CapturedConsole().run("secrets", "get", "mail", "ada", on: absent)
        #expect(outcome.status == .absent && outcome.output == "" && outcome.errors.contains("nothing is there"))
        let sealed = FakeServer { [$0.result(#"{"secretSealed":"QUJD","rev":1,"version":1}"#)] }
        #expect(CapturedConsole().run("secrets", "get", "mail", "ada", "--seal-to", "x", on: sealed).output == "QUJD\n")
    }

    @Test func `several are shown like one: into a pipe as they are, on a terminal when somebody says so`() {
        let ada = #"{"account":"ada","secret":"open","rev":1,"version":1,"createdAt":"2026-01-01T00:00:00.000Z"}"#
        let many = "{\"secrets\":[\(ada)],\"missing\":[\"bob\"],\"rev\":1}"
        let server = FakeServer { [$0.result(many)] }
        let shown = CapturedConsole().run("secrets", "get-many", "mail", "ada", "bob", on: server)
        #expect(shown.status == .done && shown.output.contains("open"))
        #expect(server.requests == [#"secrets.getMany {"service":"mail","accounts":["ada","bob"]}"#])
        let refused = CapturedConsole(isTerminal: true).run("secrets", "get-many", "mail", "ada", on: server)
        #expect(refused.status == .refused && refused.output == "" && refused.errors.contains("--show"))
        let asked = CapturedConsole(isTerminal: true).run("secrets", "get-many", "mail", "ada", "--show", on: server)
        #expect(asked.status == .done && asked.output.contains("open"))
    }

    @Test func `audit verify ends when a page leads to itself`() {
        let server = FakeServer { [$0.result(#"{"valid":true,"records":1,"newest":9,"cursor":"c"}"#)] }
        let outcome = CapturedConsole().run("secrets", "audit", "verify", on: server)
        #expect(outcome.status == .noDaemon && outcome.errors.contains("leads to itself"), "\(outcome.errors)")
        #expect(server.requests.count == 2)
    }

    @Test func `audit verify goes through all pages, and names the first record that is not what it was`() {
        let page: @Sendable (Int, String?) -> String = { records, cursor in
            let more = cursor.map { ",\"cursor\":\"\($0)\"" } ?? ""
            return "{\"valid\":true,\"records\":\(records),\"newest\":30,\"head\":\"SEVBRA==\"\(more)}"
        }
        let whole = FakeServer { request in
            [
                request.result(
                    request.params.contains("\"c2\"")
                        ? page(5, nil) : request.params.contains("\"c1\"") ? page(10, "c2") : page(15, "c1"))
            ]
        }
        let shown = CapturedConsole().run("secrets", "audit", "verify", on: whole)
        #expect(shown.status == .done && shown.output == "30 records are as they were written\nhead SEVBRA==\n")
        #expect(
            whole.requests == [
                #"secrets.auditVerify {}"#, #"secrets.auditVerify {"cursor":"c1"}"#,
                #"secrets.auditVerify {"cursor":"c2"}"#,
            ])
        let json = CapturedConsole().run("secrets", "audit", "verify", "--json", on: whole)
        #expect(json.output == #"{"valid":true,"records":30,"newest":30,"head":"SEVBRA=="}"# + "\n")
        let broken = FakeServer { [$0.result(#"{"valid":false,"firstBroken":7,"records":6,"newest":30}"#)] }
        let told = CapturedConsole().run("secrets", "audit", "verify", on: broken)
        #expect(told.status == .refused && told.output == "" && told.errors.contains("record 7"))
        for (reason, words) in [
            ("dropped", "the audit was removed"), ("setBack", "the audit was set back"),
            ("secretsSetBack", "the secrets were set back"), ("beyond", "lies behind record 3"),
            ("unbound", "where the audit ends"),
        ] {
            let page = "{\"valid\":false,\"firstBroken\":4,\"reason\":\"\(reason)\",\"records\":0,\"newest\":30}"
            let told = CapturedConsole().run("secrets", "audit", "verify", on: FakeServer { [$0.result(page)] })
            #expect(told.status == .refused && told.errors.contains(words), "\(reason): \(told.errors)")
        }
        // A service of that name is asked for by its option.
        let records = FakeServer { [$0.result(#"{"records":[]}"#)] }
        _ = CapturedConsole().run("secrets", "audit", "--service", "verify", on: records)
        #expect(records.requests == [#"secrets.audit {"service":"verify"}"#])
        #expect(CapturedConsole().run("secrets", "audit", "verify", "all", on: whole).status == .usage)
        #expect(CapturedConsole().run("help", "secrets", "audit", "verify", on: whole).output.contains("audit verify"))
    }

    // MARK: Tools

    /// A script beside a daemon of its own, in a directory of its own; `$status` and messages are told by the script.
    private func run(_ script: String) throws -> String {
        let whole = """
            exec 2>&1
            work=$(mktemp -d /tmp/kura-tools-XXXXXX); cd "$work" && mkdir -m 700 run
            export KURA_SOCKET=$work/run/s
            kurad --data-dir "$work/data" --socket "$KURA_SOCKET" >log 2>&1 &
            daemon=$!
            trap 'kill $daemon; wait $daemon; rm -rf "$work"' EXIT
            for i in {1..1200}; do kura ping -q 2>/dev/null && break; sleep 0.05; done
            \(script)
            """
        return try Shell.run(whole).output
    }

    @Test func `exec gives a command its secrets and nothing else`() throws {
        let output = try run(
            """
            printf 'hunter2' | kura secrets put mail ada
            echo '{"user":"app","password":"x1"}' | kura secrets put db main --object -q
            printf 'a\\0b' | kura secrets put mail bytes -q
            kura exec --env A=mail/ada --env P=db/main#password --file F=mail/bytes -- bash -c '
                echo "$A $P"; od -An -c "$F"; stat -Lc %a "$F"; (echo x > "$F") 2>/dev/null || echo kept
                bash -c "cat $F" | od -An -c; exit 9'
            echo "status $?"
            env | grep -c hunter2
            kura exec --env A=mail/nobody -- touch ran; echo "status $?"
            kura exec --env A=db/main -- touch ran; echo "status $?"
            kura exec --env A=mail/bytes -- touch ran; echo "status $?"
            kura exec --env A=mail/ada --env A=mail/ada -- touch ran; echo "status $?"
            kura exec --env mail/ada -- touch ran; echo "status $?"
            kura exec -- no-such-command; echo "status $?"
            kura exec ./log; echo "status $?"
            kura exec echo --env B=c -q
            ls ran
            kura secrets lock -q; kura exec --env A=mail/ada true; echo "status $?"
            """)
        #expect(
            output == """
                {"rev":1,"version":1}
                hunter2 x1
                   a  \\0   b
                400
                kept
                   a  \\0   b
                status 9
                0
                kura: there is no secret mail/nobody
                hint: 'kura secrets list' names them
                status 7
                kura: db/main has several texts, and A takes one
                hint: name one of them: db/main#user, db/main#password
                status 2
                kura: mail/bytes has a zero byte, which no environment variable can have
                hint: give it as a file: --file A=mail/bytes
                status 2
                kura: A is given twice
                status 2
                kura: 'mail/ada' binds no secret
                hint: write NAME=SERVICE/ACCOUNT
                status 2
                kura: cannot run no-such-command: No such file or directory
                status 127
                kura: cannot run ./log: Permission denied
                status 126
                --env B=c -q
                ls: cannot access 'ran': No such file or directory
                kura: sealed: Sealed
                hint: Have somebody unlock them ('kura secrets unlock'), then send it again; 'kura secrets status' shows the state.
                status 5

                """, "\(output)")
    }

    @Test func `imports are whole or not at all, and exports only their recipient opens`() throws {
        let output = try run(
            """
            printf 'A=1\\nB="x\\ny"\\nA=2\\n' > .env
            kura secrets import app .env --dry-run
            kura secrets import app .env
            kura secrets get app A; kura secrets get app B; echo
            echo '{"new":"1","A":"3"}' | kura secrets import app --if-absent; echo "status $?"
            kura secrets get app new -q; echo "status $?"; kura secrets get app A; echo
            echo '{"a":1}' | kura secrets import app; echo "status $?"
            echo 'what' | kura secrets import app; echo "status $?"
            echo 'A=1' | kura secrets import app --format xml; echo "status $?"
            echo '{"user":"u"}' | kura secrets put app object --object --label 'An object' -q
            key=$(kura secrets identity id); [[ $key == "$(kura secrets identity id)" ]] && stat -c %a id
            kura secrets identity other > /dev/null
            kura secrets export app; echo "status $?"
            kura secrets export app --recipient AAAA; echo "status $?"
            kura secrets export app --recipient "$key" --output sealed; stat -c %a sealed
            grep -c -e object -e app sealed
            kura secrets import copy sealed; echo "status $?"
            kura secrets import copy sealed --identity other; echo "status $?"
            head -3 sealed | kura secrets import copy --identity id; echo "status $?"
            kura secrets import copy sealed --identity log; echo "status $?"
            kura secrets list copy; kura secrets import copy sealed --identity id
            kura secrets get copy object; kura secrets get copy B; echo
            kura secrets list copy --json | grep -o 'An object'
            """)
        #expect(
            output == """
                kura: A stands there more than once: the last one counts
                A
                B
                kura: A stands there more than once: the last one counts
                kura: 2 secrets of app stored
                2x
                y
                kura: conflict: Conflict (operation 1, currentRev 1): A
                hint: Read the item again, apply the change to what is there, write with its `rev`.
                status 4
                status 7
                2
                kura: 'a' is neither a text nor an object of texts
                status 2
                kura: standard input, line 1: NAME=VALUE is expected
                hint: nothing was stored: the file is taken whole, or not at all
                status 2
                kura: --format is one of env, json, sealed, not 'xml'
                status 2
                600
                kura: an export is sealed to somebody: --recipient KEY is missing
                hint: 'kura secrets identity FILE' makes a key pair and prints its public key
                status 2
                kura: --recipient takes an X25519 public key: 32 bytes as base64, 44 characters
                status 2
                kura: 3 secrets of app, sealed
                600
                0
                kura: a sealed export needs the key pair that it was sealed to: --identity FILE is missing
                status 2
                kura: line 2 of the export does not open: it is for another identity, or was altered
                status 2
                kura: the export is not whole: it has 2 of 3 secrets
                status 2
                kura: log is no identity
                hint: 'kura secrets identity FILE' makes one
                status 2
                kura: 'kura secrets scopes' names no service 'copy'
                kura: 3 secrets of copy stored
                {"user":"u"}x
                y
                An object

                """, "\(output)")
    }

    @Test func `an identity is a file that nobody else has a say in, and nothing without an end is read`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            exec 2>&1
            kura -q secrets identity id; cp id open; chmod 666 open; cp id group; chmod 620 group; mkfifo pipe
            for name in open group pipe /dev/zero; do timeout 60 kura secrets identity $name; echo "exit $?"; done
            for name in open pipe; do timeout 60 kurad restore none --identity $name 2>&1 | head -1; done
            for words in "backup b --passphrase-file /dev/zero" "secrets import s /dev/zero"; do
                timeout 60 kura $words; echo "exit $?"
            done
            yes | tr -d '\\n' | timeout 60 kura backup b --passphrase-file -; echo "exit $?"
            kura secrets put s a </dev/zero; echo "exit $?"
            printf 'pass\\nrest' >words; kura -q backup b --passphrase-file <(cat words)
            kura -q restore b --dry-run --passphrase-file words && echo opened
            """)
        #expect(
            outcome.output == """
                kura: open can be written by its group or by others: chmod go-w
                exit 2
                kura: group can be written by its group or by others: chmod go-w
                exit 2
                kura: cannot read pipe: it is no regular file
                exit 2
                kura: cannot read /dev/zero: it is no regular file
                exit 2
                kurad restore: cannot read open: can be written by its group or by others: chmod go-w
                kurad restore: cannot read pipe: is no regular file
                kura: cannot read /dev/zero: it is a device, which may have no end
                exit 2
                kura: cannot read /dev/zero: it is a device, which may have no end
                exit 2
                kura: standard input has more than 4096 bytes in its first line
                exit 2
                kura: cannot read standard input: it is a device, which may have no end
                exit 2
                opened

                """, "\(outcome.output)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `an identity of somebody else's is refused`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            exec 2>&1
            kura -q secrets identity id; chown 2001 id; kura secrets identity id; echo "exit $?"
            kurad restore none --identity id 2>&1 | head -1
            """)
        #expect(
            outcome.output == """
                kura: id belongs to user 2001: it has to be root's or one's own
                exit 2
                kurad restore: cannot read id: belongs to user 2001: it has to be root's or one's own

                """, "\(outcome.output)")
    }
}
