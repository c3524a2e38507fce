import CSyscalls
import Glibc
import KuraBytes
import SQLite

/// Rows on their way into a fresh segment. Until `finish` returns, none of them counts.
struct SegmentCopy: ~Copyable {
    let target: Segment
    private let directory: String
    private var pending = 0
    private var patches = RecordPatches()
    private var values = CopiedValues()

    /// Bytes after which the disk is asked to begin writing.
    private static let batchBytes = 1 << 20

    /// `directory`: where the segment is; its names are synced too.
    init(into target: Segment, in directory: String) {
        self.target = target
        self.directory = directory
    }

    mutating func append(_ row: SegmentRow) throws(StorageFault) {
        let patched = try patches.encode(row.records) { (_, record, take) throws(StorageFault) in
            try values.withBase(of: record, take)
        }
        let records = patched ?? row.records
        try target.append(previous: row.previous, rev: row.rev, at: row.at, records: records, synced: row.synced)
        try values.note(row.records)
        pending += records.count
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

/// The last values of documents that a copy has taken: those that follow them are patches again.
private struct CopiedValues {
    private struct Value {
        var rev: UInt64
        var changes: UInt32
        var bytes: [UInt8]
    }
    /// By the names of their items.
    private var known: [[UInt8]: Value] = [:]
    private var knownBytes = 0

    private static let mostBytes = 64 << 20

    /// Calls `body` with the base of a record, or nil.
    func withBase<Result>(of record: Bytes, _ body: (RecordPatches.Base?) throws(StorageFault) -> Result)
        throws(StorageFault) -> Result
    {
        var offset = 0
        guard let record = try LogRecord.next(in: record, at: &offset), let value = known[PatchedValues.name(record)],
            (value.changes + 1) % RecordPatches.longest(record.value.count) != 0
        else { return try body(nil) }
        return try value.bytes.withBytes { (bytes) throws(StorageFault) in
            try body(RecordPatches.Base(rev: value.rev, value: bytes))
        }
    }

    /// The records are in the copy.
    mutating func note(_ records: Bytes) throws(StorageFault) {
        var offset = 0
        while let record = try LogRecord.next(in: records, at: &offset) {
            guard record.store == .documents, record.value.count >= RecordPatches.leastBytes, !record.isTombstone else {
                continue
            }
            if knownBytes > Self.mostBytes { (known, knownBytes) = ([:], 0) }
            let name = PatchedValues.name(record)
            let last = known[name]
            knownBytes += record.value.count - (last?.bytes.count ?? 0)
            known[name] = Value(rev: record.rev, changes: (last?.changes ?? 0) &+ 1, bytes: Array(record.value))
        }
    }
}
