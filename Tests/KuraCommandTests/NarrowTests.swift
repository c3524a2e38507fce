import Testing

@testable import KuraCommand

/// What is shown where there is not much room.
@Suite struct NarrowTests {
    private func terminal(_ width: Int) -> CapturedConsole {
        CapturedConsole(isTerminal: true, width: width, environment: ["NO_COLOR": "1"])
    }

    private static let blobs = """
        {"blobs":[{"key":"https://example.org/a-long-address/of-an-image.png","bytes":300000,"digest":"\
        c4b1ea61cf4480700000000000000000000000000000000000000000000000000","contentType":"image/png",\
        "createdAt":"2026-11-22T15:48:11.418Z","expiresAt":"2026-11-29T15:48:11.418Z"}],"rev":5}
        """

    @Test func `texts give way before moments and numbers, which are never cut`() {
        let server = FakeServer { [$0.result(Self.blobs)] }
        #expect(
            terminal(80).run("blobs", "list", "images", on: server).output == """
                key                bytes  digest            contentType  createdAt   expiresAt
                https://example…  300000  c4b1ea61cf44807…  image/png    2026-11-22  2026-11-29

                """)
        let wide = terminal(110).run("blobs", "list", "images", on: server).output
        #expect(wide.contains("  2026-11-22T15:48Z  2026-11-29T15:48Z\n") && wide.contains("  300000  "))
        let all = terminal(300).run("blobs", "list", "images", on: server).output
        #expect(all.contains("a-long-address/of-an-image.png  300000") && all.contains("  2026-11-22T15:48:11.418Z  "))
    }

    @Test func `a long number stays whole where a text beside it is as long`() {
        let scopes =
            #"{"scopes":[{"domain":"org.example.a-long-name","count":2,"bytes":1234567890123456,"rev":5}],"rev":5}"#
        let server = FakeServer { [$0.result(scopes)] }
        #expect(
            terminal(40).run("settings", "scopes", on: server).output
                == "domain      count             bytes  rev\norg.examp…      2  1234567890123456    5\n")
    }

    @Test func `rows that do not fit are blocks of lines`() {
        let server = FakeServer { [$0.result(Self.blobs)] }
        #expect(
            terminal(40).run("blobs", "list", "images", on: server).output == """
                key          https://example.org/a-long…
                bytes        300000
                digest       c4b1ea61cf4480700000000000…
                contentType  image/png
                createdAt    2026-11-22T15:48:11.418Z
                expiresAt    2026-11-29T15:48:11.418Z

                """)
        let values = FakeServer { [$0.result(#"{"values":{"a":1,"b":"x"},"rev":5}"#)] }
        #expect(terminal(40).run("settings", "list", "app", on: values).output == "key  value\na    1\nb    x\n")
    }

    @Test func `messages end no line within a word, nor within a command to paste`() {
        let errors = terminal(60).run("--socket", "/nonexistent.sock", "ping").errors
        #expect(
            errors == """
                kura: no daemon listens at /nonexistent.sock
                hint: start one with 'kurad --socket /nonexistent.sock &'
                      (in the source tree: scripts/run --socket
                      /nonexistent.sock), or name another socket with
                      --socket or $KURA_SOCKET

                """)
        // Somebody reads it line by line.
        let plain = CapturedConsole(width: 60).run("--socket", "/nonexistent.sock", "ping").errors
        #expect(plain.split(separator: "\n").count == 2)
        #expect(
            Layout.pieces(of: "the item's rev, 'kura a b' or 'x'") == [
                "the", "item's", "rev,", "'kura", "a", "b'", "or", "'x'",
            ])
        #expect(Layout.pieces(of: "with 'kura a b' or 'x'") == ["with", "'kura a b'", "or", "'x'"])
    }

    @Test func `what of several settings is missing is said`() {
        let server = FakeServer { [$0.result(#"{"values":{"a":1},"rev":5}"#)] }
        let outcome = CapturedConsole().run("settings", "get-many", "app", "a", "b", "c", on: server)
        #expect(outcome.output == #"{"key":"a","value":1}"# + "\n" && outcome.errors == "kura: missing: b, c\n")
        #expect(outcome.status == .done)
    }

    @Test func `what keeps data comes first in the help`() {
        let help = CapturedConsole().run("help").output
        let rows = help.split(separator: "\n").drop { $0 != "nouns" }.dropFirst()
        #expect(rows.first?.hasPrefix("  settings ") == true, "\(rows.prefix(2))")
        #expect(CapturedConsole().run("help", "exce").errors.contains("did you mean exec?"))
    }
}
