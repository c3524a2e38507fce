import CSodium
public import KuraBytes

/// A pair of Ed25519 keys: the secret one signs, the public one lets everybody check.
///
/// The secret key is its seed of 32 bytes (RFC 8032); libsodium's form of it, seed and public key together, is made for each signature
/// and zeroed.
///
/// Source: RFC 8032; libsodium, "Public-key signatures" (`crypto_sign`).
///
/// Safety: addresses go with lengths that were looked at; the temporary secret key has room for its 64 bytes.
public struct SigningKeyPair: Sendable {
    public static let publicKeyBytes = 32
    /// Bytes of a signature.
    public static let signatureBytes = 64
    private static let expandedBytes = 64

    /// 32 bytes, for everybody.
    public let publicKey: [UInt8]
    private let seed: SecretKey

    /// The pair that follows from a seed; the same each time.
    public init(seed: SecretKey) {
        self.seed = seed
        var publicKey = [UInt8](repeating: 0, count: Self.publicKeyBytes)
        unsafe publicKey.withUnsafeMutableBufferPointer { publicKey in
            unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.expandedBytes) { expanded in
                unsafe seed.withAddress { seed in
                    _ = unsafe crypto_sign_seed_keypair(publicKey.baseAddress!, expanded.baseAddress!, seed)
                }
                unsafe sodium_memzero(expanded.baseAddress, Self.expandedBytes)
            }
        }
        self.publicKey = publicKey
    }

    /// Appends the signature of `message`, which is not a part of `output`. The same message has the same signature.
    public func sign(_ message: Bytes, to output: inout ByteBuffer) {
        let room = unsafe output.room(for: Self.signatureBytes)
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.expandedBytes) { expanded in
            let start = expanded.baseAddress!
            seed.withBytes { unsafe start.update(from: $0.octets, count: SecretKey.byteCount) }
            publicKey.withBytes {
                unsafe (start + SecretKey.byteCount).update(from: $0.octets, count: Self.publicKeyBytes)
            }
            _ = unsafe crypto_sign_detached(room, nil, message.octets, UInt64(message.count), start)
            unsafe sodium_memzero(start, Self.expandedBytes)
        }
        output.commit(Self.signatureBytes)
    }

    /// Whether `signature` is that of `message` by whoever has the secret key to `publicKey`.
    public static func verify(_ signature: Bytes, of message: Bytes, publicKey: Bytes) -> Bool {
        Library.start()
        guard signature.count == signatureBytes, publicKey.count == publicKeyBytes else { return false }
        return unsafe crypto_sign_verify_detached(
            signature.octets, message.octets, UInt64(message.count), publicKey.octets) == 0
    }
}
