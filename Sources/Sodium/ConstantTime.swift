import CSodium
public import KuraBytes

/// Comparisons that take as long for bytes that are nearly right as for bytes that are wholly wrong.
public enum ConstantTime {
    /// Whether both are the same. Different lengths are told at once: lengths are no secret here.
    ///
    /// Safety: both are read for their common count.
    public static func equal(_ left: Bytes, _ right: Bytes) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe sodium_memcmp(left.octets, right.octets, left.count) == 0
    }
}
