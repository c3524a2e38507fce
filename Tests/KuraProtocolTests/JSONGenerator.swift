/// Random JSON that the wire's grammar accepts, and random damage to it.
struct JSONGenerator {
    var random: SeededGenerator
    private var text: [UInt8] = []

    init(_ random: SeededGenerator) {
        self.random = random
    }

    /// A value of at most `depth` levels of nesting.
    mutating func value(depth: Int) -> [UInt8] {
        text = []
        appendValue(depth)
        return text
    }

    mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    private mutating func append(_ part: String) { text += Array(part.utf8) }

    private mutating func appendValue(_ depth: Int) {
        space()
        switch number(below: depth > 0 ? 9 : 6) {
        case 0: append("null")
        case 1: append(number(below: 2) == 0 ? "true" : "false")
        case 2, 3: appendNumber()
        case 4, 5:
            append("\"")
            appendCharacters()
            append("\"")
        case 6:
            append("[")
            for index in 0..<number(below: 6) {
                if index > 0 { append(",") }
                appendValue(depth - 1)
            }
            space()
            append("]")
        default:
            append("{")
            for index in 0..<number(below: 17) {
                if index > 0 { append(",") }
                space()
                // The index makes the names differ.
                append("\"\(index)-")
                appendCharacters()
                append("\"")
                space()
                append(":")
                appendValue(depth - 1)
            }
            space()
            append("}")
        }
        space()
    }

    private mutating func space() {
        while number(below: 6) == 0 { append([" ", "\t", "\n", "\r"][number(below: 4)]) }
    }

    private mutating func appendNumber() {
        if number(below: 3) == 0 { append("-") }
        append(number(below: 4) == 0 ? "0" : "\(1 + number(below: 9))" + digits(number(below: 16)))
        if number(below: 3) == 0 { append("." + digits(1 + number(below: 8))) }
        if number(below: 4) == 0 {
            append(["e", "E"][number(below: 2)] + ["", "+", "-"][number(below: 3)] + digits(1 + number(below: 2)))
        }
    }

    private mutating func digits(_ count: Int) -> String {
        (0..<count).map { _ in "\(number(below: 10))" }.joined()
    }

    private mutating func appendCharacters() {
        for _ in 0..<number(below: 12) {
            switch number(below: 12) {
            case 0: append(["\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"][number(below: 8)])
            case 1:
                // U+0000…U+CFFF: no surrogates.
                let hex = String(number(below: 0xD000), radix: 16, uppercase: number(below: 2) == 0)
                append("\\u" + String(repeating: "0", count: 4 - hex.count) + hex)
            case 2: append(["\\ud834\\udd1e", "\\uD83D\\uDe00", "\\udbff\\udfff"][number(below: 3)])
            case 3: append(["é", "蔵", "𝄞", "\u{7F}", "\u{80}", "\u{FFFD}", "\u{2028}", "\u{10FFFF}"][number(below: 8)])
            default: append(String(Character(Unicode.Scalar(UInt8(0x61 + number(below: 26))))))
            }
        }
    }

    /// One change of a byte, a piece or the end.
    mutating func damage(_ text: inout [UInt8]) {
        guard !text.isEmpty else { return }
        let place = number(below: text.count)
        switch number(below: 7) {
        case 0: text.remove(at: place)
        case 1: text[place] = UInt8(number(below: 256))
        case 2: text[place] ^= 1 << UInt8(number(below: 8))
        case 3:
            let tokens = [
                "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "0", "-", ".", "e", "+", " ",
                "null", "//",
            ]
            text.insert(contentsOf: Array(tokens[number(below: tokens.count)].utf8), at: place)
        case 4: text.removeSubrange(place...)
        case 5:
            let piece = text[place..<min(text.count, place + 1 + number(below: 12))]
            text.insert(contentsOf: Array(piece), at: number(below: text.count))
        default: text.swapAt(place, number(below: text.count))
        }
    }
}
