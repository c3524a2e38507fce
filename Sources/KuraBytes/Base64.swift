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
    /// The two characters of each twelve bits, as they lie in memory.
    private static let pairs: [UInt16] = (0..<4096).map { bits in
        UInt16(littleEndian: UInt16(Base64.alphabet[bits >> 6]) | UInt16(Base64.alphabet[bits & 63]) << 8)
    }

    /// Characters that so many bytes take.
    public static func length(of bytes: Int) -> Int { (bytes + 2) / 3 * 4 }

    /// Appends the text of `bytes`. A piece that others follow is a multiple of three bytes long.
    public static func encode(_ bytes: Bytes, into output: inout ByteBuffer) {
        let whole = bytes.count / 3
        output.reserve(length(of: bytes.count))
        // Safety: `bytes` has three bytes a group, and `reserve` has made room for four characters a group; twelve bits are below 4096, of which
        // there is a pair each.
        unsafe pairs.withUnsafeBufferPointer { pairs in
            guard whole > 0, let source = unsafe bytes.baseAddress, let target = unsafe output.spare.baseAddress else {
                return
            }
            for group in 0..<whole {
                let (from, to) = unsafe (source + group * 3, target + group * 4)
                let bits =
                    unsafe UInt32(from.load(as: UInt8.self)) << 16
                    | UInt32(from.load(fromByteOffset: 1, as: UInt8.self)) << 8
                    | UInt32(from.load(fromByteOffset: 2, as: UInt8.self))
                let both = unsafe UInt32(pairs[Int(bits >> 12)]) | UInt32(pairs[Int(bits & 4095)]) << 16
                unsafe to.storeBytes(of: UInt32(littleEndian: both), as: UInt32.self)
            }
        }
        output.commit(whole * 4)
        let left = bytes.count - whole * 3
        guard left > 0 else { return }
        let first = bytes[whole * 3]
        let second = left > 1 ? bytes[whole * 3 + 1] : 0
        output.append(alphabet[Int(first >> 2)])
        output.append(alphabet[Int((first & 3) << 4 | second >> 4)])
        output.append(left > 1 ? alphabet[Int((second & 15) << 2)] : UInt8(ascii: "="))
        output.append(UInt8(ascii: "="))
    }

    /// Appends the bytes that `text` stands for.
    /// - Returns: false when it is no base64: other characters, a length that is no multiple of four, bits behind the end. Then
    ///   what was appended is of no use.
    public static func decode(_ text: Bytes, into output: inout ByteBuffer) -> Bool {
        guard text.count % 4 == 0 else { return false }
        guard text.count > 0 else { return true }
        // All but the last group, which may be padded.
        let whole = text.count / 4 - 1
        output.reserve(whole * 3 + 3)
        // Safety: `text` has four characters a group and `values` an entry a byte; `reserve` has made room for three bytes a group.
        let isGood = unsafe values.withUnsafeBufferPointer { values in
            guard let source = unsafe text.baseAddress, let target = unsafe output.spare.baseAddress else {
                return false
            }
            var seen: UInt8 = 0
            for group in 0..<whole {
                let (from, to) = unsafe (source + group * 4, target + group * 3)
                let first = unsafe values[Int(from.load(as: UInt8.self))]
                let second = unsafe values[Int(from.load(fromByteOffset: 1, as: UInt8.self))]
                let third = unsafe values[Int(from.load(fromByteOffset: 2, as: UInt8.self))]
                let fourth = unsafe values[Int(from.load(fromByteOffset: 3, as: UInt8.self))]
                seen |= first | second | third | fourth
                unsafe to.storeBytes(of: first << 2 | second >> 4, as: UInt8.self)
                unsafe to.storeBytes(of: second << 4 | third >> 2, toByteOffset: 1, as: UInt8.self)
                unsafe to.storeBytes(of: third << 6 | fourth, toByteOffset: 2, as: UInt8.self)
            }
            return seen < 64
        }
        guard isGood else { return false }
        output.commit(whole * 3)
        return decodeLast(text.extracting(whole * 4..<text.count), into: &output)
    }

    private static func decodeLast(_ text: Bytes, into output: inout ByteBuffer) -> Bool {
        var padding = 0
        if text[3] == UInt8(ascii: "=") { padding = text[2] == UInt8(ascii: "=") ? 2 : 1 }
        let first = values[Int(text[0])]
        let second = values[Int(text[1])]
        let third = padding == 2 ? 0 : values[Int(text[2])]
        let fourth = padding > 0 ? 0 : values[Int(text[3])]
        guard (first | second | third | fourth) < 64 else { return false }
        // One content has one text.
        if padding == 2, second & 15 != 0 { return false }
        if padding == 1, third & 3 != 0 { return false }
        output.append(first << 2 | second >> 4)
        if padding < 2 { output.append(second << 4 | third >> 2) }
        if padding < 1 { output.append(third << 6 | fourth) }
        return true
    }
}
