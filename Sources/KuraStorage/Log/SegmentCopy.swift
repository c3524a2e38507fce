import CSyscalls
import Glibc
import KuraBytes
import SQLite

/// Rows on their way into a fresh segment: many to a transaction, so that a page is written once however many rows lie on
/// it, and synced at the end. Until `finish` returns, none of them counts.
struct SegmentCopy: ~Copyable {
    private let target: Segment
    private let directory: String
    private var pending = 0

    /// Bytes to a transaction, about; they lie in SQLite's memory until it is committed.
    private static let batchBytes = 1 << 20

    /// `directory`: where the segment is; its names are synced too.
    init(into target: Segment, in directory: String) {
        self.target = target
        self.directory = directory
    }

    mutating func append(rev: UInt64, at: Int64, records: Bytes) throws(StorageFault) {
        do throws(SQLiteError) {
            if pending == 0 { try target.beginTransaction() }
            // Counted first: after an error the transaction is open all the same.
            pending += max(1, records.count)
            try target.append(rev: rev, at: at, records: records, synced: 0)
            if pending >= Self.batchBytes { try commit() }
        } catch { throw .database(error, file: target.path) }
    }

    /// Everything appended is on the disk when this returns.
    mutating func finish() throws(StorageFault) {
        do throws(SQLiteError) { if pending > 0 { try commit() } } catch { throw .database(error, file: target.path) }
        guard fsync(target.descriptor) == 0 else { throw FileSystem.fail("fsync", target.path) }
        // The segment may have been made by a run that was killed before its name was durable.
        try FileSystem.syncDirectory(directory)
        CountingVFS.count(role: .log, part: .wal, syncs: 1)
    }

    /// Takes back the rows of the transaction that an error ended.
    mutating func abandon() {
        target.abandon()
        pending = 0
    }

    private mutating func commit() throws(SQLiteError) {
        try target.endTransaction()
        pending = 0
        // Only a wish: the disk begins to write while the next rows are taken in, so that the sync has less to wait for.
        _ = csys_begin_writing(target.descriptor)
    }
}
