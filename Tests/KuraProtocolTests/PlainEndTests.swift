import KuraBytes
import Testing

@Suite struct PlainEndTests {
    @Test func `it ends at each byte that is not plain, wherever it stands, and never looks behind the text`() {
        let guarded = GuardedBytes(capacity: 64)
        for byte in [0x00, 0x0A, 0x1F, 0x22, 0x5C, 0x7F, 0x80, 0xC3, 0xFF] as [UInt8] {
            for count in 0...50 {
                for place in 0...count {
                    var text = (0..<count).map { UInt8(0x23 + $0) }.map { $0 == 0x5C ? 0x20 : $0 }
                    if place < count { text[place] = byte }
                    guarded.with(text) { bytes in
                        for from in 0...count {
                            #expect(
                                bytes.plainEnd(from: from) == (from <= place ? place : count),
                                "\(byte) at \(place) of \(count) from \(from)")
                        }
                    }
                }
            }
        }
    }

    @Test func `every printable byte but two is plain`() {
        for byte in UInt8.min...UInt8.max {
            let text = [UInt8](repeating: byte, count: 20)
            let isPlain = (0x20...0x7E).contains(byte) && byte != 0x22 && byte != 0x5C
            text.withBytes { #expect($0.plainEnd(from: 0) == (isPlain ? 20 : 0)) }
            Array(text.prefix(3)).withBytes { #expect($0.plainEnd(from: 0) == (isPlain ? 3 : 0)) }
        }
    }
}
