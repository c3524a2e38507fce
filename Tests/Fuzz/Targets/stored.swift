import KuraBytes
import KuraProtocol

@testable import KuraJSON

/// `StoredValue` and `Decimal`: whatever they are given they stay inside of it; a value's parts are those that `PlainJSON`
/// finds, and its numbers are ordered as `PlainDecimal` has it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { text in
        checkInside(StoredValue(text), depth: 0)
        guard let plain = PlainJSON.parse(Array(text))?.value else { return }
        var compact = ByteBuffer()
        JSONText.compact(text, into: &compact)
        withExactBytes(compact.bytes) { checkParts(StoredValue($0), plain) }
        var numbers: [[UInt8]] = []
        collectNumbers(plain, into: &numbers)
        // Each is held against each.
        checkNumbers(Array(numbers.prefix(24)))
    }
    return 0
}

/// Parts follow one another within their whole, also when it is no JSON.
private func checkInside(_ value: StoredValue, depth: Int) {
    _ = value.kind
    check(isInside(value.quoted, value.text), "a string's inside lies in it")
    // Each level is walked anew, so that deep ones would take the square of the text.
    guard depth < 6 else { return }
    var end = value.text.baseAddress
    func follows(_ part: Bytes, _ what: String) {
        check(isInside(part, value.text), "\(what) lies in its whole")
        guard let start = part.baseAddress, let before = end else { return }
        check(start >= before, "\(what) comes behind the last part")
        end = start + part.count
    }
    for member in value.members {
        follows(member.name, "a name")
        follows(member.value.text, "a member's value")
        _ = member.nameHasEscapes
        checkInside(member.value, depth: depth + 1)
    }
    end = value.text.baseAddress
    for element in value.elements {
        follows(element.text, "an element")
        checkInside(element, depth: depth + 1)
    }
}

private func isInside(_ part: Bytes, _ whole: Bytes) -> Bool {
    guard let start = part.baseAddress, let first = whole.baseAddress else { return part.isEmpty }
    return start >= first && start + part.count <= first + whole.count
}

private func checkParts(_ value: StoredValue, _ plain: PlainJSON) {
    check(value.kind == kind(of: plain), "the kind")
    switch plain {
    case .object(let members):
        check(Array(value.elements.map(\.text.count)).isEmpty, "an object has no elements")
        var walk = value.members
        for member in members {
            guard let found = walk.next() else { return check(false, "no member is missing") }
            let quoted = [UInt8(ascii: "\"")] + found.name + [UInt8(ascii: "\"")]
            check(PlainJSON.parse(quoted)?.value == .string(member.name), "the member's name")
            check(found.nameHasEscapes == !found.name.elementsEqual(member.name), "whether it has escapes")
            checkParts(found.value, member.value)
        }
        check(walk.next() == nil, "no member comes besides")
    case .array(let elements):
        check(Array(value.members.map(\.name.count)).isEmpty, "an array has no members")
        var walk = value.elements
        for element in elements {
            guard let found = walk.next() else { return check(false, "no element is missing") }
            checkParts(found, element)
        }
        check(walk.next() == nil, "no element comes besides")
    case .string:
        check(value.quoted.count == value.text.count - 2, "a string's inside")
        check(PlainJSON.parse(Array(value.text))?.value == plain, "the string")
    case .number(let digits): check(value.text.elementsEqual(digits), "the number's text")
    case .boolean, .null: break
    }
}

private func kind(of value: PlainJSON) -> ValueKind {
    switch value {
    case .object: .object
    case .array: .array
    case .string: .string
    case .number: .number
    case .boolean(let isTrue): isTrue ? .true : .false
    case .null: .null
    }
}

private func collectNumbers(_ value: PlainJSON, into numbers: inout [[UInt8]]) {
    switch value {
    case .object(let members): for member in members { collectNumbers(member.value, into: &numbers) }
    case .array(let elements): for element in elements { collectNumbers(element, into: &numbers) }
    case .number(let digits): numbers.append(digits)
    default: break
    }
}

private func checkNumbers(_ numbers: [[UInt8]]) {
    let plain = numbers.map(PlainDecimal.init)
    for (left, mine) in zip(numbers, plain) {
        withExactBytes(left) { left in
            let decimal = Decimal(left)
            check(decimal.isZero == mine.digits.isEmpty, "whether it is zero")
            check(decimal.isInteger == (mine.digits.isEmpty || mine.lastPower >= 0), "whether it is whole")
            check(decimal.significand == mine.significand, "its significant digits")
            if !decimal.isZero {
                check(decimal.lastPower == mine.lastPower, "the power of its last digit")
                check(decimal.firstPower == mine.firstPower, "the power of its first digit")
                check(decimal.isNegative == mine.isNegative, "its sign")
            }
            for (right, other) in zip(numbers, plain) {
                withExactBytes(right) { right in
                    let its = Decimal(right)
                    let order = PlainDecimal.order(mine, other)
                    check(Decimal.order(decimal, its) == order, "the order of two numbers")
                    if order == 0 { check(decimal.hash(seed: 7) == its.hash(seed: 7), "equal numbers' hashes") }
                    guard let divisor = other.significand, divisor > 0, let isMultiple = mine.isMultiple(of: other)
                    else { return }
                    check(decimal.isMultiple(of: divisor, power: other.lastPower) == isMultiple, "a multiple")
                }
            }
        }
    }
}

/// A number as its digits without zeros at either end, and the power of ten of the last.
private struct PlainDecimal {
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
