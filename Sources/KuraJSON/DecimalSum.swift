public import KuraBytes

/// A sum of JSON numbers: exact while its digits fit into 128 bits, else to the precision of a double.
///
/// Money stays money: 0.1 + 0.2 is 0.3. Numbers of more than 18 digits, and numbers far apart in size, make it inexact.
public struct DecimalSum: Sendable {
    /// The sum is `mantissa` × 10^`power`, while it is exact.
    private var mantissa: Int128 = 0
    private var power = 0
    private var inexact: Double?
    /// Numbers that were added.
    public private(set) var count = 0

    public init() {}

    /// - Parameter text: the text of a checked JSON number.
    public mutating func add(_ text: Bytes) {
        count += 1
        let number = Decimal(text)
        if number.isZero { return }
        if inexact == nil, add(number) { return }
        inexact = value + Self.double(text)
    }

    /// - Returns: whether the sum is exact with it.
    private mutating func add(_ number: Decimal) -> Bool {
        guard let digits = number.significand else { return false }
        let magnitude = number.isNegative ? -Int128(digits) : Int128(digits)
        guard mantissa != 0 else {
            mantissa = magnitude
            power = number.lastPower
            return true
        }
        let least = min(power, number.lastPower)
        guard let ours = Self.scaled(mantissa, by: power - least),
            let theirs = Self.scaled(magnitude, by: number.lastPower - least)
        else { return false }
        let (sum, overflows) = ours.addingReportingOverflow(theirs)
        guard !overflows else { return false }
        mantissa = sum
        power = sum == 0 ? 0 : least
        return true
    }

    private static func scaled(_ value: Int128, by power: Int) -> Int128? {
        guard power <= 38 else { return nil }
        var value = value
        for _ in 0..<power {
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            guard !overflows else { return nil }
            value = product
        }
        return value
    }

    private static func double(_ text: Bytes) -> Double { Double(String(text)) ?? 0 }

    /// The sum as a double.
    public var value: Double {
        if let inexact { return inexact }
        return Double("\(mantissa)e\(power)") ?? 0
    }

    /// Appends the sum as a JSON number; `null` when it is beyond all doubles.
    public func append(to output: inout ByteBuffer) {
        if let inexact { return Self.append(inexact, to: &output) }
        var mantissa = mantissa
        var power = power
        while power < 0, mantissa % 10 == 0, mantissa != 0 {
            mantissa /= 10
            power += 1
        }
        var digits = Array("\(mantissa.magnitude)".utf8)
        if mantissa < 0 { output.append(UInt8(ascii: "-")) }
        switch power {
        case 0...20:
            output.append(digits)
            if mantissa != 0 { for _ in 0..<power { output.append(UInt8(ascii: "0")) } }
        case -40..<0:
            while digits.count <= -power { digits.insert(UInt8(ascii: "0"), at: 0) }
            output.append(Array(digits.dropLast(-power)))
            output.append(UInt8(ascii: "."))
            output.append(Array(digits.suffix(-power)))
        default:
            output.append(digits)
            output.append(text: "e\(power)")
        }
    }

    /// Appends the sum divided by the count; `null` without numbers.
    public func append(averageTo output: inout ByteBuffer) {
        guard count > 0 else { return output.append("null") }
        Self.append(value / Double(count), to: &output)
    }

    private static func append(_ value: Double, to output: inout ByteBuffer) {
        guard value.isFinite else { return output.append("null") }
        let text = "\(value)"
        output.append(text: text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
    }
}
