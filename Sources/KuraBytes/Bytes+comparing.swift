#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import CSyscalls

/// Comparing and searching with the C library's functions, which look at many bytes at once.
///
/// Safety: each call gets an address and a count of the same `Bytes`, or the smaller count of two, after a look whether there
/// are any: `memcmp` and `memchr` want no null address, not even for no bytes.
extension Bytes {
    @inlinable
    public func equals(_ other: Bytes) -> Bool {
        count == other.count && isSame(other, count)
    }

    @inlinable
    public func equals(_ word: StaticString) -> Bool { equals(Bytes(word)) }

    @inlinable
    public func starts(with prefix: Bytes) -> Bool {
        count >= prefix.count && isSame(prefix, prefix.count)
    }

    /// How many bytes are the same from `start` on here, and from `otherStart` on there.
    public func commonPrefix(_ other: Bytes, from start: Int, _ otherStart: Int) -> Int {
        let most = Swift.min(count - start, other.count - otherStart)
        var length = 0
        while length + 8 <= most {
            let differing =
                loadUnaligned(fromByteOffset: start + length, as: UInt64.self)
                ^ other.loadUnaligned(fromByteOffset: otherStart + length, as: UInt64.self)
            guard differing == 0 else { return length + UInt64(littleEndian: differing).trailingZeroBitCount / 8 }
            length += 8
        }
        while length < most, self[start + length] == other[otherStart + length] { length += 1 }
        return length
    }

    /// How many bytes both end with, without those before `start` here and before `otherStart` there.
    public func commonSuffix(_ other: Bytes, from start: Int, _ otherStart: Int) -> Int {
        let most = Swift.min(count - start, other.count - otherStart)
        var length = 0
        while length + 8 <= most {
            let differing =
                loadUnaligned(fromByteOffset: count - length - 8, as: UInt64.self)
                ^ other.loadUnaligned(fromByteOffset: other.count - length - 8, as: UInt64.self)
            guard differing == 0 else { return length + UInt64(littleEndian: differing).leadingZeroBitCount / 8 }
            length += 8
        }
        while length < most, self[count - length - 1] == other[other.count - length - 1] { length += 1 }
        return length
    }

    /// Order of bytes, as SQLite's BINARY collation and BLOBs have it.
    public func precedes(_ other: Bytes) -> Bool {
        let shared = Swift.min(count, other.count)
        let order =
            if shared > 0, let left = unsafe start, let right = unsafe other.start {
                unsafe memcmp(left, right, shared)
            } else {
                Int32(0)
            }
        return order != 0 ? order < 0 : count < other.count
    }

    /// `shared` is neither side's bytes exceeded.
    @usableFromInline
    func isSame(_ other: Bytes, _ shared: Int) -> Bool {
        guard shared > 0, let left = unsafe start, let right = unsafe other.start else { return true }
        return unsafe memcmp(left, right, shared) == 0
    }

    /// Whether so many bytes from `from` on are there, and all of them zero.
    public func isZero(_ from: Int, count length: Int) -> Bool {
        guard from >= 0, length > 0, length <= count - from, let start = unsafe start, self[from] == 0 else {
            return false
        }
        // The first one is, and each is as the one before it.
        return unsafe memcmp(start + from, start + from + 1, length - 1) == 0
    }

    /// Position of the first `byte` at or behind `from`; nil when there is none.
    public func firstIndex(of byte: UInt8, from: Int) -> Int? {
        precondition(from >= 0 && from <= count, "a search outside of the bytes")
        guard from < count, let start = unsafe start, let found = unsafe memchr(start + from, Int32(byte), count - from)
        else { return nil }
        return unsafe UnsafeRawPointer(found) - start
    }

    /// Where printable ASCII but quote and backslash ends, from a position on; `count` when it does not.
    public func plainEnd(from position: Int) -> Int {
        precondition(position >= 0 && position <= count, "a search outside of the bytes")
        guard position < count, let start = unsafe start else { return count }
        return unsafe csys_plain_end(start.assumingMemoryBound(to: UInt8.self), position, count)
    }

    public func firstIndex(of byte: UInt8) -> Int? { firstIndex(of: byte, from: 0) }

    public func contains(_ byte: UInt8) -> Bool {
        guard count > 0, let start = unsafe start else { return false }
        return unsafe memchr(start, Int32(byte), count) != nil
    }
}

extension Bytes {
    /// Whether these are UTF-8 with a control character: U+0000…U+001F, U+007F…U+009F (Unicode's category Cc).
    @inlinable
    public var hasControlCharacters: Bool {
        var last: UInt8 = 0
        for byte in self {
            // Those from U+0080 on are C2 and one byte more.
            if byte < 0x20 || byte == 0x7F || byte < 0xA0 && last == 0xC2 { return true }
            last = byte
        }
        return false
    }
}
