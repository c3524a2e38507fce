import Glibc
import KuraBytes
import SQLite

/// Copies rows of small commits into one segment, with hardly any room to begin with.
///
/// A commit takes a page or two however short its row is; many rows to a commit take their bytes only. The newest rows go
/// first, some kilobytes of them; when they are durable in the copy, the WAL that they came from is cut off before them,
/// which makes room for more. So the copy always is an unbroken end of the log, and a kill at any point leaves all of it:
/// the segments' beginnings and then the copy.
struct LogCompaction: ~Copyable {
    private let directory: String
    private let target: Segment
    private var copy: SegmentCopy
    /// Rows from this revision on are in the copy.
    private var lowestRev = UInt64(Int64.max)
    /// Bytes of records to copy before room is made, in one transaction; more as there is more room.
    private var batchBytes = 8 << 10

    /// `target`: an empty segment with the highest number.
    init(into target: Segment, in directory: String) {
        self.directory = directory
        self.target = target
        copy = SegmentCopy(into: target, in: directory)
    }

    /// Moves what a segment has above `rev` and the copy has not, and removes the segment. The segments come in the order of
    /// their last revisions, the newest first. One whose commits are not a row each stays whole, and then the rest has to
    /// stay as well.
    /// - Returns: whether it was moved.
    mutating func move(_ number: Int, above rev: UInt64) throws(StorageFault) -> Bool {
        let wal = Segment.path(directory, number) + "-wal"
        var rows: [(rev: UInt64, bytes: Int)] = []
        try Segment(opening: number, in: directory).rows(after: 0) { (rev, _, records) throws(StorageFault) in
            rows.append((rev, records.count))
        }
        let ends = try WALCommits(path: wal).ends
        guard ends.count == rows.count else { return false }
        while let last = rows.last, last.rev > rev {
            var first = rows.count - 1
            var bytes = rows[first].bytes
            while first > 0, rows[first - 1].rev > rev, bytes + rows[first - 1].bytes <= batchBytes {
                first -= 1
                bytes += rows[first].bytes
            }
            do throws(StorageFault) {
                try take(number, after: first > 0 ? rows[first - 1].rev : 0)
            } catch {
                // Fewer rows may fit. A sync that found no room is another matter: its rows are in already.
                guard case .database(let cause, _) = error, cause.isFull, rows.count - first > 1 else { throw error }
                copy.abandon()
                batchBytes = bytes / 2
                continue
            }
            rows.removeLast(rows.count - first)
            try FileSystem.truncate(wal, to: first > 0 ? ends[first - 1] : 0)
            batchBytes = min(2 * batchBytes, 512 << 10)
        }
        try Segment.remove(number, in: directory)
        return true
    }

    private mutating func take(_ number: Int, after rev: UInt64) throws(StorageFault) {
        let segment = try Segment(opening: number, in: directory)
        let end = lowestRev
        var taken: [(rev: UInt64, at: Int64, records: [UInt8])] = []
        try segment.rows(after: rev) { (rev, at, records) throws(StorageFault) in
            if rev < end { taken.append((rev, at, Array(records))) }
        }
        for row in taken {
            try row.records.withBytes { (records) throws(StorageFault) in
                try copy.append(rev: row.rev, at: row.at, records: records)
            }
        }
        try copy.finish()
        lowestRev = min(end, taken.first?.rev ?? end)
    }
}
