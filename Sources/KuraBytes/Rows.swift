#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import CSyscalls

/// A row of values whose length never changes, for the same use.
///
/// Safety: as `Cell`; an index outside of the row stops the program.
@safe @frozen
public struct CellRow<Value>: ~Copyable {
    @usableFromInline let address: UnsafeMutablePointer<Value>
    public let count: Int

    @inlinable
    public init(repeating value: Value, count: Int) {
        unsafe address = .allocate(capacity: count)
        unsafe address.initialize(repeating: value, count: count)
        self.count = count
    }

    @inlinable
    deinit {
        unsafe address.deinitialize(count: count)
        unsafe address.deallocate()
    }

    /// Has a value fetched from memory that is looked at soon.
    public func prefetch(_ position: Int) {
        guard UInt(bitPattern: position) < UInt(bitPattern: count) else { return }
        unsafe csys_prefetch(address + position)
    }

    /// Where the values are, for C.
    @inlinable
    public var baseAddress: UnsafeMutablePointer<Value> { unsafe address }

    @inlinable
    public subscript(position: Int) -> Value {
        unsafeAddress {
            precondition(UInt(bitPattern: position) < UInt(bitPattern: count), "an index outside of the row")
            return unsafe UnsafePointer(address + position)
        }
        nonmutating unsafeMutableAddress {
            precondition(UInt(bitPattern: position) < UInt(bitPattern: count), "an index outside of the row")
            return unsafe address + position
        }
    }
}

/// Values that are made once and kept as long as the program: tables that the hot path reads without counting references.
///
/// Safety: the memory is written in `init`, never changed and never given back; an index outside of the row stops the program.
@safe @frozen
public struct KeptRow<Element> {
    @usableFromInline let address: UnsafePointer<Element>
    public let count: Int

    /// Copies `elements`; what this takes is never given back.
    public init(_ elements: some Collection<Element>) {
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: Swift.max(elements.count, 1))
        count = elements.count
        for (position, element) in elements.enumerated() { unsafe (memory + position).initialize(to: element) }
        unsafe address = UnsafePointer(memory)
    }

    @inlinable
    public subscript(position: Int) -> Element {
        unsafeAddress {
            precondition(UInt(bitPattern: position) < UInt(bitPattern: count), "an index outside of the row")
            return unsafe address + position
        }
    }
}

extension KeptRow: RandomAccessCollection {
    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { count }
}

// Safety: nothing changes after `init`.
extension KeptRow: @unchecked Sendable where Element: Sendable {}

/// Safety: the row is never given back.
extension Bytes {
    /// A copy of a text that is kept as long as the program.
    public init(keeping text: String) {
        let row = KeptRow(Array(text.utf8))
        unsafe self.init(start: UnsafeRawPointer(row.address), count: row.count)
    }
}

/// A growable row of plain values that is filled, read and emptied again without giving its memory back.
///
/// Safety: it owns one `malloc`ed block with room for `room` values, of which the first `count` are written. The values are
/// plain bytes (`BitwiseCopyable`), so that `realloc` may move them. An index outside of the row stops the program.
@safe @frozen
public struct GrowingRow<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline var address: UnsafeMutablePointer<Element>?
    @usableFromInline var length = 0
    @usableFromInline var room = 0
    @inlinable public var count: Int { length }
    /// Values that there is room for.
    @inlinable public var capacity: Int { room }

    @inlinable
    public init() { unsafe address = nil }

    @inlinable
    deinit { unsafe UnsafeMutableRawPointer.giveBack(address) }

    /// Has a value fetched from memory that is looked at soon, up to two lines of the processor's cache.
    public func prefetch(_ position: Int) {
        guard UInt(bitPattern: position) < UInt(bitPattern: length), let address = unsafe address else { return }
        let place = unsafe UnsafeRawPointer(address + position)
        unsafe csys_prefetch(place)
        if MemoryLayout<Element>.stride > 32 { unsafe csys_prefetch(place + MemoryLayout<Element>.stride - 1) }
    }

    @inlinable
    public mutating func append(_ element: Element) {
        if length == room { grow() }
        unsafe (address.unsafelyUnwrapped + length).initialize(to: element)
        length += 1
    }

    @inlinable
    public subscript(position: Int) -> Element {
        unsafeAddress {
            precondition(UInt(bitPattern: position) < UInt(bitPattern: length), "an index outside of the row")
            return unsafe UnsafePointer(address.unsafelyUnwrapped + position)
        }
        unsafeMutableAddress {
            precondition(UInt(bitPattern: position) < UInt(bitPattern: length), "an index outside of the row")
            return unsafe address.unsafelyUnwrapped + position
        }
    }

    /// The values as they are now, from `start` on; good until the next change.
    @inlinable
    public func values(from start: Int = 0) -> BorrowedRow<Element> {
        precondition(start >= 0 && start <= length)
        return unsafe BorrowedRow(start: address.map { unsafe UnsafePointer($0 + start) }, count: length - start)
    }

    /// Sorts the values from `start` on.
    public mutating func sort(from start: Int, by areInOrder: (Element, Element) -> Bool) {
        precondition(start >= 0 && start <= length)
        guard let address = unsafe address else { return }
        var part = unsafe UnsafeMutableBufferPointer(start: address + start, count: length - start)
        unsafe part.sort(by: areInOrder)
    }

    /// Forgets everything from `end` on.
    @inlinable
    public mutating func truncate(to end: Int) {
        precondition(end >= 0 && end <= length)
        length = end
    }

    /// Empties the row and gives its memory back.
    public mutating func releaseMemory() {
        unsafe free(address)
        unsafe address = nil
        length = 0
        room = 0
    }

    @usableFromInline
    mutating func grow() {
        let wanted = Swift.max(room * 2, 64)
        guard let grown = unsafe realloc(address, wanted * MemoryLayout<Element>.stride) else {
            fatalError("out of memory")
        }
        unsafe address = grown.assumingMemoryBound(to: Element.self)
        room = wanted
    }
}

extension UnsafeMutableRawPointer {
    /// `free`, under a name that inlinable code may use.
    ///
    /// Safety: the row that calls it is gone afterwards.
    @usableFromInline
    static func giveBack(_ memory: UnsafeMutableRawPointer?) { unsafe free(memory) }
}

/// Borrowed values: what `Bytes` is for bytes, with the same rule of lifetime.
///
/// Safety: as `Bytes`.
@safe @frozen
public struct BorrowedRow<Element: BitwiseCopyable> {
    @usableFromInline let start: UnsafePointer<Element>?
    public let count: Int

    @inlinable
    init(start: UnsafePointer<Element>?, count: Int) {
        unsafe self.start = start
        self.count = unsafe start == nil ? 0 : count
    }

    @inlinable
    public subscript(position: Int) -> Element {
        unsafeAddress {
            precondition(UInt(bitPattern: position) < UInt(bitPattern: count), "an index outside of the row")
            return unsafe start.unsafelyUnwrapped + position
        }
    }
}

@available(*, unavailable)
extension BorrowedRow: Sendable {}
