import Glibc
import KuraClient
import KuraProtocol
import Testing

@testable import KuraCommand

@Suite struct ProgressTests {
    private final class Screen {
        var text = ""
        var time = 0.0
        let isTerminal: Bool

        init(isTerminal: Bool = true) { self.isTerminal = isTerminal }

        func line(_ title: String, width: Int = 60) -> ProgressLine {
            let console = Console(
                output: .init(isTerminal: false) { _ in },
                errors: .init(isTerminal: isTerminal) { self.text += String(decoding: $0, as: UTF8.self) },
                width: width,
                environment: { _ in nil }, input: { [] })
            return ProgressLine(console, title: title, now: { self.time })
        }
    }

    @Test func `nothing is shown in the first second, then a bar, and it is erased at the end`() {
        let screen = Screen()
        let line = screen.line("docs import")
        screen.time = 0.9
        line.update(done: 10, total: 100)
        #expect(screen.text == "")
        line.erase()
        #expect(screen.text == "")
        screen.time = 1.5
        line.update(done: 4_000, total: 10_000)
        #expect(screen.text == "\rdocs import  [######...........]  40%  4,000 of 10,000, 1 s\u{1B}[K")
        screen.time = 1.55
        line.update(done: 5_000, total: 10_000)
        #expect(!screen.text.contains("50%"))
        line.erase()
        #expect(screen.text.hasSuffix("\r\u{1B}[K"))
    }

    @Test func `a line never reaches the last column`() {
        for width in 20...120 {
            let line = Screen().line("documents import", width: width)
            for (done, total) in [(nil, nil), (5, nil), (5, 7), (123_456_789, 987_654_321), (9, 7)]
                as [(Int64?, Int64?)]
            {
                line.update(done: done, total: total, phase: "a phase with a long name")
                #expect(Visible.width(line.line(elapsed: 1234)) < width)
            }
        }
    }

    @Test func `without notifications the time is told, and elsewhere than on a terminal nothing`() {
        let screen = Screen()
        let line = screen.line("storage compact")
        screen.time = 3.2
        line.tick()
        #expect(screen.text == "\rstorage compact: waiting, 3 s\u{1B}[K")
        let file = Screen(isTerminal: false)
        let other = file.line("storage compact")
        file.time = 3
        other.tick()
        other.erase()
        #expect(file.text == "")
    }

    @Test func `notifications on the progress of a request reach the line, and the result still comes`() {
        let server = FakeServer { request in
            [
                #"{"jsonrpc":"2.0","method":"documents.progress","params":{"done":5,"total":10,"phase":"slow"}}"#,
                #"{"jsonrpc":"2.0","method":"other.thing","params":{}}"#,
            ] + [request.result(#"{"imported":7}"#)]
        }
        let outcome = CapturedConsole(catalogue: .extended).run("records", "import", "c", "--path", "x", on: server)
        #expect(outcome.status == .done && outcome.output == "{\"imported\":7}\n" && outcome.errors == "")
    }

    @Test func `on a terminal a request of over a second shows them, and leaves nothing behind`() {
        let server = FakeServer { request in
            usleep(1_300_000)
            return [
                #"{"jsonrpc":"2.0","method":"documents.progress","params":{"done":5,"total":10,"phase":"slow"}}"#,
                request.result(#"{"imported":7}"#),
            ]
        }
        let console = CapturedConsole(isTerminal: true, environment: ["NO_COLOR": "1"], catalogue: .extended)
        let shown = console.run("records", "import", "c", "--path", "x", on: server).errors
        // More than one second on a busy machine.
        #expect(shown.prefixMatch(of: #/\rrecords import: waiting, \d+ s\x1B\[K/#) != nil, "\(shown)")
        #expect(shown.contains("records import: slow  [#") && shown.contains(#/ 50%  5 of 10, \d+ s/#), "\(shown)")
        #expect(shown.hasSuffix("\r\u{1B}[K"))
    }
}

@Suite struct TableTests {
    private func table(_ columns: [String], _ rows: [[String]]) -> Table {
        var table = Table(columns: columns)
        for row in rows { table.add(row.map { Array($0.utf8) }) }
        return table
    }

    private let plain = Style(isOn: false)

    @Test func `no line is wider than the terminal, and what is cut ends with an ellipsis`() {
        let long = "\"" + String(repeating: "wide 日本 ", count: 40) + "\""
        let table = table(["id", "value", "note", "rev"], [["\"a\"", long, long, "12"], ["\"b\"", "1", "2", "3"]])
        for width in 40...130 {
            let lines = table.rendered(width: width, style: plain).split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines.allSatisfy { Visible.width(String($0)) <= width }, "\(width)")
            #expect(lines[1].contains("…") && lines[1].hasPrefix("a ") && lines[1].hasSuffix(" 12"))
        }
    }

    @Test func `numbers stand to the right, text to the left, and a line stays a line`() {
        #expect(
            table(["name", "n"], [["\"a\\nb\\tc\"", "5"], ["null", "-10"]]).rendered(width: 80, style: plain) == """
                name       n
                a\\nb\\tc    5
                null     -10

                """)
    }

    @Test func `control characters and marks of direction are shown, not obeyed`() {
        #expect(Visible.line("a\u{1B}]0;x\u{7}\u{9B}\u{202E}b\r") == "a\\u001b]0;x\\u0007\\u009b\\u202eb\\r")
        #expect(Visible.text("a\n\tb\u{7F}") == "a\n\tb\\u007f")
        #expect(Visible.line("日本 é 🎉") == "日本 é 🎉")
    }

    @Test func `columns are counted as terminals count them`() {
        #expect(Visible.width("abc") == 3)
        #expect(Visible.width("日本") == 4)
        #expect(Visible.width("e\u{301}") == 1)
        #expect(Visible.width("🎉") == 2)
        #expect(Visible.truncated("日本国", to: 5) == "日本…")
        #expect(Visible.truncated("日本国", to: 4) == "日…")
        #expect(Visible.truncated("abc", to: 3) == "abc")
        #expect(Visible.truncated("abcd", to: 3) == "ab…")
    }

    @Test func `paragraphs and definitions keep to the width`() {
        let text = String(repeating: "some words of text ", count: 20)
        for width in [40, 80, 100] {
            let laid =
                Layout.paragraph(text, width: width, indent: 4)
                + Layout.definitions([("--a", text), (String(repeating: "x", count: 35), text)], width: width)
            #expect(laid.split(separator: "\n").allSatisfy { Visible.width(String($0)) <= width })
        }
        #expect(
            Layout.wrapped(words: ["usage", "[--if-rev N]", "[--all]"], width: 17) == [
                "usage", "[--if-rev N]", "[--all]",
            ])
        #expect(Layout.definitions([("a", "one"), ("bb", "two")], width: 80) == "  a   one\n  bb  two\n")
    }
}

@Suite struct HelpTests {
    private let console = CapturedConsole(catalogue: .extended)

    @Test func `every verb, noun and topic has help with an example that fits onto 80 columns`() {
        var commands: [[String]] = [["--help"], ["help"]]
        for noun in Catalogue.extended.nouns { commands += [[noun.name, "--help"], ["help", noun.word]] }
        for verb in Catalogue.extended.verbs {
            commands += [
                [verb.noun, verb.word, "--help"], ["help", verb.noun, verb.word], ["help", verb.method.name],
            ]
        }
        for alias in Catalogue.extended.aliases { commands.append([alias.word, "-h"]) }
        for topic in HelpTopic.allCases { commands.append(["help", topic.rawValue]) }
        for command in ["call", "completions", "help"] { commands.append([command, "--help"]) }
        commands.append(["call", "settings.put", "--help"])
        for command in commands {
            let outcome = console.run(command)
            #expect(outcome.status == .done && outcome.errors == "", "\(command)")
            #expect(outcome.output.contains("kura "), "\(command)")
            #expect(
                outcome.output.contains("\n  kura ") || outcome.output.contains("\n    kura ")
                    || command.contains("completions"), "no example: \(command)")
            for line in outcome.output.split(separator: "\n") {
                // An example is one line, to be pasted.
                let isExample =
                    line.hasPrefix("  kura ") || line.hasPrefix("    kura ") || command.contains("completions")
                #expect(isExample || Visible.width(String(line)) <= 80, "\(command): \(line)")
            }
        }
    }

    @Test func `a verb's help names every parameter and what comes back`() {
        for verb in Catalogue.extended.verbs {
            let text = console.run(verb.noun, verb.word, "--help").output
            for parameter in verb.parameters {
                let placed = verb.positional.contains { $0.field.name == parameter.field.name }
                let word = placed ? parameter.elementPlaceholder : "--\(parameter.options.last ?? "")"
                #expect(
                    text.contains(placed && !parameter.isRepeatable ? parameter.placeholder : word),
                    "\(verb.path): \(word)"
                )
            }
            for field in verb.method.result {
                #expect(text.contains("  \(field.name) "), "\(verb.path): \(field.name)")
            }
        }
    }

    @Test func `help on exit codes has every code and every kind of error`() {
        let text = console.run("help", "exit-codes").output
        for status in ExitCode.allCases { #expect(text.contains("\n  \(status.rawValue)  ")) }
        for kind in ErrorKind.allCases { #expect(text.contains("\(kind.facts.name)"), "\(kind)") }
    }
}
