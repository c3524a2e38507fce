import Glibc
import KuraBytes
import SQLite

/// Reads closed segments for the change feed. Lives on the housekeeper's thread, which also closes and retires segments,
/// one job after the other: so no segment is opened before it is closed, and none is let go while it is open here.
///
/// Opening a segment reads through it; so the last one stays open from one chunk to the next.
final class SegmentReader: @unchecked Sendable {
    // Touched by the housekeeper's jobs alone, which run one after the other.

    enum Outcome: Sendable {
        case chunk(ChangeChunk)
        /// The rows asked for are gone: what is left begins above this revision.
        case gap(after: UInt64)
        /// A segment was still in somebody's hands.
        case busy
        case failed(StorageFault)
    }

    /// Bytes of records in a chunk, about: a row that begins below is taken whole.
    static let chunkBytes = 512 << 10

    private let directory: String
    private var open: (any ReadableSegment)?

    init(directory: String) {
        self.directory = directory
    }

    /// The rows that follow `rev`, from one segment.
    /// `numbers`: segments that may have them, in the order in which they are tried. After a recovery two may have the same
    /// rows, so one that does not go on at `rev` says nothing yet.
    func read(after rev: UInt64, in numbers: [Int]) -> Outcome {
        var gap: UInt64?
        for number in numbers {
            do throws(StorageFault) {
                guard let segment = try segment(number) else { continue }
                let chunk = ChangeChunk(after: rev)
                var first: UInt64?
                var reached = rev
                try segment.someRows(after: rev) { (row) throws(StorageFault) in
                    if first == nil { first = try Self.firstRev(row.records) }
                    // What is damaged, or was lost, ends the chunk; the next one begins behind it.
                    guard first! <= rev + 1, reached == rev || row.previous <= reached else { return false }
                    chunk.append(rev: row.rev, at: row.at, records: row.records)
                    reached = row.rev
                    return chunk.recordBytes < Self.chunkBytes
                }
                if chunk.lastRev >= segment.lastRev { open = nil }
                if !chunk.isEmpty { return .chunk(chunk) }
                if let first { gap = min(gap ?? first, first) }
            } catch {
                open = nil
                if case .database(let cause, _) = error, cause.isBusy { return .busy }
                return .failed(error)
            }
        }
        return gap.map { .gap(after: $0 - 1) } ?? .gap(after: .max)
    }

    /// Has a segment's rows looked through.
    func read(_ search: some RowSearch, _ number: Int) throws(StorageFault) {
        do throws(StorageFault) {
            try segment(number)?.someRows(after: search.reached) { (row) throws(StorageFault) in
                try search.take(row.records, rev: row.rev, previous: row.previous, at: row.at)
                return !search.mustStop
            }
        } catch {
            open = nil
            throw error
        }
    }

    /// The segment is about to be let go.
    func forget(_ number: Int) {
        if open?.number == number { open = nil }
    }

    /// Nobody reads any more.
    func close() { open = nil }

    private func segment(_ number: Int) throws(StorageFault) -> (any ReadableSegment)? {
        if let open, open.number == number { return open }
        open = nil
        guard LogFiles.exists(number, in: directory) else { return nil }
        do throws(StorageFault) {
            let segment = try LogFiles.open(number, in: directory)
            if !segment.damages.isEmpty { DamageWatch.notice(damageIn: segment.path, "rows are not what was written") }
            open = segment
            return segment
        } catch {
            // SQLite's own files tell by themselves.
            if case .damaged(let why) = error {
                DamageWatch.notice(damageIn: Segment.path(directory, number), why)
            }
            throw error
        }
    }

    private static func firstRev(_ records: Bytes) throws(StorageFault) -> UInt64 {
        var offset = 0
        guard let record = try LogRecord.next(in: records, at: &offset) else { throw .damagedLog }
        // Nothing is missing behind a revision that was passed over.
        return RelaxedDurability.raisedRev(record).map { $0 + 1 } ?? record.rev
    }
}
