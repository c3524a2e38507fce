/// A JSON text as a tree, read apart from the daemon's own reader so that its replies are judged by somebody else.
/// Numbers stay as they were written.
indirect enum JSON: Equatable {
    case object([String: JSON])
    case array([JSON])
    case string(String)
    case number(String)
    case boolean(Bool)
    case null

    struct Malformed: Error {
        var text: String
    }

    init(_ text: String) throws {
        var parser = Parser(bytes: Array(text.utf8))
        guard let value = parser.value(), parser.isAtEnd else { throw Malformed(text: String(text.prefix(400))) }
        self = value
    }

    /// A member; nil when there is none, or this is no object.
    subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    subscript(index: Int) -> JSON? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    var int: Int? { if case .number(let digits) = self { Int(digits) } else { nil } }
    var text: String? { if case .string(let text) = self { text } else { nil } }
    var bool: Bool? { if case .boolean(let value) = self { value } else { nil } }
    var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }
    var members: [String: JSON] { if case .object(let members) = self { members } else { [:] } }

    /// A string's text with quotes.
    static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

private struct Parser {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func value() -> JSON? {
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "{"): return object()
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""): return string().map(JSON.string)
        case UInt8(ascii: "t"): return take("true") ? .boolean(true) : nil
        case UInt8(ascii: "f"): return take("false") ? .boolean(false) : nil
        case UInt8(ascii: "n"): return take("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func take(_ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        guard position + count <= bytes.count else { return false }
        for offset in 0..<count where bytes[position + offset] != word.utf8Start[offset] { return false }
        position += count
        return true
    }

    private mutating func object() -> JSON? {
        position += 1
        var members: [String: JSON] = [:]
        if take("}") { return .object(members) }
        repeat {
            guard let name = string(), take(":"), let value = value(), members[name] == nil else { return nil }
            members[name] = value
        } while take(",")
        return take("}") ? .object(members) : nil
    }

    private mutating func array() -> JSON? {
        position += 1
        var elements: [JSON] = []
        if take("]") { return .array(elements) }
        repeat {
            guard let value = value() else { return nil }
            elements.append(value)
        } while take(",")
        return take("]") ? .array(elements) : nil
    }

    private mutating func number() -> JSON? {
        let start = position
        while position < bytes.count, "+-.0123456789eE".utf8.contains(bytes[position]) { position += 1 }
        return start == position ? nil : .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func string() -> String? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return String(validating: text, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                guard byte >= 0x20 else { return nil }
                text.append(byte)
                continue
            }
            guard position < bytes.count, let character = escape() else { return nil }
            text.append(contentsOf: Array(String(character).utf8))
        }
        return nil
    }

    /// Surrogate pairs are left out: nothing here stores any.
    private mutating func escape() -> Character? {
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "u"):
            guard position + 4 <= bytes.count else { return nil }
            let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
            position += 4
            return UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init).map(Character.init)
        default: return Character(Unicode.Scalar(byte))
        }
    }
}
