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
        return Array(UnsafeRawBufferPointer(start: spare.baseAddress! - buffer.count, count: buffer.count + spare.count))
    }

    private func remains(_ buffer: borrowing ByteBuffer) -> Int { block(buffer).filter { $0 == 0x5A }.count }

    @Test func `what is cut off or moved up is overwritten`() {
        var buffer = filled()
        buffer.truncate(to: 100)
        #expect(remains(buffer) == 100)
        buffer.removeFirst(40)
        #expect(remains(buffer) == 60)
        buffer.remove(10..<30)
        #expect(remains(buffer) == 40)
        buffer.removeAll()
        #expect(remains(buffer) == 0)
    }

    @Test func `a pool gets a clean block`() {
        let pool = BufferPool(limit: 2, largest: 4096)
        var buffer = filled()
        pool.reclaim(&buffer)
        var next = ByteBuffer()
        pool.supply(&next)
        #expect(next.capacity > 0 && remains(next) == 0)
        #expect(buffer.wipes)
    }

    @Test func `without the mark nothing is overwritten`() {
        var buffer = ByteBuffer(capacity: 512)
        buffer.append(Self.secret)
        buffer.truncate(to: 0)
        #expect(remains(buffer) == 300)
    }
}
