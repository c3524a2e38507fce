import CSyscalls
import KuraBytes

/// How a segment of the log lies on the disk: `log/NNNNNN.log`, layout 5. All numbers are little endian.
///
///     0      head, 512 bytes
///     4096   the same head once more: no damaged sector takes both
///     4608   rows, one behind the other; zeros, or what a former life has left, behind the last
///
/// The head:
///
///     0   8   "KURALOG\n"
///     8   u32 layout
///     12  u32 the segment's number
///     16  u64 salt: random, drawn when the segment is made
///     24  u64 everything up to this revision was on the disk when the segment was made
///     32  u32 CRC-32C of the bytes before it
///     36  36  the history that it belongs to (`LogHistory`); zeros in segments of versions that did not note it
///     72  36  the history that this one has come of; zeros for none
///     108 u64 where it has left that
///     116 u32 CRC-32C of the bytes before it
///
/// A row is what one turn of the loop commits. It has a frame at each end, so that damage to one of them does not lose the row's
/// bounds, and its records between them, filled up with zeros to a multiple of 8:
///
///     0   u32 mark: which end this is
///     4   u32 bytes of the records, check words included
///     8   u64 the segment's salt
///     16  u64 the revision before the row's first: what is missing is known by it
///     24  u64 the row's last revision
///     32  i64 when it was committed, milliseconds since 1970
///     40  u64 everything up to this revision was on the disk when the row was appended
///     48  u32 how many records
///     52  u32 CRC-32C of the bytes before it
///
/// Before each record (`LogRecord`) stand two check words, both CRC-32C that begin with the salt:
///
///     0   u32 of the record's head and names
///     4   u32 of the whole record
///
/// So each record can be found and proved by itself, and of one whose value is damaged it is known what it was. In the record's
/// flags bit 1 marks the first of its revision, bit 2 the last: a transaction that has lost a record is not taken for whole.
///
/// Layout 4 is the same without the lists of members that differ (`ChangedMembers`) and without marks of creations, layout 3 also without
/// patches (`ValuePatch`): their readers do not know them.
///
/// No client knows the salt, so no value can hold what is taken for a frame or a record of the segment that it lies in.
enum SegmentFormat {
    static let layout: UInt32 = 5
    static let oldestLayout: UInt32 = 3
    /// What every version knows of it.
    static let headLength = 36
    static let wholeHeadLength = headLength + LogHistory.length + 4
    static let headCopy = 4096
    static let firstRow = 4608
    static let frameLength = 56
    static let checkLength = 8

    static let deleted: UInt8 = 1
    static let firstOfRevision: UInt8 = 2
    static let lastOfRevision: UInt8 = 4
    static let patched: UInt8 = 8
    static let listed: UInt8 = 16
    static let created: UInt8 = 32
    /// Those that the records of a turn have; the others are a row's.
    static let ofRecords = deleted | patched | listed | created

    /// Bytes that a row of so many bytes of records takes, check words included.
    static func rowLength(_ recordBytes: Int) -> Int { 2 * frameLength + (recordBytes + 7) & ~7 }

    static func sum(_ bytes: Bytes, from start: UInt32 = 0) -> UInt32 {
        // Safety: address and count are of the same bytes.
        unsafe csys_crc32c(start, bytes.baseAddress, bytes.count)
    }

    /// What the records' check words begin with.
    static func seed(_ salt: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: salt ^ salt >> 32) }
}

/// What a segment says of itself.
struct SegmentHead: Equatable {
    var layout = SegmentFormat.layout
    var number: UInt32
    var salt: UInt64
    var synced: UInt64
    /// Nil where it does not say.
    var history: LogHistory?

    private static let magic = Array("KURALOG\n".utf8)

    init(number: Int, salt: UInt64, synced: UInt64, history: LogHistory? = nil) {
        (self.number, self.salt, self.synced) = (UInt32(truncatingIfNeeded: number), salt, synced)
        self.history = history
    }

    /// Nil when the bytes are no head, or not what was written.
    init?(_ bytes: Bytes) {
        guard bytes.count >= SegmentFormat.headLength, bytes.extracting(0..<8).elementsEqual(Self.magic),
            SegmentFormat.sum(bytes.extracting(0..<32)) == bytes.littleEndian(32, UInt32.self)
        else { return nil }
        layout = bytes.littleEndian(8, UInt32.self)
        number = bytes.littleEndian(12, UInt32.self)
        salt = bytes.littleEndian(16, UInt64.self)
        synced = bytes.littleEndian(24, UInt64.self)
        let end = SegmentFormat.headLength + LogHistory.length
        guard bytes.count >= end + 4,
            SegmentFormat.sum(bytes.extracting(0..<end)) == bytes.littleEndian(end, UInt32.self)
        else { return }
        history = LogHistory(bytes.extracting(SegmentFormat.headLength..<end))
    }

    func append(to buffer: inout ByteBuffer) {
        let start = buffer.count
        buffer.append(Self.magic)
        buffer.append(littleEndian: layout)
        buffer.append(littleEndian: number)
        buffer.append(littleEndian: salt)
        buffer.append(littleEndian: synced)
        buffer.append(littleEndian: SegmentFormat.sum(buffer.bytes(start..<start + 32)))
        guard let history else { return }
        history.append(to: &buffer)
        buffer.append(littleEndian: SegmentFormat.sum(buffer.bytes(start..<buffer.count)))
    }
}

/// A row's frame: the same at both ends but for the mark.
struct RowFrame: Equatable {
    enum End: UInt32 {
        case front = 0x776F_726B
        case back = 0x6B72_6F77
    }

    var recordBytes: Int
    var previous: UInt64
    var rev: UInt64
    var at: Int64
    var synced: UInt64
    var records: UInt32

    var rowLength: Int { SegmentFormat.rowLength(recordBytes) }

    init(recordBytes: Int, previous: UInt64, rev: UInt64, at: Int64, synced: UInt64, records: UInt32) {
        (self.recordBytes, self.previous, self.rev) = (recordBytes, previous, rev)
        (self.at, self.synced, self.records) = (at, synced, records)
    }

    /// Nil when no frame of that end and salt begins at `offset`.
    init?(_ bytes: Bytes, at offset: Int, _ end: End, salt: UInt64) {
        guard bytes.count - offset >= SegmentFormat.frameLength,
            bytes.littleEndian(offset, UInt32.self) == end.rawValue,
            bytes.littleEndian(offset + 8, UInt64.self) == salt,
            SegmentFormat.sum(bytes.extracting(offset..<offset + 52)) == bytes.littleEndian(offset + 52, UInt32.self)
        else { return nil }
        recordBytes = Int(bytes.littleEndian(offset + 4, UInt32.self))
        previous = bytes.littleEndian(offset + 16, UInt64.self)
        rev = bytes.littleEndian(offset + 24, UInt64.self)
        at = bytes.littleEndian(offset + 32, Int64.self)
        synced = bytes.littleEndian(offset + 40, UInt64.self)
        records = bytes.littleEndian(offset + 48, UInt32.self)
    }

    func append(to buffer: inout ByteBuffer, _ end: End, salt: UInt64) {
        let start = buffer.count
        for _ in 0..<SegmentFormat.frameLength / 8 { buffer.append(littleEndian: UInt64(0)) }
        write(over: &buffer, at: start, end, salt: salt)
    }

    /// Writes the frame over what stands at `offset`.
    func write(over buffer: inout ByteBuffer, at offset: Int, _ end: End, salt: UInt64) {
        buffer.overwrite(at: offset, littleEndian: end.rawValue)
        buffer.overwrite(at: offset + 4, littleEndian: UInt32(recordBytes))
        buffer.overwrite(at: offset + 8, littleEndian: salt)
        buffer.overwrite(at: offset + 16, littleEndian: previous)
        buffer.overwrite(at: offset + 24, littleEndian: rev)
        buffer.overwrite(at: offset + 32, littleEndian: at)
        buffer.overwrite(at: offset + 40, littleEndian: synced)
        buffer.overwrite(at: offset + 48, littleEndian: records)
        buffer.overwrite(at: offset + 52, littleEndian: SegmentFormat.sum(buffer.bytes(offset..<offset + 52)))
    }
}

extension Bytes {
    /// The integer whose bytes, lowest first, begin at `offset`.
    func littleEndian<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: T.Type) -> T {
        T(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
