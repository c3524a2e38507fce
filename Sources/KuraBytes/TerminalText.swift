/// Text made safe for a terminal: what somebody else has written must not move its cursor, set its title, or turn the direction of writing.
public enum TerminalText {
    /// For one line: line ends and tabs are written as `\n` and `\t`.
    public static func line(_ text: String) -> String { escape(text, keeping: []) }

    /// Line ends and tabs stay.
    public static func text(_ text: String) -> String { escape(text, keeping: ["\n", "\t"]) }

    /// Line ends, tabs and the colours of `styles` stay: for what is laid out already. Bytes that are no UTF-8 become U+FFFD.
    public static func page(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 < 0x20 && $0 != 0x0A && $0 != 0x09 || $0 >= 0x7F }) else { return bytes }
        var result = ""
        var rest = String(decoding: bytes, as: UTF8.self)[...]
        while let escape = rest.firstIndex(of: "\u{1B}") {
            result += text(String(rest[..<escape]))
            rest = rest[escape...]
            let style = styles.first { rest.hasPrefix($0) }
            result += style ?? "\\u001b"
            rest = rest.dropFirst(style?.count ?? 1)
        }
        return Array((result + text(String(rest))).utf8)
    }

    /// What a program of ours sets colours with (ECMA-48, SGR); whoever else writes them colours their own text.
    private static let styles = ["0", "1", "2", "31", "32"].map { "\u{1B}[\($0)m" }

    private static func escape(_ text: String, keeping kept: Set<Unicode.Scalar>) -> String {
        guard text.unicodeScalars.contains(where: { isDangerous($0) && !kept.contains($0) }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if !isDangerous(scalar) || kept.contains(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                switch scalar {
                case "\n": result += "\\n"
                case "\t": result += "\\t"
                case "\r": result += "\\r"
                default:
                    let digits = String(scalar.value, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return result
    }

    static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
