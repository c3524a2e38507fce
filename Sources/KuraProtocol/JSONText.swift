public import KuraBytes

/// Transformations of JSON text that has already been checked by `JSONReader`.
public enum JSONText {
    /// The four hex digits at `offset`; nil when they are not four hex digits before `end`.
    static func hexUnit(_ text: Bytes, at offset: Int, end: Int) -> UInt16? {
        guard end - offset >= 4 else { return nil }
        var unit: UInt16 = 0
        for position in offset..<offset + 4 {
            let digit: UInt8
            switch text[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = text[position] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = text[position] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = text[position] - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// Appends the bytes that a checked string's inside stands for. A lone surrogate (RFC 8259's grammar lets it pass)
    /// becomes U+FFFD.
    public static func unescape(_ string: Bytes, into output: inout ByteBuffer) {
        let end = string.count
        var index = 0
        while index < end {
            guard string[index] == UInt8(ascii: "\\") else {
                let start = index
                index = string.firstIndex(of: UInt8(ascii: "\\"), from: index) ?? end
                output.append(string.extracting(start..<index))
                continue
            }
            let escape = string[index + 1]
            index += 2
            switch escape {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                let unit = UInt32(hexUnit(string, at: index, end: end) ?? 0xFFFD)
                index += 4
                var scalar = unit
                if unit & 0xF800 == 0xD800 {
                    scalar = 0xFFFD
                    if unit < 0xDC00, end - index >= 6, string[index] == UInt8(ascii: "\\"),
                        string[index + 1] == UInt8(ascii: "u"), let low = hexUnit(string, at: index + 2, end: end),
                        low & 0xFC00 == 0xDC00
                    {
                        scalar = 0x10000 + (unit & 0x3FF) << 10 + UInt32(low) & 0x3FF
                        index += 6
                    }
                }
                appendUTF8(scalar, to: &output)
            default: output.append(escape)
            }
        }
    }

    /// Whether a text that nobody has checked is one object, by the wire's grammar.
    public static func isObject(_ text: Bytes) -> Bool {
        var reader = JSONReader(text, grammar: .wire, names: NameStack())
        guard reader.peek() == UInt8(ascii: "{") else { return false }
        do throws(JSONFault) {
            _ = try reader.value()
            try reader.expectEnd()
        } catch { return false }
        return true
    }

    private static func appendUTF8(_ scalar: UInt32, to output: inout ByteBuffer) {
        switch scalar {
        case 0..<0x80:
            output.append(UInt8(scalar))
        case 0x80..<0x800:
            output.append(UInt8(0xC0 | scalar >> 6))
            output.append(UInt8(0x80 | scalar & 0x3F))
        case 0x800..<0x10000:
            output.append(UInt8(0xE0 | scalar >> 12))
            output.append(UInt8(0x80 | scalar >> 6 & 0x3F))
            output.append(UInt8(0x80 | scalar & 0x3F))
        default:
            output.append(UInt8(0xF0 | scalar >> 18))
            output.append(UInt8(0x80 | scalar >> 12 & 0x3F))
            output.append(UInt8(0x80 | scalar >> 6 & 0x3F))
            output.append(UInt8(0x80 | scalar & 0x3F))
        }
    }

    /// Appends a checked value without the white space between its tokens; everything else stays byte for byte.
    public static func compact(_ value: Bytes, into output: inout ByteBuffer) {
        var inString = false
        var escaped = false
        output.reserve(value.count)
        for byte in value {
            if inString {
                output.append(byte)
                if escaped {
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inString = false
                }
                continue
            }
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case UInt8(ascii: "\""):
                inString = true
                output.append(byte)
            default: output.append(byte)
            }
        }
    }
}

/// Well-formed UTF-8 by RFC 3629's table (Unicode 15, table 3-7).
enum UTF8Check {
    /// Whether bytes are nothing else.
    static func isWhole(_ text: Bytes) -> Bool {
        var index = 0
        while index < text.count {
            if text[index] < 0x80 {
                index += 1
            } else if !sequence(text, &index, text.count) {
                return false
            }
        }
        return true
    }

    /// Steps `index` over the multi-byte sequence that starts there; false when it is not one, `index` stays.
    static func sequence(_ text: Bytes, _ index: inout Int, _ end: Int) -> Bool {
        let lead = text[index]
        let left = end - index
        @inline(__always) func continues(_ offset: Int, _ low: UInt8 = 0x80, _ high: UInt8 = 0xBF) -> Bool {
            let byte = text[index + offset]
            return byte >= low && byte <= high
        }
        switch lead {
        case 0xC2...0xDF:
            guard left >= 2, continues(1) else { return false }
            index += 2
        case 0xE0...0xEF:
            let low: UInt8 = lead == 0xE0 ? 0xA0 : 0x80
            let high: UInt8 = lead == 0xED ? 0x9F : 0xBF
            guard left >= 3, continues(1, low, high), continues(2) else { return false }
            index += 3
        case 0xF0...0xF4:
            let low: UInt8 = lead == 0xF0 ? 0x90 : 0x80
            let high: UInt8 = lead == 0xF4 ? 0x8F : 0xBF
            guard left >= 4, continues(1, low, high), continues(2), continues(3) else { return false }
            index += 4
        default:
            return false
        }
        return true
    }
}
