import KuraProtocol
import Testing

@testable import KuraCommand

@Suite struct ManTests {
    private let console = CapturedConsole(environment: ["SOURCE_DATE_EPOCH": "86400"])

    @Test func `every verb, tool and exit code is in the manual`() throws {
        let pages = ManPages(catalogue: .standard, seconds: 0)
        for noun in Catalogue.standard.nouns {
            let page = try #require(pages.page(named: noun.name))
            for verb in Catalogue.standard.verbs(of: noun) {
                #expect(page.contains("\n.SS \"\(verb.path.replacing("-", with: "\\-"))"), "\(verb.path)")
                let words = verb.method.summary.split(separator: " ").prefix(2).joined(separator: " ")
                #expect(page.contains("\n\(words.replacing("-", with: "\\-"))"), "\(verb.path)")
            }
            for tool in Tool.verbs(of: noun.name) {
                #expect(page.contains("\n.SS \"\(tool.path.replacing("-", with: "\\-"))"), "\(tool.path)")
            }
        }
        for tool in Tool.all where tool.noun == nil { #expect(pages.page(named: "kura-\(tool.word)") != nil) }
        let general = try #require(pages.page(named: "kura"))
        for code in ExitCode.allCases { #expect(general.contains("\n\\fB\(code.rawValue)\\fR\n"), "\(code)") }
        #expect(general.hasPrefix(".TH KURA 1 1970-01-01 \"kura \(Kura.version)\"\n"))
        #expect(console.run("man", "docs").output.hasPrefix(".TH KURA\\-DOCS 1 1970-01-02 "))
        let unknown = console.run("man", "dosc")
        #expect(unknown.status == .usage && unknown.errors.contains("did you mean docs?"))
    }

    @Test func `nothing in a text is taken for a request of roff`() {
        var roff = Roff("a", 1, date: "2026-01-01", program: "p")
        roff.paragraph(".TH of 'it' \\n")
        roff.laidOut("  a\n\n'b\n")
        roff.item("-x", "…")
        #expect(
            roff.text.hasSuffix(
                "\n\\&.TH of \\(aqit\\(aq \\en\n.nf\n  a\n.sp\n\\(aqb\n.fi\n.TP\n\\fB\\-x\\fR\n\\&...\n"),
            "\(roff.text)")
    }

    @Test func `the daemon's help becomes items and paragraphs`() {
        var roff = Roff("kurad", 8, date: "2026-01-01", program: "p")
        roff.help(
            "kurad - it\n\nusage: kurad\n       more\n\n  --dir DIR  where  [x]\n  --dry it\n\nIt goes\non.\n\nSteps:\n  a &\n"
        )
        #expect(
            roff.text.hasSuffix(
                """
                "p"
                .nh
                .ad l
                .nf
                usage: kurad
                       more
                .fi
                .TP
                \\fB\\-\\-dir DIR\\fR
                where [x]
                .TP
                \\fB\\-\\-dry\\fR
                it
                .PP
                It goes on.
                .PP
                Steps:
                .PP
                .nf
                  a &
                .fi

                """), "\(roff.text)")
    }

    @Test func `all pages are written, and man finds no fault with them`() throws {
        let outcome = try Shell.run(
            """
            work=$(mktemp -d); trap 'rm -r "$work"' EXIT
            kura man --output "$work/man" 2>&1 || exit 1
            ls "$work/man" | grep -cE '^(kura|kura-docs|kura-exec)\\.1$|^kurad\\.8$'
            stat -c %a "$work/man/kura.1"
            command -v man >/dev/null || { echo 'skipped: man is not installed' && exit; }
            for page in "$work"/man/*; do
                LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l "$page" 2>&1 >"$work/text" | sed "s|^|$page: |"
                [[ $page == */kura-docs.1 ]] && grep -c 'docs find COLLECTION' "$work/text"
                # What apropos and whatis look up.
                lexgrog "$page" 2>&1 | grep -vE 'kurad?(-[a-z-]+)? - [^ ]'
            done
            """)
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasSuffix("pages in \(lines.first?.split(separator: " ").last ?? "")") == true)
        #expect(lines.dropFirst().prefix(2) == ["4", "644"])
        if lines.last?.hasPrefix("skipped") == true { return }
        #expect(lines.dropFirst(3).count == 1 && Int(lines.last ?? "") ?? 0 >= 2, "\(outcome.output)")
    }
}
