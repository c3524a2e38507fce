public import KuraBytes

/// A JSON number, exactly: a view of its text that compares digit by digit, whatever its length.
///
/// An exponent beyond ±10^15 counts as ±10^15.
public struct Decimal {
    private let text: Bytes
    public let isNegative: Bool
    /// The significant digits, from the first that is not zero to the last; a point may stand between them.
    let digits: Range<Int>
    /// Powers of ten of the first and the last significant digit.
    public let firstPower: Int
    public let lastPower: Int

    public var isZero: Bool { digits.isEmpty }
    /// Source: JSON Schema draft-07, 6.1.1: a number without a fraction is an integer, however it is written.
    public var isInteger: Bool { isZero || lastPower >= 0 }

    /// - Parameter number: the text of a checked JSON number.
    public init(_ number: Bytes) {
        text = number
        isNegative = number.first == UInt8(ascii: "-")
        var first = -1
        var last = -1
        var point = -1
        var index = isNegative ? 1 : 0
        while index < number.count, number[index] | 0x20 != UInt8(ascii: "e") {
            switch number[index] {
            case UInt8(ascii: "."): point = index
            case UInt8(ascii: "0"): break
            default:
                if first < 0 { first = index }
                last = index
            }
            index += 1
        }
        if point < 0 { point = index }
        guard first >= 0 else {
            digits = 0..<0
            firstPower = 0
            lastPower = 0
            return
        }
        let exponent = Self.exponent(number, from: index + 1)
        digits = first..<last + 1
        firstPower = (first < point ? point - first - 1 : point - first) + exponent
        lastPower = (last < point ? point - last - 1 : point - last) + exponent
    }

    private static func exponent(_ number: Bytes, from start: Int) -> Int {
        var magnitude = 0
        var isNegative = false
        var index = start
        while index < number.count {
            switch number[index] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): break
            default: magnitude = min(magnitude * 10 + Int(number[index] - UInt8(ascii: "0")), 1_000_000_000_000_000)
            }
            index += 1
        }
        return isNegative ? -magnitude : magnitude
    }

    /// -1, 0 or 1, as the left number is smaller, equal or larger.
    public static func order(_ left: Decimal, _ right: Decimal) -> Int {
        if left.isZero || right.isZero {
            if left.isZero && right.isZero { return 0 }
            return left.isZero ? (right.isNegative ? 1 : -1) : (left.isNegative ? -1 : 1)
        }
        guard left.isNegative == right.isNegative else { return left.isNegative ? -1 : 1 }
        let magnitude = orderOfMagnitudes(left, right)
        return left.isNegative ? -magnitude : magnitude
    }

    private static func orderOfMagnitudes(_ left: Decimal, _ right: Decimal) -> Int {
        guard left.firstPower == right.firstPower else { return left.firstPower < right.firstPower ? -1 : 1 }
        var (ours, theirs) = (left.digits.lowerBound, right.digits.lowerBound)
        while true {
            let mine = left.digit(&ours)
            let other = right.digit(&theirs)
            // Neither run ends in a zero: the one that goes on is the larger.
            guard let mine else { return other == nil ? 0 : -1 }
            guard let other else { return 1 }
            if mine != other { return mine < other ? -1 : 1 }
        }
    }

    @inline(__always)
    func digit(_ index: inout Int) -> UInt8? {
        if index < digits.upperBound, text[index] == UInt8(ascii: ".") { index += 1 }
        guard index < digits.upperBound else { return nil }
        index += 1
        return text[index - 1] &- UInt8(ascii: "0")
    }

    /// The significant digits as a number; nil when they are more than 18.
    public var significand: UInt64? {
        var index = digits.lowerBound
        var value: UInt64 = 0
        var count = 0
        while let digit = digit(&index) {
            count += 1
            guard count <= 18 else { return nil }
            value = value * 10 + UInt64(digit)
        }
        return value
    }

    /// Whether this is a whole number of times `divisor` × 10^`power`; `divisor` is positive, below 2^63, without a final zero.
    public func isMultiple(of divisor: UInt64, power: Int) -> Bool {
        if isZero { return true }
        // Our own last digit is not zero, so that ten divides the significand never.
        guard lastPower >= power else { return false }
        return remainder(dividing: divisor, powers: lastPower - power) == 0
    }

    /// What is left of a whole number's magnitude when it is divided by `divisor`, which is positive and below 2^63.
    public func remainder(dividing divisor: UInt64) -> UInt64 {
        isZero ? 0 : remainder(dividing: divisor, powers: lastPower)
    }

    /// The same of the significand times 10^`powers`.
    private func remainder(dividing divisor: UInt64, powers: Int) -> UInt64 {
        var rest: UInt64 = 0
        var index = digits.lowerBound
        while let digit = digit(&index) {
            rest = (Self.product(rest, 10, modulo: divisor) + UInt64(digit)) % divisor
        }
        var factor: UInt64 = 10 % divisor
        var times = powers
        while times > 0, rest != 0 {
            if times & 1 == 1 { rest = Self.product(rest, factor, modulo: divisor) }
            factor = Self.product(factor, factor, modulo: divisor)
            times >>= 1
        }
        return rest
    }

    private static func product(_ left: UInt64, _ right: UInt64, modulo: UInt64) -> UInt64 {
        let wide = left.multipliedFullWidth(by: right)
        if wide.high == 0 { return wide.low % modulo }
        return modulo.dividingFullWidth((wide.high % modulo, wide.low)).remainder
    }

    /// Equal numbers have equal hashes, however they are written.
    public func hash(seed: UInt64) -> UInt64 {
        if isZero { return seed }
        var state = seed ^ UInt64(bitPattern: Int64(firstPower)) ^ (isNegative ? 1 << 63 : 0)
        var chunk: UInt64 = 0
        var count = 0
        var index = digits.lowerBound
        while let digit = digit(&index) {
            chunk = chunk * 10 + UInt64(digit)
            count += 1
            if count % 18 == 0 {
                state = Self.mix(state, chunk)
                chunk = 0
            }
        }
        return Self.mix(state, chunk)
    }

    public static func mix(_ state: UInt64, _ value: UInt64) -> UInt64 {
        Hash.number(value, seed: state)
    }
}
