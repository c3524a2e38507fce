import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct RankedPageTests {
    private func key(_ rank: Double) -> [UInt8] {
        var key = ByteBuffer()
        RankedPage.append(rank, to: &key)
        return Array(key.bytes)
    }

    @Test func `keys sort as SQLite's ranks do, and tell them back with more for better`() {
        let ranks = [-1e300, -12.5, -1.0, -1e-9, -0.0, 0.0, 1e-9, 3.25, 1e300]
        let keys = ranks.map(key)
        for (left, right) in zip(keys, keys.dropFirst()) { #expect(left.lexicographicallyPrecedes(right)) }
        for (rank, key) in zip(ranks, keys) { #expect(RankedPage.rank(key) == -rank) }
    }

    @Test func `a page begins behind its position, and goes on behind what was taken`() throws {
        var page = RankedPage(limit: 2, after: .sorted(key(-2), row: 5))
        func isBehind(_ rank: Double, _ row: Int64) -> Bool { key(rank).withBytes { page.isBehind($0, row) } }
        #expect(!isBehind(-3, 9))
        #expect(!isBehind(-2, 5))
        #expect(isBehind(-2, 6))
        #expect(isBehind(-1, 1))
        page.take(SmallestEntries.Entry(key: key(-1), row: 3, value: []))
        guard case .sorted(let last, let row)? = page.position else {
            Issue.record("no position")
            return
        }
        #expect(last == key(-1))
        #expect(row == 3)
        // Where it began stays where it is.
        #expect(isBehind(-2, 6))
    }

    @Test func `a first page begins with the best`() {
        let page = RankedPage(limit: 1, after: nil)
        #expect(key(-.infinity).withBytes { page.isBehind($0, 0) })
        let position = page.position
        #expect(position == nil)
    }
}
