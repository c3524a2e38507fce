import KuraBytes
public import KuraProtocol

/// JSON texts in arrays: checked, compacted, laid out for reading. Values keep every digit and escape that they came with.
public enum JSONDocument {
    /// Deeper than anything that a daemon lets in, plus what its replies put around it.
    static let maximumDepth = 512
    /// Longest text that is looked at; the reader's offsets are 32 bits.
    public static let maximumBytes = 1 << 30

    /// Checks a text under the wire's grammar and takes the white space between its tokens out.
    /// - Throws: where and why it is not JSON, or is refused by RFC 7493.
    public static func compact(_ text: [UInt8]) throws(JSONFault) -> [UInt8] {
        try check(text, grammar: .wire)
        return text.withBytes { bytes in
            var output = ByteBuffer(capacity: bytes.count)
            JSONText.compact(bytes, into: &output)
            return Array(output.bytes)
        }
    }

    /// - Throws: where and why the text is not one JSON value.
    public static func check(_ text: [UInt8], grammar: JSONGrammar) throws(JSONFault) {
        guard text.count <= maximumBytes else { throw JSONFault(reason: .unexpectedEnd, offset: maximumBytes) }
        var fault: JSONFault?
        text.withBytes { bytes in
            var reader = JSONReader(bytes, grammar: grammar, maximumDepth: maximumDepth, names: NameStack())
            do throws(JSONFault) {
                _ = try reader.value()
                try reader.expectEnd()
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
    }

    /// A compact text, already checked, with two spaces a level; empty objects and arrays stay on their line.
    public static func indented(_ text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count * 2)
        var level = 0
        var position = 0
        func newLine() {
            output.append(0x0A)
            output.append(contentsOf: repeatElement(0x20, count: level * 2))
        }
        while position < text.count {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "\""):
                let end = endOfString(text, from: position)
                output += text[position..<end]
                position = end
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                output.append(byte)
                let next = position + 1 < text.count ? text[position + 1] : 0
                if next == byte + 2 {
                    output.append(next)
                    position += 2
                    continue
                }
                level += 1
                newLine()
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                level -= 1
                newLine()
                output.append(byte)
            case UInt8(ascii: ","):
                output.append(byte)
                newLine()
            case UInt8(ascii: ":"):
                output += [byte, 0x20]
            default:
                output.append(byte)
            }
            position += 1
        }
        return output
    }

    /// The offset behind the closing quote of the string that starts at `start`.
    private static func endOfString(_ text: [UInt8], from start: Int) -> Int {
        var position = start + 1
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            position += text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, text.count)
    }
}

extension JSONFault {
    /// The fault in words, with its place.
    public var explanation: String {
        let what =
            switch reason {
            case .unexpectedEnd: "it ends too early"
            case .unexpectedByte: "a byte that cannot stand there"
            case .badNumber: "a bad number"
            case .badEscape: "a bad escape in a string"
            case .controlCharacter: "a control character in a string"
            case .badUTF8: "invalid UTF-8"
            case .loneSurrogate: "half of a surrogate pair"
            case .duplicateName: "a name that comes twice in one object"
            case .tooDeep: "nested too deep"
            case .trailingBytes: "more behind its end"
            }
        return "\(what), at byte \(offset)"
    }
}
