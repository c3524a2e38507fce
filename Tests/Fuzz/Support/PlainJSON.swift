/// RFC 8259 by the book, as plainly as can be: the second opinion that the readers are held against. It shares no code with
/// them, takes bytes one at a time and builds a tree.
indirect enum PlainJSON: Equatable {
    case object([Member])
    case array([PlainJSON])
    /// Bytes of UTF-8, escapes resolved; a lone surrogate becomes U+FFFD.
    case string([UInt8])
    /// As it is written.
    case number([UInt8])
    case boolean(Bool)
    case null

    struct Member: Equatable {
        var name: [UInt8]
        var value: PlainJSON
    }

    /// What a text is by each grammar. Nil when it is not JSON by RFC 8259, or nested more deeply than `maximumDepth`.
    static func parse(_ text: [UInt8], maximumDepth: Int = 128) -> (value: PlainJSON, isWire: Bool)? {
        var parser = PlainParser(text: text, maximumDepth: maximumDepth)
        guard let value = parser.value(depth: 0) else { return nil }
        parser.skipBlanks()
        return parser.index == text.count ? (value, parser.isWire) : nil
    }
}

private struct PlainParser {
    let text: [UInt8]
    let maximumDepth: Int
    var index = 0
    /// No repeated name and no lone surrogate so far.
    var isWire = true

    init(text: [UInt8], maximumDepth: Int) {
        self.text = text
        self.maximumDepth = maximumDepth
    }

    var next: UInt8? { index < text.count ? text[index] : nil }

    mutating func skipBlanks() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
    }

    mutating func take(_ word: String) -> Bool {
        guard text[index...].starts(with: word.utf8) else { return false }
        index += word.utf8.count
        return true
    }

    mutating func value(depth: Int) -> PlainJSON? {
        skipBlanks()
        if take("null") { return .null }
        if take("true") { return .boolean(true) }
        if take("false") { return .boolean(false) }
        switch next {
        case UInt8(ascii: "\"")?: return string().map { .string($0) }
        case UInt8(ascii: "{")?: return depth < maximumDepth ? object(depth: depth + 1) : nil
        case UInt8(ascii: "[")?: return depth < maximumDepth ? array(depth: depth + 1) : nil
        default: return number()
        }
    }

    mutating func object(depth: Int) -> PlainJSON? {
        index += 1
        var members: [PlainJSON.Member] = []
        var names: Set<[UInt8]> = []
        skipBlanks()
        if take("}") { return .object([]) }
        while true {
            skipBlanks()
            guard next == UInt8(ascii: "\""), let name = string() else { return nil }
            skipBlanks()
            guard take(":"), let value = value(depth: depth) else { return nil }
            // Names with a lone surrogate are none of the wire's anyway.
            if !names.insert(name).inserted { isWire = false }
            members.append(PlainJSON.Member(name: name, value: value))
            skipBlanks()
            if take(",") { continue }
            return take("}") ? .object(members) : nil
        }
    }

    mutating func array(depth: Int) -> PlainJSON? {
        index += 1
        var elements: [PlainJSON] = []
        skipBlanks()
        if take("]") { return .array([]) }
        while true {
            guard let element = value(depth: depth) else { return nil }
            elements.append(element)
            skipBlanks()
            if take(",") { continue }
            return take("]") ? .array(elements) : nil
        }
    }

    mutating func digits() -> Bool {
        let start = index
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { index += 1 }
        return index > start
    }

    mutating func number() -> PlainJSON? {
        let start = index
        _ = take("-")
        if !take("0"), !digits() { return nil }
        if take("."), !digits() { return nil }
        if take("e") || take("E") {
            _ = take("+") || take("-")
            guard digits() else { return nil }
        }
        return .number(Array(text[start..<index]))
    }

    mutating func string() -> [UInt8]? {
        index += 1
        // Raw bytes and what escapes stand for, apart: the former must be UTF-8 by themselves.
        var result: [UInt8] = []
        var raw: [UInt8] = []
        func flush() -> Bool {
            guard String(validating: raw, as: UTF8.self) != nil else { return false }
            result += raw
            raw = []
            return true
        }
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return flush() ? result : nil
            case 0..<0x20: return nil
            case UInt8(ascii: "\\"):
                guard flush(), let scalar = escape() else { return nil }
                result += Array(String(Character(scalar)).utf8)
            default: raw.append(byte)
            }
        }
        return nil
    }

    mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let unit = unit() else { return nil }
            guard unit >= 0xD800, unit < 0xE000 else { return Unicode.Scalar(unit) }
            let behind = index
            if unit < 0xDC00, take("\\u"), let low = self.unit(), low >= 0xDC00, low < 0xE000 {
                return Unicode.Scalar(0x10000 + (unit - 0xD800) * 0x400 + (low - 0xDC00))
            }
            index = behind
            isWire = false
            return "\u{FFFD}"
        default: return nil
        }
    }

    mutating func unit() -> UInt32? {
        guard text.count - index >= 4 else { return nil }
        let digits = text[index..<index + 4]
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        index += 4
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
