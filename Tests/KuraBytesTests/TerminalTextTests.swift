import KuraBytes
import Testing

@Suite struct TerminalTextTests {
    private func page(_ text: String) -> String { String(decoding: TerminalText.page(Array(text.utf8)), as: UTF8.self) }

    @Test func `what moves a cursor is written out, line ends, tabs and our own colours stay`() {
        let bold = TerminalText.mark("1") + "bold" + TerminalText.mark("0")
        #expect(page("one\ttwo\n\(bold)") == "one\ttwo\n\u{1B}[1mbold\u{1B}[0m")
        #expect(page("\u{1B}]0;title\u{07}") == "\\u001b]0;title\\u0007")
        #expect(page("\u{1B}[31mred\u{1B}[2Jgone") == "\\u001b[31mred\\u001b[2Jgone")
        #expect(page("a\r\u{08}\u{7F}\u{9B}31m") == "a\\r\\u0008\\u007f\\u009b31m")
        #expect(page("\u{202E}txt\u{2066}") == "\\u202etxt\\u2066")
        #expect(page("\u{1B}") == "\\u001b" && page("") == "" && page("蔵 ü") == "蔵 ü")
    }

    @Test func `colours are those that were marked, and no others, on a terminal and elsewhere`() {
        let (red, end) = (TerminalText.mark("31"), TerminalText.mark("0"))
        #expect(page("\(red)\u{1B}[32m\u{301}\(end)\u{1B}[0m") == "\u{1B}[31m\\u001b[32m\u{301}\u{1B}[0m\\u001b[0m")
        let raw: [UInt8] = [0xFF, 0x1B, 0x5B, 0x31, 0x6D]
        #expect(TerminalText.coloured(raw + Array(red.utf8) + [0x80]) == raw + Array("\u{1B}[31m".utf8) + [0x80])
        #expect(TerminalText.coloured(raw) == raw && TerminalText.coloured([]) == [])
    }

    @Test func `bytes that are no text become replacement characters`() {
        #expect(TerminalText.page([0x61, 0x9B, 0x1B, 0x5B, 0x32, 0x4A]) == Array("a\u{FFFD}\\u001b[2J".utf8))
    }
}
