import CSodium
public import KuraBytes

/// HMAC-SHA-512 cut to its first 256 bits: who has the key can say that bytes are its own.
///
/// It is not HMAC over the hash SHA-512/256, whose initial values differ.
///
/// Source: RFC 2104, RFC 4868; libsodium, `crypto_auth_hmacsha512256`.
///
/// Safety: addresses go with the counts of the same bytes; a code is written to room for one.
public enum MAC {
    /// Bytes of a code.
    public static let codeBytes = 32

    /// Appends the code of `bytes`, which are not a part of `output`.
    public static func append(_ bytes: Bytes, key: SecretKey, to output: inout ByteBuffer) {
        let room = unsafe output.room(for: codeBytes)
        unsafe key.withAddress { key in
            _ = unsafe crypto_auth_hmacsha512256(room, bytes.octets, UInt64(bytes.count), key)
        }
        output.commit(codeBytes)
    }

    /// Whether `code` is that of `bytes`, compared in constant time.
    public static func verify(_ code: Bytes, of bytes: Bytes, key: SecretKey) -> Bool {
        guard code.count == codeBytes else { return false }
        return unsafe key.withAddress { key in
            unsafe crypto_auth_hmacsha512256_verify(code.octets, bytes.octets, UInt64(bytes.count), key)
        } == 0
    }
}
