import KuraBytes

/// An item of the tables as a backup keeps it. All numbers are little endian:
///
///      0  u32  bytes that follow this field
///      4  u8   store (`Store`)
///      5  u8   flags: 1 deleted, 2 the body that is there stays, 4 the scope was dropped, 8 the scope itself
///      6  u16  length of the scope's name
///      8  u16  length of the key
///     10  u16  0
///     12  u32  length of the value
///     16  u32  version
///     20  u32  0
///     24  u64  revision
///     32  i64  created at, milliseconds since 1970
///     40  i64  updated at
///     48  u64  number of the row within its collection; with flag 8 that of the next new one; 0 for settings
///     56       scope, key, value
struct BackupRecord {
    struct Flags: OptionSet {
        var rawValue: UInt8
        static let isDeleted = Flags(rawValue: 1)
        static let keepsBody = Flags(rawValue: 2)
        static let isDrop = Flags(rawValue: 4)
        static let isScope = Flags(rawValue: 8)
    }

    var store: Store
    var flags: Flags = []
    var rev: UInt64
    var version: UInt32 = 0
    var createdAt: Int64 = 0
    var updatedAt: Int64 = 0
    var row: UInt64 = 0
    var scope: Bytes
    var key = Bytes()
    var value = Bytes()

    static let headLength = 56
    /// Rows are numbered within their collection by so many bits.
    static let rowBits: Int64 = 40
    static let rowMask: Int64 = 1 << rowBits - 1

    var length: Int { Self.headLength + scope.count + key.count + value.count }

    func append(to buffer: inout ByteBuffer) {
        buffer.reserve(length)
        buffer.append(littleEndian: UInt32(length - 4))
        buffer.append(store.rawValue)
        buffer.append(flags.rawValue)
        buffer.append(littleEndian: UInt16(scope.count))
        buffer.append(littleEndian: UInt16(key.count))
        buffer.append(littleEndian: UInt16(0))
        buffer.append(littleEndian: UInt32(value.count))
        buffer.append(littleEndian: version)
        buffer.append(littleEndian: UInt32(0))
        buffer.append(littleEndian: rev)
        buffer.append(littleEndian: createdAt)
        buffer.append(littleEndian: updatedAt)
        buffer.append(littleEndian: row)
        buffer.append(scope)
        buffer.append(key)
        buffer.append(value)
    }

    /// Bytes of the record that begins at `offset`; nil when they are not all there.
    static func length(in bytes: Bytes, at offset: Int) -> Int? {
        guard bytes.count - offset >= 4 else { return nil }
        let length = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))) + 4
        return length <= bytes.count - offset ? length : nil
    }

    /// Steps through records; nil at their end. What they say is for `RecordGuard` to judge.
    /// - Throws: `malformed`.
    static func next(in bytes: Bytes, at offset: inout Int) throws(BackupFault) -> BackupRecord? {
        guard offset < bytes.count else { return nil }
        guard let length = length(in: bytes, at: offset), length >= headLength else { throw .malformed }
        let start = offset
        func number<T: FixedWidthInteger & BitwiseCopyable>(_ position: Int, _ type: T.Type) -> T {
            T(littleEndian: bytes.loadUnaligned(fromByteOffset: start + position, as: T.self))
        }
        let scopeLength = Int(number(6, UInt16.self))
        let keyLength = Int(number(8, UInt16.self))
        let valueLength = Int(number(12, UInt32.self))
        guard length == headLength + scopeLength + keyLength + valueLength,
            let store = Store(rawValue: number(4, UInt8.self)), number(5, UInt8.self) < 16,
            number(10, UInt16.self) == 0, number(20, UInt32.self) == 0
        else { throw .malformed }
        var position = offset + headLength
        func take(_ count: Int) -> Bytes {
            defer { position += count }
            return bytes.extracting(position..<position + count)
        }
        offset += length
        return BackupRecord(
            store: store, flags: Flags(rawValue: number(5, UInt8.self)), rev: number(24, UInt64.self),
            version: number(16, UInt32.self), createdAt: number(32, Int64.self), updatedAt: number(40, Int64.self),
            row: number(48, UInt64.self), scope: take(scopeLength), key: take(keyLength), value: take(valueLength))
    }
}
