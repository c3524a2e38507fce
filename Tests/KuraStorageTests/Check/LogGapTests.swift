import Glibc
import KuraBytes
import Testing

@testable import KuraCheck
@testable import KuraStorage

/// What the doctor says of revisions that no segment has, while a daemon lets segments go or not.
@Suite struct LogGapTests {
    private let directory = TemporaryDirectory()

    init() throws { for number in 1...4 { try make(number) } }

    /// A segment whose first revision is its number.
    private func make(_ number: Int, rows: Int = 1) throws {
        let segment = try Segment(creating: number, in: directory.path, capacity: 1 << 16, recycled: nil)
        for rev in UInt64(number)..<UInt64(number + rows) {
            var buffer = RecordBuffer()
            with("s", "k", "\(rev)") { scope, key, value in
                buffer.append(
                    LogRecord(
                        store: .settings, isTombstone: false, rev: rev, scope: scope, key: key,
                        writer: Bytes(start: nil, count: 0), value: value))
            }
            // Each row tells that the one before it is on the disk.
            try segment.append(
                previous: rev - 1, rev: rev, at: 0, records: buffer.bytes, synced: rows > 1 ? rev - 1 : 0)
        }
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

    @Test(arguments: [true, false]) func `a row that was being written when it was read is not missing`(
        isWrittenNow: Bool
    ) throws {
        try make(5, rows: 3)
        let path = Segment.path(directory.path, 5)
        let file = try FileSystem.open(path, O_RDWR)
        defer { close(file) }
        var row = ByteBuffer()
        // Of the second row: all three are equally long.
        let length = SegmentFormat.rowLength(SegmentFormat.checkLength + LogRecord.headLength + 3)
        let place = SegmentFormat.firstRow + length
        _ = try FileSystem.read(file, atMost: length, at: place, into: &row, path: path)
        try [UInt8](repeating: 0, count: 64).withBytes { (zeros) throws(StorageFault) in
            try FileSystem.write(file, zeros, at: place, path: path)
        }
        let gap = DirectoryExamination.gap(in: directory.path, upTo: 4) { (number, log) throws(StorageFault) in
            let segment = try Segment(opening: number, in: log)
            if number == 5, isWrittenNow { try FileSystem.write(file, row.bytes, at: place, path: path) }
            return segment
        }
        #expect(gap?.missing == (isWrittenNow ? nil : 6...6))
    }
}
