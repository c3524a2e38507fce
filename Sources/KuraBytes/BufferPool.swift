import Glibc

/// Blocks of memory between their uses, so that a connection that speaks now and then costs no `malloc` each time.
///
/// Keeps a few blocks of ordinary size; larger ones go back to the system. Used by one thread.
///
/// Safety: a block has one owner: the buffer that it was made by, then the pool, then the buffer that it is supplied to. Each
/// hand-over takes it from the one before it gives it to the other.
@safe
public final class BufferPool {
    private var blocks: [(base: UnsafeMutableRawPointer, capacity: Int)] = unsafe []
    private let limit: Int
    private let largest: Int

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

    /// Gives the blocks back to the system.
    public func removeAll() {
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
        guard let base = unsafe buffer.base, buffer.room <= largest, unsafe blocks.count < limit else {
            buffer.releaseMemory()
            return
        }
        buffer.removeAll()
        unsafe blocks.append((base, buffer.room))
        bytes += buffer.room
        unsafe buffer.base = nil
        buffer.room = 0
    }
}
