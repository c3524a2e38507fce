import KuraBytes
import Sodium

/// What the winner of a claim shows when it brings what it has made: which claim it was, of what, and the proof that this daemon said so.
///
/// Source: leases of "Scaling Memcache at Facebook" (Nishtala et al., NSDI 2013), 3.2.1; the `W` flag of memcached's meta protocol.
public struct WinToken: Equatable, Sendable {
    /// Claims are numbered from 1 as they are won.
    public let number: UInt64
    /// A keyed hash of what is claimed.
    let subject: UInt64

    /// Bytes of a token's text.
    public static let textBytes = 64
}

/// Makes tokens and knows its own again. Its key is made at each start and kept nowhere: tokens do not outlive the daemon.
struct WinTokenMaker {
    private let key: [UInt8]
    /// For hashing subjects.
    let seed: UInt64

    init() {
        var generator = SystemRandomNumberGenerator()
        key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
        seed = generator.next()
    }

    /// Appends a token's text: number, subject and proof in hexadecimal.
    func append(_ token: WinToken, to out: inout ByteBuffer) {
        var plain = ByteBuffer(capacity: 32)
        fill(&plain, token)
        for byte in plain.bytes {
            out.append(Self.digits[Int(byte >> 4)])
            out.append(Self.digits[Int(byte & 15)])
        }
    }

    /// - Returns: nil for what this daemon has not made.
    func read(_ text: Bytes) -> WinToken? {
        guard text.count == WinToken.textBytes else { return nil }
        var plain = ByteBuffer(capacity: 32)
        for position in 0..<32 {
            guard let high = Self.value(text[position * 2]), let low = Self.value(text[position * 2 + 1]) else {
                return nil
            }
            plain.append(high << 4 | low)
        }
        let token = WinToken(
            number: UInt64(littleEndian: plain.bytes.loadUnaligned(as: UInt64.self)),
            subject: UInt64(littleEndian: plain.bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        var again = ByteBuffer(capacity: 32)
        fill(&again, token)
        // All of it, so that the time tells nothing.
        var difference: UInt8 = 0
        for position in 0..<32 { difference |= plain.bytes[position] ^ again.bytes[position] }
        return difference == 0 ? token : nil
    }

    private func fill(_ plain: inout ByteBuffer, _ token: WinToken) {
        plain.append(littleEndian: token.number)
        plain.append(littleEndian: token.subject)
        var hash = GenericHash()
        key.withBytes { hash.update($0) }
        hash.update(plain.bytes)
        plain.append(Array(hash.finish()[..<16]))
    }

    private static var digits: Bytes { Bytes("0123456789abcdef") }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
