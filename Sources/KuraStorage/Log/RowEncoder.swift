import KuraBytes

/// Makes a row of a segment from a turn's records; its memory is used again from row to row.
struct RowEncoder: ~Copyable {
    private static let ordinary = 64 << 10
    private var buffer = ByteBuffer(capacity: Self.ordinary)

    /// What a row of so many bytes of records takes at most; a record has 24 bytes at least.
    static func mostBytes(for recordBytes: Int) -> Int {
        SegmentFormat.rowLength(recordBytes + recordBytes / LogRecord.headLength * SegmentFormat.checkLength)
    }

    /// - Returns: the row's bytes, good until the next call.
    /// - Throws: `StorageFault.damagedLog` when `records` are none.
    mutating func encode(
        previous: UInt64, rev: UInt64, at: Int64, synced: UInt64, records: Bytes, salt: UInt64
    ) throws(StorageFault) -> Bytes {
        if buffer.capacity > 4 << 20 { buffer = ByteBuffer(capacity: Self.ordinary) }
        buffer.removeAll()
        let seed = SegmentFormat.seed(salt)
        var frame = RowFrame(recordBytes: 0, previous: previous, rev: rev, at: at, synced: synced, records: 0)
        // The place of the front frame, whose numbers are known at the end.
        frame.append(to: &buffer, .front, salt: salt)
        var offset = 0
        var revBefore: UInt64?
        // Where the record before this one has its flags, which say whether it was the last of its revision.
        var record = try RecordBounds(records, at: offset)
        while let bounds = record {
            let end = offset + bounds.length
            let next = try RecordBounds(records, at: end)
            let start = buffer.count
            buffer.append(littleEndian: UInt64(0))
            buffer.append(records.extracting(offset..<end))
            var flags = bounds.flags & SegmentFormat.ofRecords
            if revBefore != bounds.rev { flags |= SegmentFormat.firstOfRevision }
            if next?.rev != bounds.rev { flags |= SegmentFormat.lastOfRevision }
            buffer.overwrite(at: start + SegmentFormat.checkLength + 5, with: flags)
            let body = start + SegmentFormat.checkLength
            let names = SegmentFormat.sum(buffer.bytes(body..<body + bounds.namesEnd), from: seed)
            buffer.overwrite(at: start, littleEndian: names)
            let whole = SegmentFormat.sum(buffer.bytes(body + bounds.namesEnd..<buffer.count), from: names)
            buffer.overwrite(at: start + 4, littleEndian: whole)
            frame.records += 1
            revBefore = bounds.rev
            offset = end
            record = next
        }
        frame.recordBytes = buffer.count - SegmentFormat.frameLength
        while buffer.count % 8 != 0 { buffer.append(UInt8(0)) }
        frame.append(to: &buffer, .back, salt: salt)
        frame.write(over: &buffer, at: 0, .front, salt: salt)
        return buffer.bytes
    }
}

/// Where a record's parts lie, without its names.
struct RecordBounds {
    var length: Int
    /// From the record's first byte to the end of its names, the list of members that differ included.
    var namesEnd: Int
    /// Bytes of that list and of its length; 0 when there is none.
    var membersLength = 0
    var rev: UInt64
    var flags: UInt8
    var store: UInt8

    /// Nil at the end of the bytes.
    /// - Throws: `StorageFault.damagedLog` when no record begins there.
    init?(_ bytes: Bytes, at offset: Int) throws(StorageFault) {
        guard offset < bytes.count else { return nil }
        guard let bounds = RecordBounds(plausible: bytes, at: offset) else { throw .damagedLog }
        self = bounds
    }

    /// Nil when what is there can be no record.
    init?(plausible bytes: Bytes, at offset: Int) {
        guard bytes.count - offset >= LogRecord.headLength else { return nil }
        length = Int(bytes.littleEndian(offset, UInt32.self)) + 4
        namesEnd =
            LogRecord.headLength + Int(bytes.littleEndian(offset + 6, UInt16.self))
            + Int(bytes.littleEndian(offset + 8, UInt16.self)) + Int(bytes.littleEndian(offset + 10, UInt16.self))
        if bytes[offset + 5] & SegmentFormat.listed != 0 {
            guard bytes.count - offset >= namesEnd + 2 else { return nil }
            membersLength = 2 + Int(bytes.littleEndian(offset + namesEnd, UInt16.self))
            namesEnd += membersLength
        }
        guard length == namesEnd + Int(bytes.littleEndian(offset + 12, UInt32.self)), length <= bytes.count - offset
        else { return nil }
        store = bytes[offset + 4]
        flags = bytes[offset + 5]
        rev = bytes.littleEndian(offset + 16, UInt64.self)
    }
}
