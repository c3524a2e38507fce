import KuraBytes
import Testing

@testable import KuraCheck
@testable import KuraStorage

/// What the doctor says of revisions that no segment has, while a daemon lets segments go or not.
@Suite struct LogGapTests {
    private let directory = TemporaryDirectory()

    init() throws { for number in 1...4 { try make(number) } }

    /// A segment with one revision, that of its number.
    private func make(_ number: Int) throws {
        let segment = try Segment(creating: number, in: directory.path, capacity: 1 << 16, recycled: nil)
        var buffer = RecordBuffer()
        with("s", "k", "1") { scope, key, value in
            buffer.append(
                LogRecord(
                    store: .settings, isTombstone: false, rev: UInt64(number), scope: scope, key: key,
                    writer: Bytes(start: nil, count: 0), value: value))
        }
        try segment.append(
            previous: UInt64(number - 1), rev: UInt64(number), at: 0, records: buffer.bytes, synced: 0)
    }

    private func remove(_ number: Int) throws(StorageFault) {
        try FileSystem.remove(Segment.path(directory.path, number))
    }

    /// `removing`: segments that go when the newest of them is to be opened.
    private func gap(upTo synced: UInt64 = 4, removing: [Int] = []) -> ClosedRange<UInt64>? {
        DirectoryExamination.gap(in: directory.path, upTo: synced) { (number, log) throws(StorageFault) in
            if number == removing.max() { for gone in removing { try remove(gone) } }
            return try Segment(opening: number, in: log)
        }?.missing
    }

    @Test func `a log with all its revisions has no gap, nor has one whose oldest were let go`() throws {
        #expect(gap() == nil)
        try remove(1)
        #expect(gap() == nil)
    }

    @Test func `segments that go meanwhile leave no gap`() {
        #expect(gap(removing: [1, 2]) == nil)
    }

    @Test func `revisions amid the others, or behind them, are missing`() throws {
        #expect(gap(upTo: 6) == 5...6)
        try remove(3)
        #expect(gap() == 3...3)
    }
}
