package import KuraBytes

/// One change as the log keeps it.
///
/// A row of the log holds the changes of one commit, one behind the other. All numbers are little endian:
///
///     0  u32  bytes that follow this field
///     4  u8   store (`Store`)
///     5  u8   1: the item was deleted, there is no value
///             8: the value is a patch (`ValuePatch`), whose base lies before it in the same segment
///     6  u16  length of the scope's name
///     8  u16  length of the key
///    10  u16  length of the writer's name (what the client called itself; empty when it did not)
///    12  u32  length of the value
///    16  u64  revision; the changes of one transaction share it
///    24       scope, key, writer, value
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
    package var rev: UInt64
    var scope: Bytes
    var key: Bytes
    var writer: Bytes
    var value: Bytes

    static let headLength = 24

    /// The scope was dropped.
    var isDrop: Bool { isTombstone && key.isEmpty }

    /// Steps through a row's records; nil at its end.
    /// - Throws: `StorageFault.damagedLog` when the bytes are no records.
    package static func next(in row: Bytes, at offset: inout Int) throws(StorageFault) -> LogRecord? {
        guard offset < row.count else { return nil }
        guard row.count - offset >= headLength else { throw .damagedLog }
        func number<T: FixedWidthInteger & BitwiseCopyable>(_ position: Int, _ type: T.Type) -> T {
            T(littleEndian: row.loadUnaligned(fromByteOffset: offset + position, as: T.self))
        }
        let length = Int(number(0, UInt32.self)) + 4
        let scopeLength = Int(number(6, UInt16.self))
        let keyLength = Int(number(8, UInt16.self))
        let writerLength = Int(number(10, UInt16.self))
        let valueLength = Int(number(12, UInt32.self))
        guard length == headLength + scopeLength + keyLength + writerLength + valueLength, length <= row.count - offset,
            let store = Store(rawValue: number(4, UInt8.self))
        else { throw .damagedLog }
        var position = offset + headLength
        func take(_ count: Int) -> Bytes {
            defer { position += count }
            return Bytes(rebasing: row[position..<position + count])
        }
        let record = LogRecord(
            store: store, isTombstone: number(5, UInt8.self) & SegmentFormat.deleted != 0,
            isPatch: number(5, UInt8.self) & SegmentFormat.patched != 0, rev: number(16, UInt64.self),
            scope: take(scopeLength), key: take(keyLength), writer: take(writerLength), value: take(valueLength))
        offset += length
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
        let length =
            LogRecord.headLength + record.scope.count + record.key.count + record.writer.count + record.value.count
        buffer.reserve(length)
        buffer.append(littleEndian: UInt32(length - 4))
        buffer.append(record.store.rawValue)
        buffer.append((record.isTombstone ? SegmentFormat.deleted : 0) | (record.isPatch ? SegmentFormat.patched : 0))
        buffer.append(littleEndian: UInt16(record.scope.count))
        buffer.append(littleEndian: UInt16(record.key.count))
        buffer.append(littleEndian: UInt16(record.writer.count))
        buffer.append(littleEndian: UInt32(record.value.count))
        buffer.append(littleEndian: record.rev)
        buffer.append(record.scope)
        buffer.append(record.key)
        buffer.append(record.writer)
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
