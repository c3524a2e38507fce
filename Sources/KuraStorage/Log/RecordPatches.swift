import KuraBytes

/// Makes patches of documents' new values, where these are much shorter: what goes into the log in the place of the whole. Its memory is used
/// again from row to row.
struct RecordPatches: ~Copyable {
    private static let ordinary = 64 << 10
    private var buffer = ByteBuffer()

    /// Shorter values are logged whole.
    static let leastBytes = 256

    /// How many changes of a value may go by patches, one upon the other: who reads the last begins at the first.
    static func longest(_ bytes: Int) -> UInt32 { bytes > 1 << 20 ? 32 : 128 }

    /// What a new value may go by: an earlier one of the item, which lies in the same segment.
    struct Base {
        var rev: UInt64
        var value: Bytes
    }

    /// What a record may go by: it calls the last closure with that, or with nil.
    /// It gets the record's number and bytes, and is asked when a patch may be worth it.
    typealias Bases = (Int, Bytes, (Base?) throws(StorageFault) -> Bool) throws(StorageFault) -> Bool

    /// - Returns: the records with patches, good until the next call; nil when all stay whole.
    mutating func encode(_ records: Bytes, _ withBase: Bases) throws(StorageFault) -> Bytes? {
        if buffer.capacity > 4 << 20 { buffer = ByteBuffer(capacity: Self.ordinary) }
        buffer.removeAll()
        // Up to here the records are in the buffer.
        var taken = 0
        var offset = 0
        var number = 0
        while let bounds = try RecordBounds(records, at: offset) {
            let end = offset + bounds.length
            if bounds.mayGoByPatch {
                let raw = records.extracting(offset..<end)
                let others = records.extracting(taken..<offset)
                let isPatched = try withBase(number, raw) { (base) throws(StorageFault) in
                    guard let base, base.rev < bounds.rev else { return false }
                    return append(raw, bounds, base, behind: others)
                }
                if isPatched { taken = end }
            }
            offset = end
            number += 1
        }
        guard taken > 0 else { return nil }
        buffer.append(records.extracting(taken..<offset))
        return buffer.bytes
    }

    /// `others`: what stays as it is before the record.
    private mutating func append(_ raw: Bytes, _ bounds: RecordBounds, _ base: Base, behind others: Bytes) -> Bool {
        let before = buffer.count
        buffer.append(others)
        let start = buffer.count
        buffer.append(raw.extracting(0..<bounds.namesEnd))
        let value = raw.extracting(bounds.namesEnd..<bounds.length)
        let limit = value.count / 4
        guard ValuePatch.append(from: base.value, rev: base.rev, to: value, limit: limit, into: &buffer) else {
            buffer.truncate(to: before)
            return false
        }
        buffer.finishRecord(at: start, bounds, isPatch: true)
        return true
    }
}

extension RecordBounds {
    /// A document's value that is long enough.
    fileprivate var mayGoByPatch: Bool {
        store == Store.documents.rawValue && flags & SegmentFormat.deleted == 0
            && length - namesEnd >= RecordPatches.leastBytes
    }
}
