import KuraBytes

/// The operators that are asked of one value, and what their arguments may be.
extension SelectorParser {
    mutating func condition(_ name: String, _ value: StoredValue) throws(SelectorError) -> Condition {
        switch name {
        case "$eq": return .equal(Literal(value))
        case "$ne": return .notEqual(Literal(value))
        case "$lt": return .less(Literal(value))
        case "$lte": return .lessOrEqual(Literal(value))
        case "$gt": return .greater(Literal(value))
        case "$gte": return .greaterOrEqual(Literal(value))
        case "$in": return .among(LiteralSet(try items(value, limit: limits.items)))
        case "$nin": return .notAmong(LiteralSet(try items(value, limit: limits.items)))
        case "$all": return .all(try items(value, limit: limits.itemsOfAll))
        case "$exists":
            guard value.kind == .true || value.kind == .false else {
                throw error(.form, "the argument of $exists is true or false")
            }
            return value.kind == .true ? .exists : .isMissing
        case "$type":
            guard value.kind == .string,
                let type = Condition.ValueType(
                    rawValue: String(decoding: ResolvedText.bytes(value.quoted), as: UTF8.self))
            else { throw error(.form, "a type is null, boolean, number, string, array or object") }
            return .type(type)
        case "$size":
            guard let (count, isNegative) = integer(value), !isNegative || count == 0, count <= Int32.max else {
                throw error(.form, "a size is a whole number from 0 on")
            }
            return .size(Int(count))
        case "$mod": return try modulo(value)
        case "$elemMatch": return .element(try inner(value))
        case "$allMatch": return .everyElement(try inner(value))
        case "$keyMapMatch": return .memberName(try inner(value))
        case "$beginsWith":
            guard value.kind == .string else { throw error(.form, "the argument of $beginsWith is a string") }
            return .begins(ResolvedText.bytes(value.quoted))
        case "$regex": return try pattern(value)
        default: throw error(.unknownOperator, "no such operator; a field whose name begins so is written \\$…")
        }
    }

    private func items(_ value: StoredValue, limit: Int) throws(SelectorError) -> [Literal] {
        guard value.kind == .array else { throw error(.form, "the argument is an array") }
        var items: [Literal] = []
        for element in value.elements {
            guard items.count < limit else { throw error(.limit, "an array of at most \(limit) items", limit: limit) }
            items.append(Literal(element))
        }
        return items
    }

    private func modulo(_ value: StoredValue) throws(SelectorError) -> Condition {
        let arguments = value.kind == .array ? value.elements.prefix(3).map { integer($0) } : []
        guard arguments.count == 2, let divisor = arguments[0], let remainder = arguments[1] else {
            throw error(.form, "the argument of $mod is [divisor, remainder], two whole numbers below 10^18")
        }
        guard divisor.magnitude != 0 else { throw error(.form, "a divisor is not 0") }
        return .modulo(
            divisor: divisor.magnitude, remainder: remainder.magnitude, isNegative: remainder.isNegative)
    }

    /// A whole number below 10^18, however it is written.
    private func integer(_ value: StoredValue) -> (magnitude: UInt64, isNegative: Bool)? {
        guard value.kind == .number else { return nil }
        let number = Decimal(value.text)
        guard number.isInteger, number.firstPower < 18, var magnitude = number.significand else { return nil }
        if !number.isZero {
            for _ in 0..<number.lastPower { magnitude *= 10 }
        }
        return (magnitude, number.isNegative && !number.isZero)
    }
}

extension Condition {
    /// What a value that is there fulfils when it does not fulfil this.
    var opposite: Condition {
        switch self {
        case .equal(let literal): .notEqual(literal)
        case .notEqual(let literal): .equal(literal)
        case .less(let literal): .greaterOrEqual(literal)
        case .lessOrEqual(let literal): .greater(literal)
        case .greater(let literal): .lessOrEqual(literal)
        case .greaterOrEqual(let literal): .less(literal)
        case .among(let set): .notAmong(set)
        case .notAmong(let set): .among(set)
        case .exists: .isMissing
        case .isMissing: .exists
        case .not(let condition): condition
        default: .not(self)
        }
    }
}
