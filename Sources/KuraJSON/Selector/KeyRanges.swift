/// Keys of `IndexKey` between two ends: those from `lower` on and before `upper`.
public struct KeyRange: Sendable, Equatable {
    public var lower: [UInt8]
    public var upper: [UInt8]
    /// Each value whose key lies here fulfils what the range was made of; else it may.
    public var isExact: Bool

    public init(_ lower: [UInt8], _ upper: [UInt8], isExact: Bool = true) {
        self.lower = lower
        self.upper = upper
        self.isExact = isExact
    }

    var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }

    /// The range of one value.
    static func point(_ key: [UInt8]) -> KeyRange { KeyRange(key, key + [IndexKey.end]) }

    /// Whether it is that of one value: in a compound key the next value may be looked for behind it.
    public var isPoint: Bool {
        // What all strings with one beginning share looks alike, but has no end: a whole string's key ends with 0.
        guard lower.first != IndexKey.Tag.string || lower.last == 0 else { return false }
        return upper.count == lower.count + 1 && upper.last == IndexKey.end && upper.dropLast().elementsEqual(lower)
    }
}

/// Ranges in their order, none empty and none touching another's inside.
public struct KeyRanges: Sendable, Equatable {
    public private(set) var ranges: [KeyRange]

    public static let none = KeyRanges([])
    public static let all = KeyRanges([KeyRange([], [IndexKey.end])])
    /// Where something is, null included.
    static let something = KeyRanges([KeyRange([IndexKey.something], [IndexKey.end])])
    static let nothing = KeyRanges([KeyRange([IndexKey.Tag.nothing], [IndexKey.something])])

    init(_ ranges: [KeyRange]) {
        guard ranges.count > 1 else {
            self.ranges = ranges.first?.isEmpty == true ? [] : ranges
            return
        }
        self.ranges = []
        var sorted = ranges.filter { !$0.isEmpty }
        sorted.sort {
            $0.lower == $1.lower
                ? $0.upper.lexicographicallyPrecedes($1.upper) : $0.lower.lexicographicallyPrecedes($1.lower)
        }
        for range in sorted {
            guard let last = self.ranges.last, range.lower.lexicographicallyPrecedes(last.upper) else {
                self.ranges.append(range)
                continue
            }
            // They overlap.
            if last.upper.lexicographicallyPrecedes(range.upper) {
                self.ranges[self.ranges.count - 1].upper = range.upper
            }
            self.ranges[self.ranges.count - 1].isExact = last.isExact && range.isExact
        }
    }

    /// All values of these kinds.
    static func tags(_ first: UInt8, through last: UInt8, isExact: Bool = true) -> KeyRanges {
        KeyRanges([KeyRange([first], [last + 1], isExact: isExact)])
    }

    func union(_ other: KeyRanges) -> KeyRanges { KeyRanges(ranges + other.ranges) }

    func intersection(_ other: KeyRanges) -> KeyRanges {
        var found: [KeyRange] = []
        var (ours, theirs) = (0, 0)
        while ours < ranges.count, theirs < other.ranges.count {
            let (mine, its) = (ranges[ours], other.ranges[theirs])
            let shared = KeyRange(
                mine.lower.lexicographicallyPrecedes(its.lower) ? its.lower : mine.lower,
                mine.upper.lexicographicallyPrecedes(its.upper) ? mine.upper : its.upper,
                isExact: mine.isExact && its.isExact)
            if !shared.isEmpty { found.append(shared) }
            if mine.upper.lexicographicallyPrecedes(its.upper) { ours += 1 } else { theirs += 1 }
        }
        return KeyRanges(found)
    }

    public var isEmpty: Bool { ranges.isEmpty }

    /// Each of these lies within one of the others.
    func lies(within others: KeyRanges) -> Bool {
        ranges.allSatisfy { range in
            others.ranges.contains { other in
                !range.lower.lexicographicallyPrecedes(other.lower)
                    && !other.upper.lexicographicallyPrecedes(range.upper)
            }
        }
    }

    /// They leave out a few values at most: something is there, or it is not one of these.
    public var isWeak: Bool {
        guard let first = ranges.first, let last = ranges.last else { return false }
        return last.upper == [IndexKey.end] && first.lower.count <= 1 && first.lower.first ?? 0 <= IndexKey.something
    }

    /// These without the values of `keys`, which are sorted.
    func subtracting(points keys: [[UInt8]]) -> KeyRanges {
        var gaps: [KeyRange] = []
        var lower: [UInt8] = []
        for key in keys {
            gaps.append(KeyRange(lower, key))
            lower = key + [IndexKey.end]
        }
        gaps.append(KeyRange(lower, [IndexKey.end]))
        return intersection(KeyRanges(gaps))
    }
}
