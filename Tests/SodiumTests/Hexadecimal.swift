import KuraBytes

@testable import Sodium

extension Array where Element == UInt8 {
    /// The bytes that digits stand for.
    init(hex: String) {
        let digits = Array<UInt8>(hex.utf8).map { $0 < 0x3A ? $0 - 0x30 : ($0 | 0x20) - 0x61 + 10 }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    var hex: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}

extension Bytes {
    var array: [UInt8] { [UInt8](self) }
}

extension SecretKey {
    /// A key of known bytes, and what it holds: for tests alone.
    static func known(_ bytes: [UInt8]) -> SecretKey { try! bytes.withBytes { try SecretKey(copying: $0) } }

    static func known(hex: String) -> SecretKey { known(Array(hex: hex)) }

    var array: [UInt8] { withBytes { $0.array } }
}

/// What an operation that appends gives.
func output(_ body: (inout ByteBuffer) throws -> Void) rethrows -> [UInt8] {
    var buffer = ByteBuffer()
    try body(&buffer)
    return buffer.bytes.array
}
