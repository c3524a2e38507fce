import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ItemTableTests {
    @Test(arguments: 0..<6) func `the table holds what a dictionary holds, while it grows`(seed: UInt64) {
        struct Key: Hashable {
            var scope: UInt32
            var text: String
        }
        var random = SplitMix(state: seed)
        let table = ItemTable(minimumBuckets: 16)
        var model: [Key: UInt64] = [:]
        for step in 0..<20_000 as Range<UInt64> {
            // Many keys at first, so that it grows; later they come and go.
            let key = Key(
                scope: .random(in: 1...3, using: &random),
                text: "k\(Int.random(in: 0..<(step < 8000 ? 100_000 : 5000), using: &random))")
            with(key.text) { bytes in
                let hash = table.hash(scope: key.scope, key: bytes)
                let found = table.find(scope: key.scope, key: bytes, hash: hash)
                #expect(found?.pointee.rev == model[key], "seed \(seed), step \(step)")
                if let found, Bool.random(using: &random) {
                    table.remove(found)
                    found.release()
                    model[key] = nil
                    return
                }
                let new = ItemRef.make(key: bytes, value: bytes)
                new.pointee.scope = key.scope
                new.pointee.hash = hash
                new.pointee.rev = step
                if let found {
                    table.replace(found, with: new)
                    found.release()
                } else {
                    table.insert(new)
                }
                model[key] = step
            }
            #expect(table.count == model.count)
        }
        for (key, rev) in model {
            with(key.text) { bytes in
                let found = table.find(scope: key.scope, key: bytes, hash: table.hash(scope: key.scope, key: bytes))
                #expect(found?.pointee.rev == rev)
                #expect(found?.key.text == key.text)
            }
        }
    }

    @Test(arguments: 0..<4) func `documents are found by their rows, whatever became of them`(seed: UInt64) {
        var random = SplitMix(state: seed)
        // Fewer buckets than rows, and two collections whose rows begin alike.
        let table = ItemTable(minimumBuckets: 16, rows: 16)
        var model: [Int64: UInt64] = [:]
        for step in 1..<20_000 as Range<UInt64> {
            let row = Int64.random(in: 1...2, using: &random) << 40 | Int64.random(in: 1...3000, using: &random)
            with("k\(row)") { bytes in
                let hash = table.hash(scope: 1, key: bytes)
                let found = table.find(scope: 1, key: bytes, hash: hash)
                #expect(table.rows.find(row) == found, "seed \(seed), step \(step)")
                if let found, Bool.random(using: &random) {
                    table.remove(found)
                    found.release()
                    model[row] = nil
                    return
                }
                let new = ItemRef.make(key: bytes, value: bytes)
                (new.pointee.scope, new.pointee.hash, new.pointee.rev, new.pointee.row) = (1, hash, step, row)
                if let found {
                    table.replace(found, with: new)
                    found.release()
                } else {
                    table.insert(new)
                }
                model[row] = step
            }
        }
        for row in (1...2).flatMap({ scope in (0...3001).map { scope << 40 | $0 } }) as [Int64] {
            #expect(table.rows.find(row)?.pointee.rev == model[row])
        }
    }

    @Test func `keys with one hash are told apart`() {
        let table = ItemTable(minimumBuckets: 16)
        for index in 0..<50 {
            with("key\(index)") { key in
                let item = ItemRef.make(key: key, value: key)
                item.pointee.hash = 7
                table.insert(item)
            }
        }
        for index in 0..<50 {
            with("key\(index)") { key in
                #expect(table.find(scope: 0, key: key, hash: 7)?.value.text == "key\(index)")
                #expect(table.find(scope: 1, key: key, hash: 7) == nil)
            }
        }
        with("none") { #expect(table.find(scope: 0, key: $0, hash: 7) == nil) }
    }

    @Test func `hashes depend on every byte, the length and the seed`() {
        let texts = [
            "", "\0", "\0\0", "a", "b", "aa", "abcdefgh", "abcdefgi", "bbcdefgh", "abcdefgh\0", "abcdefghi",
            "abcdefghabcdefgh",
        ]
        for seed in [1, 2] as [UInt64] {
            #expect(Set(texts.map { with($0) { Hash.bytes($0, seed: seed) } }).count == texts.count)
        }
        #expect(with("abc") { Hash.bytes($0, seed: 1) } != with("abc") { Hash.bytes($0, seed: 2) })
    }
}
