import Glibc
import Testing

@testable import KuraCommand

@Suite struct EditTests {
    /// A folder for one test: an editor that runs a script with the file as `$1`, and where the files lie.
    private final class Desk {
        let path: String

        init(_ script: String) throws {
            path = try #require(
                try Shell.run("mktemp -d").output.split(separator: "\n").first.map(String.init))
            let quoted = script.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
            _ = try Shell.run(
                "printf '%s' '#!/bin/sh\n\(quoted)\n' > \(path)/editor; chmod +x \(path)/editor; mkdir \(path)/files")
        }

        deinit { _ = try? Shell.run("rm -r \(path)") }

        func console(confirms: Bool = false) -> CapturedConsole {
            CapturedConsole(
                environment: ["EDITOR": "\(path)/editor", "TMPDIR": "\(path)/files"], confirms: confirms,
                isInputTerminal: confirms)
        }

        /// What lies in the files that are left.
        func left() throws -> String { try Shell.run("cat \(path)/files/* 2>/dev/null").output }
    }

    private static func server(_ put: @escaping @Sendable (FakeServer.Request) -> String) -> FakeServer {
        FakeServer { request in
            request.method.hasSuffix(".get") ? [request.result(#"{"value":{"a":1,"b":"x"},"rev":7}"#)] : [put(request)]
        }
    }

    @Test func `what the editor leaves is stored on condition that nobody else has changed it`() throws {
        let desk = try Desk(#"grep -c "  \"a\": 1," "$1" > "${1%/*}/../seen"; sed -i "s/1/2/" "$1""#)
        let server = Self.server { $0.result(#"{"id":"d","rev":8}"#) }
        let outcome = desk.console().run("docs", "edit", "c", "d", on: server)
        #expect(
            server.requests == [
                #"documents.get {"collection":"c","id":"d"}"#,
                #"documents.put {"collection":"c","id":"d","value":{"a":2,"b":"x"},"ifRev":7}"#,
            ])
        #expect(outcome.status == .done && outcome.output == #"{"id":"d","rev":8}"# + "\n")
        #expect(try Shell.run("cat \(desk.path)/seen").output == "1\n")
        #expect(try desk.left() == "")
        _ = desk.console().run("documents", "edit", "c", "d", on: server)
        _ = desk.console().run("settings", "edit", "app", "k", on: server)
        #expect(server.requests.last == #"settings.put {"domain":"app","key":"k","value":{"a":2,"b":"x"},"ifRev":7}"#)
        #expect(server.requests.count == 6)
    }

    @Test func `after a conflict the text stays in its file, and the message says where`() throws {
        let desk = try Desk(#"echo "{\"mine\":true}" > "$1""#)
        let server = Self.server { $0.error("conflict", code: -32003, ",\"currentRev\":9") }
        let outcome = desk.console(confirms: true).run("docs", "edit", "c", "d", on: server)
        #expect(outcome.status == .conflict)
        let path = try #require(
            outcome.errors.split(separator: " ").map(String.init).first { $0.contains("/files/kura-edit-") })
        #expect(outcome.errors.contains("hint: somebody else has changed c/d: edit it again"))
        #expect(try Shell.run("cat \(path.split(separator: "\n")[0])").output == "{\"mine\":true}\n")
        // Only the owner reads what may be private.
        #expect(try Shell.run("stat -c %a \(desk.path)/files/*").output == "600\n")
        #expect(server.requests.count == 2)
    }

    @Test func `what means the same, or nothing, is not stored`() throws {
        for script in ["true", #"printf '{"a":   1,"b":"x"}' > "$1""#, #": > "$1""#] {
            let desk = try Desk(script)
            let server = Self.server { $0.result("{}") }
            let outcome = desk.console().run("docs", "edit", "c", "d", on: server)
            #expect(outcome.status == .done && outcome.errors == "kura: nothing was changed\n", "\(script)")
            #expect(server.requests.count == 1)
            #expect(try desk.left() == "")
        }
    }

    @Test func `an editor that fails changes nothing, and leaves the text`() throws {
        let desk = try Desk(#"echo mine > "$1"; exit 3"#)
        let server = Self.server { $0.result("{}") }
        let outcome = desk.console().run("docs", "edit", "c", "d", on: server)
        #expect(outcome.status == .usage && outcome.errors.contains("ended with status 3, and nothing was stored"))
        #expect(server.requests.count == 1)
        #expect(try desk.left() == "mine\n")
        var other = desk.console()
        other.environment["VISUAL"] = "/nonexistent/editor"
        #expect(other.run("docs", "edit", "c", "d", on: server).errors.contains("/nonexistent/editor"))
    }

    @Test func `what is not JSON, or is refused, stays in its file, and can be put right`() throws {
        let broken = try Desk(#"printf '{\n"a": }' > "$1""#)
        let server = Self.server { $0.error("schemaViolation", code: -32012) }
        let outcome = broken.console().run("docs", "edit", "c", "d", on: server)
        #expect(outcome.status == .usage && outcome.errors.contains("it is not JSON: "))
        #expect(outcome.errors.contains("in line 2; what you wrote is in \(broken.path)/files/"))
        #expect(try broken.left() == "{\n\"a\": }")
        // The first time it writes what is refused, the second time what is there already.
        let mended = try Desk(
            #"if [ -e "$1.again" ]; then printf '{"a":1,"b":"x"}' > "$1"; rm "$1.again"; else echo 5 > "$1"; : > "$1.again"; fi"#
        )
        let again = mended.console(confirms: true).run("docs", "edit", "c", "d", on: server)
        #expect(again.status == .done && again.errors.contains("schemaViolation: No"))
        #expect(again.errors.hasSuffix("kura: nothing was changed\n"))
        #expect(try mended.left() == "")
    }

    @Test func `a domain is one object, of which only what differs is written`() throws {
        let desk = try Desk(#"printf '{"a":1,"b":2,"new":[]}' > "$1""#)
        let server = FakeServer { request in
            if request.method == "settings.putMany" { return [request.result(#"{"rev":9,"changed":3}"#)] }
            return [
                request.result(
                    request.params.contains("cursor")
                        ? #"{"values":{"gone":0},"rev":8}"# : #"{"values":{"a":1,"b":1},"rev":7,"cursor":"x"}"#)
            ]
        }
        let outcome = desk.console().run("settings", "edit", "app", on: server)
        #expect(outcome.status == .done)
        #expect(
            server.requests.last
                == #"settings.putMany {"domain":"app","values":{"b":2,"new":[]},"delete":["gone"],"ifRev":7}"#)
        let list = try Desk(#"echo "[]" > "$1""#)
        #expect(list.console().run("settings", "edit", "app", on: server).errors.contains("are one JSON object"))
    }

    @Test func `two who edit the same document do not overwrite each other`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            export TMPDIR=$work
            printf '#!/bin/sh\\nkura -q docs put c d 2\\necho 3 > "$1"\\n' >theirs; chmod +x theirs
            kura -q docs put c d 1
            EDITOR=$work/theirs kura docs edit c d 2>/dev/null; echo $?
            kura docs get c d; cat kura-edit-*.json
            printf '#!/bin/sh\\necho 4 > "$1"\\n' >mine; chmod +x mine
            EDITOR=$work/mine kura docs edit c d >/dev/null; kura docs get c d
            EDITOR=$work/mine kura docs edit c new >/dev/null; kura docs get c new
            """)
        #expect(outcome.output == "4\n2\n3\n4\n4\n")
    }
}
