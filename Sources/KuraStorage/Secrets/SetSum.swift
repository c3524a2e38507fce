import KuraBytes
import Sodium

/// What a set of rows comes to, whatever their order: the sum, modulo 2^256, of a keyed hash of each.
///
/// A row that comes or goes is added or subtracted. Without the key nobody can find rows that come to the same, and the sum itself is kept
/// sealed. So a row that was removed, altered or put back as it was shows, though each by itself is whole.
///
/// Source: Clarke, Devadas, van Dijk, Gassend, Suh, "Incremental Multiset Hash Functions and Their Application to Memory Integrity
/// Checking" (ASIACRYPT 2003), MSet-Add-Hash.
struct SetSum: Equatable {
    static let byteCount = 32

    /// Lowest first.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    init() {}

    init(_ bytes: Bytes) {
        words = (
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)),
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
        )
    }

    static func == (left: SetSum, right: SetSum) -> Bool { left.words == right.words }

    static func += (left: inout SetSum, right: SetSum) {
        var carry = false
        func add(_ a: UInt64, _ b: UInt64) -> UInt64 {
            let (first, overflow) = a.addingReportingOverflow(b)
            let (second, again) = first.addingReportingOverflow(carry ? 1 : 0)
            carry = overflow || again
            return second
        }
        left.words.0 = add(left.words.0, right.words.0)
        left.words.1 = add(left.words.1, right.words.1)
        left.words.2 = add(left.words.2, right.words.2)
        left.words.3 = add(left.words.3, right.words.3)
    }

    static func -= (left: inout SetSum, right: SetSum) {
        var borrow = false
        func subtract(_ a: UInt64, _ b: UInt64) -> UInt64 {
            let (first, overflow) = a.subtractingReportingOverflow(b)
            let (second, again) = first.subtractingReportingOverflow(borrow ? 1 : 0)
            borrow = overflow || again
            return second
        }
        left.words.0 = subtract(left.words.0, right.words.0)
        left.words.1 = subtract(left.words.1, right.words.1)
        left.words.2 = subtract(left.words.2, right.words.2)
        left.words.3 = subtract(left.words.3, right.words.3)
    }

    func append(to output: inout SecretBuffer) {
        for word in [words.0, words.1, words.2, words.3] { output.append(littleEndian: word) }
    }

    func append(to output: inout ByteBuffer) {
        for word in [words.0, words.1, words.2, words.3] { output.append(littleEndian: word) }
    }
}
