public import KuraBytes

/// A value as bytes whose order (`memcmp`, as SQLite compares BLOBs) is `Collation`'s, and which are the same for equal values.
///
/// A key says itself where it ends, so that keys one behind the other are a compound key: the order of the first, then of the second.
///
/// | value | bytes |
/// |---|---|
/// | nothing, null, false, true | 1, 2, 3, 4 |
/// | negative number | 5, then exponent, digits and end as below, each byte complemented |
/// | 0 | 6 |
/// | positive number | 7, exponent, pairs of digits (00…99) plus 1, 0 |
/// | string | 8, its UTF-8 (0 and 1 become 1 1 and 1 2), 0 |
/// | array | 9, its elements, 0 |
/// | object | 10, its members sorted by name (name as a string, value), 0 |
///
/// The exponent is that of the first significant digit: 128 + n for -100…100, else 0 or 255 and eight bytes with the sign's bit
/// turned over, highest first. No key begins with 0 or `end`.
public enum IndexKey {
    enum Tag {
        static let nothing: UInt8 = 1
        static let null: UInt8 = 2
        static let `false`: UInt8 = 3
        static let `true`: UInt8 = 4
        static let negative: UInt8 = 5
        static let zero: UInt8 = 6
        static let positive: UInt8 = 7
        static let string: UInt8 = 8
        static let array: UInt8 = 9
        static let object: UInt8 = 10
    }

    /// Behind a key's beginning: is above all keys that begin like this. No key has it.
    public static let end: UInt8 = 0xFF
    /// Where keys of values begin that are there: above that of nothing.
    public static let something: UInt8 = Tag.null

    /// Appends the key of a value; nil stands for a place where nothing is.
    public static func append(_ value: StoredValue?, to key: inout ByteBuffer) {
        guard let value else { return key.append(Tag.nothing) }
        switch value.kind {
        case .null: key.append(Tag.null)
        case .false: key.append(Tag.false)
        case .true: key.append(Tag.true)
        case .number: append(number: Decimal(value.text), to: &key)
        case .string: append(string: value.quoted, to: &key)
        case .array:
            key.append(Tag.array)
            for element in value.elements { append(element, to: &key) }
            key.append(0)
        case .object:
            key.append(Tag.object)
            for member in value.sortedMembers {
                append(string: member.name, to: &key)
                append(member.value, to: &key)
            }
            key.append(0)
        }
    }

    /// Appends what the keys of all strings begin with that begin with this one: with `end` behind it, it is above them.
    ///
    /// - Parameters:
    ///   - quoted: the inside of a JSON string.
    ///   - key: what is appended to.
    public static func append(prefix quoted: Bytes, to key: inout ByteBuffer) {
        key.append(Tag.string)
        // A string of checked JSON has control characters as escapes only.
        guard quoted.contains(UInt8(ascii: "\\")) else { return key.append(quoted) }
        for byte in ResolvedText(quoted) {
            if byte <= 1 { key.append(1) }
            key.append(byte <= 1 ? byte + 1 : byte)
        }
    }

    /// What stands for a string's UTF-8 within its key.
    static func body(_ text: [UInt8]) -> [UInt8] { text.flatMap { $0 <= 1 ? [1, $0 + 1] : [$0] } }

    private static func append(string quoted: Bytes, to key: inout ByteBuffer) {
        append(prefix: quoted, to: &key)
        key.append(0)
    }

    private static func append(number: Decimal, to key: inout ByteBuffer) {
        guard !number.isZero else { return key.append(Tag.zero) }
        let mask: UInt8 = number.isNegative ? 0xFF : 0
        key.append(number.isNegative ? Tag.negative : Tag.positive)
        switch number.firstPower {
        case -100...100:
            key.append(UInt8(128 + number.firstPower) ^ mask)
        default:
            key.append((number.firstPower < 0 ? 0 : 255) ^ mask)
            let biased = UInt64(bitPattern: Int64(number.firstPower)) ^ 1 << 63
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                key.append(UInt8(truncatingIfNeeded: biased >> shift) ^ mask)
            }
        }
        var place = number.digits.lowerBound
        while let first = number.digit(&place) {
            // The last digit is not zero, so that a zero which completes a pair is told from one that was there.
            key.append((first * 10 + (number.digit(&place) ?? 0) + 1) ^ mask)
        }
        key.append(mask)
    }
}
