import KuraBytes

/// A run of the log's rows as they were committed, none left out: all that follow one revision, up to another.
///
/// Chunks are what the change feed reads, whether they come from memory (`RecentChanges`) or from a closed segment
/// (`SegmentReader`). A row is never divided, so neither is a transaction.
final class ChangeChunk: @unchecked Sendable {
    // Filled by one thread and then handed over; `RecentChanges` appends on the loop, where it is read as well.

    struct Row {
        /// Revision of the row's last change.
        var rev: UInt64
        /// When it was committed, milliseconds since 1970.
        var at: Int64
        fileprivate var offset: Int
        fileprivate var count: Int
    }

    /// The first row follows this revision.
    let after: UInt64
    private(set) var rows: ContiguousArray<Row> = []
    private var buffer = ByteBuffer()

    init(after: UInt64) {
        self.after = after
    }

    init(copying other: ChangeChunk) {
        after = other.after
        for (position, row) in other.rows.enumerated() {
            append(rev: row.rev, at: row.at, records: other.records(position))
        }
    }

    /// Revision of the last change in here; `after` while there is none.
    var lastRev: UInt64 { rows.last?.rev ?? after }
    var isEmpty: Bool { rows.isEmpty }
    /// Bytes of the rows' records.
    var recordBytes: Int { buffer.count }
    /// Bytes that the chunk takes.
    var footprint: Int { buffer.capacity + rows.capacity * MemoryLayout<Row>.stride }

    /// Moves what is there: records lent before are no longer good.
    func append(rev: UInt64, at: Int64, records: Bytes) {
        if buffer.capacity == 0 { buffer.reserve(4096) }
        rows.append(Row(rev: rev, at: at, offset: buffer.count, count: records.count))
        buffer.append(records)
    }

    /// Whether the change that follows `rev` is in here.
    func continues(_ rev: UInt64) -> Bool { after <= rev && rev < lastRev }

    /// Position of the first row with a change above `rev`.
    func position(after rev: UInt64) -> Int {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].rev <= rev { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// A row's records, good until the next append and as long as the chunk.
    func records(_ position: Int) -> Bytes {
        let row = rows[position]
        return buffer.bytes(row.offset..<row.offset + row.count)
    }
}
