public import KuraBytes

/// Whole numbers in JSON text, exactly: no digit goes through floating point.
public enum JSONNumber {
    /// The whole number that a checked JSON value stands for; nil when it is no number, has a fraction or does not fit.
    ///
    /// `1.0`, `1e3` and `10e-1` are whole numbers too. Source: JSON Schema draft-07, 6.1.1.
    public static func integer(_ number: Bytes) -> Int64? {
        let isNegative = number.first == UInt8(ascii: "-")
        var index = isNegative ? 1 : 0
        // Eighteen digits cannot overflow; nearly every number ends here.
        guard number.count - index <= 18, index < number.count else { return exactInteger(number) }
        var magnitude: Int64 = 0
        while index < number.count {
            let digit = number[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return exactInteger(number) }
            magnitude = magnitude &* 10 &+ Int64(digit)
            index += 1
        }
        return isNegative ? -magnitude : magnitude
    }

    /// The number is its digits without zeros at either end, times a power of ten. More than 20 such digits fit nothing:
    /// they are too large, or have a fraction.
    private static func exactInteger(_ number: Bytes) -> Int64? {
        var index = number.first == UInt8(ascii: "-") ? 1 : 0
        // A checked value that begins so is a number; anything else must not be taken for digits.
        guard index < number.count, number[index] &- UInt8(ascii: "0") < 10 else { return nil }
        let isNegative = index == 1
        var magnitude: UInt64 = 0
        var zeros = 0
        var fractionDigits = 0
        var isFraction = false
        while index < number.count, number[index] | 0x20 != UInt8(ascii: "e") {
            let byte = number[index]
            index += 1
            if byte == UInt8(ascii: ".") {
                isFraction = true
                continue
            }
            if isFraction { fractionDigits += 1 }
            if byte == UInt8(ascii: "0") {
                zeros += 1
                continue
            }
            guard let shifted = timesTen(magnitude, power: zeros + 1) else { return nil }
            let (sum, overflow) = shifted.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
            if overflow { return nil }
            magnitude = sum
            zeros = 0
        }
        if magnitude == 0 { return 0 }
        let scale = zeros - fractionDigits + exponent(Bytes(rebasing: number[index...]))
        guard scale >= 0, let whole = timesTen(magnitude, power: scale) else { return nil }
        if isNegative { return whole <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- whole) : nil }
        return Int64(exactly: whole)
    }

    private static func timesTen(_ value: UInt64, power: Int) -> UInt64? {
        if value == 0 { return 0 }
        guard power <= 19 else { return nil }
        var result = value
        for _ in 0..<power {
            let (product, overflow) = result.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            result = product
        }
        return result
    }

    /// The exponent behind `e`; one that no text is long enough to make up for counts as ±10^12.
    private static func exponent(_ part: Bytes) -> Int {
        guard part.count > 1 else { return 0 }
        let isNegative = part[1] == UInt8(ascii: "-")
        var magnitude = 0
        for byte in part.dropFirst() where byte != UInt8(ascii: "-") && byte != UInt8(ascii: "+") {
            magnitude = min(magnitude * 10 + Int(byte - UInt8(ascii: "0")), 1_000_000_000_000)
        }
        return isNegative ? -magnitude : magnitude
    }
}
