/// The hash of what outlives the process: the check of the write bill's file, the seals of cursors, the names of references' indexes.
///
/// It never changes: what earlier versions have written would not be known again. Its seeds are no secret, and bytes can cancel their length
/// in it ("a", "ba" and "caa" are one): it finds accidents, and no table is keyed by it.
public enum LastingHash {
    public static func bytes(_ bytes: Bytes, seed: UInt64) -> UInt64 {
        let start = seed ^ 0x9E37_79B9_7F4A_7C15 ^ UInt64(truncatingIfNeeded: bytes.count)
        return Hash.mix(bytes, start, bytes.isEmpty ? 0xD6E8_FEB8_6659_FD93 : seed ^ 0xE703_7ED1_A0B4_28DB)
    }
}
