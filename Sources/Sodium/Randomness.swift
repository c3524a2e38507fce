import CSodium
public import KuraBytes

/// The kernel's randomness (getrandom(2)), good for keys.
///
/// Safety: each call fills exactly the room that was made for it.
public enum Randomness {
    /// Appends `count` bytes that may be seen: identities, salts, nonces.
    public static func append(_ count: Int, to output: inout ByteBuffer) {
        Library.start()
        unsafe randombytes_buf(output.room(for: count), count)
        output.commit(count)
    }

    /// Appends `count` bytes that are a secret.
    public static func append(_ count: Int, to output: inout SecretBuffer) {
        Library.start()
        unsafe randombytes_buf(output.room(for: count), count)
        output.commit(count)
    }

    /// `count` bytes that may be seen.
    public static func bytes(_ count: Int) -> [UInt8] {
        var output = ByteBuffer(capacity: count)
        append(count, to: &output)
        return [UInt8](output.bytes)
    }

    /// A number from 0 to `bound` - 1, each as likely as the others; `bound`: from 1 to 2³² - 1.
    public static func number(below bound: Int) -> Int {
        precondition(bound > 0 && bound <= Int(UInt32.max), "a bound from 1 to 2^32 - 1")
        Library.start()
        return Int(randombytes_uniform(UInt32(bound)))
    }
}
