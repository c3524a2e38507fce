public import KuraBytes
import Sodium

/// Digests of requests that came under request keys: they tell a write that is sent again from another one.
///
/// A digest is BLAKE2b over the method and its parameters, under a random key that only `meta` of the tables has. So a record in the log,
/// of which copies are made, does not tell by a dictionary what was asked for; who reads the tables has key and digest. What is about
/// secrets gets no digest. The key needs no root key and survives restarts. It is lost with the tables at most: a digest begins with
/// the number of its key, and one under another key tells nothing.
///
/// One request at a time: `begin`, `add` for each parameter, `finish`. Buffers are used again. Belongs to the loop.
public final class RequestDigests {
    /// Bytes of a digest: 8 hexadecimal digits of the key's number, 32 of the hash.
    public static let textBytes = 40
    private static let keyNumberBytes = 8
    /// A longer part goes in by its hash, so that it is not copied.
    private static let mostCopied = 512

    private let key: LookupHash.Key
    private let keyNumber: UInt32
    private var parts = ByteBuffer()
    private var text = ByteBuffer()

    /// `key`: `LookupHash.Key.byteCount` random bytes.
    init(key: [UInt8]) {
        self.key = LookupHash.Key(key)
        keyNumber = UInt32(truncatingIfNeeded: LookupHash(Bytes("number"), key: self.key).high)
    }

    public func begin(_ method: Bytes) {
        parts.removeAll()
        add(part: method)
    }

    public func add(name: Bytes, text: Bytes) {
        add(part: name)
        add(part: text)
    }

    /// The digest of what was added. Good until the next one.
    public func finish() -> Bytes {
        text.removeAll()
        append(keyNumber)
        let hash = LookupHash(parts.bytes, key: key)
        append(hash.high)
        append(hash.low)
        return text.bytes
    }

    /// Whether a recorded digest is for certain that of another request.
    public static func differs(_ recorded: Bytes, from digest: Bytes) -> Bool {
        recorded.starts(with: digest.extracting(0..<keyNumberBytes)) && !recorded.equals(digest)
    }

    /// The digest at the beginning of a text; nil when none is there.
    public static func leading(_ text: Bytes) -> Bytes? {
        guard text.count >= textBytes else { return nil }
        let digest = text.extracting(0..<textBytes)
        return digest.allSatisfy { $0 >= 0x30 && $0 <= 0x39 || $0 >= 0x61 && $0 <= 0x66 } ? digest : nil
    }

    /// Behind its length, so that no two rows of parts are the same bytes.
    private func add(part: Bytes) {
        parts.append(littleEndian: UInt64(part.count))
        guard part.count > Self.mostCopied else { return parts.append(part) }
        let hash = LookupHash(part, key: key)
        parts.append(littleEndian: hash.high)
        parts.append(littleEndian: hash.low)
    }

    private func append<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) {
        let digits = Bytes("0123456789abcdef")
        for shift in stride(from: Number.bitWidth - 4, through: 0, by: -4) {
            text.append(digits[Int(truncatingIfNeeded: number >> Number(shift)) & 15])
        }
    }
}
