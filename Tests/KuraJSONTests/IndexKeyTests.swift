import KuraBytes
import Testing

@testable import KuraJSON

struct IndexKeyTests {
    private static func key(_ texts: String?...) -> [UInt8] {
        var key = ByteBuffer()
        for text in texts {
            if let text {
                text.withBytes { IndexKey.append(StoredValue($0), to: &key) }
            } else {
                IndexKey.append(nil, to: &key)
            }
        }
        return Array(key.bytes)
    }

    private static func collation(_ left: String?, _ right: String?) -> Int {
        (left ?? "null").withBytes { first in
            (right ?? "null").withBytes { second in
                Collation.order(left == nil ? nil : StoredValue(first), right == nil ? nil : StoredValue(second))
            }
        }
    }

    @Test func `keys, collation and the order by the book agree`() {
        var generator = ValueGenerator(seed: 1)
        var equal = 0
        for _ in 0..<40_000 {
            let left = generator.below(20) == 0 ? nil : generator.tree()
            // Half of the time the same value in other words.
            let right = generator.below(2) == 0 ? left : generator.below(20) == 0 ? nil : generator.tree()
            let (first, second) = (left.map { generator.spell($0) }, right.map { generator.spell($0) })
            let expected = ValueTree.order(left, right)
            #expect(Self.collation(first, second) == expected, "\(first ?? "-") \(second ?? "-")")
            let order = ValueTree.order(Self.key(first), Self.key(second))
            #expect(order == expected, "\(first ?? "-") \(second ?? "-")")
            if expected == 0 { equal += 1 }
        }
        #expect(equal > 20_000)
    }

    @Test func `compound keys sort by their first value, then by the next`() {
        var generator = ValueGenerator(seed: 2)
        for _ in 0..<20_000 {
            let left = (0..<3).map { _ in generator.below(6) == 0 ? nil : generator.tree(depth: 1) }
            let right = left.map { value in
                generator.below(2) == 0 ? value : generator.below(6) == 0 ? nil : generator.tree(depth: 1)
            }
            let (first, second) = (
                left.map { value in value.map { generator.spell($0) } },
                right.map { value in value.map { generator.spell($0) } }
            )
            let expected = zip(left, right).map { ValueTree.order($0, $1) }.first { $0 != 0 } ?? 0
            let keys = [first, second].map { Self.key($0[0], $0[1], $0[2]) }
            #expect(ValueTree.order(keys[0], keys[1]) == expected, "\(first) \(second)")
        }
    }

    @Test func `numbers keep their order whatever their size`() {
        let numbers = [
            "-1e1000000", "-1e101", "-1e100", "-12345678901234567890123456789.5", "-100", "-99.5", "-1.01", "-1",
            "-0.1",
            "-1e-100", "-1e-101", "0", "1e-1000000", "1e-101", "1e-100", "0.1", "0.10000000000000000000000001", "1",
            "1.01",
            "9007199254740992", "9007199254740993", "1e100", "1.1e100", "1e101", "1e102", "1e1000000",
        ]
        for (place, number) in numbers.enumerated() {
            for (other, peer) in numbers.enumerated() {
                let expected = (place - other).signum()
                #expect(Self.collation(number, peer) == expected, "\(number) \(peer)")
                #expect(ValueTree.order(Self.key(number), Self.key(peer)) == expected, "\(number) \(peer)")
            }
        }
    }

    @Test func `what begins with a prefix lies between it and its end`() {
        var generator = ValueGenerator(seed: 3)
        for _ in 0..<10_000 {
            let (prefix, text) = (generator.string(), generator.string())
            var lower = ByteBuffer()
            generator.spell(.string(prefix)).withBytes { IndexKey.append(prefix: StoredValue($0).quoted, to: &lower) }
            let start = Array(lower.bytes)
            let key = Self.key(generator.spell(.string(text)), "1")
            let isBetween = ValueTree.order(start, key) <= 0 && ValueTree.order(key, start + [IndexKey.end]) < 0
            #expect(isBetween == Array(text.utf8).starts(with: Array(prefix.utf8)), "\(prefix) \(text)")
        }
    }

    @Test func `no key begins like an end, and what is there lies behind what is not`() {
        var generator = ValueGenerator(seed: 4)
        for _ in 0..<2000 {
            let key = Self.key(generator.spell(generator.tree()))
            #expect(key[0] >= IndexKey.something && key[0] < IndexKey.end)
        }
        #expect(Self.key(nil) == [1])
    }
}
