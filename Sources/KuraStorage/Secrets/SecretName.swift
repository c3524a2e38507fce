public import KuraBytes
import Sodium

/// What a secret is called: an account of a service, in an access group or in none (empty). Two that differ in any of the three are
/// two secrets. Bytes are the caller's.
public struct SecretName {
    public var service: Bytes
    public var account: Bytes
    public var group: Bytes

    public init(service: Bytes, account: Bytes, group: Bytes = Bytes()) {
        self.service = service
        self.account = account
        self.group = group
    }

    func equals(_ other: SecretName) -> Bool {
        service.equals(other.service) && account.equals(other.account) && group.equals(other.group)
    }
}

/// Half of a keyed hash of names: what a row is called on the disk. Nobody without the key can tell which name it was, or try names.
///
/// 128 bits: among 2^32 names the odds that two meet are 2^-65, and what is sealed under a row says its names anyway.
struct NameHash: Hashable {
    let high: UInt64
    let low: UInt64

    /// Characters of its text.
    static let textBytes = 32

    private init(_ digest: Bytes) {
        high = digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        low = digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    /// The hash that a row's name is the text of; nil when it is none.
    init?(text: Bytes) {
        guard text.count == Self.textBytes else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (position, character) in text.enumerated() {
            let digit: UInt8
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
            default: return nil
            }
            // Pairs of digits are bytes, in the order of the hash's.
            let shift = UInt64(position % 16 / 2 * 8 + (position % 2 == 0 ? 4 : 0))
            if position < 16 { words.0 |= UInt64(digit) << shift } else { words.1 |= UInt64(digit) << shift }
        }
        (high, low) = words
    }

    /// Of a service.
    init(service: Bytes, key: SecretKey, _ scratch: inout ByteBuffer) {
        self.init(scratch: &scratch, key: key, kind: 1, service, Bytes(), Bytes())
    }

    /// Of an item.
    init(_ name: SecretName, key: SecretKey, _ scratch: inout ByteBuffer) {
        self.init(scratch: &scratch, key: key, kind: 2, name.service, name.account, name.group)
    }

    private init(
        scratch: inout ByteBuffer, key: SecretKey, kind: UInt8, _ first: Bytes, _ second: Bytes, _ third: Bytes
    ) {
        scratch.removeAll()
        defer { scratch.removeAll() }
        scratch.append(kind)
        scratch.append(prefixed: first)
        scratch.append(prefixed: second)
        scratch.append(prefixed: third)
        var digest = ByteBuffer(capacity: KeyedHash.digestBytes)
        KeyedHash.append(scratch.bytes, key: key, to: &digest)
        self.init(digest.bytes)
    }

    /// Appends its text: 32 hexadecimal digits.
    func append(to output: inout ByteBuffer) {
        let digits = Bytes("0123456789abcdef")
        for word in [high, low] {
            for position in 0..<8 {
                let byte = UInt8(truncatingIfNeeded: word >> UInt64(position * 8))
                output.append(digits[Int(byte >> 4)])
                output.append(digits[Int(byte & 15)])
            }
        }
    }
}

extension ByteBuffer {
    /// Bytes behind their count, so that no two rows of parts read alike.
    mutating func append(prefixed bytes: Bytes) {
        append(littleEndian: UInt32(bytes.count))
        append(bytes)
    }
}
