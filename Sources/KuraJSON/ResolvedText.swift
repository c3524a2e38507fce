public import KuraBytes

/// The inside of a JSON string as the bytes that it stands for: its escapes are resolved while it is walked over, nothing is copied.
///
/// A lone surrogate, which the wire refuses and RFC 8259 does not, becomes U+FFFD.
public struct ResolvedText: IteratorProtocol, Sequence {
    private let text: Bytes
    private var index = 0
    /// Bytes of an escape that come next, the first in the lowest place.
    private var pending: UInt32 = 0

    /// - Parameter quoted: what stands between the quotes of a checked string.
    public init(_ quoted: Bytes) {
        text = quoted
    }

    public mutating func next() -> UInt8? {
        guard pending == 0 else {
            defer { pending >>= 8 }
            return UInt8(truncatingIfNeeded: pending)
        }
        guard index < text.count else { return nil }
        let byte = text[index]
        index += 1
        guard byte == UInt8(ascii: "\\"), index < text.count else { return byte }
        let escape = text[index]
        index += 1
        switch escape {
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"): return first(of: scalar())
        default: return escape
        }
    }

    /// The code point whose hex digits come next.
    private mutating func scalar() -> UInt32 {
        let high = unit()
        guard high & 0xF800 == 0xD800 else { return high }
        guard high < 0xDC00, text.count - index >= 6, text[index] == UInt8(ascii: "\\"),
            text[index + 1] == UInt8(ascii: "u")
        else { return 0xFFFD }
        let start = index
        index += 2
        let low = unit()
        guard low & 0xFC00 == 0xDC00 else {
            index = start
            return 0xFFFD
        }
        return 0x10000 + (high & 0x3FF) << 10 + low & 0x3FF
    }

    private mutating func unit() -> UInt32 {
        var unit: UInt32 = 0
        let end = Swift.min(index + 4, text.count)
        while index < end {
            let digit = text[index]
            unit = unit << 4 | UInt32(digit < 0x40 ? digit & 0xF : (digit & 0xF) + 9)
            index += 1
        }
        return unit & 0xFFFF
    }

    /// The first byte of the scalar's UTF-8; the others wait in `pending`. None of them is zero.
    private mutating func first(of scalar: UInt32) -> UInt8 {
        switch scalar {
        case 0..<0x80:
            return UInt8(scalar)
        case 0x80..<0x800:
            pending = 0x80 | scalar & 0x3F
            return UInt8(0xC0 | scalar >> 6)
        case 0x800..<0x10000:
            pending = 0x80 | scalar >> 6 & 0x3F | (0x80 | scalar & 0x3F) << 8
            return UInt8(0xE0 | scalar >> 12)
        default:
            pending = 0x80 | scalar >> 12 & 0x3F | (0x80 | scalar >> 6 & 0x3F) << 8 | (0x80 | scalar & 0x3F) << 16
            return UInt8(0xF0 | scalar >> 18)
        }
    }

    /// The bytes in a row of their own.
    public static func bytes(_ quoted: Bytes) -> [UInt8] {
        quoted.contains(UInt8(ascii: "\\")) ? Array(ResolvedText(quoted)) : Array(quoted)
    }

    /// Appends the bytes that a string's inside stands for.
    public static func append(_ quoted: Bytes, to output: inout ByteBuffer) {
        guard quoted.contains(UInt8(ascii: "\\")) else { return output.append(quoted) }
        for byte in ResolvedText(quoted) { output.append(byte) }
    }

    /// -1, 0 or 1, by the bytes that both stand for.
    public static func order(_ left: Bytes, _ right: Bytes) -> Int {
        if left.equals(right) { return 0 }
        guard left.contains(UInt8(ascii: "\\")) || right.contains(UInt8(ascii: "\\")) else {
            return left.precedes(right) ? -1 : 1
        }
        var (ours, theirs) = (ResolvedText(left), ResolvedText(right))
        while true {
            let mine = ours.next()
            let other = theirs.next()
            guard let mine else { return other == nil ? 0 : -1 }
            guard let other else { return 1 }
            if mine != other { return mine < other ? -1 : 1 }
        }
    }

    /// Whether a string's inside stands for these bytes.
    public static func equals(_ quoted: Bytes, _ bytes: Bytes) -> Bool {
        // An escape is longer than what it stands for.
        guard quoted.count != bytes.count else { return quoted.equals(bytes) && !quoted.contains(UInt8(ascii: "\\")) }
        guard quoted.count > bytes.count, quoted.contains(UInt8(ascii: "\\")) else { return false }
        return begins(quoted, with: bytes, isWhole: true)
    }

    /// Whether what a string's inside stands for begins with these bytes.
    public static func begins(_ quoted: Bytes, with bytes: Bytes) -> Bool {
        begins(quoted, with: bytes, isWhole: false)
    }

    private static func begins(_ quoted: Bytes, with bytes: Bytes, isWhole: Bool) -> Bool {
        var text = ResolvedText(quoted)
        for byte in bytes {
            guard text.next() == byte else { return false }
        }
        return !isWhole || text.next() == nil
    }
}
