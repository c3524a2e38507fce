public import KuraBytes
import Sodium

/// Something that was asked of secrets, as the audit keeps it. Bytes are the caller's.
public struct AuditEvent {
    /// Name of the method.
    public var method: Bytes
    /// Kind of the error that it was refused with; empty when it was done.
    public var outcome: Bytes
    public var user: UInt32
    public var role: Bytes
    /// What the client called itself.
    public var client: Bytes
    /// What it was about; parts that were not named are empty.
    public var name: SecretName
    /// Revision that the answer gave away; 0 for none.
    public var rev: UInt64

    public init(
        method: Bytes, outcome: Bytes, user: UInt32, role: Bytes, client: Bytes, name: SecretName, rev: UInt64
    ) {
        (self.method, self.outcome, self.user, self.role) = (method, outcome, user, role)
        (self.client, self.name, self.rev) = (client, name, rev)
    }
}

/// A record of the audit: an event, or the same event several times.
public struct AuditRecord {
    /// From 1, without gaps.
    public var number: UInt64
    /// When it was first and last, milliseconds since 1970.
    public var firstAt: Int64
    public var lastAt: Int64
    public var count: Int
    /// It came by way of the public key, to which everybody can seal: a refusal that may never have been.
    public var isUnproved = false
    public var event: AuditEvent
}

/// A block of records as it is sealed. All numbers are little endian, texts behind their length in four bytes:
///
///     0  u8   1, the layout
///     1  u64  number of the block, from 1
///     9  u64  number of its first record
///    17  u32  records that follow
///    21  32   link of the block before it (`AuditSealer.link`); zeros in the first
///    53       a record: i64 first at, i64 last at, u32 count (2^31 more when it is unproved), u64 rev, u32 user, then method, outcome,
///             role, client, service, account, group
struct AuditBlock {
    static let headBytes = 53
    /// In a record's count.
    static let unproved: UInt32 = 1 << 31
    var number: UInt64
    var firstRecord: UInt64
    var count: Int
    var previous: SetSum
    private var records: Bytes

    init?(_ bytes: Bytes) {
        guard bytes.count >= Self.headBytes, bytes[0] == 1 else { return nil }
        number = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
        firstRecord = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 9, as: UInt64.self))
        count = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 17, as: UInt32.self)))
        previous = SetSum(bytes.extracting(21..<53))
        records = bytes.extracting(Self.headBytes..<bytes.count)
        // Every number behind it can be told.
        guard number < .max, !firstRecord.addingReportingOverflow(UInt64(count)).overflow else { return nil }
    }

    /// Number of the record behind the last of these.
    var nextRecord: UInt64 { firstRecord + UInt64(count) }

    static func begin(
        _ output: inout SecretBuffer, number: UInt64, firstRecord: UInt64, count: Int, previous: SetSum
    ) {
        output.append(1)
        output.append(littleEndian: number)
        output.append(littleEndian: firstRecord)
        output.append(littleEndian: UInt32(count))
        previous.append(to: &output)
    }

    /// Calls `body` for each record, the oldest first, until it says false.
    /// - Returns: false when the block has not what it says.
    func forEach(_ body: (AuditRecord) -> Bool) -> Bool {
        var position = 0
        for index in 0..<count {
            guard records.count - position >= 32 else { return false }
            func number<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: T.Type) -> T {
                T(littleEndian: records.loadUnaligned(fromByteOffset: position + offset, as: T.self))
            }
            let (firstAt, lastAt) = (number(0, Int64.self), number(8, Int64.self))
            let (times, rev, user) = (number(16, UInt32.self), number(20, UInt64.self), number(28, UInt32.self))
            position += 32
            guard let method = text(&position), let outcome = text(&position), let role = text(&position),
                let client = text(&position), let service = text(&position), let account = text(&position),
                let group = text(&position)
            else { return false }
            let event = AuditEvent(
                method: method, outcome: outcome, user: user, role: role, client: client,
                name: SecretName(service: service, account: account, group: group), rev: rev)
            let record = AuditRecord(
                number: firstRecord + UInt64(index), firstAt: firstAt, lastAt: lastAt,
                count: Int(times & ~Self.unproved), isUnproved: times & Self.unproved != 0, event: event)
            guard body(record) else { return true }
        }
        return position == records.count
    }

    private func text(_ position: inout Int) -> Bytes? {
        guard records.count - position >= 4 else { return nil }
        let count = Int(UInt32(littleEndian: records.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
        position += 4
        guard records.count - position >= count else { return nil }
        defer { position += count }
        return records.extracting(position..<position + count)
    }
}

/// What is kept about all blocks together. It changes with each of them.
///
/// It stands in the store's record (`VaultRecord`), and in a row of its own, which says the same: what is left when that record is lost.
///
///     0  u8   2, the layout; 1: the store's record was not bound to it yet
///     1  u64  number of the newest block
///     9  u64  number of the oldest that is kept
///    17  u64  number of the newest record
///    25  u64  number of the oldest that is kept
///    33  u64  bytes of the blocks that are kept
///    41  32   link of the newest block
struct AuditHead: Equatable {
    var newest: UInt64 = 0
    var oldest: UInt64 = 1
    var newestRecord: UInt64 = 0
    var oldestRecord: UInt64 = 1
    var bytes: UInt64 = 0
    var link = SetSum()

    /// All but the layout.
    static let bodyBytes = 72
    /// No number is greater, so that all that is added to one fits.
    private static let greatest: UInt64 = 1 << 62

    init() {}

    init?(body text: Bytes) {
        guard text.count == Self.bodyBytes else { return nil }
        func number(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        (newest, oldest, newestRecord) = (number(0), number(8), number(16))
        (oldestRecord, bytes) = (number(24), number(32))
        guard [newest, oldest, newestRecord, oldestRecord, bytes].allSatisfy({ $0 <= Self.greatest }) else {
            return nil
        }
        link = SetSum(text.extracting(40..<72))
    }

    func encode(body output: inout SecretBuffer) {
        for number in [newest, oldest, newestRecord, oldestRecord, bytes] { output.append(littleEndian: number) }
        link.append(to: &output)
    }
}
