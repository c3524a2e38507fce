import Glibc
import Testing

@testable import KuraCommand

/// What a command could take silently and get wrong.
@Suite struct SilentFaultTests {
    private static func run(_ script: String) throws -> String {
        try Shell.run("\(Shell.daemon)\nexec 2>&1\n\(script)").output
    }

    @Test func `an empty secret is stored only when it is said to be one`() throws {
        let output = try Self.run(
            """
            printf secret | kura -q secrets put gh me
            false | kura secrets put gh me; echo "exit $?"
            echo | kura secrets put gh me 2>/dev/null; echo "exit $?"
            kura secrets get gh me; echo
            printf '' | kura secrets put gh none --allow-empty -q; echo "exit $?"
            kura secrets get gh none | wc -c
            """)
        #expect(
            output == """
                kura: standard input is empty, and nothing was stored
                hint: --allow-empty stores a secret that is empty
                exit 2
                exit 2
                secret
                exit 0
                0

                """, "\(output)")
    }

    @Test func `spaces beside a sign are refused, and what was meant is shown`() throws {
        let server = FakeServer { [$0.result(#"{"count":0,"rev":1}"#)] }
        for (word, meant) in [
            ("n > 3", "write 'n>3'"), ("by!= A", "write 'by!=A'"), ("n >3", "write 'n>3'"), ("a\t=b", "write 'a=b'"),
            ("n==3", "write 'n=3'"), ("name= x", #"'name=" x"'"#),
        ] {
            for command in [["docs", "count", "c", word], ["docs", "delete-many", "c", "--where", word, "--dry-run"]] {
                let outcome = CapturedConsole().run(["--socket", server.path] + command)
                #expect(outcome.status == .usage && outcome.errors.contains(meant), "\(word): \(outcome)")
            }
        }
        #expect(server.requests.isEmpty)
        for (word, selector) in [
            (#"a=" x""#, #"{"a":" x"}"#), ("a b=c d ", #"{"a b":"c d "}"#), (#"a="=x""#, #"{"a":"=x"}"#),
        ] {
            _ = CapturedConsole().run("docs", "count", "c", word, on: server)
            #expect(
                server.requests.last { $0 != "documents.scopes" }
                    == "documents.count {\"collection\":\"c\",\"where\":\(selector)}")
        }
    }

    @Test func `an import that stops tells what is stored, and how to go on`() throws {
        let output = try Self.run(
            """
            printf '{"id":"a"}\\n\\n{"id":"b"}\\nMaus\\n{"id":"c"}\\n' >records
            kura docs import c records --id id; echo "exit $?"; kura docs count c
            kura docs import c records --id id --on-error skip -q; echo "exit $?"
            printf '{"x":1}\\n' | kura docs import c - --id id; echo "exit $?"
            kura import records --from ndjson --into docs/other --id zz 2>&1 >/dev/null | head -1
            """)
        #expect(
            output == """
                kura: badRecord: Bad record (reason unexpectedByte, line 4, offset 23): no JSON; the 2 before it are stored
                hint: --on-error skip leaves such records out and names them; when this one is put right, go on with: \
                kura docs import c records id --offset 23
                exit 1
                2
                exit 11
                kura: badRecord: Bad record (line 1, offset 0): it has no member of the name that --id gives; what stands before it is stored
                hint: --on-error skip leaves such records out and names them; when this one is put right, leave out what is stored
                exit 1
                kura: not taken: line 1: it has no member of the name that --id gives

                """, "\(output)")
    }

    @Test func `an import that is refused in its midst tells what is stored at least`() {
        let server = FakeServer { request in
            let told =
                "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{\"id\":\(request.id),\"done\":50,\"total\":99,"
                + "\"unit\":\"bytes\",\"imported\":7}}"
            return [told, request.error("quotaExceeded", code: -32012)]
        }
        let outcome = CapturedConsole().run("docs", "import", "c", "/dev/null", on: server)
        #expect(outcome.status == .refused && outcome.errors.contains("No; at least 7 are stored"), "\(outcome)")
    }

    @Test
    func
        `members that look like ids and are not taken are told of, and a file of variables is taken whole or not at all`()
        throws
    {
        let output = try Self.run(
            """
            printf '{"id":"a","n":1}\\n' >cards.ndjson; kura import cards.ndjson; kura import cards.ndjson --id id -q
            printf '{"id":"a","value":1}\\n' >whole.ndjson; kura import whole.ndjson
            printf 'A=1\\nnothing\\n' >.env; kura import .env --into settings/app; echo "exit $?"
            kura import .env --into secrets/app; echo "exit $?"; kura settings list app
            """)
        let told =
            "kura: .env, line 2: NAME=VALUE is expected\nhint: nothing was stored: the file is taken whole, or not at all\nexit 2\n"
        #expect(
            output == """
                kura: each document gets a new id; --id id takes the member 'id' that they have
                {"from":"ndjson","into":"documents/cards","stored":1,"leftOut":0}
                {"from":"ndjson","into":"documents/whole","stored":1,"leftOut":0}
                \(told)\(told)kura: 'kura settings scopes' names no domain 'app'

                """, "\(output)")
    }

    @Test func `a restore names what a backup has, the file that is missing, and the options of keys`() throws {
        let output = try Self.run(
            """
            kura -q docs put notes a '{"n":1}'; kura -q settings put app a 1; kura -q backup all
            echo word >pass; kura -q backup sealed --passphrase-file pass
            for only in documents/zzz settings/app; do
              kura restore all --data-dir "$only-there" --only "$only" -q --unproved 2>&1; echo "exit $?"
            done
            mkdir -p full/x; kura restore nofile --data-dir full; echo "exit $?"
            kura restore sealed --data-dir new; echo "exit $?"; kura restore all --data-dir new; echo "exit $?"; ls new 2>/dev/null
            """.replacing("$only-there", with: "${only//\\//-}"))
        #expect(
            output == """
                kurad restore: all: 'documents/zzz' is not in it; it has documents/notes, settings/app
                exit 1
                exit 0
                kurad restore: nofile: it cannot be read: No such file or directory
                exit 1
                kurad restore: sealed: it is encrypted: an identity or a passphrase is needed (--identity FILE or --passphrase-file FILE)
                exit 1
                kurad restore: all: nothing shows who made it, and whether it was altered. Bring the keys of where it was made (--keys DIR, with its root.key), or have it restored all the same: --unproved
                exit 1

                """, "\(output)")
    }

    @Test func `secrets of a restore whose key is missing say where it belongs`() throws {
        let output = try Self.run(
            """
            printf x | kura -q secrets put mail ada; kura -q backup all; kura restore all --data-dir other -q --unproved
            KURA_SOCKET=$work/other.sock kurad --data-dir other 2>other.log & other=$!
            for _ in {1..6000}; do [[ -S other.sock ]] && break; sleep 0.01; done
            kura --socket other.sock secrets unlock; echo "exit $?"; kill $other; wait $other 2>/dev/null
            """)
        #expect(
            output == """
                kura: wrongKey: Wrong key
                hint: the file of the key in keys/ cannot be opened: after a restore put the root.key of where the backup was made there
                exit 1

                """, "\(output)")
    }

    @Test func `what ends with the command's connection says so`() throws {
        let output = try Self.run("kura settings override app theme x; kura docs unwatch 1; kura changes unwatch 1 -q")
        #expect(
            output == """
                {"overrides":1}
                kura: an override lasts as long as the connection that has made it, and this one ends here: nothing was kept
                {"ended":false}
                kura: a connection ends its own subscriptions only, and this one has none: 'kura docs watch' ends with ^C

                """, "\(output)")
    }

    @Test func `a watch ends after so many lines or so much time`() throws {
        let output = try Self.run(
            """
            kura -q settings put-many app a=1 b=2 c=3
            kura watch --after-rev 0 --count 2 --columns key,value -q >/dev/null; echo "exit $?"
            kura watch --after-rev 0 --count 2 --columns key,value 2>/dev/null; echo "exit $?"
            kura watch --for 0.2 2>/dev/null; echo "exit $?"
            kura watch --for never 2>/dev/null; echo "exit $?"
            """)
        #expect(
            output == """
                exit 0
                {"key":"a","value":1}
                {"key":"b","value":2}
                exit 0
                exit 0
                exit 2

                """, "\(output)")
    }

    @Test func `all pages are asked for as large as they may be`() {
        let server = FakeServer { [$0.result(#"{"documents":[],"rev":1}"#)] }
        _ = CapturedConsole().run("docs", "find", "c", "--all", on: server)
        _ = CapturedConsole().run("docs", "find", "c", "--all", "--limit", "7", on: server)
        _ = CapturedConsole().run("docs", "find", "c", on: server)
        // What is empty is looked for among the scopes.
        #expect(
            server.requests.filter { $0 != "documents.scopes" } == [
                #"documents.find {"collection":"c","limit":1000}"#, #"documents.find {"collection":"c","limit":7}"#,
                #"documents.find {"collection":"c"}"#,
            ])
    }

    @Test func `words of other programs lead to the verbs that do the same`() {
        for (command, told) in [
            (["settings", "set", "a", "b", "c"], "did you mean put?"),
            (["docs", "rm", "c", "d"], "did you mean delete?"),
            (["docs", "ls", "c"], "did you mean list?"), (["settings", "cat", "a", "b"], "did you mean get?"),
            (["version"], "did you mean --version?"), (["set", "a"], "a noun comes first: 'kura settings put'"),
        ] {
            let outcome = CapturedConsole().run(command)
            #expect(
                outcome.status == .usage && outcome.errors.contains("hint: \(told)"), "\(command): \(outcome.errors)")
        }
    }

    @Test func `what is asked for is written, no more and no less, and a secret is no argument`() throws {
        let output = try Self.run(
            #"""
            head -c 100000 /dev/zero | tr '\0' a >content; printf 0123456789 >>content; head -c 1000 content >>content
            kura -q blobs put i k content
            kura -q blobs get i k part --range '{"offset":100000,"length":10}'; cat part; echo
            kura blobs get i k - --range '{"offset":100003,"length":4}'; echo
            kura blobs get i k - --range '{"offset":100005}' | wc -c
            kura blobs get i k - --range offset=100003,length=4; echo
            kura blobs get i k - --range offset=1,lenght=4 2>&1 | head -2
            kura blobs get i k - --range 1-4 2>&1 | head -1
            kura -q settings put app theme dark; kura settings export app -q
            echo "$(kura transaction apply '{"method":"secrets.put","params":{"service":"s","account":"a","secret":"IN-ARGV"}}' 2>&1 | head -1)"
            kura transaction apply '[{"method":"secrets.put","params":["s","a","IN-ARGV"]}]' 2>/dev/null; echo "exit $?"
            kura call transaction.apply 'operations:=[{"method":"secrets.put","params":{"service":"s","account":"a","secret":"x"}}]' 2>/dev/null
            echo "exit $?"
            kura secrets list s --json
            echo '{"method":"secrets.put","params":{"service":"s","account":"a","secret":"x"}}' | kura -q transaction apply -
            echo "exit $?"
            """#)
        #expect(
            output == """
                0123456789
                3456
                1005
                3456
                kura: 'lenght' is no member of RANGE, which has offset, length
                hint: did you mean length?
                kura: RANGE is offset=…,length=…, or a JSON object of these, not '1-4'
                {"key":"app","value":{"theme":"dark"}}
                kura: secret is a secret, and no argument: everybody on the host can read those
                exit 2
                exit 2
                {"items":[],"rev":1}
                kura: 'kura secrets scopes' names no service 's'
                exit 0

                """, "\(output)")
    }

    @Test func `a file that did not come is not made, whatever the reply says`() throws {
        let folder = "/tmp/kura-unmade-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        mkdir(folder, 0o700)
        defer { rmdir(folder) }
        let file = folder + "/x"
        let backup =
            #"{"bytes":1000,"digest":"aa","encrypted":false,"verified":true,"counts":{},"leftOut":[],"rev":1}"#
        let cases: [(result: String, words: [String], told: String)] = [
            (backup, ["backup", file], "0 bytes have come, and 1000 were announced"),
            (backup, ["bundle", "create", file], "0 bytes have come, and 1000 were announced"),
            ("{}", ["backup", file], "does not say how much was written"),
            (#"{"exported":3,"rev":1}"#, ["docs", "export", "c", file], "0 lines have come, and 3"),
            ("{}", ["docs", "export", "c", file], "does not say how much was written"),
            (#"{"found":true,"bytes":5}"#, ["blobs", "get", "n", "k", file], "without its descriptor"),
        ]
        for (result, words, told) in cases {
            let server = FakeServer { [$0.result(result)] }
            let outcome = CapturedConsole().run(["--socket", server.path] + words)
            #expect(!server.requests.isEmpty, "\(outcome)")
            #expect(outcome.status == .noDaemon && outcome.output == "", "\(words): \(outcome)")
            #expect(outcome.errors.contains(told), "\(words): \(outcome.errors)")
            #expect(access(file, F_OK) != 0, "\(words)")
        }
        let server = FakeServer { [$0.result("{}")] }
        let put = CapturedConsole(input: "secret").run("secrets", "put", "s", "a", on: server)
        #expect(put.status == .outcomeUnknown && put.errors.contains("at which revision"), "\(put)")
    }

    @Test func `advice names options and numbers, and a blob comes from standard input by itself`() throws {
        let output = try Self.run(
            """
            echo hi | kura -q blobs put images b; kura blobs get images b -
            echo hi | kura -q docs put c d '{}'; echo note | kura -q docs attach c d n; kura docs attachment c d n -
            kura blobs put images c --data aGk= -q; kura blobs get images c -; echo
            kura settings put "$(head -c 300 /dev/zero | tr '\\0' a)" k v | cat
            """)
        #expect(output.hasPrefix("hi\nnote\nhi\n"), "\(output)")
        #expect(output.contains("of at most 128 bytes"), "\(output)")
        let server = FakeServer {
            [$0.error("indexNeeded", code: -32030, #","hint":"allowScan: true looks at every document""#)]
        }
        let scan = CapturedConsole().run("docs", "find", "c", on: server)
        #expect(scan.errors.contains("hint: --allow-scan looks at every document"), "\(scan.errors)")
        let sitting = CapturedConsole(isInputTerminal: true).run("blobs", "put", "images", "b", on: server)
        #expect(sitting.status == .usage && sitting.errors.contains("name a FILE, or use a pipe"))
    }

    @Test func `a verb's manual is its noun's, and without a terminal nobody is shown an editor`() {
        let page = CapturedConsole().run("man", "docs", "find")
        #expect(page.status == .done && page.output == CapturedConsole().run("man", "docs").output)
        #expect(page.errors == "kura: find is in the page on docs\n")
        #expect(CapturedConsole().run("man", "docs", "fnid").errors.contains("did you mean find?"))
        let edit = CapturedConsole().run("docs", "edit", "c", "d")
        #expect(edit.status == .usage && edit.errors.contains("neither $VISUAL nor $EDITOR names an editor"))
    }
}
