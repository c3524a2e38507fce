import KuraBytes
import KuraProtocol

/// JSON tokens at the end of an array.
extension [UInt8] {
    mutating func append(quoted text: String) {
        append(UInt8(ascii: "\""))
        var text = text
        // Safety: the text's own bytes, for the call.
        text.withUTF8 { buffer in
            let bytes = unsafe Bytes(buffer)
            guard bytes.contains(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }) else {
                append(contentsOf: bytes)
                return
            }
            for byte in bytes { append(escaped: byte) }
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func append(escaped byte: UInt8) {
        switch byte {
        case 0x22, 0x5C: self += [0x5C, byte]
        case 0x08: append(contentsOf: "\\b".utf8)
        case 0x09: append(contentsOf: "\\t".utf8)
        case 0x0A: append(contentsOf: "\\n".utf8)
        case 0x0C: append(contentsOf: "\\f".utf8)
        case 0x0D: append(contentsOf: "\\r".utf8)
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            append(contentsOf: "\\u00".utf8)
            append(digits[Int(byte >> 4)])
            append(digits[Int(byte & 15)])
        default: append(byte)
        }
    }

    mutating func append(number: some FixedWidthInteger) { append(contentsOf: String(number).utf8) }

    /// The shortest text that reads back as the same number.
    mutating func append(number: Double) { append(contentsOf: number.description.utf8) }
    mutating func append(number: Float) { append(contentsOf: number.description.utf8) }

    mutating func append(base64 bytes: [UInt8]) {
        var output = ByteBuffer(capacity: Base64.length(of: bytes.count))
        bytes.withBytes { Base64.encode($0, into: &output) }
        append(UInt8(ascii: "\""))
        append(contentsOf: output.bytes)
        append(UInt8(ascii: "\""))
    }
}

extension ByteBuffer {
    /// A string with its quotes, without a copy of its bytes.
    mutating func append(string text: String) {
        var text = text
        // Safety: the text's own bytes, for the call.
        text.withUTF8 { unsafe append(quoted: Bytes($0)) }
    }
}

extension Bytes {
    /// Whether a text stands somewhere in them.
    func contains(text: StaticString) -> Bool {
        let wanted = Bytes(text)
        var position = 0
        while let found = firstIndex(of: wanted[0], from: position) {
            guard count - found >= wanted.count else { return false }
            if extracting(found..<count).starts(with: wanted) { return true }
            position = found + 1
        }
        return false
    }
}
