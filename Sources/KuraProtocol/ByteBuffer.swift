import Glibc

/// A growable run of bytes that is filled, read and emptied again without giving its memory back.
///
/// It owns one `malloc`ed block. Appending may move the block, so a pointer into it is good until the next append.
public struct ByteBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer?
    public private(set) var count: Int = 0
    public private(set) var capacity: Int = 0

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

    /// Takes `length` bytes that were written to `spare` as appended.
    public mutating func commit(_ length: Int) {
        precondition(length >= 0 && count + length <= capacity, "commit past the reserved room")
        count += length
    }

    /// Makes room for `additional` bytes behind the last one; doubles, so that appending stays linear.
    public mutating func reserve(_ additional: Int) {
        guard count + additional > capacity else { return }
        var wanted = max(capacity * 2, 256)
        while wanted < count + additional { wanted *= 2 }
        guard let grown = realloc(base, wanted) else { fatalError("out of memory") }
        base = grown
        capacity = wanted
    }

    public mutating func append(_ source: UnsafeRawBufferPointer) {
        guard let from = source.baseAddress, source.count > 0 else { return }
        reserve(source.count)
        memcpy(base! + count, from, source.count)
        count += source.count
    }

    public mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    public mutating func append(_ byte: UInt8) {
        if count == capacity { reserve(1) }
        (base! + count).storeBytes(of: byte, as: UInt8.self)
        count += 1
    }

    /// For cold paths: replies of the hot ones are made of bytes.
    public mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Forgets everything from `length` on.
    public mutating func truncate(to length: Int) {
        precondition(length >= 0 && length <= count)
        count = length
    }

    /// Drops the first `length` bytes and moves the rest to the front.
    public mutating func removeFirst(_ length: Int) {
        precondition(length >= 0 && length <= count)
        guard length > 0 else { return }
        count -= length
        if count > 0 { memmove(base!, base! + length, count) }
    }

    public mutating func overwrite(at offset: Int, with byte: UInt8) {
        precondition(offset >= 0 && offset < count)
        (base! + offset).storeBytes(of: byte, as: UInt8.self)
    }

    public mutating func removeAll() {
        count = 0
    }

    /// Empties the buffer and gives its memory back.
    public mutating func releaseMemory() {
        free(base)
        base = nil
        count = 0
        capacity = 0
    }
}
