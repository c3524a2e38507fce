import KuraBytes
import Testing

@testable import Sodium

@Suite struct SecretStreamTests {
    private let key = try! SecretKey()

    /// The header, and each message sealed.
    private func seal(_ messages: [[UInt8]], _ associated: [UInt8] = []) -> (header: [UInt8], sealed: [[UInt8]]) {
        var header = ByteBuffer()
        let stream = SealingStream(key: key, header: &header)
        let sealed = messages.enumerated().map { index, message -> [UInt8] in
            var out = ByteBuffer()
            message.withBytes { message in
                associated.withBytes {
                    stream.seal(message, isFinal: index == messages.count - 1, associated: $0, to: &out)
                }
            }
            return Array(out.bytes)
        }
        return (Array(header.bytes), sealed)
    }

    private func open(
        _ header: [UInt8], _ sealed: [[UInt8]], with key: SecretKey, _ associated: [UInt8] = []
    ) throws(SodiumError) -> (messages: [[UInt8]], isAtEnd: Bool) {
        let stream = try header.withBytes { (header) throws(SodiumError) in try OpeningStream(key: key, header: header)
        }
        var messages: [[UInt8]] = []
        for message in sealed {
            var out = ByteBuffer()
            try message.withBytes { (message) throws(SodiumError) in
                try associated.withBytes { (associated) throws(SodiumError) in
                    try stream.open(message, associated: associated, into: &out)
                }
            }
            messages.append(Array(out.bytes))
        }
        return (messages, stream.isAtEnd)
    }

    private let messages: [[UInt8]] = [Array("one".utf8), [], Array(repeating: 7, count: 70_000), Array("end".utf8)]

    @Test func `what was sealed opens in its order, and says where it ends`() throws {
        let (header, sealed) = seal(messages, [1, 2])
        let opened = try open(header, sealed, with: key, [1, 2])
        #expect(opened.messages == messages && opened.isAtEnd)
        #expect(try !open(header, Array(sealed.dropLast()), with: key, [1, 2]).isAtEnd)
        #expect(sealed.map(\.count) == messages.map { $0.count + SealingStream.overhead })
    }

    @Test func `another key, another order, other data and every altered bit are refused`() throws {
        let (header, sealed) = seal(messages, [1, 2])
        #expect(throws: SodiumError.forged) { try open(header, sealed, with: SecretKey(), [1, 2]) }
        #expect(throws: SodiumError.forged) { try open(header, sealed, with: key, [1, 3]) }
        #expect(throws: SodiumError.forged) { try open(header, [sealed[1], sealed[0]], with: key, [1, 2]) }
        #expect(throws: SodiumError.forged) { try open(header, [sealed[0], sealed[2]], with: key, [1, 2]) }
        #expect(throws: SodiumError.malformed) { try open(header, sealed + [sealed[0]], with: key, [1, 2]) }
        for position in sealed[0].indices {
            for bit in 0..<8 {
                var altered = sealed[0]
                altered[position] ^= 1 << bit
                #expect(throws: SodiumError.forged) { try open(header, [altered], with: key, [1, 2]) }
            }
            #expect(throws: (any Error).self) {
                try open(header, [Array(sealed[0].prefix(position))], with: key, [1, 2])
            }
        }
        #expect(throws: SodiumError.malformed) { try open(Array(header.dropLast()), sealed, with: key, [1, 2]) }
    }
}
