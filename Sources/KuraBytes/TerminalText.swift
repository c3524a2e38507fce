/// Text made safe for a terminal: what somebody else has written must not move its cursor, set its title, or turn the direction of writing.
public enum TerminalText {
    /// For one line: line ends and tabs are written as `\n` and `\t`.
    public static func line(_ text: String) -> String { escape(text, keeping: []) }

    /// Line ends and tabs stay.
    public static func text(_ text: String) -> String { escape(text, keeping: ["\n", "\t"]) }

    /// For what is laid out already: line ends and tabs stay, and marks become colours. Bytes that are no UTF-8 become U+FFFD.
    public static func page(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 < 0x20 && $0 != 0x0A && $0 != 0x09 || $0 >= 0x7F }) else { return bytes }
        return coloured(bytes) { Array(text(String(decoding: $0, as: UTF8.self)).utf8) }
    }

    // MARK: Colours

    /// Where a colour begins or ends in a text that `page` or `coloured` is given. Nobody else's text has it: a number that is made up
    /// when the process starts is in it, so that colours in a value, a name or an answer are not taken for ours.
    /// - Parameter style: one of `styles`.
    /// - Returns: what stands for it.
    public static func mark(_ style: String) -> String { "\u{1B}\(secret)[\(style)m" }

    private static let secret = String(UInt64.random(in: 0 ... .max), radix: 36)
    private static let opening = Array("\u{1B}\(secret)".utf8)
    /// The colour codes that our programs use: SGR of ECMA-48.
    private static let styles = ["0", "1", "2", "31", "32"].map { Array("[\($0)m".utf8) }

    /// Turns marks into colour codes and leaves all other bytes as they are: for output that is not a terminal.
    public static func coloured(_ bytes: [UInt8]) -> [UInt8] {
        bytes.contains(0x1B) ? coloured(bytes) { Array($0) } : bytes
    }

    private static func coloured(_ bytes: [UInt8], _ dress: (ArraySlice<UInt8>) -> [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        var place = rest.startIndex
        while let escape = rest[place...].firstIndex(of: 0x1B) {
            let behind = rest[escape...].dropFirst(opening.count)
            guard rest[escape...].starts(with: opening), let style = styles.first(where: { behind.starts(with: $0) })
            else {
                place = escape + 1
                continue
            }
            result += dress(rest[..<escape]) + [0x1B] + style
            rest = behind.dropFirst(style.count)
            place = rest.startIndex
        }
        return result + dress(rest)
    }

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
