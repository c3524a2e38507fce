import Glibc
import KuraBytes
import Testing

/// Buffers that leave zeros behind.
@Suite struct WipingTests {
    private static let secret = [UInt8](repeating: 0x5A, count: 300)

    private func filled() -> ByteBuffer {
        var buffer = ByteBuffer(capacity: 512)
        // What the heap has left in the block is not meant.
        buffer.wipe()
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

    @Test func `a large buffer keeps its bytes when it grows, shrinks and becomes small`() {
        var buffer = ByteBuffer()
        buffer.wipes = true
        var expected: [UInt8] = []
        var rooms: Set<Int> = []
        for number in 0..<600 {
            let piece = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 10_000)
            buffer.append(piece)
            expected += piece
            rooms.insert(buffer.capacity)
        }
        #expect(Array(buffer.bytes) == expected && rooms.contains { $0 > 4 << 20 })
        buffer.shrink()
        #expect(buffer.capacity == expected.count && Array(buffer.bytes) == expected)
        buffer.removeFirst(5_990_000)
        buffer.shrink()
        #expect(buffer.capacity == 10_000 && Array(buffer.bytes) == Array(expected.suffix(10_000)))
        buffer.append([1])
        #expect(buffer.count == 10_001)
        buffer.releaseMemory()
        #expect(buffer.capacity == 0)
    }

    @Test func `a large buffer that grows is not copied`() throws {
        var buffer = ByteBuffer(capacity: 4 << 20)
        buffer.wipes = true
        for _ in 0..<(4 << 10) { buffer.append([UInt8](repeating: 7, count: 1024)) }
        // Pages that move bring no new ones: a copy would fault each of them in.
        let before = faults()
        buffer.reserve(64 << 20)
        #expect(buffer.capacity >= 68 << 20 && faults() - before < 100)
        #expect(buffer.bytes.allSatisfy { $0 == 7 })
    }

    /// Pages that the thread has been given so far.
    private func faults() -> Int {
        var usage = rusage()
        getrusage(1, &usage)
        return usage.ru_minflt
    }
}
