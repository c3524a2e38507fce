import CSodium
public import KuraBytes

/// Keys from passphrases: Argon2id, version 1.3, one lane.
///
/// Source: RFC 9106; libsodium, "Password hashing" (`crypto_pwhash`, `crypto_pwhash_ALG_ARGON2ID13`).
public enum PasswordHash {
    /// Bytes of a salt.
    public static let saltBytes = 16

    /// What a guess costs whoever tries passphrases, and what opening costs us.
    ///
    /// Stored beside what the key opens, so they are bounded when they are read: who can write there could otherwise have the daemon take
    /// all memory, or never end.
    public struct Parameters: Equatable, Sendable {
        /// Passes over the memory: 1…64.
        public let passes: Int
        /// Memory in bytes: 8 MiB…1 GiB, in KiB.
        public let memoryBytes: Int

        /// 8 MiB.
        public static let leastMemoryBytes = 8 << 20
        /// 1 GiB, libsodium's SENSITIVE.
        public static let mostMemoryBytes = 1 << 30
        static let mostPasses = 64
        /// Passes times memory: some ten seconds' work.
        static let mostWork = 8 << 30

        /// - Throws: `unacceptableParameters` when they are outside of the bounds, or much work together (8 GiB in all passes).
        public init(passes: Int, memoryBytes: Int) throws(SodiumError) {
            guard (1...Self.mostPasses).contains(passes),
                (Self.leastMemoryBytes...Self.mostMemoryBytes).contains(memoryBytes), memoryBytes % 1024 == 0,
                passes * memoryBytes <= Self.mostWork
            else { throw .unacceptableParameters }
            self.passes = passes
            self.memoryBytes = memoryBytes
        }

        /// libsodium's MODERATE (3 passes, 256 MiB), or as much work with less memory when only `limit` bytes may be taken.
        ///
        /// - Parameter limit: bytes that the hash may take; nil for no limit.
        /// - Returns: nil when even 8 MiB are more than that.
        public static func moderate(within limit: Int? = nil) -> Parameters? {
            let memory = min(256 << 20, limit ?? .max) / 1024 * 1024
            guard memory >= leastMemoryBytes else { return nil }
            let passes = min((3 * (256 << 20) + memory - 1) / memory, mostPasses)
            return try? Parameters(passes: passes, memoryBytes: memory)
        }
    }

    /// The key that a passphrase stands for. Takes its `memoryBytes` at once and up to seconds, so never on a loop.
    ///
    /// - Parameters:
    ///   - passphrase: any bytes.
    ///   - salt: 16 bytes, random where the passphrase was set.
    ///   - parameters: those that were used then.
    /// - Returns: the key, whether the passphrase is right or not.
    /// - Throws: `malformed` for a salt of another length, `outOfMemory`.
    ///
    /// Safety: addresses go with the counts of the same bytes; the key's slot has room for its 32 bytes.
    public static func key(
        from passphrase: Bytes, salt: Bytes, _ parameters: Parameters
    ) throws(SodiumError) -> SecretKey {
        guard salt.count == saltBytes else { throw .malformed }
        return try unsafe SecretKey { slot in
            let isDone = unsafe hash(
                passphrase, salt, passes: parameters.passes, memoryBytes: parameters.memoryBytes, to: slot,
                count: SecretKey.byteCount)
            return isDone ? nil : .outOfMemory
        }
    }

    /// The function itself, without bounds of our own.
    /// - Returns: false when there is no memory, or libsodium does not take the numbers.
    ///
    /// Safety: as for `key`; the caller has room for `count` bytes.
    static func hash(
        _ passphrase: Bytes, _ salt: Bytes, passes: Int, memoryBytes: Int, to output: UnsafeMutablePointer<UInt8>,
        count: Int
    ) -> Bool {
        Library.start()
        let text = unsafe UnsafeRawPointer(passphrase.octets).assumingMemoryBound(to: CChar.self)
        return unsafe crypto_pwhash_argon2id(
            output, UInt64(count), text, UInt64(passphrase.count), salt.octets, UInt64(passes), memoryBytes,
            crypto_pwhash_argon2id_alg_argon2id13()) == 0
    }
}
