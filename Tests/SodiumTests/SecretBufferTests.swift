import KuraBytes
import Testing

@testable import Sodium

@Suite struct SecretBufferTests {
    @Test func `what is appended stands there`() {
        var buffer = SecretBuffer()
        #expect(buffer.count == 0)
        buffer.append(1)
        [2, 3].withBytes { buffer.append($0) }
        buffer.append(littleEndian: UInt16(0x0504))
        #expect(buffer.bytes.array == [1, 2, 3, 4, 5])
        buffer.truncate(to: 2)
        #expect(buffer.bytes.array == [1, 2])
        buffer.removeAll()
        #expect(buffer.count == 0)
    }

    @Test func `growing keeps the bytes and zeroes the place that they were moved from`() {
        var buffer = SecretBuffer(capacity: 256)
        let secret = [UInt8](repeating: 0xA5, count: 200)
        secret.withBytes { buffer.append($0) }
        let old = buffer.bytes.baseAddress!
        // Held here, so that the heap does not hand the block out before it is looked at.
        buffer.reserve(100_000)
        #expect(buffer.bytes.baseAddress != old)
        // The allocator's own words may stand at the front of a freed block.
        let left = (32..<200).count { old.load(fromByteOffset: $0, as: UInt8.self) == 0xA5 }
        #expect(left == 0)
        #expect(buffer.bytes.array == secret)
    }

    @Test func `cutting and emptying zero what was there`() {
        var buffer = SecretBuffer(capacity: 256)
        [UInt8](repeating: 7, count: 200).withBytes { buffer.append($0) }
        let start = buffer.bytes.baseAddress!
        func left() -> Int { (0..<200).count { start.load(fromByteOffset: $0, as: UInt8.self) == 7 } }
        buffer.truncate(to: 50)
        #expect(left() == 50)
        buffer.removeAll()
        #expect(left() == 0)
        #expect(buffer.count == 0)
    }

    @Test func `a decoder fills it in place`() {
        var buffer = SecretBuffer()
        buffer.append(9)
        let isBase64 = buffer.fill(atMost: 6) { Base64.decode(Bytes("aGVsbG8h"), into: &$0) }
        #expect(isBase64)
        #expect(buffer.bytes.array == [9] + Array("hello!".utf8))
    }
}
