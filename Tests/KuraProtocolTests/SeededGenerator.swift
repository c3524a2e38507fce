import Glibc

// What the test targets share is known in all files of this one.
@_exported public import KuraTestSupport

/// Reproducible randomness (`SplitMix`). The seed is printed; `KURA_TEST_SEED` sets it.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var numbers: SplitMix

    init(_ test: String = #function) {
        let given = getenv("KURA_TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        seed = given ?? UInt64.random(in: 1...999_999_999)
        numbers = SplitMix(state: seed)
        print("\(test): KURA_TEST_SEED=\(seed)")
    }

    /// How often a random test repeats: `usual` times, or that times `KURA_TEST_ROUNDS`.
    static func rounds(_ usual: Int) -> Int {
        usual * (getenv("KURA_TEST_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 1)
    }

    mutating func next() -> UInt64 { numbers.next() }
}
