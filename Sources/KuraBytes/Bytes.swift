/// Borrowed bytes: a place in memory that somebody else owns, read within checked bounds.
///
/// All that the product passes on without copying travels as this: a request's line and its parts, keys and values in memory,
/// the records of the log, SQLite's columns. Indices count from 0 to `count`; everything that takes an index, a range or an
/// offset stops the program when it is outside.
///
/// The lifetime rule, which the compiler does not check yet: **bytes are borrowed for the call**. Whoever lends them keeps them
/// in place and unchanged until the call returns, or says until when what it returns is good ("until the next request is
/// read"). Who is lent bytes does not store them past that: storage that keeps bytes owns them (`[UInt8]`, `ByteBuffer`, an
/// item of the table).
///
/// `Span` would have the compiler see to that, but a span can neither be stored in a struct nor returned by a property
/// without experimental features, and both is what a parser does all day.
///
/// Safety: `@safe`, because bounds are checked at each access, because the only ways to make one from an address are the
/// initialisers that are `unsafe` by their signature, and because of the lifetime rule. That the rule is kept is checked by
/// running all tests under AddressSanitizer (`scripts/test --sanitize address`), for which the item arena hands out plain
/// `malloc` blocks. Not Sendable: another thread has no call to be borrowed for.
@safe @frozen
public struct Bytes {
    @usableFromInline let start: UnsafeRawPointer?
    public let count: Int

    /// None.
    @inlinable
    public init() {
        unsafe start = nil
        count = 0
    }

    /// The `count` bytes from `start` on, which the caller keeps there. No address is fine when there are none.
    @inlinable
    public init(start: UnsafeRawPointer?, count: Int) {
        precondition(count >= 0)
        unsafe self.start = start
        self.count = unsafe start == nil ? 0 : count
    }

    /// The same for a count that is known to be right, and 0 without an address.
    @inlinable
    init(known start: UnsafeRawPointer?, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    @inlinable
    public init(_ buffer: UnsafeRawBufferPointer) {
        unsafe start = buffer.baseAddress
        count = buffer.count
    }

    @inlinable
    public init(_ buffer: UnsafeMutableRawBufferPointer) {
        unsafe self.init(UnsafeRawBufferPointer(buffer))
    }

    @inlinable
    public init(_ buffer: UnsafeBufferPointer<UInt8>) {
        unsafe self.init(UnsafeRawBufferPointer(buffer))
    }

    /// A literal's bytes, which are there as long as the program.
    @inlinable
    public init(_ text: StaticString) {
        unsafe start = UnsafeRawPointer(text.utf8Start)
        count = text.utf8CodeUnitCount
    }

    /// The bytes of a slice, counted from 0 again.
    @inlinable
    public init(rebasing slice: Slice<Bytes>) {
        self = slice.base.extracting(slice.startIndex..<slice.endIndex)
    }

    /// Where the bytes are, for C; may be nil when there are none.
    @inlinable
    public var baseAddress: UnsafeRawPointer? { unsafe start }

    /// The part within `range`, counted from 0 again.
    @inlinable
    public func extracting(_ range: Range<Int>) -> Bytes {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a range outside of the bytes")
        guard let start = unsafe start else { return self }
        return unsafe Bytes(known: start + range.lowerBound, count: range.upperBound - range.lowerBound)
    }

    /// The byte at a position that the caller has compared with `count` itself, for the innermost loops.
    @unsafe @inlinable
    public subscript(unchecked position: Int) -> UInt8 {
        unsafe start.unsafelyUnwrapped.load(fromByteOffset: position, as: UInt8.self)
    }

    /// The same for an integer.
    @unsafe @inlinable
    public func loadUnaligned<T: FixedWidthInteger & BitwiseCopyable>(
        uncheckedByteOffset offset: Int, as type: T.Type
    ) -> T {
        unsafe start.unsafelyUnwrapped.loadUnaligned(fromByteOffset: offset, as: type)
    }

    /// The integer whose bytes, in the machine's order, begin at `offset`.
    @inlinable
    public func loadUnaligned<T: FixedWidthInteger & BitwiseCopyable>(
        fromByteOffset offset: Int = 0, as type: T.Type
    ) -> T {
        precondition(offset >= 0 && count - offset >= MemoryLayout<T>.size, "a load outside of the bytes")
        return unsafe start.unsafelyUnwrapped.loadUnaligned(fromByteOffset: offset, as: type)
    }
}

@available(*, unavailable)
extension Bytes: Sendable {}

/// Safety: as the type: a position is compared with `count` before its byte is read.
extension Bytes: RandomAccessCollection {
    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { count }

    @inlinable
    public subscript(position: Int) -> UInt8 {
        // One comparison for both ends: a negative position is a large unsigned one.
        precondition(UInt(bitPattern: position) < UInt(bitPattern: count), "an index outside of the bytes")
        return unsafe start.unsafelyUnwrapped.load(fromByteOffset: position, as: UInt8.self)
    }

    @inlinable
    public subscript(bounds: Range<Int>) -> Slice<Bytes> {
        precondition(bounds.lowerBound >= 0 && bounds.upperBound <= count, "a range outside of the bytes")
        return Slice(base: self, bounds: bounds)
    }

    /// Safety: `next` reads below `end` only, which is the bytes' own.
    @safe @frozen
    public struct Iterator: IteratorProtocol {
        @usableFromInline var position: UnsafeRawPointer?
        @usableFromInline let end: UnsafeRawPointer?

        @inlinable
        init(_ bytes: Bytes) {
            unsafe position = bytes.start
            unsafe end = bytes.start.map { unsafe $0 + bytes.count }
        }

        @inlinable
        public mutating func next() -> UInt8? {
            guard unsafe position != end else { return nil }
            let byte = unsafe position.unsafelyUnwrapped.load(as: UInt8.self)
            unsafe position = position.unsafelyUnwrapped + 1
            return byte
        }
    }

    @inlinable
    public func makeIterator() -> Iterator { Iterator(self) }

    /// What the standard library copies and decodes text by.
    @inlinable
    public func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
        try unsafe UnsafeRawBufferPointer(start: start, count: count).withMemoryRebound(to: UInt8.self, body)
    }
}
