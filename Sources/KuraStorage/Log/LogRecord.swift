package import KuraBytes
import KuraJSON

/// One change as the log keeps it.
///
/// A row of the log holds the changes of one commit, one behind the other. All numbers are little endian:
///
///     0  u32  bytes that follow this field
///     4  u8   store (`Store`)
///     5  u8   1: the item was deleted, there is no value
///             8: the value is a patch (`ValuePatch`), whose base lies before it in the same segment
///             16: it is a document's change, and the members that differ are listed
///             32: there was no such item before, or it was deleted
///     6  u16  length of the scope's name
///     8  u16  length of the key
///    10  u16  length of the writer's name (what the client called itself; empty when it did not)
///    12  u32  length of the value
///    16  u64  revision; the changes of one transaction share it
///    24       scope, key, writer; with 16 a u16 length and the list (`ChangedMembers`); value
///
/// A deletion without a key is that of the whole scope, which was dropped: what has its name from then on is another.
///
/// The order is that of revisions. Damage is found by the checksums of the WAL frames around it; a record that does not
/// fit into its row is treated as damage too.
package struct LogRecord {
    var store: Store
    var isTombstone: Bool
    /// The value is what makes it of an earlier one. Nobody meets such a record but who writes segments and reads them: rows are given with whole
    /// values (`PatchedValues`).
    var isPatch = false
    /// Nothing was there before, or it was deleted; false where that is not known.
    var isCreation = false
    package var rev: UInt64
    var scope: Bytes
    var key: Bytes
    var writer: Bytes
    /// The members in which the document differs from what it was; nil where they are not listed, and all may.
    var members: ChangedMembers?
    var value: Bytes

    static let headLength = 24

    /// The scope was dropped.
    var isDrop: Bool { isTombstone && key.isEmpty }

    /// Steps through a row's records; nil at its end.
    /// - Throws: `StorageFault.damagedLog` when the bytes are no records.
    package static func next(in row: Bytes, at offset: inout Int) throws(StorageFault) -> LogRecord? {
        guard let bounds = try RecordBounds(row, at: offset) else { return nil }
        guard let store = Store(rawValue: bounds.store) else { throw .damagedLog }
        let start = offset
        var position = offset + headLength
        func take(_ count: Int) -> Bytes {
            defer { position += count }
            return Bytes(rebasing: row[position..<position + count])
        }
        func takeName(_ lengthAt: Int) -> Bytes { take(Int(row.littleEndian(start + lengthAt, UInt16.self))) }
        var record = LogRecord(
            store: store, isTombstone: bounds.flags & SegmentFormat.deleted != 0,
            isPatch: bounds.flags & SegmentFormat.patched != 0,
            isCreation: bounds.flags & SegmentFormat.created != 0, rev: bounds.rev,
            scope: takeName(6), key: takeName(8), writer: takeName(10), value: Bytes())
        if bounds.membersLength > 0 {
            record.members = ChangedMembers(take(bounds.membersLength).extracting(2..<bounds.membersLength))
        }
        record.value = take(bounds.length - bounds.namesEnd)
        offset += bounds.length
        return record
    }
}

/// The records of one turn, encoded; its memory is used again from turn to turn.
struct RecordBuffer: ~Copyable {
    private static let ordinary = 64 << 10
    private var buffer = ByteBuffer(capacity: Self.ordinary)
    private var patches = RecordPatches()
    /// Some value is long enough to go by a patch.
    private var mayHavePatches = false
    var count: Int { buffer.count }
    var bytes: Bytes { buffer.bytes }

    mutating func append(_ record: LogRecord) {
        let names = record.scope.count + record.key.count + record.writer.count
        let members = record.members.map { 2 + $0.text.count } ?? 0
        let length = LogRecord.headLength + names + members + record.value.count
        buffer.reserve(length)
        buffer.append(littleEndian: UInt32(length - 4))
        buffer.append(record.store.rawValue)
        buffer.append(
            (record.isTombstone ? SegmentFormat.deleted : 0) | (record.isPatch ? SegmentFormat.patched : 0)
                | (members > 0 ? SegmentFormat.listed : 0) | (record.isCreation ? SegmentFormat.created : 0))
        buffer.append(littleEndian: UInt16(record.scope.count))
        buffer.append(littleEndian: UInt16(record.key.count))
        buffer.append(littleEndian: UInt16(record.writer.count))
        buffer.append(littleEndian: UInt32(record.value.count))
        buffer.append(littleEndian: record.rev)
        buffer.append(record.scope)
        buffer.append(record.key)
        buffer.append(record.writer)
        if let members = record.members {
            buffer.append(littleEndian: UInt16(members.text.count))
            buffer.append(members.text)
        }
        buffer.append(record.value)
        if record.value.count >= RecordPatches.leastBytes { mayHavePatches = true }
    }

    /// The same with patches in the place of values, good until the next call; nil when all stay whole.
    mutating func patched(_ withBase: RecordPatches.Bases) throws(StorageFault) -> Bytes? {
        mayHavePatches ? try patches.encode(buffer.bytes, withBase) : nil
    }

    mutating func truncate(to length: Int) {
        buffer.truncate(to: length)
        if length == 0 { mayHavePatches = false }
        // What one large turn needed is not kept for ever.
        if length == 0, buffer.capacity > 4 << 20 { buffer = ByteBuffer(capacity: Self.ordinary) }
    }
}
