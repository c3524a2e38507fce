import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

@Suite struct SegmentReaderTests {
    private let directory = TemporaryDirectory()
    private let reader: SegmentReader

    init() {
        reader = SegmentReader(directory: directory.path)
    }

    /// A segment of one-change rows.
    private func make(_ number: Int, _ revs: ClosedRange<UInt64>, bytes: Int = 100) throws {
        let segment = try Segment(creating: number, in: directory.path, capacity: 1 << 18, recycled: nil)
        for rev in revs {
            var buffer = RecordBuffer()
            with("s", "k", String(repeating: "x", count: bytes)) { scope, key, value in
                buffer.append(
                    LogRecord(
                        store: .settings, isTombstone: false, rev: rev, scope: scope, key: key,
                        writer: Bytes(start: nil, count: 0), value: value))
            }
            try segment.append(previous: rev - 1, rev: rev, at: 0, records: buffer.bytes, synced: 0)
        }
    }

    private func revs(_ outcome: SegmentReader.Outcome) -> [UInt64]? {
        guard case .chunk(let chunk) = outcome else { return nil }
        return chunk.rows.map(\.rev)
    }

    private func gap(_ outcome: SegmentReader.Outcome) -> UInt64? {
        guard case .gap(let after) = outcome else { return nil }
        return after
    }

    @Test func `rows come from the segment that goes on where the last one ended`() throws {
        try make(1, 1...20)
        try make(2, 21...40)
        #expect(revs(reader.read(after: 0, in: [1, 2])) == Array(1...20))
        #expect(revs(reader.read(after: 13, in: [1, 2])) == Array(14...20))
        #expect(revs(reader.read(after: 20, in: [2])) == Array(21...40))
        // A segment that is listed with rows it does not have.
        #expect(revs(reader.read(after: 20, in: [1, 2])) == Array(21...40))
    }

    @Test func `a copy that a recovery made is no second telling`() throws {
        try make(1, 1...20)
        try make(2, 11...30)
        #expect(revs(reader.read(after: 0, in: [1, 2])) == Array(1...20))
        #expect(revs(reader.read(after: 20, in: [2])) == Array(21...30))
        // The first one is gone: what is left begins with the copy.
        reader.forget(1)
        unlink(Segment.path(directory.path, 1))
        #expect(gap(reader.read(after: 5, in: [1, 2])) == 10)
        #expect(revs(reader.read(after: 10, in: [1, 2])) == Array(11...30))
    }

    @Test func `a long segment comes in chunks`() throws {
        try make(1, 1...60, bytes: 20_000)
        var rev: UInt64 = 0
        var chunks = 0
        var found: [UInt64] = []
        while rev < 60 {
            let more = try #require(revs(reader.read(after: rev, in: [1])))
            found += more
            rev = more.last!
            chunks += 1
        }
        #expect(found == Array(1...60) && chunks == 3)
    }

    @Test func `a segment that does not begin as one is a failure, not an empty one`() throws {
        try make(1, 1...20)
        try TestDisk.write(Segment.path(directory.path, 1), [UInt8](repeating: 0xAA, count: 8192), at: 0)
        guard case .failed = reader.read(after: 0, in: [1]) else {
            Issue.record("not a failure")
            return
        }
    }

    @Test func `a damaged stretch is a gap between the rows around it`() throws {
        try make(1, 1...20)
        let end = try Segment(opening: 1, in: directory.path).used
        let length = (end - SegmentFormat.firstRow) / 20
        try TestDisk.flip(Segment.path(directory.path, 1), at: SegmentFormat.firstRow + 7 * length + 100)
        let told = Guarded<[String]>([])
        let observer = DamageWatch.observe(directory.path) { path, _ in told.withLock { $0.append(path) } }
        defer { withExtendedLifetime(observer) {} }
        #expect(revs(reader.read(after: 0, in: [1])) == Array(1...7))
        #expect(told.withLock { $0 } == [Segment.path(directory.path, 1)])
        #expect(gap(reader.read(after: 7, in: [1])) == 8)
        #expect(revs(reader.read(after: 8, in: [1])) == Array(9...20))
    }
}
