public import KuraBytes
import Sodium

/// Which version of a key has done something.
public struct UsedKey {
    /// Revision of the item's last change, which the answer gives away.
    public var rev: UInt64
    public var version: UInt32
    public var kind: SecretKind
}

/// Having keys do something for whoever does not see them.
///
/// All of it throws, besides what `get` throws: `.absent`; `.wrongKind` when the secret is no key, or none for this; `.noSuchVersion`.
/// `version`: which one; nil for the newest. A key is in locked memory for the call, and zeroed with its end.
extension SecretsStore {
    /// Bytes that are signed, hashed or sealed at once: more would hold up everybody else.
    public static let dataLimit = 256 << 10

    // MARK: Signatures

    /// Appends an Ed25519 signature, 64 bytes.
    public func sign(_ data: Bytes, _ name: SecretName, version: UInt32?, to output: inout ByteBuffer)
        throws(SecretsError) -> UsedKey
    {
        try use(name, version, for: [.ed25519]) { (_, key) throws(SecretsError) in
            SigningKeyPair(seed: key).sign(data, to: &output)
        }
    }

    /// Appends the key that anybody checks signatures with, 32 bytes.
    public func publicKey(_ name: SecretName, version: UInt32?, to output: inout ByteBuffer) throws(SecretsError)
        -> UsedKey
    {
        try use(name, version, for: [.ed25519]) { (_, key) throws(SecretsError) in
            output.append(SigningKeyPair(seed: key).publicKey)
        }
    }

    public func verify(signature: Bytes, of data: Bytes, _ name: SecretName, version: UInt32?) throws(SecretsError)
        -> (used: UsedKey, isValid: Bool)
    {
        var isValid = false
        let used = try use(name, version, for: [.ed25519]) { (_, key) throws(SecretsError) in
            isValid = SigningKeyPair(seed: key).publicKey.withBytes {
                SigningKeyPair.verify(signature, of: data, publicKey: $0)
            }
        }
        return (used, isValid)
    }

    // MARK: Codes

    /// Appends the code of `data`, 32 bytes: HMAC-SHA-512/256 or keyed BLAKE2b, as the key says.
    public func authenticate(_ data: Bytes, _ name: SecretName, version: UInt32?, to output: inout ByteBuffer)
        throws(SecretsError) -> UsedKey
    {
        try use(name, version, for: [.hmacSHA512256, .blake2b256]) { (used, key) throws(SecretsError) in
            Self.append(codeOf: data, used.kind, key, to: &output)
        }
    }

    public func verify(code: Bytes, of data: Bytes, _ name: SecretName, version: UInt32?) throws(SecretsError)
        -> (used: UsedKey, isValid: Bool)
    {
        var isValid = false
        let used = try use(name, version, for: [.hmacSHA512256, .blake2b256]) { (used, key) throws(SecretsError) in
            var right = ByteBuffer(capacity: MAC.codeBytes)
            Self.append(codeOf: data, used.kind, key, to: &right)
            isValid = ConstantTime.equal(right.bytes, code)
            right.wipe()
        }
        return (used, isValid)
    }

    private static func append(codeOf data: Bytes, _ kind: SecretKind, _ key: SecretKey, to output: inout ByteBuffer) {
        if kind == .blake2b256 {
            KeyedHash.append(data, key: key, to: &output)
        } else {
            MAC.append(data, key: key, to: &output)
        }
    }

    // MARK: Sealing

    /// Appends `data` sealed with the newest version (`SecretCiphertext`).
    public func encrypt(
        _ data: Bytes, isText: Bool, _ name: SecretName, associated: Bytes, to output: inout ByteBuffer
    ) throws(SecretsError) -> UsedKey {
        try use(name, nil, for: [.xchacha20Poly1305]) { (used, key) throws(SecretsError) in
            SecretCiphertext(isText: isText, version: used.version)
                .seal(data, name, associated, key: key, to: &output, &memory.names)
        }
    }

    /// Opens what `encrypt` gave, and appends it to `output`, which zeroes what leaves it.
    /// - Throws: `.forged` as well.
    public func decrypt(_ ciphertext: Bytes, _ name: SecretName, associated: Bytes, into output: inout ByteBuffer)
        throws(SecretsError) -> (used: UsedKey, isText: Bool)
    {
        guard let sealed = SecretCiphertext(ciphertext) else { throw .forged }
        var opened = SecretBuffer()
        let used = try use(name, sealed.version, for: [.xchacha20Poly1305]) { (_, key) throws(SecretsError) in
            try sealed.open(ciphertext, name, associated, key: key, into: &opened, &memory.names)
        }
        output.append(opened.bytes)
        return (used, sealed.isText)
    }

    /// Appends the same, sealed with the newest version; what is inside leaves this call in no other way.
    /// - Throws: `.forged` as well.
    public func rewrap(_ ciphertext: Bytes, _ name: SecretName, associated: Bytes, to output: inout ByteBuffer)
        throws(SecretsError) -> UsedKey
    {
        guard let sealed = SecretCiphertext(ciphertext) else { throw .forged }
        var opened = SecretBuffer()
        _ = try use(name, sealed.version, for: [.xchacha20Poly1305]) { (_, key) throws(SecretsError) in
            try sealed.open(ciphertext, name, associated, key: key, into: &opened, &memory.names)
        }
        return try use(name, nil, for: [.xchacha20Poly1305]) { (used, key) throws(SecretsError) in
            SecretCiphertext(isText: sealed.isText, version: used.version)
                .seal(opened.bytes, name, associated, key: key, to: &output, &memory.names)
        }
    }

    // MARK: Keys

    private func use(
        _ name: SecretName, _ version: UInt32?, for kinds: [SecretKind],
        _ body: (UsedKey, SecretKey) throws(SecretsError) -> Void
    ) throws(SecretsError) -> UsedKey {
        guard let place = try find(service: name.service) else { throw .absent(shownRev: ledger.dropRev) }
        defer { memory.close() }
        memory.hash(name, place.vault)
        guard let item = ledger.find(place.scope, memory.rowKey.bytes) else { throw .absent(shownRev: 0) }
        let rev = item.pointee.rev
        guard !item.isTombstone else { throw .absent(shownRev: rev) }
        try open(item, place)
        guard var found = head.current(at: ledger.steadyNow) else { throw .absent(shownRev: rev) }
        guard kinds.contains(found.kind) else { throw .wrongKind }
        if let version {
            guard let other = head.versions.first(where: { $0.number == version }), kinds.contains(other.kind),
                !other.isExpired(at: ledger.steadyNow)
            else { throw .noSuchVersion(shownRev: rev) }
            found = other
        }
        guard !found.isDestroyed else { throw .noSuchVersion(shownRev: rev) }
        try openValue(found, place)
        let key: SecretKey
        do throws(SodiumError) { key = try SecretKey(copying: memory.plaintext.bytes) } catch {
            throw error == .outOfMemory ? .engine(.overloaded) : .integrity
        }
        memory.plaintext.removeAll()
        let used = UsedKey(rev: rev, version: found.number, kind: found.kind)
        try body(used, key)
        return used
    }
}
