import CSodium
public import KuraBytes

/// BLAKE2b with 128 bits under a random key: stands for a name in an index, or for a request. Without the key nobody can find two
/// names that share one, so an index need not keep the names.
///
/// Source: RFC 7693; libsodium, "Generic hashing" (`crypto_generichash`).
public struct LookupHash: Hashable, Sendable, BitwiseCopyable {
    public let high: UInt64
    public let low: UInt64

    /// Safety: 32 bytes of key and 16 of the hash are on the stack; address and count of the name are of the same bytes.
    public init(_ name: Bytes, key: Key) {
        var hash: (UInt64, UInt64) = (0, 0)
        var words = key.words
        unsafe withUnsafeMutableBytes(of: &hash) { hash in
            unsafe withUnsafeBytes(of: &words) { key in
                _ = unsafe crypto_generichash(
                    hash.baseAddress!.assumingMemoryBound(to: UInt8.self), 16, name.octets, UInt64(name.count),
                    key.baseAddress!.assumingMemoryBound(to: UInt8.self), 32)
            }
        }
        (high, low) = hash
    }

    /// One half is as good as any hash.
    public func hash(into hasher: inout Hasher) { hasher.combine(low) }

    /// What names are hashed under. It keeps nobody from reading anything: it only cannot be guessed from outside.
    public struct Key: Sendable {
        /// Bytes of a key.
        public static let byteCount = 32

        fileprivate let words: (UInt64, UInt64, UInt64, UInt64)

        /// A key that was drawn earlier; `bytes`: `byteCount` of them.
        public init(_ bytes: [UInt8]) {
            precondition(bytes.count == Self.byteCount, "a key has \(Self.byteCount) bytes")
            words = bytes.withBytes { bytes in
                func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
                return (word(0), word(8), word(16), word(24))
            }
        }

        public init() {
            var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
            guard sodium_init() >= 0 else { fatalError("libsodium cannot be used here") }
            // Safety: the 32 bytes are ours.
            unsafe withUnsafeMutableBytes(of: &words) { unsafe randombytes_buf($0.baseAddress!, 32) }
            self.words = words
        }
    }
}
