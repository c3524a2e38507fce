/// Seeded hash of short byte runs, by folded multiplication (the construction of wyhash, Wang Yi, 2019).
///
/// The length is a part of the last factor: what is mixed with the bytes can be cancelled by them. For tables in memory: it may change with
/// any version, and `LastingHash` does not.
public enum Hash {
    @inlinable
    public static func bytes(_ bytes: Bytes, seed: UInt64) -> UInt64 {
        // An odd factor, so that no length makes it zero.
        let length = UInt64(truncatingIfNeeded: bytes.count) &* 2 &+ 1
        return mix(bytes, seed ^ 0x9E37_79B9_7F4A_7C15, seed ^ 0xE703_7ED1_A0B4_28DB &* length)
    }

    /// Safety: `cursor` and `left` shrink together, from an address and a count of the same `Bytes`; eight bytes are loaded while
    /// eight are left, and `tail` loads within the fewer that remain. Bounds are not checked at each load: a look-up by key
    /// spends its time here.
    @inlinable @inline(__always)
    static func mix(_ bytes: Bytes, _ start: UInt64, _ last: UInt64) -> UInt64 {
        var state = start
        guard var cursor = unsafe bytes.start else { return fold(state, last) }
        var left = bytes.count
        while left >= 8 {
            state = unsafe fold(state ^ cursor.loadUnaligned(as: UInt64.self), 0xA076_1D64_78BD_642F)
            unsafe cursor += 8
            left -= 8
        }
        return unsafe fold(state ^ tail(cursor, left), last)
    }

    /// The hash of a number; that of its bytes is another.
    @inlinable
    public static func number(_ value: UInt64, seed: UInt64) -> UInt64 {
        let state = fold(seed ^ 0x9E37_79B9_7F4A_7C15 ^ 8 ^ value, 0xA076_1D64_78BD_642F)
        return fold(state, 0xE703_7ED1_A0B4_28DB ^ seed)
    }

    /// The last `count` bytes, fewer than eight, as one number; which bytes go where does not matter, as long as all do.
    @inlinable @inline(__always)
    /// Safety: the caller has `count` bytes there, and no load ends behind them.
    static func tail(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
        if count >= 4 {
            let low = unsafe bytes.loadUnaligned(as: UInt32.self)
            let high = unsafe bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
            return UInt64(low) | UInt64(high) << 32
        }
        guard count > 0 else { return 0 }
        let first = unsafe bytes.load(as: UInt8.self)
        let middle = unsafe bytes.load(fromByteOffset: count / 2, as: UInt8.self)
        let last = unsafe bytes.load(fromByteOffset: count - 1, as: UInt8.self)
        return UInt64(first) | UInt64(middle) << 8 | UInt64(last) << 16
    }

    @inlinable @inline(__always)
    static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
