#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import CSyscalls

/// Blocks of memory between their uses, so that a connection that speaks now and then costs no `malloc` each time.
///
/// Keeps a few blocks of ordinary size; larger ones go back to the system, those of many pages piece by piece, since that takes
/// longer than others should wait for. Used by one thread.
///
/// Safety: a block has one owner: the buffer that it was made by, then the pool, then the buffer that it is supplied to. Each
/// hand-over takes it from the one before it gives it to the other.
@safe
public final class BufferPool {
    private var blocks: [(base: UnsafeMutableRawPointer, capacity: Int)] = unsafe []
    /// Mapped blocks that are on their way back to the system.
    private var leaving: [(base: UnsafeMutableRawPointer, capacity: Int)] = unsafe []
    private let limit: Int
    private let largest: Int
    /// Bytes of a block that is given back in pieces.
    private static let longBlock = 2 << 20
    private static let page = Int(getpagesize())

    /// - Parameters:
    ///   - limit: blocks that are kept at most.
    ///   - largest: bytes of the largest block that is kept, less than 1 MiB.
    public init(limit: Int = 64, largest: Int = 64 << 10) {
        precondition(largest < ByteBuffer.mappedRoom, "blocks that are pages of their own are not kept")
        self.limit = limit
        self.largest = largest
        unsafe blocks.reserveCapacity(limit)
    }

    deinit { removeAll() }

    /// Bytes of the blocks that wait here.
    public private(set) var bytes = 0

    /// Some of them are to go back to the system.
    public var isReturning: Bool { unsafe !leaving.isEmpty }

    /// Gives so many bytes of those that are on their way back to the system, and less than a page more.
    public func returnSome(atMost most: Int) {
        var left = most
        while left > 0, var block = unsafe leaving.popLast() {
            // From its end: the front stays a block of its own.
            let kept = unsafe left >= block.capacity ? 0 : (block.capacity - left) / Self.page * Self.page
            let piece = unsafe block.capacity - kept
            // Safety: the pages behind `kept` are this block's, and nobody knows them any more.
            unsafe csys_unmap(block.base + kept, piece)
            left -= piece
            bytes -= piece
            guard kept > 0 else { continue }
            unsafe block.capacity = kept
            unsafe leaving.append(block)
        }
    }

    /// Gives the blocks back to the system.
    public func removeAll() {
        returnSome(atMost: .max)
        while let block = unsafe blocks.popLast() { unsafe free(block.base) }
        bytes = 0
    }

    /// Gives `buffer`, which has no memory, a block when one is there.
    public func supply(_ buffer: inout ByteBuffer) {
        guard unsafe buffer.base == nil, let block = unsafe blocks.popLast() else { return }
        unsafe buffer.base = block.base
        buffer.room = unsafe block.capacity
        bytes -= buffer.room
    }

    /// Empties `buffer` and takes its block.
    public func reclaim(_ buffer: inout ByteBuffer) {
        guard let base = unsafe buffer.base else { return }
        if buffer.room >= Self.longBlock {
            unsafe leaving.append((base, buffer.room))
            bytes += buffer.room
            buffer.forget()
            return
        }
        guard buffer.room <= largest, unsafe blocks.count < limit else {
            buffer.releaseMemory()
            return
        }
        buffer.removeAll()
        unsafe blocks.append((base, buffer.room))
        bytes += buffer.room
        buffer.forget()
    }
}
