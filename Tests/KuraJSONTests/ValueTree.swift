import KuraBytes

@testable import KuraJSON

/// A JSON value by the book, for a second opinion: it can be written in several spellings, and says its order by itself.
indirect enum ValueTree {
    case null
    case bool(Bool)
    /// `mantissa` × 10^`power`.
    case number(mantissa: Int, power: Int)
    case string(String)
    case array([ValueTree])
    /// Names differ.
    case object([(name: String, value: ValueTree)])

    private var rank: Int {
        switch self {
        case .null: 0
        case .bool(let value): value ? 2 : 1
        case .number: 3
        case .string: 4
        case .array: 5
        case .object: 6
        }
    }

    static func order(_ left: ValueTree?, _ right: ValueTree?) -> Int {
        guard let left, let right else { return left == nil ? (right == nil ? 0 : -1) : 1 }
        guard left.rank == right.rank else { return left.rank < right.rank ? -1 : 1 }
        switch (left, right) {
        case (.number(let mantissa, let power), .number(let other, let otherPower)):
            let least = min(power, otherPower)
            func scaled(_ mantissa: Int, _ power: Int) -> Int128 {
                (0..<power - least).reduce(Int128(mantissa)) { value, _ in value * 10 }
            }
            let (first, second) = (scaled(mantissa, power), scaled(other, otherPower))
            return first < second ? -1 : first == second ? 0 : 1
        case (.string(let text), .string(let other)): return order(Array(text.utf8), Array(other.utf8))
        case (.array(let elements), .array(let others)):
            for (mine, other) in zip(elements, others) {
                let order = order(mine, other)
                if order != 0 { return order }
            }
            return (elements.count - others.count).signum()
        case (.object(let members), .object(let others)):
            let (ours, theirs) = (sorted(members), sorted(others))
            for (mine, other) in zip(ours, theirs) {
                let names = order(Array(mine.name.utf8), Array(other.name.utf8))
                if names != 0 { return names }
                let values = order(mine.value, other.value)
                if values != 0 { return values }
            }
            return (ours.count - theirs.count).signum()
        default: return 0
        }
    }

    private static func sorted(_ members: [(name: String, value: ValueTree)]) -> [(name: String, value: ValueTree)] {
        members.sorted { order(Array($0.name.utf8), Array($1.name.utf8)) < 0 }
    }

    static func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.lexicographicallyPrecedes(right) ? -1 : left == right ? 0 : 1
    }
}

/// Random values that are often equal or close, and random spellings of them.
struct ValueGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func below(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }

    mutating func tree(depth: Int = 3) -> ValueTree {
        switch below(depth > 0 ? 10 : 7) {
        case 0: return .null
        case 1: return .bool(below(2) == 0)
        case 2, 3:
            let size = [3, 12, 130, 1_000_000][below(4)]
            return .number(mantissa: below(2 * size) - size, power: below(3) == 0 ? below(17) - 8 : 0)
        case 4, 5, 6: return .string(string())
        case 7: return .array((0..<below(4)).map { _ in tree(depth: depth - 1) })
        default:
            var members: [(name: String, value: ValueTree)] = []
            for _ in 0..<below(4) {
                let name = string()
                if !members.contains(where: { $0.name == name }) { members.append((name, tree(depth: depth - 1))) }
            }
            return .object(members)
        }
    }

    mutating func string() -> String {
        let parts = [
            "a", "b", "", "\u{0}", "\u{1}", "\u{2}", "\"", "\\", "/", "\n", "é", "\u{7F}", "蔵", "😀", "\u{FFFD}",
        ]
        return (0..<below(4)).map { _ in parts[below(parts.count)] }.joined()
    }

    /// One of the ways to write it.
    mutating func spell(_ tree: ValueTree) -> String {
        switch tree {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .number(let mantissa, let power): return spell(mantissa, power)
        case .string(let text): return spell(text)
        case .array(let elements):
            return "[" + elements.map { spell($0) }.joined(separator: ",") + "]"
        case .object(var members):
            for place in members.indices { members.swapAt(place, below(members.count)) }
            return "{" + members.map { spell($0.name) + ":" + spell($0.value) }.joined(separator: ",") + "}"
        }
    }

    private mutating func spell(_ mantissa: Int, _ power: Int) -> String {
        let sign = mantissa < 0 || (mantissa == 0 && below(2) == 0) ? "-" : ""
        var digits = String(mantissa.magnitude)
        var power = power
        // Zeros behind do not count.
        for _ in 0..<below(3) {
            digits += "0"
            power -= 1
        }
        if power < 0, below(2) == 0 {
            // With a point, and the rest of the exponent before it.
            let fraction = min(-power, 1 + below(4))
            while digits.count <= fraction { digits = "0" + digits }
            digits = digits.dropLast(fraction) + "." + digits.suffix(fraction)
            power += fraction
        }
        if power == 0, below(2) == 0 { return sign + digits }
        return sign + digits + (below(2) == 0 ? "e" : "E") + (power >= 0 && below(2) == 0 ? "+" : "") + String(power)
    }

    private mutating func spell(_ text: String) -> String {
        var spelled = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": spelled += "\\\(scalar)"
            case "\n" where below(2) == 0: spelled += "\\n"
            case "/" where below(2) == 0: spelled += "\\/"
            case _ where scalar.value < 0x20 || below(4) == 0:
                for unit in String(scalar).utf16 {
                    let hex = String(unit, radix: 16, uppercase: below(2) == 0)
                    spelled += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
                }
            default: spelled.unicodeScalars.append(scalar)
            }
        }
        return spelled + "\""
    }
}
