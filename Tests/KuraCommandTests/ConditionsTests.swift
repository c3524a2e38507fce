import Testing

@testable import KuraCommand

/// Conditions instead of a selector, and columns of lists.
@Suite struct ConditionsTests {
    private static func server() -> FakeServer { FakeServer { [$0.result(#"{"documents":[],"count":0,"rev":1}"#)] } }

    /// The request's parameters.
    private func asked(_ arguments: String..., input: String = "") throws -> String {
        try asked(arguments, input: input)
    }

    private func asked(_ arguments: [String], input: String = "") throws -> String {
        let server = Self.server()
        let outcome = CapturedConsole(input: input).run(["--socket", server.path] + arguments)
        guard let request = server.requests.first else { return "\(outcome.status): \(outcome.errors)" }
        return String(request.drop { $0 != "{" })
    }

    @Test func `each sign is an operation, and what is compared is JSON when it is JSON`() throws {
        let cases = [
            "a=5": #"{"a":5}"#, "a=dark": #"{"a":"dark"}"#, "a!=true": #"{"a":{"$ne":true}}"#,
            "a<1.50": #"{"a":{"$lt":1.50}}"#,
            "a<=2": #"{"a":{"$lte":2}}"#, "a>2026-01-01": #"{"a":{"$gt":"2026-01-01"}}"#,
            "a>=-3": #"{"a":{"$gte":-3}}"#,
            "a^=5": #"{"a":{"$beginsWith":"5"}}"#, "a=~^J.*n$": #"{"a":{"$regex":"^J.*n$"}}"#,
            "a.b=null": #"{"a.b":null}"#,
            "a=": #"{"a":""}"#, "a=x=y": #"{"a":"x=y"}"#, #"a={"b":1}"#: #"{"a":{"$eq":{"b":1}}}"#,
            "a=[1]": #"{"a":[1]}"#,
            "$ref=1": #"{"\\$ref":1}"#, "_id>=F": #"{"_id":{"$gte":"F"}}"#, "a b=1": #"{"a b":1}"#,
        ]
        for (word, selector) in cases {
            #expect(try asked("docs", "count", "c", word) == "{\"collection\":\"c\",\"where\":\(selector)}", "\(word)")
        }
        #expect(try asked("docs", "count", "c", "a=5", "--string") == #"{"collection":"c","where":{"a":"5"}}"#)
        #expect(try asked("docs", "count", "c", #"a={"b"#).contains("begins like JSON and is none"))
    }

    @Test func `several conditions must all hold, and other words keep their places`() throws {
        #expect(
            try asked("docs", "find", "c", "a>=1", "b=x", "a<5")
                == #"{"collection":"c","where":{"a":{"$gte":1,"$lt":5},"b":"x"}}"#)
        #expect(
            try asked("docs", "find", "c", "a!=1", "a!=2")
                == #"{"collection":"c","where":{"$and":[{"a":{"$ne":1}},{"a":{"$ne":2}}]}}"#)
        #expect(
            try asked("docs", "find", "c", "done=false", "due", "--limit", "3")
                == #"{"collection":"c","where":{"done":false},"sort":["due"],"limit":3}"#)
        #expect(
            try asked("docs", "search", "c", "a=b", "n>1")
                == #"{"collection":"c","query":"a=b","where":{"n":{"$gt":1}}}"#)
        #expect(
            try asked("docs", "delete-many", "c", "--where", "a=1", "--where", "b<2")
                == #"{"collection":"c","where":{"a":1,"b":{"$lt":2}}}"#)
        // Ids are ids, whatever signs are in them; where a condition may be meant they are named as such.
        #expect(try asked("docs", "delete-many", "c", "--id", "a=1") == #"{"collection":"c","ids":["a=1"]}"#)
        #expect(try asked("docs", "get", "c", "a=1") == #"{"collection":"c","id":"a=1"}"#)
    }

    @Test func `a patch is members, an object or operations, and replaces a document only where that is said`() throws {
        let cases: [([String], String)] = [
            (["capital=Bern"], #""mergePatch":{"capital":"Bern"}"#),
            (["a=5", "b.c=x", "b.d=null", #"e\.f=true"#], #""mergePatch":{"a":5,"b":{"c":"x","d":null},"e.f":true}"#),
            (["a=x=y"], #""mergePatch":{"a":"x=y"}"#), ([#"{"a": 1}"#], #""mergePatch":{"a":1}"#),
            ([#"[{"op":"remove","path":"/a"}]"#], #""jsonPatch":[{"op":"remove","path":"/a"}]"#),
            (["--replace", "oops"], #""mergePatch":"oops","replace":true"#),
        ]
        for (words, patch) in cases {
            #expect(try asked(["docs", "patch", "c", "DE"] + words) == "{\"collection\":\"c\",\"id\":\"DE\",\(patch)}")
        }
        for words in [
            ["oops"], ["5"], ["=5"], ["a>=5"], ["a=1", "a=2"], ["a=1", "a.b=2"], ["a.b=1", "a=2"], ["{a}"],
        ] {
            #expect(try asked(["docs", "patch", "c", "DE"] + words).hasPrefix("usage"), "\(words)")
        }
    }

    @Test func `a selector is JSON as before, and anything else is refused here`() throws {
        #expect(
            try asked("docs", "count", "c", #"{"a": {"$gt": 1}}"#) == #"{"collection":"c","where":{"a":{"$gt":1}}}"#)
        #expect(try asked("docs", "count", "c", "-", input: #"{"a":1}"#) == #"{"collection":"c","where":{"a":1}}"#)
        for word in ["name", "[1]", "5", "=5", "{a}"] {
            let told = try asked("docs", "count", "c", word)
            #expect(told.hasPrefix("usage"), "\(word): \(told)")
        }
        #expect(try asked("docs", "count", "c", "name").contains("hint: write FIELD=VALUE"))
        #expect(try asked("docs", "find", "c", "--where", #"{"a":1}"#, "--where", "b=1").hasPrefix("usage"))
        #expect(
            CapturedConsole().run("docs", "find", "--help").output.contains(
                "usage: kura docs find COLLECTION [CONDITION…]"))
        #expect(CapturedConsole().run("help", "conditions").output.contains("^= is text that begins with"))
    }

    // MARK: Columns

    private static let found = FakeServer {
        [
            $0.result(
                #"{"documents":[{"id":"a","value":{"n":{"x":1},"t":"dark"},"rev":3},{"id":"b","value":5,"rev":4}],"rev":4}"#
            )
        ]
    }

    @Test func `columns are picked by name and by path, on a terminal and in lines`() {
        let columns = ["docs", "find", "c", "--columns", "rev,value.n.x", "--columns=id"]
        #expect(
            CapturedConsole().run(["--socket", Self.found.path] + columns).output
                == "{\"rev\":3,\"value.n.x\":1,\"id\":\"a\"}\n{\"rev\":4,\"id\":\"b\"}\n")
        let terminal = CapturedConsole(isTerminal: true, environment: ["NO_COLOR": "1"])
        #expect(
            terminal.run(["--socket", Self.found.path] + columns).output
                == "rev  value.n.x  id\n  3          1  a \n  4             b \n".replacing(" \n", with: "\n"))
    }

    @Test func `a column that nothing has is refused before anything is asked`() {
        let server = Self.server()
        let unknown = CapturedConsole().run("docs", "find", "c", "--columns", "id,valeu.x", on: server)
        #expect(unknown.status == .usage && unknown.errors.contains("no column 'valeu'\nhint: did you mean value?"))
        #expect(CapturedConsole().run("docs", "find", "c", "--columns", "a,,b", on: server).status == .usage)
        let whole = CapturedConsole().run("docs", "find", "c", "--columns", "id", "--json", on: server)
        #expect(whole.status == .usage && whole.errors.contains("--ndjson"))
        #expect(CapturedConsole().run("docs", "count", "c", "--columns", "id", on: server).status == .usage)
        #expect(server.requests.isEmpty)
    }

    @Test func `moments are shown to the minute where a table would not fit`() {
        let server = FakeServer {
            [
                $0.result(
                    #"{"blobs":[{"key":"a","bytes":3,"digest":"de9543b2ae1b2b87434a730727db17f5ac8b8c020b84a5cb8c5fbcc1423443ba","#
                        + #""contentType":"text/plain","createdAt":"2026-11-22T12:09:16.023Z","expiresAt":"2026-11-29T12:09:16.023Z"}]}"#
                )
            ]
        }
        let terminal = CapturedConsole(isTerminal: true, environment: ["NO_COLOR": "1"])
        let table = terminal.run("blobs", "list", "n", on: server).output
        #expect(table.contains("2026-11-22T12:09Z  2026-11-29T12:09Z\n"), "\(table)")
        #expect(table.split(separator: "\n").allSatisfy { $0.count <= 80 })
        let some = terminal.run("blobs", "list", "n", "--columns", "key,createdAt", on: server).output
        #expect(some.contains("2026-11-22T12:09:16.023Z"))
    }
}

/// What goes into pipes and comes out of them.
@Suite struct PipeTests {
    private static func importer() -> FakeServer { FakeServer { [$0.result(#"{"exported":2,"imported":2,"rev":9}"#)] } }

    @Test func `without a file an export goes to standard output, and nothing else goes there`() {
        let server = Self.importer()
        let outcome = CapturedConsole().run("docs", "export", "c", on: server)
        #expect(server.requests == [#"documents.export {"collection":"c","fd":true}"#])
        #expect(outcome.output == "" && outcome.errors == "kura: exported 2, imported 2, rev 9\n")
        #expect(CapturedConsole().run("docs", "export", "c", "--path", "/x", on: server).output.contains("exported"))
        #expect(server.requests.last == #"documents.export {"collection":"c","path":"/x"}"#)
        let terminal = CapturedConsole(isTerminal: true).run("docs", "export", "c", on: server)
        #expect(terminal.status == .usage && terminal.errors.contains("which is a terminal"))
        let sitting = CapturedConsole(isInputTerminal: true).run("docs", "import", "c", on: server)
        #expect(sitting.status == .usage && sitting.errors.contains("name a FILE, or use a pipe"))
        #expect(server.requests.count == 2)
    }

    @Test func `settings are imported from the lines that an export prints, and from its whole`() {
        let server = FakeServer { [$0.result(#"{"rev":1,"added":0,"changed":0,"removed":0}"#)] }
        let lines = """
            {"key":"app","value":{"a":1}}
            {"key":"b","value":{"x":{"y":2}}}
            {"key":"app","value":{"c":"\\n"}}

            """
        _ = CapturedConsole(input: lines).run("settings", "import", on: server)
        _ = CapturedConsole(input: lines).run("settings", "import", "-", "--dry-run", on: server)
        _ = CapturedConsole(input: #"{"key":{"a":1},"value":{"b":2}}"#).run("settings", "import", on: server)
        let values = #""values":{"app":{"a":1,"c":"\n"},"b":{"x":{"y":2}}}"#
        #expect(
            server.keylessRequests == [
                "settings.import {\(values)}", "settings.import {\(values),\"dryRun\":true}",
                // Domains that are called so.
                #"settings.import {"values":{"key":{"a":1},"value":{"b":2}}}"#,
            ])
        #expect(
            server.requests.map { $0.contains("requestKey") } == [true, false, true], "what is stored is stored once")
        #expect(CapturedConsole(input: "5").run("settings", "import", on: server).status == .usage)
    }

    @Test func `an export of settings follows all pages, and puts a domain that goes over a page together`() {
        let server = FakeServer { request in
            [
                request.result(
                    request.params.contains("cursor")
                        ? #"{"values":{"a":{"y":2},"b":{}},"rev":5}"#
                        : #"{"values":{"a":{"x":1}},"rev":4,"cursor":"1"}"#)
            ]
        }
        #expect(
            CapturedConsole().run("settings", "export", "--json", on: server).output
                == #"{"values":{"a":{"x":1,"y":2},"b":{}},"rev":5}"# + "\n")
        #expect(
            CapturedConsole().run("settings", "export", on: server).output
                == "{\"key\":\"a\",\"value\":{\"x\":1}}\n{\"key\":\"a\",\"value\":{\"y\":2}}\n{\"key\":\"b\",\"value\":{}}\n"
        )
        #expect(
            CapturedConsole().run("settings", "export", "--limit", "1", on: server).errors.contains("there is more"))
    }

    @Test func `documents and settings go from one store into another by a pipe`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put-many a '{"id":"x","value":{"n":1.50}}' '{"id":"y","value":[null]}'
            kura -q docs export a | kura -q docs import b && kura docs export b 2>/dev/null
            kura -q settings put-many app a=1 b=dark && kura settings export app >saved
            kura -q settings delete app a && kura settings import <saved --columns x 2>/dev/null; echo $?
            kura -q settings import <saved; kura settings export app
            kura docs export a | head -c 5 >/dev/null; echo "${PIPESTATUS[0]}"
            """)
        #expect(
            outcome.output == """
                {"id":"x","value":{"n":1.50}}
                {"id":"y","value":[null]}
                2
                {"key":"app","value":{"a":1,"b":"dark"}}
                0

                """)
    }

    @Test func `an export that nobody reads to its end is over without a word, as any filter is`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            seq 4000 | sed 's/.*/{"id":"&","value":"\(String(repeating: "a", count: 100))"}/' | kura -q docs import a
            env --default-signal=PIPE kura docs export a 2>errors | head -1 | cut -c 1-9; echo "${PIPESTATUS[0]}"
            cat errors
            # What cannot be written for another reason is told.
            kura docs export a - >/dev/full 2>errors; echo $?; head -1 errors
            """)
        #expect(
            outcome.output.hasPrefix("{\"id\":\"1\"\n141\n1\nkura: transferFailed: Transfer failed"),
            "\(outcome.output)")
    }
}
