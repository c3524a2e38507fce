import KuraBytes
import Testing

@Suite struct HashTests {
    private func hash(_ bytes: [UInt8], _ seed: UInt64) -> UInt64 { bytes.withBytes { Hash.bytes($0, seed: seed) } }

    private static let seeds = [0, 1, 7, UInt64.max] + (0..<200).map { _ in UInt64.random(in: 0...UInt64.max) }

    @Test func `bytes do not cancel their length`() {
        let alike = ["a", "ba", "caa"].map { Array($0.utf8) }
        for seed in Self.seeds { #expect(Set(alike.map { hash($0, seed) }).count == 3, "\(seed)") }
        // Nor does any key of one byte meet one of two.
        let one: [[UInt8]] = (0...UInt8.max).map { [$0] }
        let two: [[UInt8]] = one.flatMap { first in one.map { first + $0 } }
        let all = one + two
        for seed in Self.seeds.suffix(4) { #expect(Set(all.map { hash($0, seed) }).count == all.count, "\(seed)") }
    }

    @Test func `no two lengths of one byte meet`() {
        for seed in Self.seeds {
            for byte in [0, 1, 0x61, 0xFF] as [UInt8] {
                let all = Set((0...64).map { hash([UInt8](repeating: byte, count: $0), seed) })
                #expect(all.count == 65, "\(byte) \(seed)")
            }
        }
    }

    @Test func `no bytes have one hash, wherever they are not`() {
        Array("abc".utf8).withBytes { bytes in
            #expect(Hash.bytes(bytes.extracting(2..<2), seed: 7) == Hash.bytes(Bytes(), seed: 7))
        }
    }

    /// As the versions have written them that had one hash for this and for tables in memory.
    @Test func `what lasts has the hash that it had`() {
        let known: [(text: String, seed: UInt64, hash: UInt64)] = [
            ("", 7, 0x4C9D_70E1_60CF_E901), ("a", 0, 0x0EB2_2B10_F7B2_6D64), ("caa", 7, 0xE767_2DCC_52BD_0B89),
            ("abcd", 0, 0x25F2_0B63_BA20_C8EC), ("0123456789abcdef!", 0, 0x543D_54EC_36DF_E304),
        ]
        for (text, seed, hash) in known {
            #expect(Array(text.utf8).withBytes { LastingHash.bytes($0, seed: seed) } == hash, "\(text)")
        }
    }
}
