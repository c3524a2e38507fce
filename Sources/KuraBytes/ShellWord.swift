/// Words of commands that people are told to paste into a shell.
public enum ShellWord {
    /// As a shell takes it for one word, whatever is in it. What no terminal may get is written as its bytes (`$'\033'`), so that the
    /// word is the same when it has been shown.
    public static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: ","), UInt8(ascii: "@"):
                true
            default: false
            }
        }
        if isPlain, !word.isEmpty { return word }
        guard TerminalText.line(word) != word else { return literal(word) }
        let parts = word.unicodeScalars.map { scalar -> String in
            // A shell that does not know this form has one quoted word in it all the same.
            guard TerminalText.isDangerous(scalar) || scalar == "'" || scalar == "\\" else { return String(scalar) }
            return String(scalar).utf8.map { byte -> String in
                let digits = String(byte, radix: 8)
                return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            }.joined()
        }
        return "$'" + parts.joined() + "'"
    }

    /// As every shell takes it, the plainest too: for a command that is run, and shown to nobody.
    public static func literal(_ word: String) -> String {
        "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
