import Glibc

/// A JSON text as a tree, read apart from the daemon's own reader so that its replies are judged by somebody else.
/// Numbers stay as they were written.
package indirect enum JSON: Equatable {
    case object([String: JSON])
    case array([JSON])
    case string(String)
    case number(String)
    case boolean(Bool)
    case null

    package struct Malformed: Error {
        var text: String
    }

    package init(_ text: String) throws {
        var text = text
        let value = text.withUTF8 { bytes in
            guard !bytes.isEmpty else { return JSON?.none }
            var parser = Parser(bytes)
            return parser.value().flatMap { parser.isAtEnd ? $0 : nil }
        }
        guard let value else { throw Malformed(text: String(text.prefix(400))) }
        self = value
    }

    /// A member; nil when there is none, or this is no object.
    package subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    package subscript(index: Int) -> JSON? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    package var int: Int? { if case .number(let digits) = self { Int(digits) } else { nil } }
    package var text: String? { if case .string(let text) = self { text } else { nil } }
    package var bool: Bool? { if case .boolean(let value) = self { value } else { nil } }
    package var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }
    package var members: [String: JSON] { if case .object(let members) = self { members } else { [:] } }

    /// A string's text with quotes.
    package static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

/// Reads by pointer: tests read much of what a daemon says.
private struct Parser {
    let bytes: UnsafePointer<UInt8>
    let count: Int
    var position = 0

    /// Of the bytes, of which there is at least one.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes.baseAddress!
        count = bytes.count
    }

    var isAtEnd: Bool { position == count }

    mutating func value() -> JSON? {
        guard position < count else { return nil }
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
        let length = word.utf8CodeUnitCount
        guard position + length <= count, memcmp(bytes + position, word.utf8Start, length) == 0 else { return false }
        position += length
        return true
    }

    private mutating func object() -> JSON? {
        position += 1
        var members: [String: JSON] = [:]
        if take("}") { return .object(members) }
        repeat {
            guard let name = string(), take(":"), let value = value(), members.updateValue(value, forKey: name) == nil
            else { return nil }
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
        loop: while position < count {
            switch bytes[position] {
            case 0x30...0x39, 0x2B, 0x2D, 0x2E, 0x45, 0x65: position += 1
            default: break loop
            }
        }
        return start == position ? nil : .number(text(start, position))
    }

    private func text(_ start: Int, _ end: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes + start, count: end - start), as: UTF8.self)
    }

    private mutating func string() -> String? {
        guard take("\"") else { return nil }
        var text = ""
        while true {
            let start = position
            loop: while position < count {
                switch bytes[position] {
                case 0x22, 0x5C: break loop
                case let byte where byte < 0x20: return nil
                default: position += 1
                }
            }
            guard position < count else { return nil }
            let plain = UnsafeBufferPointer(start: bytes + start, count: position - start)
            guard let piece = String(validating: plain, as: UTF8.self) else { return nil }
            text = text.isEmpty ? piece : text + piece
            position += 1
            if bytes[position - 1] == 0x22 { return text }
            guard position < count, let character = escape() else { return nil }
            text.unicodeScalars.append(character)
        }
    }

    /// Surrogate pairs are left out: nothing here stores any.
    private mutating func escape() -> Unicode.Scalar? {
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "u"):
            guard position + 4 <= count else { return nil }
            position += 4
            return UInt32(text(position - 4, position), radix: 16).flatMap(Unicode.Scalar.init)
        default: return Unicode.Scalar(byte)
        }
    }
}
