#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import CSyscalls

/// A growable run of bytes that is filled, read and emptied again without giving its memory back.
///
/// Appending may move the block, so what `bytes` lends is good until the next change.
///
/// A large block is pages of its own: it grows without a copy, and when it goes, or grows out of a page, the kernel gets the page
/// and nobody finds in it what it held.
///
/// Safety: it owns one block of `room` bytes at `base`, mapped when `room` is at least `mappedRoom` and else `malloc`ed, of which
/// `length` are filled; every function keeps 0 ≤ `length` ≤ `room`, and with `room` above 0 there is a block. Ranges and offsets
/// that come from outside are checked.
/// `spare` alone gives an address away, which its signature says.
@safe
public struct ByteBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer?
    @usableFromInline var length: Int = 0
    @usableFromInline var room: Int = 0
    @inlinable public var count: Int { length }
    @inlinable public var capacity: Int { room }
    /// Whatever leaves the buffer is overwritten with zeros: bytes that are cut off or moved up, and the blocks that it grows out
    /// of or gives back. For what nobody may find in memory later; a pool keeps the mark with the buffer, not with its block.
    public var wipes = false

    public init() {}

    /// - Parameter capacity: bytes to have from the start.
    public init(capacity: Int) {
        reserve(capacity)
    }

    deinit { release() }

    public var isEmpty: Bool { count == 0 }

    @inlinable public var last: UInt8? {
        guard length > 0 else { return nil }
        return unsafe (base.unsafelyUnwrapped + (length - 1)).load(as: UInt8.self)
    }

    /// The bytes as they are now; good until the next mutation.
    public var bytes: Bytes { unsafe Bytes(known: base, count: length) }

    /// A part of them.
    public func bytes(_ range: Range<Int>) -> Bytes { bytes.extracting(range) }

    /// Room behind the last byte, at least one byte when `reserve` was called; `commit` says how much was filled.
    public var spare: UnsafeMutableRawBufferPointer {
        guard let base = unsafe base else { return unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return unsafe UnsafeMutableRawBufferPointer(start: base + length, count: room - length)
    }

    /// Takes `added` bytes that were written to `spare` as appended.
    public mutating func commit(_ added: Int) {
        precondition(added >= 0 && length + added <= room, "commit past the reserved room")
        length += added
    }

    /// Makes room for `additional` bytes behind the last one; grows by a factor, so that appending stays linear.
    @inlinable
    public mutating func reserve(_ additional: Int) {
        if length + additional > room { grow(by: additional) }
    }

    @usableFromInline
    mutating func grow(by additional: Int) {
        resize(to: capacity(reserving: additional))
    }

    /// Blocks of so many bytes and more are pages of their own.
    static let mappedRoom = 1 << 20

    /// Gives what is filled a block of `wanted` bytes, at least as many as are filled.
    private mutating func resize(to wanted: Int) {
        let isMapped = room >= Self.mappedRoom
        let resized: UnsafeMutableRawPointer?
        if isMapped, wanted >= Self.mappedRoom {
            unsafe resized = csys_remap(base, room, wanted)
        } else if !isMapped, wanted < Self.mappedRoom, !wipes || length == 0 {
            unsafe resized = realloc(base, wanted)
        } else {
            unsafe resized = wanted < Self.mappedRoom ? malloc(wanted) : csys_map(wanted)
            if let resized = unsafe resized, length > 0, let old = unsafe base {
                unsafe resized.copyMemory(from: old, byteCount: length)
            }
            if unsafe resized != nil { release() }
        }
        guard let resized = unsafe resized else { fatalError("out of memory") }
        unsafe base = resized
        room = wanted
    }

    /// Frees the block, and leaves nothing in it of what nobody may find.
    private func release() {
        guard room < Self.mappedRoom else {
            unsafe csys_unmap(base, room)
            return
        }
        if wipes, let base = unsafe base { unsafe csys_wipe(base, length) }
        unsafe free(base)
    }

    /// What `capacity` will be when room for `additional` bytes has been made.
    public func capacity(reserving additional: Int) -> Int {
        guard length + additional > room else { return room }
        var wanted = max(room, 256)
        // Large ones grow by a quarter: what they have too much counts.
        while wanted < length + additional { wanted += wanted < 4 << 20 ? wanted : wanted / 4 }
        return wanted
    }

    /// Gives back what lies behind the last byte; keeps everything that has been appended.
    /// - Parameter spare: bytes behind it that stay.
    public mutating func shrink(leaving spare: Int = 0) {
        guard length + spare > 0 else { return releaseMemory() }
        if length + spare < room { resize(to: length + spare) }
    }

    @inlinable
    public mutating func append(_ source: Bytes) {
        guard source.count > 0, let from = unsafe source.start else { return }
        reserve(source.count)
        unsafe (base.unsafelyUnwrapped + length).copyMemory(from: from, byteCount: source.count)
        length += source.count
    }

    @inlinable
    public mutating func append(_ source: [UInt8]) {
        source.withBytes { append($0) }
    }

    /// Inlined for literals: their length is known, so that a few stores are left of the copy.
    @inlinable @inline(__always)
    public mutating func append(_ text: StaticString) {
        let count = text.utf8CodeUnitCount
        guard count > 0 else { return }
        reserve(count)
        unsafe (base.unsafelyUnwrapped + length).copyMemory(from: text.utf8Start, byteCount: count)
        length += count
    }

    /// The same without the first bytes, which it has.
    @inlinable @inline(__always)
    public mutating func append(_ text: StaticString, droppingFirst dropped: Int) {
        let count = text.utf8CodeUnitCount - dropped
        precondition(dropped >= 0 && count >= 0)
        reserve(count)
        unsafe (base.unsafelyUnwrapped + length).copyMemory(from: text.utf8Start + dropped, byteCount: count)
        length += count
    }

    @inlinable
    public mutating func append(_ byte: UInt8) {
        if length == room { grow(by: 1) }
        unsafe (base.unsafelyUnwrapped + length).storeBytes(of: byte, as: UInt8.self)
        length += 1
    }

    /// Appends an integer's bytes, lowest first.
    @inlinable
    public mutating func append<T: FixedWidthInteger & BitwiseCopyable>(littleEndian value: T) {
        reserve(MemoryLayout<T>.size)
        unsafe (base.unsafelyUnwrapped + length).storeBytes(of: value.littleEndian, as: T.self)
        length += MemoryLayout<T>.size
    }

    /// For cold paths: replies of the hot ones are made of bytes.
    public mutating func append(text: String) {
        var text = text
        text.withUTF8 { unsafe append(Bytes($0)) }
    }

    /// Forgets everything from `end` on.
    public mutating func truncate(to end: Int) {
        precondition(end >= 0 && end <= length)
        if wipes { wipe(end..<length) }
        length = end
    }

    /// Drops the first `dropped` bytes and moves the rest to the front.
    public mutating func removeFirst(_ dropped: Int) {
        precondition(dropped >= 0 && dropped <= length)
        guard dropped > 0 else { return }
        let left = length - dropped
        if left > 0 { unsafe memmove(base!, base! + dropped, left) }
        if wipes { wipe(left..<length) }
        length = left
    }

    /// Takes a range out; what follows moves up.
    public mutating func remove(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= length)
        guard let base = unsafe base, !range.isEmpty else { return }
        unsafe memmove(base + range.lowerBound, base + range.upperBound, length - range.upperBound)
        if wipes { wipe(length - range.count..<length) }
        length -= range.count
    }

    public mutating func overwrite(at offset: Int, with byte: UInt8) {
        precondition(offset >= 0 && offset < count)
        unsafe (base! + offset).storeBytes(of: byte, as: UInt8.self)
    }

    /// Writes an integer's bytes, lowest first, over those at `offset`.
    @inlinable
    public mutating func overwrite<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, littleEndian value: T) {
        precondition(offset >= 0 && offset <= length - MemoryLayout<T>.size)
        unsafe (base.unsafelyUnwrapped + offset).storeBytes(of: value.littleEndian, as: T.self)
    }

    public mutating func removeAll() {
        if wipes { wipe(0..<length) }
        length = 0
    }

    /// Empties the buffer and zeroes all of its memory, which is kept: for one that has held a secret.
    ///
    /// What an earlier, smaller block held is not reached: room for a secret is reserved before it comes.
    public mutating func wipe() {
        guard let base = unsafe base else { return }
        // Unlike memset, no compiler takes this for writing what nobody reads.
        unsafe csys_wipe(base, room)
        length = 0
    }

    /// Zeroes a range in its place, which a secret stood in.
    public mutating func wipe(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= length)
        guard let base = unsafe base, !range.isEmpty else { return }
        unsafe csys_wipe(base + range.lowerBound, range.count)
    }

    /// Empties the buffer and gives its memory back.
    public mutating func releaseMemory() {
        release()
        forget()
    }

    /// Its block belongs to somebody else now, or is gone.
    mutating func forget() {
        unsafe base = nil
        length = 0
        room = 0
    }
}
