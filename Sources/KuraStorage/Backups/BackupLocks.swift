public import KuraBytes
public import Sodium

/// Who may open a backup; nobody named: it is not encrypted.
public struct BackupLocks: Sendable {
    /// X25519 public keys, 32 bytes each.
    public var recipients: [[UInt8]] = []
    /// What a passphrase is hashed to, made by `lock(passphrase:)`; nil without.
    private var passphrase: (hashing: KeySlot.Hashing, key: SecretKey)?

    public init() {}

    /// Whether something can be sealed to a public key.
    public static func isUsable(_ recipient: [UInt8]) -> Bool {
        var box = ByteBuffer()
        let probe = Array("kura".utf8)
        do throws(SodiumError) {
            try recipient.withBytes { (recipient) throws(SodiumError) in
                try probe.withBytes { (probe) throws(SodiumError) in
                    try SealedBox.seal(probe, for: recipient, to: &box)
                }
            }
            return true
        } catch { return false }
    }

    var isEncrypted: Bool { !recipients.isEmpty || passphrase != nil }

    /// Hashes a passphrase: takes memory and up to seconds, so never on a loop.
    /// - Throws: `outOfMemory`.
    public mutating func lock(passphrase text: Bytes, memory: Int? = nil) throws(BackupFault) {
        guard let parameters = PasswordHash.Parameters.moderate(within: memory) else { throw .outOfMemory }
        let salt = Randomness.bytes(PasswordHash.saltBytes)
        do throws(SodiumError) {
            let key = try salt.withBytes { (salt) throws(SodiumError) in
                try PasswordHash.key(from: text, salt: salt, parameters)
            }
            passphrase = (KeySlot.Hashing(parameters: parameters, salt: salt), key)
        } catch { throw .outOfMemory }
    }

    var count: Int { recipients.count + (passphrase == nil ? 0 : 1) }

    /// Appends the file's key for each of them.
    /// - Throws: `unusableRecipient`.
    func append(_ fileKey: SecretKey, to header: inout ByteBuffer) throws(BackupFault) {
        for recipient in recipients {
            header.append(BackupFormat.LockKind.recipient.rawValue)
            header.append(recipient)
            var box = ByteBuffer()
            do throws(SodiumError) {
                try recipient.withBytes { (recipient) throws(SodiumError) in
                    try fileKey.withBytes { (key) throws(SodiumError) in
                        try SealedBox.seal(key, for: recipient, to: &box)
                    }
                }
            } catch { throw .unusableRecipient }
            header.append(box.bytes)
        }
        guard let passphrase else { return }
        header.append(BackupFormat.LockKind.passphrase.rawValue)
        let start = header.count
        header.append(littleEndian: UInt32(passphrase.hashing.parameters.passes))
        header.append(littleEndian: UInt64(passphrase.hashing.parameters.memoryBytes))
        header.append(passphrase.hashing.salt)
        let associated = Self.associated(header.bytes(start..<header.count))
        var sealed = ByteBuffer()
        associated.withBytes { AEAD.seal(key: fileKey, to: &sealed, key: passphrase.key, associated: $0) }
        header.append(sealed.bytes)
    }

    fileprivate static func associated(_ hashing: Bytes) -> [UInt8] {
        var associated = ByteBuffer()
        associated.append("kura.backup.passphrase")
        associated.append(hashing)
        return Array(associated.bytes)
    }
}

/// What somebody has to open a backup with.
public struct BackupOpener: Sendable {
    public var identities: [BoxKeyPair] = []
    /// Bytes of a passphrase; empty without.
    public var passphrase: [UInt8] = []
    /// The file's key itself: who has just written the file.
    var fileKey: SecretKey?
    /// What tells whether it is ours: of the daemon that looks at it, or brought along; nil: that cannot be told.
    public var originKey: OriginKey?
    public var brought: BroughtKeys?
    /// Bytes of memory that there are (`KeySourcesConfiguration.memory`); nil: a hash takes as many as the lock asks for.
    public var memory: (@Sendable () -> (limit: Int, free: Int))?

    public init() {}

    /// Takes what a file of `kura secrets identity` says.
    /// - Returns: false when it is none.
    public mutating func add(identity text: [UInt8]) -> Bool {
        let mark = "kura-identity-1 "
        guard text.starts(with: mark.utf8) else { return false }
        var seed = ByteBuffer(capacity: 64)
        seed.wipes = true
        let encoded = Array(text.dropFirst(mark.utf8.count).prefix { $0 != 0x0A })
        guard encoded.withBytes({ Base64.decode($0, into: &seed) }), seed.count == SecretKey.byteCount,
            let key = try? SecretKey(copying: seed.bytes), let pair = try? BoxKeyPair(seed: key)
        else { return false }
        identities.append(pair)
        return true
    }

    var isEmpty: Bool { identities.isEmpty && passphrase.isEmpty && fileKey == nil }

    /// Whose work a backup is. `manifest`: its text. `slots`: that came in it.
    /// - Throws: `forged`, and `refused` for keys that were brought and open nothing.
    func origin(of manifest: Bytes, before: [UInt8], slots: [UInt8]?) throws(BackupFault) -> BackupOrigin {
        guard let proof = BackupProof(endOf: manifest) else { return .unproved }
        var key = originKey
        if key == nil { key = try brought?.originKey(slots: slots) }
        guard let key else { return .unproved }
        do throws(BackupFault) {
            return try key.origin(of: proof, before: before, BackupProof.covered(manifest))
        } catch {
            // A forger gains nothing by a later epoch: a backup without a proof is unproved as well.
            guard error == .forged, let said = try? BackupManifest(manifest), said.keyEpoch > key.epoch else {
                throw error
            }
            return .laterKeys
        }
    }

    /// The file's key that one of the header's locks has for us.
    ///
    /// `locks`: those of a header whose digest fits.
    /// - Throws: `keyNeeded`, `wrongKey`, `malformed`, `outOfMemory`.
    func fileKey(in locks: Bytes, count: Int) throws(BackupFault) -> SecretKey {
        if let fileKey { return fileKey }
        guard !isEmpty else { throw .keyNeeded }
        var position = 0
        var passphrases = 0
        for _ in 0..<count {
            guard position < locks.count, let kind = BackupFormat.LockKind(rawValue: locks[position]) else {
                throw .malformed
            }
            position += 1
            let length = kind == .recipient ? 112 : 28 + AEAD.sealedKeyBytes
            guard locks.count - position >= length else { throw .malformed }
            let lock = locks.extracting(position..<position + length)
            position += length
            if kind == .passphrase {
                passphrases += 1
                // A backup has one at most: each is a hash of up to a gigabyte, which nothing ends.
                guard passphrases == 1 else { throw .malformed }
            }
            if let key = try kind == .recipient ? open(box: lock) : open(passphrase: lock) { return key }
        }
        guard position == locks.count else { throw .malformed }
        throw .wrongKey
    }

    private func open(box lock: Bytes) throws(BackupFault) -> SecretKey? {
        for identity in identities where identity.publicKey.withBytes({ $0.equals(lock.extracting(0..<32)) }) {
            var opened = SecretBuffer(capacity: SecretKey.byteCount)
            do throws(SodiumError) {
                try SealedBox.open(lock.extracting(32..<112), into: &opened, with: identity)
                return try SecretKey(copying: opened.bytes)
            } catch {
                if error == .outOfMemory { throw .outOfMemory }
            }
        }
        return nil
    }

    private func open(passphrase lock: Bytes) throws(BackupFault) -> SecretKey? {
        guard !passphrase.isEmpty else { return nil }
        let passes = UInt32(littleEndian: lock.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
        let memory = UInt64(littleEndian: lock.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
        // Bounded before anybody hashes with them.
        guard let memory = Int(exactly: memory),
            let parameters = try? PasswordHash.Parameters(passes: Int(passes), memoryBytes: memory)
        else { throw .malformed }
        // All of it is touched at once, and a control group without room would kill the process.
        if let room = self.memory, parameters.memoryBytes > room().free - (4 << 20) { throw .outOfMemory }
        do throws(SodiumError) {
            let key = try passphrase.withBytes { (text) throws(SodiumError) in
                try PasswordHash.key(from: text, salt: lock.extracting(12..<28), parameters)
            }
            let associated = BackupLocks.associated(lock.extracting(0..<28))
            return try associated.withBytes { (associated) throws(SodiumError) in
                try AEAD.openKey(lock.extracting(28..<lock.count), key: key, associated: associated)
            }
        } catch {
            if error == .outOfMemory { throw .outOfMemory }
            return nil
        }
    }
}

extension SecretKey {
    /// Seals the root key within an encrypted backup.
    func backupRootKey() throws(BackupFault) -> SecretKey {
        do throws(SodiumError) { return try derive(KeyContext("bkuproot"), id: 1) } catch { throw .outOfMemory }
    }
}
