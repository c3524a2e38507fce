import CSodium
public import KuraBytes

/// Sealing with XChaCha20-Poly1305: nobody without the key reads what is inside, changes it, or passes it off as something else.
///
/// What is sealed is `nonce (24 bytes, random) ‖ ciphertext ‖ tag (16 bytes)`. A nonce is random each time: with 192 bits no two
/// of them meet. Associated data are not inside; opening needs the same ones, so they tie what is sealed to its place. Who composes them
/// of several parts says each part's length, lest two compositions read alike.
///
/// Source: draft-irtf-cfrg-xchacha-03; libsodium, `crypto_aead_xchacha20poly1305_ietf`.
///
/// Safety: addresses go with the counts of the same bytes; output goes to room that was made for exactly that much.
public enum AEAD {
    public static let nonceBytes = 24
    public static let tagBytes = 16
    /// Bytes that sealing adds.
    public static let overhead = nonceBytes + tagBytes

    /// Appends `plaintext` sealed to `output`.
    ///
    /// - Parameters:
    ///   - plaintext: not a part of `output`.
    ///   - output: gets `plaintext.count + overhead` more bytes.
    ///   - key: what opens it again.
    ///   - associated: what opening must name as well.
    public static func seal(
        _ plaintext: Bytes, to output: inout ByteBuffer, key: SecretKey, associated: Bytes = Bytes()
    ) {
        unsafe randombytes_buf(output.room(for: plaintext.count + overhead), nonceBytes)
        output.commit(nonceBytes)
        sealBehindNonce(plaintext, to: &output, key: key, associated: associated)
    }

    /// The same where the nonce stands at the end of `output` already.
    static func sealBehindNonce(_ plaintext: Bytes, to output: inout ByteBuffer, key: SecretKey, associated: Bytes) {
        let room = unsafe output.room(for: plaintext.count + tagBytes)
        // Fails only for messages of 2^64 bytes.
        _ = unsafe key.withAddress { key in
            unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                room, nil, plaintext.octets, UInt64(plaintext.count), associated.octets, UInt64(associated.count), nil,
                UnsafePointer(room - nonceBytes), key)
        }
        output.commit(plaintext.count + tagBytes)
    }

    /// Appends what is inside of `sealed` to `output`; when it throws, nothing.
    ///
    /// - Parameters:
    ///   - sealed: what `seal` gave, whole.
    ///   - output: gets `sealed.count - overhead` more bytes.
    ///   - key: the key that sealed it.
    ///   - associated: what was named when it was sealed.
    /// - Throws: `malformed` when it is too short to be anything, `forged` when any bit of it, the key or the associated data differs.
    public static func open(
        _ sealed: Bytes, into output: inout SecretBuffer, key: SecretKey, associated: Bytes = Bytes()
    ) throws(SodiumError) {
        guard sealed.count >= overhead else { throw .malformed }
        let room = unsafe output.room(for: sealed.count - overhead)
        guard unsafe decrypt(sealed, to: room, key: key, associated: associated) else { throw .forged }
        output.commit(sealed.count - overhead)
    }

    /// Whether `open` would take it: the tag alone is checked, and nothing is opened.
    public static func isWhole(_ sealed: Bytes, key: SecretKey, associated: Bytes = Bytes()) -> Bool {
        guard sealed.count >= overhead else { return false }
        let nonce = unsafe sealed.octets
        let inner = sealed.count - overhead
        return unsafe key.withAddress { key in
            unsafe crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
                nil, nil, nonce + nonceBytes, UInt64(inner), nonce + nonceBytes + inner, associated.octets,
                UInt64(associated.count), nonce, key)
        } == 0
    }

    /// Appends a key sealed under another to `output`: `sealedKeyBytes` more bytes.
    public static func seal(
        key inner: SecretKey, to output: inout ByteBuffer, key: SecretKey, associated: Bytes = Bytes()
    ) {
        inner.withBytes { seal($0, to: &output, key: key, associated: associated) }
    }

    /// Bytes of a sealed key.
    public static let sealedKeyBytes = SecretKey.byteCount + overhead

    /// The key that is inside of `sealed`, opened straight into locked memory.
    ///
    /// - Throws: `malformed` when no key can be inside, `forged` as for `open`, `outOfMemory`.
    public static func openKey(
        _ sealed: Bytes, key: SecretKey, associated: Bytes = Bytes()
    ) throws(SodiumError) -> SecretKey {
        guard sealed.count == sealedKeyBytes else { throw .malformed }
        return try unsafe SecretKey { slot in
            unsafe decrypt(sealed, to: slot, key: key, associated: associated) ? nil : .forged
        }
    }

    /// The tag is checked first; when it is wrong, zeros are written.
    private static func decrypt(
        _ sealed: Bytes, to room: UnsafeMutablePointer<UInt8>, key: SecretKey, associated: Bytes
    ) -> Bool {
        let nonce = unsafe sealed.octets
        return unsafe key.withAddress { key in
            unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                room, nil, nil, nonce + nonceBytes, UInt64(sealed.count - nonceBytes), associated.octets,
                UInt64(associated.count), nonce, key)
        } == 0
    }
}
