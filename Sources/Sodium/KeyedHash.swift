import CSodium
public import KuraBytes

/// BLAKE2b with 256 bits under a key: the same bytes give the same hash, and without the key nobody can tell which bytes.
///
/// Source: RFC 7693; libsodium, "Generic hashing" (`crypto_generichash`).
///
/// Safety: the state is memory of our own, of libsodium's size and alignment, from `init` to `deinit`; addresses go with the counts of
/// the same bytes, and digests to room for one.
@safe
public struct KeyedHash: ~Copyable {
    /// Bytes of a hash.
    public static let digestBytes = 32

    private let state: UnsafeMutableRawPointer

    /// For bytes that come in pieces; `append` is for those that are at hand.
    public init(key: SecretKey) {
        unsafe state = .allocate(byteCount: crypto_generichash_statebytes(), alignment: 64)
        let state = unsafe OpaquePointer(state)
        unsafe key.withAddress { key in
            _ = unsafe crypto_generichash_init(state, key, SecretKey.byteCount, Self.digestBytes)
        }
    }

    deinit {
        unsafe sodium_memzero(state, crypto_generichash_statebytes())
        unsafe state.deallocate()
    }

    public mutating func update(_ bytes: Bytes) {
        unsafe crypto_generichash_update(OpaquePointer(state), bytes.octets, UInt64(bytes.count))
    }

    /// Appends the hash of everything that was fed.
    public consuming func finish(to output: inout ByteBuffer) {
        unsafe crypto_generichash_final(OpaquePointer(state), output.room(for: Self.digestBytes), Self.digestBytes)
        output.commit(Self.digestBytes)
    }

    /// Appends the hash of `bytes`, which are not a part of `output`. Allocates nothing when there is room.
    public static func append(_ bytes: Bytes, key: SecretKey, to output: inout ByteBuffer) {
        let room = unsafe output.room(for: digestBytes)
        unsafe key.withAddress { key in
            _ = unsafe crypto_generichash(
                room, digestBytes, bytes.octets, UInt64(bytes.count), key, SecretKey.byteCount)
        }
        output.commit(digestBytes)
    }
}
