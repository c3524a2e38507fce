import Glibc
import KuraBytes
import Testing

/// Buffers that leave zeros behind.
@Suite struct WipingTests {
    private static let secret = [UInt8](repeating: 0x5A, count: 300)

    private func filled() -> ByteBuffer {
        var buffer = ByteBuffer(capacity: 512)
        buffer.wipes = true
        buffer.append(Self.secret)
        return buffer
    }

    /// The block's bytes from the beginning, whatever is filled of them.
    private func block(_ buffer: borrowing ByteBuffer) -> [UInt8] {
        let spare = buffer.spare
        return Array(
            UnsafeRawBufferPointer(start: spare.baseAddress! - buffer.count, count: buffer.count + spare.count))
    }

    private func remains(_ buffer: borrowing ByteBuffer) -> Int { block(buffer).filter { $0 == 0x5A }.count }

    @Test func `what is cut off or moved up is overwritten`() {
        var buffer = filled()
        var found: [Int] = []
        buffer.truncate(to: 100)
        found.append(remains(buffer))
        buffer.removeFirst(40)
        found.append(remains(buffer))
        buffer.remove(10..<30)
        found.append(remains(buffer))
        buffer.removeAll()
        found.append(remains(buffer))
        #expect(found == [100, 60, 40, 0])
    }

    @Test func `a pool gets a clean block`() {
        let pool = BufferPool(limit: 2, largest: 4096)
        var buffer = filled()
        pool.reclaim(&buffer)
        var next = ByteBuffer()
        pool.supply(&next)
        let (room, found, isMarked) = (next.capacity, remains(next), buffer.wipes)
        #expect(room > 0 && found == 0)
        #expect(isMarked)
    }

    @Test func `without the mark nothing is overwritten`() {
        var buffer = ByteBuffer(capacity: 512)
        buffer.append(Self.secret)
        buffer.truncate(to: 0)
        let found = remains(buffer)
        #expect(found >= 300)
    }
}
