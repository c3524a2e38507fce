import Glibc

/// The public test suites: `$KURA_SUITES`, else `../shared/suites` beside the checkout.
enum Suites {
    static let directory: String = {
        if let path = getenv("KURA_SUITES") { return String(cString: path) }
        let checkout = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(
            separator: "/")
        return "\(checkout)/../shared/suites"
    }()

    static func has(_ folder: String) -> Bool {
        access("\(directory)/\(folder)", R_OK) == 0
    }

    /// Names of the files in `folder`, in order.
    static func files(in folder: String) -> [String] {
        guard let handle = opendir("\(directory)/\(folder)") else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    static func contents(of file: String) -> [UInt8]? {
        guard let stream = fopen("\(directory)/\(file)", "r") else { return nil }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&chunk, 1, chunk.count, stream)
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
    }
}

/// Reproducible randomness (SplitMix64, Steele, Lea and Flood, 2014). The seed is printed; `KURA_TEST_SEED` sets it.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(_ test: String = #function) {
        let given = getenv("KURA_TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        seed = given ?? UInt64.random(in: 1...999_999_999)
        state = seed
        print("\(test): KURA_TEST_SEED=\(seed)")
    }

    /// How often a random test repeats: `usual` times, or that times `KURA_TEST_ROUNDS`.
    static func rounds(_ usual: Int) -> Int {
        usual * (getenv("KURA_TEST_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 1)
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
