import KuraBytes

/// A selector being asked of a document.
struct Matching {
    /// The document's id as a JSON string.
    let id: StoredValue?
    /// Where the pattern stands that would have taken too long.
    var gaveUpAt: String?

    init(id: StoredValue?) {
        self.id = id
    }

    mutating func holds(_ node: Node, _ value: StoredValue) -> Bool {
        switch node {
        case .all(let parts):
            for part in parts {
                guard holds(part, value) else { return false }
            }
            return true
        case .any(let parts):
            for part in parts {
                if holds(part, value) { return true }
            }
            return false
        case .test(let place, let condition):
            let found: StoredValue? =
                switch place {
                case .itself: value
                case .id: id
                case .path(let path): path.find(in: value)
                }
            if let found { return holds(condition, found) }
            if case .isMissing = condition { return true }
            return false
        }
    }

    private mutating func holds(_ condition: Condition, _ value: StoredValue) -> Bool {
        switch condition {
        case .equal(let literal): return literal.equals(value)
        case .notEqual(let literal): return !literal.equals(value)
        case .less(let literal): return literal.order(of: value) < 0
        case .lessOrEqual(let literal): return literal.order(of: value) <= 0
        case .greater(let literal): return literal.order(of: value) > 0
        case .greaterOrEqual(let literal): return literal.order(of: value) >= 0
        case .among(let set): return isAmong(set, value)
        case .notAmong(let set): return !isAmong(set, value)
        case .exists: return true
        case .isMissing: return false
        case .type(let type): return type.includes(value.kind)
        case .modulo(let divisor, let remainder, let isNegative):
            guard value.kind == .number else { return false }
            let number = Decimal(value.text)
            guard number.isInteger, number.remainder(dividing: divisor) == remainder else { return false }
            // The remainder has the sign of what is divided.
            return remainder == 0 || number.isNegative == isNegative
        case .size(let count):
            guard value.kind == .array else { return false }
            var left = count
            for _ in value.elements {
                left -= 1
                if left < 0 { return false }
            }
            return left == 0
        case .all(let literals): return hasAll(literals, value)
        case .element(let node):
            guard value.kind == .array else { return false }
            for element in value.elements {
                if holds(node, element) { return true }
            }
            return false
        case .everyElement(let node):
            guard value.kind == .array else { return false }
            var isEmpty = true
            for element in value.elements {
                guard holds(node, element) else { return false }
                isEmpty = false
            }
            return !isEmpty
        case .memberName(let node):
            for member in value.members {
                // The name with its quotes is a string among the stored text.
                if holds(node, StoredValue(member.quotedName)) { return true }
            }
            return false
        case .begins(let prefix):
            guard value.kind == .string else { return false }
            return prefix.withBytes { prefix in
                let quoted = value.quoted
                return quoted.starts(with: prefix)
                    ? !prefix.contains(UInt8(ascii: "\\")) || ResolvedText.begins(quoted, with: prefix)
                    : quoted.contains(UInt8(ascii: "\\")) && ResolvedText.begins(quoted, with: prefix)
            }
        case .pattern(let pattern, let place):
            guard value.kind == .string else { return false }
            let quoted = value.quoted
            let outcome =
                quoted.contains(UInt8(ascii: "\\"))
                ? ResolvedText.bytes(quoted).withBytes { pattern.matches($0) } : pattern.matches(quoted)
            if outcome == nil { gaveUpAt = place }
            return outcome ?? false
        case .not(let condition): return !holds(condition, value)
        }
    }

    private func isAmong(_ set: LiteralSet, _ value: StoredValue) -> Bool {
        guard value.kind == .array else { return set.contains(value) }
        for element in value.elements {
            if set.contains(element) { return true }
        }
        return false
    }

    private func hasAll(_ literals: [Literal], _ value: StoredValue) -> Bool {
        guard value.kind == .array, !literals.isEmpty else { return false }
        // One array alone may be the whole of the value as well.
        if literals.count == 1, literals[0].kind == .array, literals[0].equals(value) { return true }
        for literal in literals {
            var isThere = false
            for element in value.elements where !isThere { isThere = literal.equals(element) }
            guard isThere else { return false }
        }
        return true
    }
}

extension Condition.ValueType {
    func includes(_ kind: ValueKind) -> Bool {
        switch kind {
        case .null: self == .null
        case .false, .true: self == .boolean
        case .number: self == .number
        case .string: self == .string
        case .array: self == .array
        case .object: self == .object
        }
    }
}
