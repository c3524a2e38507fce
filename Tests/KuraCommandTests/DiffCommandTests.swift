import Testing

@testable import KuraCommand

/// `kura docs diff`.
@Suite struct DiffCommandTests {
    private func difference(_ old: String, _ new: String) -> String {
        let lines = { (text: String) in text.split(separator: ",").map(String.init) }
        return LineDifference(lines(old), lines(new)).text(from: "a", to: "b", Style(isOn: false))
    }

    @Test func `lines that differ are told with three around them`() {
        #expect(LineDifference(["a", "b"], ["a", "b"]).isEmpty)
        #expect(difference("a", "") == "--- a\n+++ b\n- a\n")
        #expect(
            difference("1,2,3,4,5,6,7,8,9,10,11,12,13", "1,2,3,4,x,6,7,8,9,10,11,12,13,14")
                == "--- a\n+++ b\n  2\n  3\n  4\n- 5\n+ x\n  6\n  7\n  8\n...\n  11\n  12\n  13\n+ 14\n")
    }

    @Test func `versions are compared, and what cannot be is named`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            exec 2>told
            kura -q docs put notes rice '{"g":200,"n":1}'
            kura docs diff notes rice | grep '^+'
            kura -q docs patch notes rice '{"g":300}'
            kura docs diff notes rice | grep '^[-+] '
            kura -q docs delete notes rice
            kura docs diff notes rice 2 | grep -c '^- '; kura docs diff notes rice 1 2 | grep -c '^[-+] '
            kura docs diff notes rice 1 1; echo "$?"; kura docs diff notes none; echo "$?"
            kura docs diff notes rice x; echo "$?"; kura docs diff notes; echo "$?"; kura docs diff notes rice 99; echo "$?"
            echo ---; cat told
            """)
        let parts = outcome.output.split(separator: "---\n", maxSplits: 1).map(String.init)
        try #require(parts.count == 2, "\(outcome.output)")
        let wanted = [
            "+++ at revision 1", "+ {", #"+   "g": 200,"#, #"+   "n": 1"#, "+ }", #"-   "g": 200,"#, #"+   "g": 300,"#,
            "4",
            "2", "0", "7", "2", "2", "2",
        ]
        #expect(parts[0].split(separator: "\n").map(String.init) == wanted, "\(outcome.output)")
        #expect(parts[1].contains("nothing differs") && parts[1].contains("there is no version of it"), "\(parts[1])")
    }
}
