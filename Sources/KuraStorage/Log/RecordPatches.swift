import KuraBytes

/// Encodes documents' new values as patches (`ValuePatch`), where a patch is much shorter than the value. Its buffer is reused from row to row.
struct RecordPatches: ~Copyable {
    private static let ordinary = 64 << 10
    private var buffer = ByteBuffer()

    /// Values shorter than this, in bytes, are logged whole.
    static let leastBytes = 256

    /// The longest chain of patches on one whole value. Reading the last value of a chain applies all patches before it.
    static func longest(_ bytes: Int) -> UInt32 { bytes > 8 << 20 ? 32 : 256 }

    /// An earlier value of the same item in the same segment, from which a patch can be made.
    struct Base {
        var rev: UInt64
        var value: Bytes
    }

    /// Finds the base of a record, given the record's position in its row and its bytes, and passes it to the closure; nil if there is none.
    typealias Bases = (Int, Bytes, (Base?) throws(StorageFault) -> Bool) throws(StorageFault) -> Bool

    /// Replaces values by patches where that pays.
    /// - Returns: the records with patches, valid until the next call; nil if no record became a patch.
    mutating func encode(_ records: Bytes, _ withBase: Bases) throws(StorageFault) -> Bytes? {
        if buffer.capacity > 4 << 20 { buffer = ByteBuffer(capacity: Self.ordinary) }
        buffer.removeAll()
        // The records before this offset are in the buffer.
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

    /// `others`: the unchanged records between the last patch and this record.
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
    /// The record is a document's value of at least `leastBytes`.
    fileprivate var mayGoByPatch: Bool {
        store == Store.documents.rawValue && flags & SegmentFormat.deleted == 0
            && length - namesEnd >= RecordPatches.leastBytes
    }
}
