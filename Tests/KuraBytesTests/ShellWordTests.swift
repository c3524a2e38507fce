import KuraBytes
import Testing

@Suite struct ShellWordTests {
    @Test func `a word that is pasted is one word, and one that is shown first too`() {
        #expect(ShellWord.quoted("/var/lib/kura-1_2.log") == "/var/lib/kura-1_2.log")
        #expect(ShellWord.quoted("") == "''")
        #expect(ShellWord.quoted("a b;rm -rf x") == "'a b;rm -rf x'")
        #expect(ShellWord.quoted("it's") == #"'it'\''s'"#)
        #expect(ShellWord.literal("a\u{1B}'b") == "'a\u{1B}'\\''b'" && ShellWord.literal("a") == "'a'")
        #expect(ShellWord.quoted("蔵 $HOME") == "'蔵 $HOME'")
        #expect(ShellWord.quoted("t\u{1B}[8m;rm -rf x") == #"$'t\033[8m;rm -rf x'"#)
        #expect(ShellWord.quoted("a\nb'c\\d\u{9B}") == #"$'a\012b\047c\134d\302\233'"#)
        let hostile = ShellWord.quoted("\u{202E}\u{07}\u{7F}")
        #expect(TerminalText.line(hostile) == hostile)
    }
}
