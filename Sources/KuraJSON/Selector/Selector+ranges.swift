import KuraBytes

/// What a selector says about one place, for those who look into an index instead of at each document.
extension Selector {
    /// The keys that the value at `path` has in every document that matches; nil when the selector does not bind it.
    ///
    /// A document whose key lies within need not match: the selector is still asked, unless `isCovered(by:)` and the range is exact.
    public func ranges(of path: FieldPath) -> KeyRanges? { root.ranges(of: path.isID ? .id : .path(path)) }

    /// The keys that the ids of all documents have that match, as strings; nil when the selector does not bind them.
    public var idRanges: KeyRanges? { root.ranges(of: .id) }

    /// Whether the ranges of these paths say all that the selector does: a document matches when each of its values lies in an
    /// exact range of its path.
    public func isCovered(by paths: [FieldPath]) -> Bool {
        let parts = if case .all(let parts) = root { parts } else { [root] }
        return parts.allSatisfy { part in
            guard case .path(let path) = part.onlyPlace else { return false }
            return paths.contains(path)
        }
    }

    /// Whether every document that matches this matches `other` as well, as far as their texts and ranges show.
    public func implies(_ other: Selector) -> Bool {
        if text == other.text { return true }
        let paths = other.paths
        guard other.isCovered(by: paths) else { return false }
        return paths.allSatisfy { path in
            guard let theirs = other.ranges(of: path), let ours = ranges(of: path) else { return false }
            return theirs.ranges.allSatisfy(\.isExact) && ours.lies(within: theirs)
        }
    }
}

extension Node {
    func ranges(of place: Place) -> KeyRanges? {
        switch self {
        case .all(let parts):
            var bound: KeyRanges?
            for part in parts {
                guard let ranges = part.ranges(of: place) else { continue }
                bound = bound?.intersection(ranges) ?? ranges
            }
            return bound
        case .any(let parts):
            var bound = KeyRanges.none
            for part in parts {
                guard let ranges = part.ranges(of: place) else { return nil }
                bound = bound.union(ranges)
            }
            return bound
        case .test(place, let condition): return condition.ranges
        case .test: return nil
        }
    }

    /// The one path that it speaks of; nil when there are several, or something else.
    fileprivate var onlyPlace: Place? {
        switch self {
        case .all(let parts), .any(let parts):
            guard let first = parts.first?.onlyPlace, parts.allSatisfy({ $0.onlyPlace == first }) else { return nil }
            return first
        case .test(let place, _): return place
        }
    }
}

extension Condition {
    fileprivate var ranges: KeyRanges {
        switch self {
        case .equal(let literal): return KeyRanges([.point(literal.key)])
        case .notEqual(let literal): return .something.subtracting(points: [literal.key])
        case .less(let literal): return KeyRanges([KeyRange([IndexKey.something], literal.key)])
        case .lessOrEqual(let literal):
            return KeyRanges([KeyRange([IndexKey.something], literal.key + [IndexKey.end])])
        case .greater(let literal): return KeyRanges([KeyRange(literal.key + [IndexKey.end], [IndexKey.end])])
        case .greaterOrEqual(let literal): return KeyRanges([KeyRange(literal.key, [IndexKey.end])])
        case .among(let set):
            guard !set.sorted.isEmpty else { return .none }
            // An array has to be looked into.
            let points = KeyRanges(set.scalars.map { .point($0) })
            return points.union(.arrays)
        case .notAmong(let set):
            let rest = KeyRanges.something.subtracting(points: set.scalars)
            return rest.intersection(
                KeyRanges([
                    KeyRange([IndexKey.something], [IndexKey.Tag.array]),
                    KeyRange([IndexKey.Tag.array], [IndexKey.Tag.object], isExact: false),
                    KeyRange([IndexKey.Tag.object], [IndexKey.end]),
                ]))
        case .exists: return .something
        case .isMissing: return .nothing
        case .type(let type): return type.ranges
        case .modulo: return .tags(IndexKey.Tag.negative, through: IndexKey.Tag.positive, isExact: false)
        case .size, .all, .element, .everyElement: return .arrays
        case .memberName: return .tags(IndexKey.Tag.object, through: IndexKey.Tag.object, isExact: false)
        case .pattern: return .tags(IndexKey.Tag.string, through: IndexKey.Tag.string, isExact: false)
        case .begins(let prefix):
            let lower = [IndexKey.Tag.string] + IndexKey.body(prefix)
            return KeyRanges([KeyRange(lower, lower + [IndexKey.end])])
        case .not: return KeyRanges([KeyRange([IndexKey.something], [IndexKey.end], isExact: false)])
        }
    }
}

extension KeyRanges {
    fileprivate static var arrays: KeyRanges {
        .tags(IndexKey.Tag.array, through: IndexKey.Tag.array, isExact: false)
    }
}

extension LiteralSet {
    /// The keys of what is no array, sorted.
    fileprivate var scalars: [[UInt8]] { sorted.filter { $0.kind != .array }.map(\.key) }
}

extension Condition.ValueType {
    fileprivate var ranges: KeyRanges {
        switch self {
        case .null: .tags(IndexKey.Tag.null, through: IndexKey.Tag.null)
        case .boolean: .tags(IndexKey.Tag.false, through: IndexKey.Tag.true)
        case .number: .tags(IndexKey.Tag.negative, through: IndexKey.Tag.positive)
        case .string: .tags(IndexKey.Tag.string, through: IndexKey.Tag.string)
        case .array: .tags(IndexKey.Tag.array, through: IndexKey.Tag.array)
        case .object: .tags(IndexKey.Tag.object, through: IndexKey.Tag.object)
        }
    }
}
