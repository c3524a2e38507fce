public import KuraBytes

/// What a content is called: its BLAKE2b-256 digest, on the wire and in names of files as 64 hexadecimal digits.
public struct ContentDigest: Hashable, Sendable, BitwiseCopyable {
    // The digest's bytes in their order, the first one the highest of the first word.
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    static let length = 64
    static let byteCount = 32

    /// `digest`: 32 bytes.
    package init(_ digest: [UInt8]) {
        self = digest.withBytes { ContentDigest(bytes: $0)! }
    }

    /// Nil for what are not 32 bytes.
    init?(bytes: Bytes) {
        guard bytes.count == Self.byteCount else { return nil }
        first = bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self).bigEndian
        second = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
        third = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self).bigEndian
        fourth = bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self).bigEndian
    }

    /// Nil for what are no such digits. Capital letters are none: one content has one name.
    public init?(digits: Bytes) {
        guard digits.count == Self.length else { return nil }
        var words: [UInt64] = [0, 0, 0, 0]
        for (place, byte) in digits.enumerated() {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            words[place / 16] = words[place / 16] << 4 | UInt64(value)
        }
        (first, second, third, fourth) = (words[0], words[1], words[2], words[3])
    }

    public var text: String {
        var digits = ByteBuffer(capacity: Self.length)
        digits.append(digitsOf: self)
        return String(decoding: digits.bytes, as: UTF8.self)
    }

    /// A word of it, which is as good as any hash.
    var word: UInt64 { fourth }

    public func hash(into hasher: inout Hasher) { hasher.combine(first) }

    fileprivate func forEachByte(_ body: (UInt8) -> Void) {
        for word in [first, second, third, fourth] {
            for shift in stride(from: 56, through: 0, by: -8) { body(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
        }
    }
}

extension ByteBuffer {
    /// The 64 digits, without quotes.
    public mutating func append(digitsOf digest: ContentDigest) {
        let alphabet = Bytes("0123456789abcdef")
        var digits: [UInt8] = []
        digits.reserveCapacity(ContentDigest.length)
        digest.forEachByte {
            digits.append(alphabet[Int($0 >> 4)])
            digits.append(alphabet[Int($0 & 15)])
        }
        append(digits)
    }

    /// The 32 bytes.
    mutating func append(bytesOf digest: ContentDigest) {
        var bytes: [UInt8] = []
        digest.forEachByte { bytes.append($0) }
        append(bytes)
    }
}
