import KuraBytes
import KuraJSON
import KuraProtocol

/// Numbers and strings.
extension Evaluation {
    mutating func isInBounds(_ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        let holds: Bool
        switch rule.test {
        case .minimum(let bound): holds = try order(instance, bound, rule) >= 0
        case .maximum(let bound): holds = try order(instance, bound, rule) <= 0
        case .exclusiveMinimum(let bound): holds = try order(instance, bound, rule) > 0
        case .exclusiveMaximum(let bound): holds = try order(instance, bound, rule) < 0
        case .multipleOf(let index):
            let text = tape.bytes(instance)
            try spend(text.count >> 2, rule.place, instance)
            let divisor = schema.program.divisors[Int(index)]
            if let small = divisor.small, let value = JSONNumber.integer(text) {
                holds = value % small == 0
            } else {
                holds = Decimal(text).isMultiple(of: divisor.digits, power: divisor.power)
            }
        default: holds = true
        }
        return holds || fail(rule.place, instance)
    }

    /// How the value stands to a bound of the schema: -1, 0 or 1.
    private mutating func order(_ instance: Int32, _ bound: Int32, _ rule: Rule) throws(Stop) -> Int {
        let text = tape.bytes(instance)
        let bound = schema.program.numbers[Int(bound)]
        try spend(text.count >> 3, rule.place, instance)
        if let small = bound.small, let value = JSONNumber.integer(text) {
            return value < small ? -1 : value > small ? 1 : 0
        }
        return Decimal.order(Decimal(text), Decimal(schema.tape.bytes(bound.node)))
    }

    mutating func isStringGood(_ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        let bytes = tape.bytes(instance)
        let holds: Bool
        switch rule.test {
        case .minLength(let least):
            // A code point has one to four bytes: often there is nothing to count.
            if bytes.count < least {
                holds = false
            } else if bytes.count / 4 >= least {
                holds = true
            } else {
                try spend(bytes.count >> 5, rule.place, instance)
                holds = Self.codePoints(bytes) >= least
            }
        case .maxLength(let most):
            if bytes.count <= most {
                holds = true
            } else if bytes.count / 4 > most {
                holds = false
            } else {
                try spend(bytes.count >> 5, rule.place, instance)
                holds = Self.codePoints(bytes) <= most
            }
        case .pattern(let pattern): holds = try matches(pattern, bytes, rule.place, instance)
        default: holds = true
        }
        return holds || fail(rule.place, instance)
    }

    mutating func matches(
        _ pattern: Int32, _ subject: Bytes, _ place: Place, _ instance: Int32
    ) throws(Stop) -> Bool {
        guard subject.count <= limits.subjectBytes else {
            throw Stop(reason: .subject, place: place, instance: instance)
        }
        switch schema.program.patterns[Int(pattern)].match(subject, with: matcher) {
        case .matches: return true
        case .differs: return false
        case .tooComplex:
            throw Stop(reason: .pattern, place: place, instance: instance)
        }
    }

    private static func codePoints(_ bytes: Bytes) -> Int {
        var count = 0
        for byte in bytes where byte & 0xC0 != 0x80 { count += 1 }
        return count
    }
}
