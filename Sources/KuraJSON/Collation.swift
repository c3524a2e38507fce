import KuraBytes

/// The one order of all values, by which queries compare and sort and indexes are kept.
///
/// Nothing < null < false < true < numbers < strings < arrays < objects. Numbers by their exact value, strings by the bytes of their
/// UTF-8 (which is the order of code points), arrays element by element, objects member by member, these sorted by name. Of two
/// where one goes on as the other ends, the shorter is first. Values are equal when neither is before the other.
public enum Collation {
    /// -1, 0 or 1, as the left value is before, equal to or behind the right one; nil stands for a place where nothing is.
    public static func order(_ left: StoredValue?, _ right: StoredValue?) -> Int {
        guard let left else { return right == nil ? 0 : -1 }
        guard let right else { return 1 }
        return order(left, right)
    }

    public static func order(_ left: StoredValue, _ right: StoredValue) -> Int {
        let kind = left.kind
        let other = right.kind
        guard kind == other else { return kind < other ? -1 : 1 }
        switch kind {
        case .null, .false, .true: return 0
        case .number: return orderOfNumbers(left.text, right.text)
        case .string: return ResolvedText.order(left.quoted, right.quoted)
        case .array: return orderOfArrays(left, right)
        case .object: return orderOfObjects(left, right)
        }
    }

    public static func areEqual(_ left: StoredValue, _ right: StoredValue) -> Bool {
        if left.text.equals(right.text) { return true }
        // Most values differ in what they begin with.
        return left.kind == right.kind && order(left, right) == 0
    }

    private static func orderOfNumbers(_ left: Bytes, _ right: Bytes) -> Int {
        if let first = shortInteger(left), let second = shortInteger(right) {
            return first < second ? -1 : first == second ? 0 : 1
        }
        return Decimal.order(Decimal(left), Decimal(right))
    }

    /// The value of a number of few digits and nothing else.
    @inline(__always)
    private static func shortInteger(_ text: Bytes) -> Int64? {
        guard text.count <= 18 else { return nil }
        var value: Int64 = 0
        var index = 0
        let isNegative = text.first == UInt8(ascii: "-")
        if isNegative { index = 1 }
        while index < text.count {
            // Safety: the loop has compared the place with the number of bytes.
            let digit = unsafe text[unchecked: index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ Int64(digit)
            index += 1
        }
        return isNegative ? -value : value
    }

    private static func orderOfArrays(_ left: StoredValue, _ right: StoredValue) -> Int {
        var (ours, theirs) = (left.elements, right.elements)
        while true {
            let mine = ours.next()
            let other = theirs.next()
            guard let mine else { return other == nil ? 0 : -1 }
            guard let other else { return 1 }
            let order = order(mine, other)
            if order != 0 { return order }
        }
    }

    private static func orderOfObjects(_ left: StoredValue, _ right: StoredValue) -> Int {
        let (ours, theirs) = (left.sortedMembers, right.sortedMembers)
        for (mine, other) in zip(ours, theirs) {
            let names = ResolvedText.order(mine.name, other.name)
            if names != 0 { return names }
            let values = order(mine.value, other.value)
            if values != 0 { return values }
        }
        return ours.count < theirs.count ? -1 : ours.count == theirs.count ? 0 : 1
    }
}

extension StoredValue {
    /// An object's members in the order of their names' bytes.
    var sortedMembers: [Member] {
        var found = Array(members)
        found.sort { ResolvedText.order($0.name, $1.name) < 0 }
        return found
    }
}
