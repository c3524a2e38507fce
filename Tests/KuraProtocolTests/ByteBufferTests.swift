import KuraProtocol
import Testing

@Suite struct ByteBufferTests {
    @Test func `bytes come out in the order in which they went in, however many`() {
        var buffer = ByteBuffer()
        var expected: [UInt8] = []
        for number in 0..<5000 {
            let part = Array("\(number),".utf8)
            part.withUnsafeBytes { buffer.append($0) }
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
        buffer.append(UnsafeRawBufferPointer(start: nil, count: 0))
        buffer.append(text: "")
        buffer.reserve(0)
        #expect(buffer.isEmpty && buffer.capacity == 0 && Array(buffer.bytes) == [])
    }
}
