import CSodium
public import KuraBytes

/// A pair of X25519 keys: what anybody seals to the public one, the secret one alone opens.
///
/// Safety: the public key is an array of exactly its length, and the seed a key's 32 bytes.
public struct BoxKeyPair: Sendable {
    public static let publicKeyBytes = 32

    /// 32 bytes, for everybody.
    public let publicKey: [UInt8]
    let secretKey: SecretKey

    /// The pair that follows from a key; the same each time.
    ///
    /// - Throws: `outOfMemory`.
    public init(seed: SecretKey) throws(SodiumError) {
        var publicKey = [UInt8](repeating: 0, count: Self.publicKeyBytes)
        secretKey = try unsafe SecretKey { slot in
            unsafe publicKey.withUnsafeMutableBufferPointer { publicKey in
                unsafe seed.withAddress { seed in
                    _ = unsafe crypto_box_seed_keypair(publicKey.baseAddress!, slot, seed)
                }
            }
            return nil
        }
        self.publicKey = publicKey
    }

    /// A new pair.
    ///
    /// - Throws: `outOfMemory`.
    public init() throws(SodiumError) {
        try self.init(seed: SecretKey())
    }
}

/// Sealing to somebody's public key, without a name of one's own: `ephemeral public key (32) ‖ tag (16) ‖ ciphertext`.
///
/// Source: libsodium, "Sealed boxes" (`crypto_box_seal`: X25519, XSalsa20-Poly1305).
///
/// Safety: addresses go with the counts of the same bytes, public keys are looked at for their length first, and output goes to room
/// that was made for exactly that much.
public enum SealedBox {
    /// Bytes that sealing adds.
    public static let overhead = 48

    /// Appends `plaintext`, which is not a part of `output`, sealed to `recipient`.
    ///
    /// - Throws: `unusableKey` when `recipient` is no public key to seal to: not 32 bytes, or a point of low order.
    public static func seal(
        _ plaintext: Bytes, for recipient: Bytes, to output: inout ByteBuffer
    ) throws(SodiumError) {
        Library.start()
        guard recipient.count == BoxKeyPair.publicKeyBytes else { throw .unusableKey }
        let room = unsafe output.room(for: plaintext.count + overhead)
        guard unsafe crypto_box_seal(room, plaintext.octets, UInt64(plaintext.count), recipient.octets) == 0 else {
            throw .unusableKey
        }
        output.commit(plaintext.count + overhead)
    }

    /// Appends what is inside of `sealed`; when it throws, nothing.
    ///
    /// - Throws: `malformed` when it is too short, `forged` when it was not sealed to this pair or has changed.
    public static func open(
        _ sealed: Bytes, into output: inout SecretBuffer, with pair: BoxKeyPair
    ) throws(SodiumError) {
        guard sealed.count >= overhead else { throw .malformed }
        let room = unsafe output.room(for: sealed.count - overhead)
        let result = pair.publicKey.withBytes { publicKey in
            unsafe pair.secretKey.withAddress { secretKey in
                unsafe crypto_box_seal_open(room, sealed.octets, UInt64(sealed.count), publicKey.octets, secretKey)
            }
        }
        guard result == 0 else { throw .forged }
        output.commit(sealed.count - overhead)
    }
}
