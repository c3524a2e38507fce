import Glibc

/// A growable run of bytes that is filled, read and emptied again without giving its memory back.
///
/// It owns one `malloc`ed block. Appending may move the block, so a pointer into it is good until the next append.
public struct ByteBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer?
    @usableFromInline var length: Int = 0
    @usableFromInline var room: Int = 0
    @inlinable public var count: Int { length }
    @inlinable public var capacity: Int { room }

    public init() {}

    /// - Parameter capacity: bytes to have from the start.
    public init(capacity: Int) {
        reserve(capacity)
    }

    deinit {
        free(base)
    }

    public var isEmpty: Bool { count == 0 }

    /// The bytes as they are now; good until the next mutation.
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Room behind the last byte, at least one byte when `reserve` was called; `commit` says how much was filled.
    public var spare: UnsafeMutableRawBufferPointer {
        guard let base else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return UnsafeMutableRawBufferPointer(start: base + count, count: capacity - count)
    }

    /// Takes `added` bytes that were written to `spare` as appended.
    public mutating func commit(_ added: Int) {
        precondition(added >= 0 && count + added <= capacity, "commit past the reserved room")
        length += added
    }

    /// Makes room for `additional` bytes behind the last one; grows by a factor, so that appending stays linear.
    @inlinable
    public mutating func reserve(_ additional: Int) {
        if length + additional > room { grow(by: additional) }
    }

    @usableFromInline
    mutating func grow(by additional: Int) {
        let wanted = capacity(reserving: additional)
        guard let grown = realloc(base, wanted) else { fatalError("out of memory") }
        base = grown
        room = wanted
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
    public mutating func shrink() {
        guard length > 0 else { return releaseMemory() }
        guard length < room, let shrunk = realloc(base, length) else { return }
        base = shrunk
        room = length
    }

    @inlinable
    public mutating func append(_ source: UnsafeRawBufferPointer) {
        guard let from = source.baseAddress, source.count > 0 else { return }
        reserve(source.count)
        (base.unsafelyUnwrapped + length).copyMemory(from: from, byteCount: source.count)
        length += source.count
    }

    @inlinable
    public mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inlinable
    public mutating func append(_ byte: UInt8) {
        if length == room { grow(by: 1) }
        (base.unsafelyUnwrapped + length).storeBytes(of: byte, as: UInt8.self)
        length += 1
    }

    /// For cold paths: replies of the hot ones are made of bytes.
    public mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Forgets everything from `end` on.
    public mutating func truncate(to end: Int) {
        precondition(end >= 0 && end <= length)
        length = end
    }

    /// Drops the first `dropped` bytes and moves the rest to the front.
    public mutating func removeFirst(_ dropped: Int) {
        precondition(dropped >= 0 && dropped <= length)
        guard dropped > 0 else { return }
        length -= dropped
        if length > 0 { memmove(base!, base! + dropped, length) }
    }

    /// Overwrites a range with spaces.
    public mutating func blank(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= length)
        guard let base, !range.isEmpty else { return }
        memset(base + range.lowerBound, 0x20, range.count)
    }

    public mutating func overwrite(at offset: Int, with byte: UInt8) {
        precondition(offset >= 0 && offset < count)
        (base! + offset).storeBytes(of: byte, as: UInt8.self)
    }

    public mutating func removeAll() {
        length = 0
    }

    /// Empties the buffer and gives its memory back.
    public mutating func releaseMemory() {
        free(base)
        base = nil
        length = 0
        room = 0
    }
}

/// Blocks of memory between their uses, so that a connection that speaks now and then costs no `malloc` each time.
///
/// Keeps a few blocks of ordinary size; larger ones go back to the system. Used by one thread.
public final class BufferPool {
    private var blocks: [(base: UnsafeMutableRawPointer, capacity: Int)] = []
    private let limit: Int
    private let largest: Int

    /// - Parameters:
    ///   - limit: blocks that are kept at most.
    ///   - largest: bytes of the largest block that is kept.
    public init(limit: Int = 64, largest: Int = 64 << 10) {
        self.limit = limit
        self.largest = largest
        blocks.reserveCapacity(limit)
    }

    deinit {
        for block in blocks { free(block.base) }
    }

    /// Gives the blocks back to the system.
    public func removeAll() {
        for block in blocks { free(block.base) }
        blocks.removeAll(keepingCapacity: true)
        bytes = 0
    }

    /// Bytes of the blocks that wait here.
    public private(set) var bytes = 0

    /// Gives `buffer`, which has no memory, a block when one is there.
    public func supply(_ buffer: inout ByteBuffer) {
        guard buffer.base == nil, let block = blocks.popLast() else { return }
        bytes -= block.capacity
        buffer.base = block.base
        buffer.room = block.capacity
    }

    /// Empties `buffer` and takes its block.
    public func reclaim(_ buffer: inout ByteBuffer) {
        guard let base = buffer.base, buffer.room <= largest, blocks.count < limit else {
            buffer.releaseMemory()
            return
        }
        blocks.append((base, buffer.room))
        bytes += buffer.room
        buffer.base = nil
        buffer.length = 0
        buffer.room = 0
    }
}
