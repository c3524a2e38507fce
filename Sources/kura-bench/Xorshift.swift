/// Marsaglia's xorshift64* generator: three shifts and a multiplication a number.
struct Xorshift {
    private var state: UInt64

    init(seed: UInt64) {
        // One splitmix64 step: neighbouring seeds must not give neighbouring streams, and the state may not be 0.
        var mixed = seed &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        state = mixed == 0 ? 1 : mixed
    }

    @inline(__always)
    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    /// A number in `0 ..< bound`, for bounds below 2³²; the bias is below bound / 2³².
    @inline(__always)
    mutating func below(_ bound: UInt64) -> UInt64 {
        ((next() >> 32) &* bound) >> 32
    }
}
