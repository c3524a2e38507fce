import Glibc
import KuraBytes

/// UUIDs in the order of their making (RFC 9562, 5.7): 48 bits of milliseconds, 12 of a counter, 62 random ones.
///
/// Within one process each is greater than the one before, also when the clock stands still or goes back.
public struct UUIDv7Generator {
    private var last: UInt64 = 0

    public init() {}

    /// 36 characters, lower case, appended to `output`.
    public mutating func next(at milliseconds: Int64) -> [UInt8] {
        // Twelve bits of counter behind the milliseconds; more than 4,096 in one millisecond borrow from the future.
        last = max(last + 1, UInt64(milliseconds) << 12)
        var bytes = [UInt8](repeating: 0, count: 16)
        let random = UInt64.random(in: 0...UInt64.max)
        let high = (last >> 12) << 16 | 0x7000 | (last & 0xFFF)
        let low = 0x8000_0000_0000_0000 | (random >> 2)
        for position in 0..<8 {
            bytes[position] = UInt8(truncatingIfNeeded: high >> (56 - 8 * UInt64(position)))
            bytes[8 + position] = UInt8(truncatingIfNeeded: low >> (56 - 8 * UInt64(position)))
        }
        return Self.text(bytes)
    }

    private static func text(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (position, byte) in bytes.enumerated() {
            if position == 4 || position == 6 || position == 8 || position == 10 { text.append(UInt8(ascii: "-")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return text
    }

    /// A random UUID (version 4), for naming a history.
    public static func random() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return String(decoding: text(bytes), as: UTF8.self)
    }
}
