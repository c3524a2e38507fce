import Testing

@testable import KuraCommand

/// Help is read on terminals of 80 columns.
@Suite struct HelpWidthTests {
    /// What is to be pasted stays on one line, whatever its length.
    private static func tooWide(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init).filter { line in
            let text = line.drop { $0 == " " }
            return Visible.width(line) > 80 && !text.hasPrefix("kura ") && !text.hasPrefix("source ")
        }
    }

    @Test func `no help of kura is wider, but for commands to paste`() {
        let terminal = CapturedConsole(isTerminal: true, width: 80)
        let nouns = Catalogue.standard.shownNouns
        var pages = [["--help"]]
        for topic in ["values", "conditions", "output", "exit-codes", "call", "bench", "completions"] {
            pages.append(["help", topic])
        }
        for noun in nouns {
            pages.append([noun.word, "--help"])
            pages += Catalogue.standard.verbs(of: noun).map { [noun.word, $0.word, "--help"] }
        }
        pages += Tool.all.map { $0.path.split(separator: " ").map(String.init) + ["--help"] }
        #expect(pages.count > 150)
        for page in pages {
            let outcome = terminal.run(page + ["--color", "never"])
            #expect(outcome.status == .done && outcome.output.count > 20, "\(page): \(outcome)")
            #expect(Self.tooWide(outcome.output).isEmpty, "\(page)")
        }
    }

    @Test(arguments: ["", "restore", "doctor"]) func `no help of kurad is wider`(command: String) throws {
        let outcome = try Shell.run("kurad \(command) --help")
        #expect(outcome.status == 0 && outcome.output.contains("usage: kurad"))
        #expect(Self.tooWide(outcome.output).isEmpty)
    }

    @Test func `a restore that is to be quiet is, also on a terminal`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura settings put app theme dark -q
            kura backup all -q
            run() { script -qec "stty cols 80; $*" /dev/null </dev/null | tr -d '\\r'; }
            run kura restore -q all --unproved --data-dir one; echo "one $(ls one | grep -c durable)"
            run kurad restore all --quiet --unproved --data-dir two; echo "two $(ls two | grep -c durable)"
            run kurad restore all --unproved --data-dir three | grep -aoE 'restore: 100%|domains: 1'
            """)
        #expect(outcome.output == "one 1\ntwo 1\nrestore: 100%\ndomains: 1\n", "\(outcome.output)")
    }

    @Test func `an option whose text goes on in a second line is one item of the manual`() {
        var roff = Roff("kurad", 8, date: "2026-01-01", program: "p")
        roff.help("kurad - it\n\n  --dir DIR   where  [$DIR;\n              else here]\n  --dry       it\n\nEnd.\n")
        #expect(roff.text.contains("where [$DIR; else here]"), "\(roff.text)")
        #expect(roff.text.contains("\nit\n") && roff.text.contains("End."), "\(roff.text)")
    }
}
