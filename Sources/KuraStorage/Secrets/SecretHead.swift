import KuraBytes
import Sodium

/// One version of a secret, as its item's head has it.
struct SecretVersion {
    var number: UInt32
    /// Revision that it was written at.
    var rev: UInt64
    /// Milliseconds since 1970; `expiresAt` 0 for never.
    var createdAt: Int64
    var expiresAt: Int64
    /// Bytes of the value.
    var size: UInt32
    var kind: SecretKind
    /// Its key is gone, and the value with it.
    var isDestroyed = false
    /// Its key is sealed with the host's as well.
    var isDeviceOnly = false
    /// Which of the service's keys its data key is sealed with.
    var serviceKeyNumber: UInt32
    /// The data key, sealed; empty when it is destroyed. Lent like the head's bytes.
    var sealedKey: Bytes

    func isExpired(at now: Int64) -> Bool { expiresAt != 0 && expiresAt <= now }
}

/// What a secret is: text, bytes, texts by name, or a key of 32 bytes, which is good for one thing.
///
/// A version's kind is named by its seals, so that nobody has a key do what it was not made for.
public enum SecretKind: UInt8, Sendable, CaseIterable {
    case text = 0
    case binary = 1
    case dictionary = 2
    /// The seed of an Ed25519 pair: signs.
    case ed25519 = 3
    /// For HMAC-SHA-512/256: makes codes.
    case hmacSHA512256 = 4
    /// For keyed BLAKE2b with 256 bits: makes codes.
    case blake2b256 = 5
    /// For XChaCha20-Poly1305: seals and opens.
    case xchacha20Poly1305 = 6

    public var isKey: Bool { rawValue >= 3 }
}

/// When a secret may be read.
public enum SecretAccessibility: UInt8, Sendable {
    /// While the store is unlocked.
    case whenUnlocked = 0
    /// From the first unlocking after a start on.
    case afterFirstUnlock = 1
    case always = 2
}

/// An item's head, opened: all that is known of a secret but its values. One instance is used again and again; its bytes are zeroed when
/// it is closed.
///
/// As it is sealed (all numbers little endian, texts behind their length in four bytes):
///
///     0  u8   2, the layout; 1 says nothing at 20
///     1  u8   flags: 1 device only, 2 not in backups
///     2  u8   accessibility
///     3  u8   0
///     4  u16  versions that are kept; 0: as many as the service says
///     6  u16  versions that follow
///     8  u32  number of the newest version ever
///    12  i64  created at
///    20  i64  updated at
///    28       service, account, group, label, attributes (JSON)
///             then a version: u32 number, u64 rev, i64 created at, i64 expires at, u32 size, u8 kind, u8 flags (1 destroyed, 2
///             device only), u32 number of the service's key, sealed data key
final class SecretHead {
    private var plaintext = SecretBuffer()

    var isDeviceOnly = false
    var isInBackups = true
    var accessibility = SecretAccessibility.whenUnlocked
    var maxVersions = 0
    var lastVersion: UInt32 = 0
    var createdAt: Int64 = 0
    /// When the head was sealed; nil in layout 1, where the row alone says it.
    var updatedAt: Int64?
    var name = SecretName(service: Bytes(), account: Bytes())
    var label = Bytes()
    /// An object of texts as JSON; empty for none.
    var attributes = Bytes()
    /// The oldest first.
    var versions: ContiguousArray<SecretVersion> = []

    /// The newest version, unless it is none to be read any more: then the secret is absent.
    func current(at now: Int64) -> SecretVersion? {
        guard let last = versions.last, !last.isExpired(at: now) else { return nil }
        return last
    }

    /// The first time at which something of it expires; 0 for never.
    var nextExpiry: Int64 {
        versions.reduce(0) { $1.expiresAt != 0 && ($0 == 0 || $1.expiresAt < $0) ? $1.expiresAt : $0 }
    }

    /// An item without versions.
    func begin(_ name: SecretName, at now: Int64) {
        close()
        self.name = name
        createdAt = now
    }

    /// Forgets everything, and zeroes what was opened.
    func close() {
        plaintext.removeAll()
        versions.removeAll(keepingCapacity: true)
        (isDeviceOnly, isInBackups, accessibility, maxVersions, lastVersion) = (false, true, .whenUnlocked, 0, 0)
        updatedAt = nil
        (name, label, attributes) = (SecretName(service: Bytes(), account: Bytes()), Bytes(), Bytes())
    }

    /// Opens the head that lies in a row.
    /// - Throws: `.integrity` when it is not what was sealed there.
    func open(_ row: Bytes, scope: Bytes, key: Bytes, _ sealer: SecretSealer) throws(SecretsError) {
        close()
        try sealer.open(row: row, .head, scope: scope, key: key, into: &plaintext)
        guard decode() else {
            close()
            throw .integrity
        }
    }

    private func decode() -> Bool {
        let bytes = plaintext.bytes
        var position = 20
        func number<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) -> T {
            defer { position += MemoryLayout<T>.size }
            return T(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: T.self))
        }
        func has(_ count: Int) -> Bool { bytes.count - position >= count }
        func text() -> Bytes? {
            guard has(4) else { return nil }
            let count = Int(number(UInt32.self))
            guard has(count) else { return nil }
            defer { position += count }
            return bytes.extracting(position..<position + count)
        }
        guard bytes.count >= 20, bytes[0] == 1 || bytes[0] == 2, let known = SecretAccessibility(rawValue: bytes[2])
        else {
            return false
        }
        isDeviceOnly = bytes[1] & 1 != 0
        isInBackups = bytes[1] & 2 == 0
        accessibility = known
        position = 4
        maxVersions = Int(number(UInt16.self))
        let count = Int(number(UInt16.self))
        lastVersion = number(UInt32.self)
        createdAt = number(Int64.self)
        if bytes[0] == 2 {
            guard has(8) else { return false }
            updatedAt = number(Int64.self)
        }
        guard let service = text(), let account = text(), let group = text(), let label = text(),
            let attributes = text()
        else { return false }
        name = SecretName(service: service, account: account, group: group)
        self.label = label
        self.attributes = attributes
        for _ in 0..<count {
            guard has(38) else { return false }
            var version = SecretVersion(
                number: number(UInt32.self), rev: number(UInt64.self), createdAt: number(Int64.self),
                expiresAt: number(Int64.self), size: number(UInt32.self), kind: .text, serviceKeyNumber: 0,
                sealedKey: Bytes())
            guard let kind = SecretKind(rawValue: number(UInt8.self)) else { return false }
            version.kind = kind
            let flags = number(UInt8.self)
            version.isDestroyed = flags & 1 != 0
            version.isDeviceOnly = flags & 2 != 0
            version.serviceKeyNumber = number(UInt32.self)
            if !version.isDestroyed {
                guard has(SecretSealer.sealedKeyBytes) else { return false }
                version.sealedKey = bytes.extracting(position..<position + SecretSealer.sealedKeyBytes)
                position += SecretSealer.sealedKeyBytes
            }
            versions.append(version)
        }
        return position == bytes.count
    }

    /// Appends what is to be sealed.
    func encode(to output: inout SecretBuffer) {
        output.append(updatedAt == nil ? 1 : 2)
        output.append((isDeviceOnly ? 1 : 0) | (isInBackups ? 0 : 2))
        output.append(accessibility.rawValue)
        output.append(0)
        output.append(littleEndian: UInt16(maxVersions))
        output.append(littleEndian: UInt16(versions.count))
        output.append(littleEndian: lastVersion)
        output.append(littleEndian: createdAt)
        if let updatedAt { output.append(littleEndian: updatedAt) }
        for text in [name.service, name.account, name.group, label, attributes] { output.append(prefixed: text) }
        for version in versions {
            output.append(littleEndian: version.number)
            output.append(littleEndian: version.rev)
            output.append(littleEndian: version.createdAt)
            output.append(littleEndian: version.expiresAt)
            output.append(littleEndian: version.size)
            output.append(version.kind.rawValue)
            output.append((version.isDestroyed ? 1 : 0) | (version.isDeviceOnly ? 2 : 0))
            output.append(littleEndian: version.serviceKeyNumber)
            if !version.isDestroyed { output.append(version.sealedKey) }
        }
    }
}

extension SecretBuffer {
    /// Bytes behind their count.
    mutating func append(prefixed bytes: Bytes) {
        append(littleEndian: UInt32(bytes.count))
        append(bytes)
    }
}
