import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ContentIntakeTests {
    /// Reads a file that has so many bytes in pieces of ten.
    private func read(
        _ bytes: Int, as size: Int, from start: Int = 0, until end: Int = .max
    ) throws(ContentFault) -> (isMore: Bool, pieces: [Int]) {
        var pieces: [Int] = []
        let isMore = try ContentIntake.read(
            from: start, size: size, until: end, piece: 10, { false },
            read: { (position, most, buffer) throws(ContentFault) in
                let count = max(min(most, bytes - position), 0)
                for _ in 0..<count { buffer.append(7) }
                return count
            }, take: { (piece) throws(ContentFault) in pieces.append(piece.count) })
        return (isMore, pieces)
    }

    @Test func `a file is read on from where it was left`() throws {
        let first = try read(25, as: 25, until: 15)
        #expect(first.isMore && first.pieces == [10, 10])
        let rest = try read(25, as: 25, from: 20, until: 40)
        #expect(!rest.isMore && rest.pieces == [5])
    }

    @Test func `a file that has more or fewer bytes than it should has changed`() {
        for bytes in [24, 26, 100] {
            #expect(throws: ContentFault.changed) { try read(bytes, as: 25) }
        }
    }

    @Test func `base64 is decoded by pieces, and padding is for the last one`() throws {
        let step = ContentIntake.piece / 3 * 4
        let text = [UInt8](repeating: UInt8(ascii: "A"), count: step + 4)
        var decoded = ByteBuffer()
        var counts: [Int] = []
        try ContentIntake.decode(text, into: &decoded) { (decoded) throws(ContentFault) in
            counts.append(decoded.count)
            decoded.removeAll()
        }
        #expect(counts == [step / 4 * 3, 3])
        var padded = text
        padded[step - 1] = UInt8(ascii: "=")
        #expect(throws: ContentFault.badBase64) {
            try ContentIntake.decode(padded, into: &decoded) { $0.removeAll() }
        }
    }
}
