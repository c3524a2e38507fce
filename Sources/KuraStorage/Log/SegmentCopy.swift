import CSyscalls
import Glibc
import KuraBytes
import SQLite

/// Rows on their way into a fresh segment. Until `finish` returns, none of them counts.
struct SegmentCopy: ~Copyable {
    let target: Segment
    private let directory: String
    private var pending = 0

    /// Bytes after which the disk is asked to begin writing.
    private static let batchBytes = 1 << 20

    /// `directory`: where the segment is; its names are synced too.
    init(into target: Segment, in directory: String) {
        self.target = target
        self.directory = directory
    }

    mutating func append(_ row: SegmentRow) throws(StorageFault) {
        try target.append(previous: row.previous, rev: row.rev, at: row.at, records: row.records, synced: row.synced)
        pending += row.records.count
        guard pending >= Self.batchBytes else { return }
        pending = 0
        // Only a wish: the sync at the end has less to wait for.
        _ = csys_begin_writing(target.descriptor)
    }

    /// Appends what of a damaged stretch is whole.
    mutating func append(_ damage: SegmentDamage, upTo end: UInt64 = .max) throws(StorageFault) {
        for saved in damage.saved where saved.rev <= end {
            try saved.records.withBytes { (records) throws(StorageFault) in
                try append(
                    SegmentRow(
                        previous: saved.previous, rev: saved.rev, at: damage.at, synced: 0, records: records))
            }
        }
    }

    /// Everything appended is on the disk when this returns.
    mutating func finish() throws(StorageFault) {
        guard fsync(target.descriptor) == 0 else { throw FileSystem.fail("fsync", target.path) }
        // The segment may have been made by a run that was killed before its name was durable.
        try FileSystem.syncDirectory(directory)
        CountingVFS.count(role: .log, part: .wal, syncs: 1)
    }
}
