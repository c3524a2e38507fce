import KuraBytes
public import Sodium

/// One way to the root key: the root key sealed under the key of a source.
public struct KeySlot: Equatable, Sendable {
    /// Where a slot's key comes from.
    public enum Kind: String, Sendable, CaseIterable {
        /// DATA/keys/root.key: 32 random bytes, made at the first start.
        case keyFile
        /// Read from the descriptor that `--key-fd` names, at the start.
        case descriptor
        /// $CREDENTIALS_DIRECTORY/kura.key, of the service manager.
        case credential
        /// The file that the configuration names (`secrets.keyFile`), such as a container's secret.
        case container
        /// Hashed from what somebody says.
        case passphrase
    }

    /// How a passphrase becomes the slot's key.
    public struct Hashing: Equatable, Sendable {
        public var parameters: PasswordHash.Parameters
        public var salt: [UInt8]
    }

    /// Given once, never again, from 1.
    public var id: UInt32
    public var kind: Kind
    /// Whatever whoever made it called it.
    public var label: [UInt8]
    /// Milliseconds since 1970.
    public var createdAt: Int64
    /// For passphrases only.
    public var hashing: Hashing?
    /// The root key under the slot's (`AEAD`).
    public var sealedRoot: [UInt8]

    public static let labelBytes = 128

    /// What hashing its passphrase takes; nil for other kinds.
    public var cost: (passes: Int, memoryBytes: Int)? {
        hashing.map { ($0.parameters.passes, $0.parameters.memoryBytes) }
    }
}

/// What keys/slots.json says: which store it is, and everything that leads to its root key.
///
/// The root key *R* is 32 random bytes, in clear nowhere. Each slot has it sealed under its own key. `lasting` is a key under *R* that
/// outlives rotations (names are hashed with what follows from it); each rotation adds one to `recent`, which from then on takes its place for what
/// need not stay the same (`KeyPurpose.Lifetime.renewed`), and earlier ones stay for what is there. `retired` are earlier root keys under the newest one, as long as
/// something is still sealed with what follows from them.
///
/// Associated data of every seal are its parts, each with its length in front (4 bytes): a word for what it is, the suite, the store's id, and
/// - of a slot: the root's epoch, the slot's number, kind, passes, memory and salt;
/// - of a retired root: its epoch and that of the root it is under;
/// - of the lasting key: the epoch of the root; of a recent one: its own epoch and that of the root.
package struct KeySlots: Equatable, Sendable {
    /// XChaCha20-Poly1305, BLAKE2b, Argon2id13.
    static let suite: UInt8 = 1
    static let mostSlots = 32
    /// Rotations that can wait for what they leave behind.
    static let mostRetired = 16
    static let storeIDBytes = 16

    struct RetiredRoot: Equatable, Sendable {
        var epoch: UInt32
        var sealedRoot: [UInt8]
    }

    /// 16 random bytes.
    var storeID: [UInt8]
    /// Of the newest root key, from 1.
    var epoch: UInt32
    var nextID: UInt32
    var sealedLasting: [UInt8]
    package var slots: [KeySlot]
    /// Oldest first.
    var retired: [RetiredRoot]
    /// Lasting keys that rotations have added, by the epoch that began with each, oldest first.
    var recent: [RetiredRoot] = []

    /// With some more than these the file would be too long.
    static let mostRecent = 200

    // MARK: Sealing

    private func associated(_ word: StaticString, _ parts: [[UInt8]]) -> [UInt8] {
        var data = ByteBuffer()
        func append(_ bytes: Bytes) {
            data.append(littleEndian: UInt32(bytes.count))
            data.append(bytes)
        }
        append(Bytes(word))
        [Self.suite].withBytes(append)
        storeID.withBytes(append)
        for part in parts { part.withBytes(append) }
        return [UInt8](data.bytes)
    }

    private static func bytes(_ number: some FixedWidthInteger & BitwiseCopyable) -> [UInt8] {
        var data = ByteBuffer()
        data.append(littleEndian: number)
        return [UInt8](data.bytes)
    }

    private func associated(of slot: KeySlot) -> [UInt8] {
        associated(
            "slot",
            [
                Self.bytes(epoch), Self.bytes(slot.id), Array(slot.kind.rawValue.utf8),
                Self.bytes(UInt32(slot.hashing?.parameters.passes ?? 0)),
                Self.bytes(UInt64(slot.hashing?.parameters.memoryBytes ?? 0)), slot.hashing?.salt ?? [],
            ])
    }

    private static func seal(_ inner: SecretKey, under key: SecretKey, _ associated: [UInt8]) -> [UInt8] {
        var sealed = ByteBuffer()
        associated.withBytes { AEAD.seal(key: inner, to: &sealed, key: key, associated: $0) }
        return [UInt8](sealed.bytes)
    }

    private static func open(
        _ sealed: [UInt8], under key: SecretKey, _ associated: [UInt8]
    ) throws(SodiumError) -> SecretKey {
        try sealed.withBytes { (sealed) throws(SodiumError) in
            try associated.withBytes { (associated) throws(SodiumError) in
                try AEAD.openKey(sealed, key: key, associated: associated)
            }
        }
    }

    /// `slot` with the root key in it, under the slot's own key.
    func sealing(_ root: SecretKey, in slot: KeySlot, under key: SecretKey) -> KeySlot {
        var slot = slot
        slot.sealedRoot = Self.seal(root, under: key, associated(of: slot))
        return slot
    }

    /// The root key that the slot's key leads to.
    ///
    /// - Throws: `forged` when the key is not the slot's, or the slot not what it was.
    package func root(in slot: KeySlot, under key: SecretKey) throws(SodiumError) -> SecretKey {
        try Self.open(slot.sealedRoot, under: key, associated(of: slot))
    }

    mutating func sealLasting(_ lasting: SecretKey, under root: SecretKey) {
        sealedLasting = Self.seal(lasting, under: root, associated("lasting", [Self.bytes(epoch)]))
    }

    func lasting(under root: SecretKey) throws(SodiumError) -> SecretKey {
        try Self.open(sealedLasting, under: root, associated("lasting", [Self.bytes(epoch)]))
    }

    mutating func addRecent(_ key: SecretKey, epoch keyEpoch: UInt32, under root: SecretKey) {
        let associated = associated("recent", [Self.bytes(keyEpoch), Self.bytes(epoch)])
        recent.append(RetiredRoot(epoch: keyEpoch, sealedRoot: Self.seal(key, under: root, associated)))
    }

    func lasting(of recent: RetiredRoot, under root: SecretKey) throws(SodiumError) -> SecretKey {
        try Self.open(
            recent.sealedRoot, under: root, associated("recent", [Self.bytes(recent.epoch), Self.bytes(epoch)]))
    }

    mutating func retire(_ old: SecretKey, epoch oldEpoch: UInt32, under root: SecretKey) {
        let associated = associated("root", [Self.bytes(oldEpoch), Self.bytes(epoch)])
        retired.append(RetiredRoot(epoch: oldEpoch, sealedRoot: Self.seal(old, under: root, associated)))
    }

    func root(of retired: RetiredRoot, under root: SecretKey) throws(SodiumError) -> SecretKey {
        let associated = associated("root", [Self.bytes(retired.epoch), Self.bytes(epoch)])
        return try Self.open(retired.sealedRoot, under: root, associated)
    }
}
