import Glibc
import KuraBytes
import SQLite
import Synchronization
import Testing

@testable import KuraCommand

@Suite struct ImportTests {
    /// A folder for one test.
    private final class Folder {
        let path: String

        init(_ script: String = ":") throws {
            path = try #require(try Shell.run("mktemp -d").output.split(separator: "\n").first.map(String.init))
            _ = try Shell.run("cd \(path)\n\(script)")
        }

        deinit { _ = try? Shell.run("rm -rf \(path)") }

        subscript(name: String) -> String { "\(path)/\(name)" }
    }

    /// Answers as a daemon that stores everything, and keeps what came by descriptor.
    private final class Daemon: Sendable {
        private let contents = Mutex<[String]>([])
        let skipped: String

        init(skipped: String = "") { self.skipped = skipped }

        var received: [String] { contents.withLock { $0 } }

        func answer(_ request: FakeServer.Request) -> [String] {
            if let descriptor = request.descriptors.first {
                var bytes = [UInt8](repeating: 0, count: 65_536)
                let count = read(descriptor, &bytes, bytes.count)
                contents.withLock { $0.append(String(decoding: bytes[..<max(0, count)], as: UTF8.self)) }
            }
            switch request.method {
            case "settings.import": return [request.result(#"{"rev":1,"added":1,"changed":1,"removed":0}"#)]
            case "documents.import":
                let count = skipped.isEmpty ? 0 : 1
                return [
                    request.result(
                        "{\"imported\":2,\"skipped\":\(count),\"errors\":[\(skipped)],\"offset\":9,\"rev\":1}")
                ]
            default: return [request.result(#"{"stored":true}"#)]
            }
        }
    }

    // MARK: Settings

    @Test func `a property list becomes settings of a domain of its name, what JSON cannot say is named`() throws {
        let folder = try Folder(
            """
            cat >com.example.plist <<'X'
            <plist><dict><key>a</key><integer>1</integer><key>n</key><real>nan</real><key>b</key><date>2026-01-01T00:00:00Z</date>
            <key>c</key><array/></dict></plist>
            X
            """)
        let daemon = Daemon()
        let server = FakeServer { daemon.answer($0) }
        let outcome = CapturedConsole().run("import", folder["com.example.plist"], on: server)
        #expect(
            server.keylessRequests == [
                #"settings.import {"values":{"com.example":{"a":1,"b":"2026-01-01T00:00:00Z","c":[]}}}"#
            ])
        #expect(outcome.status == .partly && outcome.errors == "kura: not taken: n: nan is no number of JSON\n")
        #expect(
            outcome.output == #"{"from":"plist","into":"settings/com.example","stored":3,"leftOut":1,"unchanged":1}"#
                + "\n")
        let dry = CapturedConsole(isTerminal: true).run(
            "import", folder["com.example.plist"], "--into", "settings/x", "--dry-run", on: server)
        #expect(server.requests.last?.hasSuffix("\"dryRun\":true}") == true)
        #expect(dry.output == "3 settings would be stored in settings/x, 1 of them as they were, 1 not taken\n")
    }

    @Test func `what the daemon would refuse for its size or name takes nothing else with it`() throws {
        let folder = try Folder(
            "{ printf '{\"big\":\"'; head -c 1100000 /dev/zero | tr '\\0' a; printf '%s' '\",\"ok\":1,\"\":2,\"a\\u0001\":3}'; } >x.json"
        )
        let daemon = Daemon()
        let server = FakeServer { daemon.answer($0) }
        let outcome = CapturedConsole().run("import", folder["x.json"], on: server)
        #expect(server.keylessRequests == [#"settings.import {"values":{"x":{"ok":1}}}"#])
        #expect(server.requests != server.keylessRequests, "what is stored is stored once")
        #expect(
            outcome.status == .partly
                && outcome.errors.contains("not taken: big: 1100002 bytes, and a setting has 1048576"))
        #expect(
            outcome.errors.contains("not taken: : no key") && outcome.errors.contains("not taken: a\\u0001: no key"))
    }

    @Test func `an environment file needs to be told where to, and may be secrets`() throws {
        let folder = try Folder("printf 'A=1\\nexport B=\"x y\"\\n' >.env")
        let daemon = Daemon()
        let server = FakeServer { daemon.answer($0) }
        let unsaid = CapturedConsole().run("import", folder[".env"], on: server)
        #expect(unsaid.status == .usage && unsaid.errors.contains("secrets/SERVICE when it has passwords"))
        #expect(CapturedConsole().run("import", folder[".env"], "--into", "docs/x", on: server).status == .usage)
        _ = CapturedConsole().run("import", folder[".env"], "--into", "settings/app", on: server)
        #expect(server.keylessRequests == [#"settings.import {"values":{"app":{"A":"1","B":"x y"}}}"#])
        _ = CapturedConsole().run("import", folder[".env"], "--into", "secrets/app", on: server)
        #expect(
            server.requests.last?.hasPrefix(#"transaction.apply {"operations":[{"method":"secrets.put","params":{"#)
                == true)
        let names = CapturedConsole().run("import", folder[".env"], "--into", "secrets/app", "--dry-run", on: server)
        #expect(names.output == "A\nB\n" && server.requests.count == 2)
    }

    // MARK: Documents

    @Test func `lines and arrays go to the daemon by descriptor, which says what it left out`() throws {
        let folder = try Folder(
            #"printf '{"k":1}\n{bad\n{"k":"b"}\n' >notes.ndjson; printf '[{"k":1},{"x":2}]' >list.json"#)
        let daemon = Daemon(skipped: #"{"line":2,"message":"no JSON"}"#)
        let server = FakeServer { daemon.answer($0) }
        let outcome = CapturedConsole().run("import", folder["notes.ndjson"], "--id", "k", on: server)
        #expect(
            server.requests == [
                #"documents.import {"collection":"notes","fd":true,"format":"lines","onError":"skip","idField":"k"}"#
            ])
        #expect(daemon.received == ["{\"k\":1}\n{bad\n{\"k\":\"b\"}\n"])
        #expect(outcome.status == .partly && outcome.errors.contains("not taken: line 2: no JSON"))
        #expect(outcome.output == #"{"from":"ndjson","into":"documents/notes","stored":2,"leftOut":1}"# + "\n")
        _ = CapturedConsole(input: "{\"a\":1}\n").run("import", "-", "--from", "ndjson", "--into", "docs/x", on: server)
        #expect(daemon.received.last == "{\"a\":1}\n")
        let dry = CapturedConsole().run("import", folder["notes.ndjson"], "--id", "k", "--dry-run", on: server)
        #expect(dry.errors.contains("not taken: line 2: not JSON") && dry.output.contains("\"stored\":2,\"leftOut\":1"))
        let array = CapturedConsole().run("import", folder["list.json"], "--id", "k", "--dry-run", on: server)
        #expect(
            array.errors.contains("record 2: 'k' is no text and no number") && array.output.contains("\"stored\":1"))
        #expect(server.requests.count == 2)
    }

    private func database(_ folder: Folder, _ sql: String) throws {
        let connection = try Connection(path: folder["app.sqlite"], mode: .readWriteCreate)
        try connection.execute(sql)
        connection.close()
    }

    @Test func `rows become documents under their keys, every value as it is`() throws {
        let folder = try Folder()
        try database(
            folder,
            """
            CREATE TABLE cards(id INTEGER PRIMARY KEY, front TEXT, n REAL, pic BLOB, "odd ""name" TEXT);
            INSERT INTO cards VALUES(1, 'Hund "x"', 1.5, x'0001', NULL), (2, 'a', 9e999, NULL, 'x'), (3, CAST(x'ff' AS TEXT), 0, NULL, NULL),
                (9007199254740993, '', 3.0, x'', 'y');
            """)
        let daemon = Daemon(skipped: #"{"line":2,"message":"longer than 8 MiB"}"#)
        let server = FakeServer { daemon.answer($0) }
        let outcome = CapturedConsole().run("import", folder["app.sqlite"], on: server)
        #expect(
            server.requests == [#"documents.import {"collection":"cards","fd":true,"format":"lines","onError":"skip"}"#]
        )
        #expect(
            daemon.received == [
                #"{"id":"1","value":{"id":1,"front":"Hund \"x\"","n":1.5,"pic":"AAE=","odd \"name":null}}"# + "\n"
                    + #"{"id":"9007199254740993","value":{"id":9007199254740993,"front":"","n":3.0,"pic":"","odd \"name":"y"}}"#
                    + "\n"
            ])
        // The daemon counts lines; the second one was the fourth row.
        for text in [
            "row 2: n is no number of JSON: inf", "row 3: front is text that is not UTF-8", "row 4: longer than 8 MiB",
        ] {
            #expect(outcome.errors.contains("not taken: \(text)\n"), "\(outcome.errors)")
        }
        #expect(outcome.errors.contains("2 blobs became base64") && outcome.status == .partly)
        let dry = CapturedConsole().run("import", folder["app.sqlite"], "--dry-run", on: server)
        #expect(dry.output.contains("\"stored\":2,\"leftOut\":2") && server.requests.count == 1)
    }

    @Test func `a row with a value that no document could have is left out, and generated columns are named`() throws {
        let folder = try Folder()
        try database(
            folder,
            """
            CREATE TABLE a(rowid TEXT, b BLOB, "c d" AS (rowid || 'x'), e AS (1) STORED);
            INSERT INTO a(_rowid_, rowid, b) VALUES(-9223372036854775808, 'first', NULL), (2, 'long', zeroblob(20000000)),
                (3, 'short', x'01'), (9, CAST(zeroblob(17000000) AS TEXT), NULL),
                (9223372036854775807, 'last', zeroblob(16800000));
            CREATE INDEX ab ON a(rowid, b) WHERE length(b) < 9;
            """)
        let daemon = Daemon()
        let server = FakeServer { daemon.answer($0) }
        let outcome = CapturedConsole().run("import", folder["app.sqlite"], on: server)
        #expect(
            daemon.received == [
                #"{"id":"-9223372036854775808","value":{"rowid":"first","b":null}}"# + "\n"
                    + #"{"id":"3","value":{"rowid":"short","b":"AQ=="}}"# + "\n"
            ], "\(outcome)")
        for row in [2, 4, 5] {
            #expect(outcome.errors.contains("not taken: row \(row): a value of it is longer than 16777216 bytes\n"))
        }
        #expect(outcome.errors.contains("generated columns are not taken: c d, e\n") && outcome.status == .partly)
    }

    @Test func `a key of several columns stays one that no other has`() throws {
        let folder = try Folder()
        try database(
            folder,
            """
            CREATE TABLE pairs(a TEXT, b TEXT, PRIMARY KEY(b, a)) WITHOUT ROWID;
            INSERT INTO pairs VALUES('x/y', 'z'), ('y', 'z/x~');
            CREATE TABLE plain(a); INSERT INTO plain VALUES(NULL), ('one');
            CREATE VIEW seen AS SELECT a FROM plain;
            """)
        let daemon = Daemon()
        let server = FakeServer { daemon.answer($0) }
        let file = folder["app.sqlite"]
        _ = CapturedConsole().run("import", file, "--table", "pairs", "--into", "docs/p", on: server)
        #expect(daemon.received.last?.contains(#"{"id":"z/x~1y","value""#) == true, "\(daemon.received)")
        #expect(daemon.received.last?.contains(#"{"id":"z~1x~0/y","value""#) == true)
        _ = CapturedConsole().run("import", file, "--table", "plain", on: server)
        #expect(
            daemon.received.last == "{\"id\":\"1\",\"value\":{\"a\":null}}\n{\"id\":\"2\",\"value\":{\"a\":\"one\"}}\n")
        let named = CapturedConsole().run("import", file, "--table", "seen", "--id", "a", on: server)
        #expect(daemon.received.last == "{\"id\":\"one\",\"value\":{\"a\":\"one\"}}\n")
        #expect(named.errors.contains("row 1: a, its id, is NULL"))
        let count = server.requests.count
        for (arguments, told) in [
            ([], "has several tables: --table NAME says which\nhint: its tables: pairs, plain, seen"),
            (["--table", "plian"], "has no table 'plian'\nhint: did you mean plain?"),
            (["--table", "seen"], "seen is a view and has no key\nhint: --id COLUMN"),
            (["--table", "plain", "--id", "b"], "plain has no column 'b'"),
            (["--table", "plain", "--into", "blobs/x"], "becomes documents, not blobs"),
        ] {
            let outcome = CapturedConsole().run(["--socket", server.path, "import", file] + arguments)
            #expect(outcome.status == .usage && outcome.errors.contains(told), "\(outcome.errors)")
        }
        #expect(server.requests.count == count)
    }

    @Test(arguments: ["-wal", "-shm", "-journal"])
    func `nobody waits for a FIFO beside a database, and no link there is followed`(ending: String) throws {
        let folder = try Folder()
        try database(folder, "CREATE TABLE a(b)")
        let server = FakeServer { [$0.result("{}")] }
        let sibling = folder["app.sqlite"] + ending
        symlink(folder["app.sqlite"], folder["link.sqlite"])
        for lay in [{ mkfifo(sibling, 0o600) }, { symlink("/etc/passwd", sibling) }] {
            #expect(lay() == 0)
            for name in ["app.sqlite", "link.sqlite"] {
                let outcome = CapturedConsole().run("import", folder[name], on: server)
                #expect(outcome.status == .usage && outcome.errors.contains("app.sqlite\(ending) is no regular file"))
            }
            unlink(sibling)
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `a view runs only when it is named, and a value that no document could have is refused`() throws {
        let folder = try Folder()
        try database(
            folder,
            "CREATE VIEW endless AS WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT a, zeroblob(900000000) AS b FROM n;"
        )
        let server = FakeServer { [$0.result("{}")] }
        let unnamed = CapturedConsole().run("import", folder["app.sqlite"], on: server)
        #expect(unnamed.status == .usage && unnamed.errors.contains("has a view and no table"), "\(unnamed.errors)")
        let named = CapturedConsole().run("import", folder["app.sqlite"], "--table", "endless", "--id", "a", on: server)
        #expect(named.status == .usage && named.errors.contains("too big"), "\(named.errors)")
        #expect(server.requests.isEmpty)
    }

    // MARK: Files

    @Test func `files of a folder become blobs under their paths, and nothing else does`() throws {
        let folder = try Folder(
            "mkdir -p f/sub; printf one >f/a.txt; printf two >f/sub/b.PNG; ln -s a.txt f/link; mkfifo f/pipe; : >f/.hidden; ln -s / f/root"
        )
        let daemon = Daemon()
        let server = FakeServer { daemon.answer($0) }
        let outcome = CapturedConsole().run("import", folder["f"], on: server)
        #expect(
            server.requests == [
                #"blobs.put {"namespace":"f","key":".hidden","fd":true}"#,
                #"blobs.put {"namespace":"f","key":"a.txt","fd":true,"contentType":"text/plain"}"#,
                #"blobs.put {"namespace":"f","key":"sub/b.PNG","fd":true,"contentType":"image/png"}"#,
            ])
        #expect(daemon.received == ["", "one", "two"])
        #expect(outcome.status == .partly && outcome.output.contains("\"stored\":3,\"leftOut\":3"))
        for name in ["link: a symbolic link", "root: a symbolic link", "pipe: no regular file"] {
            #expect(outcome.errors.contains("not taken: \(name)\n"))
        }
        #expect(CapturedConsole().run("import", folder["f"], "--dry-run", on: server).output.contains("\"stored\":3"))
        #expect(server.requests.count == 3)
    }

    @Test func `one file's fault does not end the rest, and a cache that declines is told`() throws {
        let folder = try Folder("mkdir f; for n in a b c; do echo $n >f/$n; done")
        let server = FakeServer { request in
            if request.params.contains("\"key\":\"a\"") { return [request.error("valueTooLarge", code: -32004)] }
            return [
                request.result(
                    request.params.contains("\"b\"") ? #"{"stored":false,"reason":"lowStorage"}"# : #"{"stored":true}"#)
            ]
        }
        let outcome = CapturedConsole().run("import", folder["f"], on: server)
        #expect(outcome.errors.contains("not taken: a: valueTooLarge: No"))
        #expect(outcome.errors.contains("not taken: b: the cache declined it: lowStorage"))
        #expect(outcome.status == .partly && outcome.output.contains("\"stored\":1,\"leftOut\":2"))
        let denied = FakeServer { [$0.error("forbidden", code: -32007)] }
        let refused = CapturedConsole().run("import", folder["f"], on: denied)
        #expect(refused.status == .refused && refused.errors.contains("0 files are stored, a is not"))
        #expect(denied.requests.count == 1)
    }

    // MARK: What it is

    @Test func `what a file is shows in it, or is asked for`() throws {
        let folder = try Folder(
            #"""
            printf '{"a":1}\n{"a":2}\n' >lines; printf '{\n "a": 1\n}\n' >object; printf ' [1]' >array; printf 'hello' >text
            printf 'A=1' >x.env; printf 'bplist00' >bin; mkdir dir; mkfifo pipe
            """#)
        func kind(_ name: String, _ given: String? = nil) -> String {
            do throws(Failure) {
                let console = Console(
                    output: .init(isTerminal: false) { _ in }, errors: .init(isTerminal: false) { _ in }, width: 80,
                    environment: { _ in nil }, input: { Array("[1]".utf8) })
                return try ImportSource(name == "-" ? name : folder[name], given, console).kind.rawValue
            } catch { return error.message }
        }
        #expect(
            ["lines", "object", "array", "x.env", "bin", "dir", "-"].map { kind($0) } == [
                "ndjson", "json", "json", "env", "plist", "folder", "json",
            ])
        #expect(kind("text").hasPrefix("nobody can tell what") && kind("text", "env") == "env")
        #expect(kind("pipe").hasSuffix("is neither a file nor a folder") && kind("none").hasPrefix("cannot open"))
        #expect(kind("lines", "folder").hasSuffix("is no folder") && kind("dir", "json").hasSuffix("is a folder"))
        #expect(kind("lines", "jsno") == "--from is one of plist, env, json, ndjson, sqlite, folder, not 'jsno'")
    }

    @Test func `a target has a store that can take it`() throws {
        let folder = try Folder("printf '{\"a\":1}' >x.json")
        let server = FakeServer { [$0.result("{}")] }
        for target in ["x", "models/x", "settings/", "/x", ""] {
            let outcome = CapturedConsole().run("import", folder["x.json"], "--into", target, on: server)
            #expect(outcome.status == .usage && outcome.errors.contains("--into takes settings/DOMAIN"), "\(target)")
        }
        #expect(CapturedConsole(input: "{}").run("import", "-", on: server).errors.contains("needs --into"))
        #expect(CapturedConsole().run("import", folder["x.json"], "--table", "t", on: server).status == .usage)
        #expect(server.requests.isEmpty)
    }
}
