import KuraBytes
import Sodium

/// What is kept about a service: what it is called and configured to be, its keys, and what its heads come to. It lies in the
/// service's scope under `SecretRecords.key` and changes with each of its items.
///
///     0  u8   1, the layout
///     1  u8   number of keys that follow
///     2  u16  versions that an item keeps; 32768 more when each read is in the audit before it is answered
///     4  u32  number of the newest key
///     8  u64  items
///    16  32   sum of the heads (`SetSum`)
///    48       name, installation, then a key: u32 number, sealed key
final class ServiceRecord {
    private var plaintext = SecretBuffer()

    var maxVersions = SecretRecords.standardVersions
    /// Each read is in the audit before it is answered.
    var auditsEachRead = false
    var newestKey: UInt32 = 0
    var count: UInt64 = 0
    var sum = SetSum()
    var name = Bytes()
    /// Which installation of an application its items are of; empty when nobody has said.
    var installation = Bytes()
    var keys: [(number: UInt32, sealed: Bytes)] = []

    func begin(_ name: Bytes) {
        close()
        self.name = name
    }

    func close() {
        plaintext.removeAll()
        keys.removeAll(keepingCapacity: true)
        (maxVersions, newestKey, count, sum) = (SecretRecords.standardVersions, 0, 0, SetSum())
        (name, installation) = (Bytes(), Bytes())
        auditsEachRead = false
    }

    /// - Throws: `.integrity` when it is not what was sealed there.
    func open(_ row: Bytes, scope: Bytes, _ sealer: SecretSealer) throws(SecretsError) {
        close()
        try sealer.open(row: row, .service, scope: scope, key: Bytes(SecretRecords.key), into: &plaintext)
        guard decode() else {
            close()
            throw .integrity
        }
    }

    private func decode() -> Bool {
        let bytes = plaintext.bytes
        guard bytes.count >= 48 + 8, bytes[0] == 1 else { return false }
        let kept = Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        maxVersions = kept & 0x7FFF
        auditsEachRead = kept & 0x8000 != 0
        newestKey = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        count = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        sum = SetSum(bytes.extracting(16..<48))
        var position = 48
        func text() -> Bytes? {
            guard bytes.count - position >= 4 else { return nil }
            let count = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            position += 4
            guard bytes.count - position >= count else { return nil }
            defer { position += count }
            return bytes.extracting(position..<position + count)
        }
        guard let name = text(), let installation = text() else { return false }
        (self.name, self.installation) = (name, installation)
        let length = SecretSealer.sealedKeyBytes
        for _ in 0..<bytes[1] {
            guard bytes.count - position >= 4 + length else { return false }
            let number = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            keys.append((number, bytes.extracting(position + 4..<position + 4 + length)))
            position += 4 + length
        }
        return position == bytes.count
    }

    func encode(to output: inout SecretBuffer) {
        output.append(1)
        output.append(UInt8(keys.count))
        output.append(littleEndian: UInt16(maxVersions | (auditsEachRead ? 0x8000 : 0)))
        output.append(littleEndian: newestKey)
        output.append(littleEndian: count)
        sum.append(to: &output)
        output.append(prefixed: name)
        output.append(prefixed: installation)
        for key in keys {
            output.append(littleEndian: key.number)
            output.append(key.sealed)
        }
    }
}

/// What is kept about all services together: what their records come to, and a chain over every change there was.
///
/// The chain's head after a change is the keyed hash of the head before it, the change's number, and what it has made of its service's
/// record. Who has noted a head elsewhere can tell by it whether the store has been set back as a whole.
///
/// The audit's head stands in it too, and changes in the transaction of each block: neither can be set back, or be dropped, without the other.
///
///     0  u8   2, the layout; 1 ends at 89, and says nothing of the audit
///     1  u64  changes
///     9  u64  services
///    17  u64  bytes of all heads
///    25  32   sum of the services' records (`SetSum`)
///    57  32   head of the chain
///    89  u8   1: a head of the audit follows; 2: the audit has no record yet of a change that is in here
///    90  72   the audit's head (`AuditHead`); without a meaning when there is none
struct VaultRecord {
    var changes: UInt64 = 0
    var services: UInt64 = 0
    var bytes: UInt64 = 0
    var sum = SetSum()
    var chain = SetSum()
    /// Of layout 2. A record of layout 1 stays one until the audit's next block.
    var knowsAudit = true
    var audit: AuditHead?
    /// A block with the change's record follows in the same turn: found on the disk, that record is missing.
    var owesAudit = false

    private static let layoutOneBytes = 89
    private static let layoutTwoBytes = 90 + AuditHead.bodyBytes

    init() {}

    init?(_ bytes: Bytes) {
        guard bytes.count >= Self.layoutOneBytes else { return nil }
        changes = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
        services = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 9, as: UInt64.self))
        self.bytes = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 17, as: UInt64.self))
        sum = SetSum(bytes.extracting(25..<57))
        chain = SetSum(bytes.extracting(57..<89))
        switch (bytes[0], bytes.count) {
        case (1, Self.layoutOneBytes): knowsAudit = false
        case (2, Self.layoutTwoBytes):
            owesAudit = bytes[89] & 2 != 0
            guard bytes[89] & 1 != 0 else { break }
            guard let head = AuditHead(body: bytes.extracting(90..<bytes.count)) else { return nil }
            audit = head
        default: return nil
        }
    }

    func encode(to output: inout SecretBuffer) {
        output.append(knowsAudit ? 2 : 1)
        output.append(littleEndian: changes)
        output.append(littleEndian: services)
        output.append(littleEndian: bytes)
        sum.append(to: &output)
        chain.append(to: &output)
        guard knowsAudit else { return }
        output.append((audit == nil ? 0 : 1) | (owesAudit ? 2 : 0))
        (audit ?? AuditHead()).encode(body: &output)
    }
}

enum SecretRecords {
    /// Key of a service's record in its scope, and of the store's; no hash has it.
    static let key: StaticString = "."
    /// Key of the note, beside the store's record, that something destroyed is still to be overwritten on the disk.
    static let scrubKey: StaticString = "-"
    /// Key of the audit's head, beside the store's record. Its key outlives rotations.
    static let auditKey: StaticString = "audit"
    /// Key of the public key beside it that events are sealed to while the secrets are sealed, and how the keys of those begin.
    static let inboxKey: StaticString = "auditBox"
    static let inboxPrefix: StaticString = "sealed-"
    /// How the keys of those begin that were sealed with a key of the lock.
    static let lockPrefix: StaticString = "locked-"
    /// The number in the key of a row of either kind; nil when the daemon has not made it, or could make none behind it.
    static func number(_ key: Bytes, behind prefix: StaticString) -> UInt64? {
        let count = Bytes(prefix).count
        guard key.count == count + 16, key.starts(with: Bytes(prefix)),
            let number = UInt64(String(decoding: key.extracting(count..<key.count), as: UTF8.self), radix: 16),
            number <= UInt64(Int64.max)
        else { return nil }
        return number
    }

    /// Epoch of the root key that the store's record in a change of the log is sealed with; nil when the change is another one.
    static func epoch(of record: LogRecord) -> UInt32? {
        guard record.store == .secrets, record.scope.equals(Bytes(storeScope)), record.key.equals(Bytes(key)) else {
            return nil
        }
        return SecretSealer.epoch(in: record.value, .store)
    }

    /// Name of the scope of the store's record.
    static let storeScope: StaticString = "."
    /// Versions that an item keeps when nobody says.
    static let standardVersions = 10

    /// Whether an item is no secret but what others need to be opened and checked: a service's record with its keys, the store's, the audit's.
    static func holdsKeys(_ store: Store, _ key: Bytes) -> Bool { store == .secrets && NameHash(text: key) == nil }
}
