import CSodium
public import KuraBytes

/// BLAKE2b with 256 bits, without a key: the name of a content. Fed piece by piece; one instance hashes one content.
///
/// Source: libsodium, "Generic hashing" (`crypto_generichash`); RFC 7693.
///
/// Safety: the state is memory of our own, of libsodium's size and alignment, from `init` to `deinit`; addresses go with the counts of
/// the same bytes, which libsodium reads before it returns.
@safe
public struct GenericHash: ~Copyable {
    /// Bytes of a digest.
    public static let digestBytes = 32

    private let state: UnsafeMutableRawPointer

    public init() {
        // Chooses the fastest implementation for this processor; after the first time it does nothing. From any thread.
        guard sodium_init() >= 0 else { fatalError("libsodium cannot be used here") }
        unsafe state = .allocate(byteCount: crypto_generichash_statebytes(), alignment: 64)
        unsafe crypto_generichash_init(OpaquePointer(state), nil, 0, Self.digestBytes)
    }

    /// What has been fed so far, to be gone on with apart.
    public init(copying other: borrowing GenericHash) {
        unsafe state = .allocate(byteCount: crypto_generichash_statebytes(), alignment: 64)
        unsafe state.copyMemory(from: other.state, byteCount: crypto_generichash_statebytes())
    }

    deinit {
        unsafe sodium_memzero(state, crypto_generichash_statebytes())
        unsafe state.deallocate()
    }

    public mutating func update(_ bytes: Bytes) {
        guard let start = unsafe bytes.baseAddress else { return }
        unsafe crypto_generichash_update(
            OpaquePointer(state), start.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    }

    /// The digest of everything that was fed: 32 bytes.
    public consuming func finish() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.digestBytes) { digest, count in
            unsafe crypto_generichash_final(OpaquePointer(state), digest.baseAddress!, Self.digestBytes)
            count = Self.digestBytes
        }
    }
}
