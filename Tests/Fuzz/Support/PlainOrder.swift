/// A number as its digits without zeros at either end, and the power of ten of the last.
struct PlainDecimal {
    var isNegative = false
    var digits: [UInt8] = []
    var lastPower = 0

    init(_ text: [UInt8]) {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 | 0x20 == UInt8(ascii: "e") }
        isNegative = text.first == UInt8(ascii: "-")
        let mantissa = parts[0].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        digits = mantissa.joined().filter { $0 != UInt8(ascii: "-") }.map { $0 - 0x30 }
        lastPower = parts.count > 1 ? Self.exponent(parts[1]) : 0
        if mantissa.count > 1 { lastPower -= mantissa[1].count }
        while digits.last == 0 {
            digits.removeLast()
            lastPower += 1
        }
        digits = Array(digits.drop { $0 == 0 })
    }

    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        let digits = text.filter { (0x30...0x39).contains($0) }.drop { $0 == 0x30 }
        let bound = 1_000_000_000_000_000
        let magnitude = digits.count > 16 ? bound : min(bound, Int(String(decoding: digits, as: UTF8.self)) ?? 0)
        return text.first == UInt8(ascii: "-") ? -magnitude : magnitude
    }

    var firstPower: Int { lastPower + digits.count - 1 }

    var significand: UInt64? { digits.count <= 18 ? digits.reduce(0) { $0 * 10 + UInt64($1) } : nil }

    static func order(_ left: PlainDecimal, _ right: PlainDecimal) -> Int {
        func sign(_ number: PlainDecimal) -> Int { number.digits.isEmpty ? 0 : number.isNegative ? -1 : 1 }
        guard sign(left) == sign(right) else { return sign(left) < sign(right) ? -1 : 1 }
        guard sign(left) != 0 else { return 0 }
        let magnitude: Int
        if left.firstPower != right.firstPower {
            magnitude = left.firstPower < right.firstPower ? -1 : 1
        } else {
            let count = max(left.digits.count, right.digits.count)
            let mine = left.digits + [UInt8](repeating: 0, count: count - left.digits.count)
            let other = right.digits + [UInt8](repeating: 0, count: count - right.digits.count)
            magnitude = mine == other ? 0 : mine.lexicographicallyPrecedes(other) ? -1 : 1
        }
        return sign(left) * magnitude
    }

    /// By division as on paper; nil when that would take too many digits.
    func isMultiple(of divisor: PlainDecimal) -> Bool? {
        guard !digits.isEmpty else { return true }
        guard let significand = divisor.significand else { return nil }
        let zeros = lastPower - divisor.lastPower
        guard zeros.magnitude < 2000 else { return nil }
        // A negative number of zeros is a fraction, whose digits behind the point must go: the last of them is not zero.
        guard zeros >= 0 else { return false }
        var rest: UInt128 = 0
        for digit in digits + [UInt8](repeating: 0, count: zeros) {
            rest = (rest * 10 + UInt128(digit)) % UInt128(significand)
        }
        return rest == 0
    }
}

extension PlainJSON {
    private var rank: Int {
        switch self {
        case .null: 0
        case .boolean(let isTrue): isTrue ? 2 : 1
        case .number: 3
        case .string: 4
        case .array: 5
        case .object: 6
        }
    }

    /// The order of all values, as `Collation` describes it: -1, 0 or 1.
    static func order(_ left: PlainJSON, _ right: PlainJSON) -> Int {
        guard left.rank == right.rank else { return left.rank < right.rank ? -1 : 1 }
        switch (left, right) {
        case (.number(let mine), .number(let other)): return PlainDecimal.order(PlainDecimal(mine), PlainDecimal(other))
        case (.string(let mine), .string(let other)): return order(mine, other)
        case (.array(let ours), .array(let theirs)):
            for (mine, other) in zip(ours, theirs) {
                let order = order(mine, other)
                if order != 0 { return order }
            }
            return (ours.count - theirs.count).signum()
        case (.object(let mine), .object(let other)):
            let ours = mine.sorted { order($0.name, $1.name) < 0 }
            let theirs = other.sorted { order($0.name, $1.name) < 0 }
            for (mine, other) in zip(ours, theirs) {
                let names = order(mine.name, other.name)
                if names != 0 { return names }
                let values = order(mine.value, other.value)
                if values != 0 { return values }
            }
            return (ours.count - theirs.count).signum()
        default: return 0
        }
    }

    /// Of bytes.
    static func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }
}
