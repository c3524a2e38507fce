/// Base64 with padding, into and out of byte buffers.
///
/// Source: RFC 4648, 4.
public enum Base64 {
    private static var alphabet: Bytes { Bytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") }
    /// What each character stands for; 64 for those that stand for nothing.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 64, count: 256)
        for (value, character) in Base64.alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// Characters that so many bytes take.
    public static func length(of bytes: Int) -> Int { (bytes + 2) / 3 * 4 }

    /// Appends the text of `bytes`. A piece that others follow is a multiple of three bytes long.
    public static func encode(_ bytes: Bytes, into output: inout ByteBuffer) {
        output.reserve(length(of: bytes.count))
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let first = bytes[index]
            let second = left > 1 ? bytes[index + 1] : 0
            let third = left > 2 ? bytes[index + 2] : 0
            output.append(alphabet[Int(first >> 2)])
            output.append(alphabet[Int((first & 3) << 4 | second >> 4)])
            output.append(left > 1 ? alphabet[Int((second & 15) << 2 | third >> 6)] : UInt8(ascii: "="))
            output.append(left > 2 ? alphabet[Int(third & 63)] : UInt8(ascii: "="))
            index += 3
        }
    }

    /// Appends the bytes that `text` stands for.
    /// - Returns: false when it is no base64: other characters, a length that is no multiple of four, bits behind the end. Then
    ///   what was appended is of no use.
    public static func decode(_ text: Bytes, into output: inout ByteBuffer) -> Bool {
        guard text.count % 4 == 0 else { return false }
        output.reserve(text.count / 4 * 3)
        return values.withBytes { values in
            var index = 0
            while index < text.count {
                let isLast = index + 4 == text.count
                var padding = 0
                if isLast {
                    if text[index + 3] == UInt8(ascii: "=") { padding = text[index + 2] == UInt8(ascii: "=") ? 2 : 1 }
                }
                let first = values[Int(text[index])]
                let second = values[Int(text[index + 1])]
                let third = padding == 2 ? 0 : values[Int(text[index + 2])]
                let fourth = padding > 0 ? 0 : values[Int(text[index + 3])]
                guard (first | second | third | fourth) < 64 else { return false }
                // One content has one text.
                if padding == 2, second & 15 != 0 { return false }
                if padding == 1, third & 3 != 0 { return false }
                output.append(first << 2 | second >> 4)
                if padding < 2 { output.append(second << 4 | third >> 2) }
                if padding < 1 { output.append(third << 6 | fourth) }
                index += 4
            }
            return true
        }
    }
}
