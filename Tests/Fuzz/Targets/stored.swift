import KuraBytes
import KuraProtocol

@testable import KuraJSON

/// `StoredValue`, `Decimal`, `Collation` and `IndexKey`: whatever they are given they stay inside of it; a value's parts are those
/// that `PlainJSON` finds, and numbers, values and keys are ordered as it has them.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { text in
        checkInside(StoredValue(text), depth: 0)
        guard let (plain, isWire) = PlainJSON.parse(Array(text)) else { return }
        var compact = ByteBuffer()
        JSONText.compact(text, into: &compact)
        withExactBytes(compact.bytes) { checkParts(StoredValue($0), plain) }
        if isWire, case .array(let elements) = plain {
            withExactBytes(compact.bytes) { checkOrder(StoredValue($0), elements) }
        }
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

/// Each element against each: the order of values, and of their keys.
private func checkOrder(_ array: StoredValue, _ elements: [PlainJSON]) {
    let values = zip(array.elements.prefix(16), elements).map { (stored: $0, plain: $1, key: key(of: $0)) }
    for left in values {
        let isLast = Collation.order(nil, left.stored) == -1 && Collation.order(left.stored, nil) == 1
        check(isLast, "nothing is before all")
        check(PlainJSON.order(key(of: nil), left.key) == -1, "its key as well")
        for right in values {
            let order = PlainJSON.order(left.plain, right.plain)
            check(Collation.order(left.stored, right.stored) == order, "the order of two values")
            check(Collation.areEqual(left.stored, right.stored) == (order == 0), "whether they are equal")
            check(PlainJSON.order(left.key, right.key) == order, "the order of their keys")
            // Else one behind another would not be a compound key.
            check(order == 0 || !right.key.starts(with: left.key), "a key begins another")
        }
    }
}

private func key(of value: StoredValue?) -> [UInt8] {
    var key = ByteBuffer()
    IndexKey.append(value, to: &key)
    return Array(key.bytes)
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
