import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ModelRowsTests {
    private func row(_ namespace: UInt32, _ key: String, _ rows: borrowing ModelRows) -> ModelRow {
        var row = ModelRow()
        row.namespace = namespace
        row.hash = with(key) { rows.hash(namespace, $0) }
        row.keyCount = UInt16(key.utf8.count)
        row.block = with(key) { CacheBlock($0) }
        return row
    }

    private func find(_ namespace: UInt32, _ key: String, _ rows: borrowing ModelRows) -> UInt32 {
        with(key) { rows.find(namespace, $0) }
    }

    @Test func `a key is found in its namespace while others come and go`() {
        let rows = ModelRows()
        var known: [String: UInt32] = [:]
        for number in 0..<2000 {
            known["k\(number)"] = rows.insert(row(1, "k\(number)", rows))
            guard number % 3 == 0, let gone = known.removeValue(forKey: "k\(number / 2)") else { continue }
            rows.remove(gone)
        }
        #expect(rows.count == known.count)
        for number in 0..<2000 { #expect(find(1, "k\(number)", rows) == known["k\(number)"] ?? 0) }
        #expect(find(2, "k1999", rows) == 0)
    }

    @Test func `the number of a row that is gone is the next one's`() {
        let rows = ModelRows()
        let first = rows.insert(row(1, "a", rows))
        _ = rows.insert(row(1, "b", rows))
        rows.remove(first)
        #expect(rows[first].namespace == 0 && rows.count == 1 && rows.end == 3)
        #expect(rows.insert(row(2, "c", rows)) == first)
        #expect(find(2, "c", rows) == first && rows.count == 2 && rows.end == 3)
    }
}
