import KuraBytes
import KuraProtocol
import Testing

@Suite struct NameStackTests {
    @Test func `names that only differ late, or by a zero byte, or in length are different`() {
        let long = String(repeating: "x", count: 200)
        let names = [
            "", "a", #"a\u0000"#, #"\u0000a"#, #"\u0000"#, #"\u0000\u0000"#, long, long + "y", "y" + long, long + "z",
            "abcdefgh", "abcdefgi",
        ]
        let text = "{" + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        #expect(fault(in: text) == nil)
    }

    @Test func `RFC 8259's grammar keeps no names`() throws {
        let names = NameStack()
        try GuardedBytes.with(Array("{\"a\":{\"b\":1},\"a\":2}".utf8)) { bytes in
            var reader = JSONReader(bytes, grammar: .rfc8259, names: names)
            _ = try reader.value()
        }
        #expect(names.count == 0)
    }

    @Test func `one stack serves text after text, also after a text that was refused in the middle`() throws {
        let names = NameStack()
        for round in 0..<100 {
            names.truncate(to: 0)
            let broken = Array("{\"a\":{\"b\":{\"c\":[1,".utf8)
            #expect(throws: JSONFault.self) {
                try GuardedBytes.with(broken) { bytes in
                    var reader = JSONReader(bytes, names: names)
                    _ = try reader.value()
                }
            }
            names.truncate(to: 0)
            let good = Array("{\"a\":{\"b\":1},\"b\":{\"a\":1},\"c\":\(round)}".utf8)
            try GuardedBytes.with(good) { bytes in
                var reader = JSONReader(bytes, names: names)
                _ = try reader.value()
            }
            #expect(names.count == 0)
        }
    }
}

@Suite struct HashTests {
    private func hash(_ text: some Collection<UInt8>, seed: UInt64) -> UInt64 {
        GuardedBytes.with(text) { Hash.bytes($0, seed: seed) }
    }

    @Test func `the hash depends on every byte, the length and the seed, not on the place in memory`() {
        let text = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        for length in 0...text.count {
            let part = Array(text[..<length])
            let value = hash(part, seed: 7)
            for shift in 0..<8 {
                let moved = [UInt8](repeating: 0, count: shift) + part
                moved.withBytes { bytes in
                    #expect(Hash.bytes(Bytes(rebasing: bytes[shift...]), seed: 7) == value)
                }
            }
            #expect(hash(part, seed: 8) != value)
            #expect(hash(part + [0], seed: 7) != value)
            for place in 0..<length {
                var changed = part
                changed[place] ^= 1
                #expect(hash(changed, seed: 7) != value, "\(length) \(place)")
            }
        }
        let empty = Bytes()
        #expect(Hash.bytes(empty, seed: 7) == Hash.bytes(empty, seed: 7))
    }

    @Test func `words in another order and every two bytes at the end have hashes of their own`() {
        let words = ["abcdefgh", "ABCDEFGH", "01234567"]
        var seen: Set<UInt64> = []
        for first in words {
            for second in words { for third in words { seen.insert(hash((first + second + third).utf8, seed: 7)) } }
        }
        #expect(seen.count == 27)
        seen = []
        for pair in 0..<65_536 {
            let bytes: [UInt8] = [1, UInt8(pair >> 8), UInt8(pair & 255)]
            seen.insert(bytes.withBytes { Hash.bytes($0, seed: 7) })
        }
        #expect(seen.count == 65_536)
    }

    @Test func `100,000 keys have 100,000 hashes, evenly spread over their low bits`() {
        var seen: Set<UInt64> = []
        var buckets = [Int](repeating: 0, count: 64)
        for number in 0..<100_000 {
            let value = Array("key-\(number)".utf8).withBytes { Hash.bytes($0, seed: 0x6B75_7261) }
            seen.insert(value)
            buckets[Int(value & 63)] += 1
        }
        #expect(seen.count == 100_000)
        // Expected 1562 ± 39 a bucket; six deviations either way.
        #expect(buckets.allSatisfy { $0 > 1328 && $0 < 1797 }, "\(buckets)")
    }
}
