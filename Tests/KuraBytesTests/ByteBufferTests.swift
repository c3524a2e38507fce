import Glibc
import KuraBytes
import Testing

@Suite struct ByteBufferTests {
    @Test func `bytes come out in the order in which they went in, however many`() {
        var buffer = ByteBuffer()
        var expected: [UInt8] = []
        for number in 0..<5000 {
            let part = Array("\(number),".utf8)
            part.withBytes { buffer.append($0) }
            buffer.append(UInt8(ascii: ";"))
            buffer.append("static")
            buffer.append(text: "蔵")
            expected += part + Array(";static蔵".utf8)
        }
        #expect(Array(buffer.bytes) == expected)
        #expect(buffer.count == expected.count && !buffer.isEmpty && buffer.capacity >= buffer.count)
    }

    @Test func `what is written to the spare room counts once it is committed`() {
        var buffer = ByteBuffer(capacity: 10)
        #expect(buffer.isEmpty && buffer.spare.count >= 10)
        buffer.append("ab")
        buffer.spare.copyBytes(from: Array("cde".utf8))
        #expect(buffer.count == 2)
        buffer.commit(2)
        #expect(Array(buffer.bytes) == Array("abcd".utf8))
    }

    @Test func `the front, the end and all of it can go`() {
        var buffer = ByteBuffer()
        buffer.append("0123456789")
        buffer.removeFirst(0)
        buffer.removeFirst(3)
        #expect(Array(buffer.bytes) == Array("3456789".utf8))
        buffer.truncate(to: 4)
        #expect(Array(buffer.bytes) == Array("3456".utf8))
        buffer.overwrite(at: 3, with: UInt8(ascii: "x"))
        #expect(Array(buffer.bytes) == Array("345x".utf8))
        buffer.removeFirst(4)
        #expect(buffer.isEmpty && buffer.capacity > 0)
        buffer.append("again")
        let capacity = buffer.capacity
        buffer.removeAll()
        #expect(buffer.isEmpty && buffer.capacity == capacity)
        buffer.releaseMemory()
        #expect(buffer.isEmpty && buffer.capacity == 0 && buffer.spare.count == 0)
        buffer.append("reborn")
        #expect(Array(buffer.bytes) == Array("reborn".utf8))
    }

    @Test func `appending nothing takes no memory`() {
        var buffer = ByteBuffer()
        buffer.append(Bytes())
        buffer.append(text: "")
        buffer.reserve(0)
        #expect(buffer.isEmpty && buffer.capacity == 0 && Array(buffer.bytes) == [])
    }
}

@Suite struct BufferPoolTests {
    @Test func `a block goes from one buffer to the next, empty`() {
        let pool = BufferPool()
        var first = ByteBuffer()
        first.append("abc")
        let place = first.bytes.baseAddress
        pool.reclaim(&first)
        #expect(first.isEmpty && first.capacity == 0 && first.bytes.baseAddress == nil)
        var second = ByteBuffer()
        pool.supply(&second)
        #expect(second.isEmpty && second.capacity >= 3)
        second.append("d")
        #expect(second.bytes.baseAddress == place)
        #expect(second.bytes.elementsEqual("d".utf8))
        #expect(pool.bytes == 0)
    }

    @Test func `a buffer that has memory keeps it`() {
        let pool = BufferPool()
        var first = ByteBuffer(capacity: 300)
        pool.reclaim(&first)
        var second = ByteBuffer()
        second.append("kept")
        pool.supply(&second)
        #expect(second.bytes.elementsEqual("kept".utf8))
        #expect(pool.bytes > 0)
    }

    @Test func `large blocks and too many are given back`() {
        let pool = BufferPool(limit: 2, largest: 1024)
        var large = ByteBuffer(capacity: 5000)
        pool.reclaim(&large)
        #expect(large.capacity == 0 && pool.bytes == 0)
        for _ in 0..<3 {
            var buffer = ByteBuffer(capacity: 512)
            pool.reclaim(&buffer)
        }
        #expect(pool.bytes == 1024)
    }

    @Test func `a block of many pages goes back in pieces, and all of it`() throws {
        func resident() throws -> Int {
            let file = try #require(fopen("/proc/self/statm", "r"))
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 256)
            try #require(fgets(&line, 256, file) != nil)
            let numbers = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
                separator: " ")
            return try #require(Int(numbers[1])) * Int(getpagesize())
        }
        let pool = BufferPool()
        var large = ByteBuffer(capacity: (256 << 20) + 1000)
        let ones = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<256 { large.append(ones) }
        let capacity = large.capacity
        let before = try resident()
        pool.reclaim(&large)
        #expect(large.capacity == 0 && large.bytes.baseAddress == nil && pool.bytes == capacity && pool.isReturning)
        // It is nobody's any more.
        var other = ByteBuffer()
        pool.supply(&other)
        #expect(other.capacity == 0)
        pool.returnSome(atMost: 1 << 20)
        #expect(pool.bytes <= capacity - (1 << 20) && pool.bytes > capacity - (2 << 20))
        var pieces = 1
        while pool.isReturning {
            pool.returnSome(atMost: 1 << 20)
            pieces += 1
        }
        #expect(pool.bytes == 0 && pieces > 250)
        let after = try resident()
        // Other tests take memory meanwhile.
        #expect(before - after > 128 << 20, "\(before) \(after)")
    }
}
