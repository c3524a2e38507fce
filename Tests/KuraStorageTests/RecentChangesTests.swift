import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct RecentChangesTests {
    private func row(_ changes: RecentChanges, _ rev: UInt64, bytes: Int = 100, closedRev: UInt64 = .max) {
        let records = [UInt8](repeating: UInt8(truncatingIfNeeded: rev), count: bytes)
        records.withBytes { changes.append(rev: rev, at: 0, records: $0, closedRev: closedRev) }
    }

    private func revs(_ changes: RecentChanges, after start: UInt64) -> [UInt64] {
        var found: [UInt64] = []
        var rev = start
        while let chunk = changes.chunk(after: rev) {
            #expect(chunk.after <= rev && chunk.lastRev > rev)
            for position in chunk.position(after: rev)..<chunk.rows.count {
                found.append(chunk.rows[position].rev)
                #expect(
                    chunk.records(position).allSatisfy { $0 == UInt8(truncatingIfNeeded: chunk.rows[position].rev) })
            }
            rev = chunk.lastRev
        }
        return found
    }

    @Test func `what follows any revision is there, in order, across blocks`() {
        let changes = RecentChanges(after: 10, keepBytes: 1 << 20, mostBytes: 2 << 20)
        #expect(changes.chunk(after: 10) == nil)
        // Rows of several revisions each.
        for rev in stride(from: UInt64(13), through: 3010, by: 3) { row(changes, rev, bytes: 500) }
        for start in [10, 11, 13, 14, 1500, 3006, 3008] as [UInt64] {
            #expect(
                revs(changes, after: start)
                    == Array(stride(from: UInt64(13), through: 3010, by: 3)).filter { $0 > start })
        }
        #expect(revs(changes, after: changes.lastRev).isEmpty)
        #expect(changes.chunk(after: 9) == nil)
    }

    @Test func `old rows go beyond the bound, and only those that a closed segment has`() {
        let changes = RecentChanges(after: 0, keepBytes: 64 << 10, mostBytes: 1 << 20)
        for rev in 1...1000 { row(changes, UInt64(rev), bytes: 500, closedRev: 300) }
        #expect(changes.after > 200 && changes.after <= 300)
        #expect(revs(changes, after: changes.after).last == 1000)
        for rev in 1001...1010 { row(changes, UInt64(rev), bytes: 500, closedRev: 1000) }
        #expect(changes.after > 850 && changes.footprint < 128 << 10)
        #expect(revs(changes, after: changes.after) == Array(changes.after + 1...1010))
    }

    @Test func `when no segment can be closed, the upper bound holds`() {
        let changes = RecentChanges(after: 0, keepBytes: 64 << 10, mostBytes: 256 << 10)
        for rev in 1...2000 { row(changes, UInt64(rev), bytes: 500, closedRev: 0) }
        #expect(changes.after > 0 && changes.footprint <= 300 << 10)
        #expect(revs(changes, after: changes.after).first == changes.after + 1)
        // A row larger than everything is kept: it is the newest.
        row(changes, 2001, bytes: 1 << 20, closedRev: 0)
        #expect(revs(changes, after: 2000) == [2001])
    }
}
