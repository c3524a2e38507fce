import KuraBytes

/// What a selector says about one place, for those who look into an index instead of at each document.
extension Selector {
    /// The keys that the value at `path` has in every document that matches; nil when the selector does not bind it.
    ///
    /// A document whose key lies within need not match: the selector is still asked, unless `isCovered(by:)` and the range is exact.
    public func ranges(of path: FieldPath) -> KeyRanges? { root.ranges(of: path) }

    /// Whether the ranges of these paths say all that the selector does: a document matches when each of its values lies in an
    /// exact range of its path.
    public func isCovered(by paths: [FieldPath]) -> Bool {
        let parts = if case .all(let parts) = root { parts } else { [root] }
        return parts.allSatisfy { part in
            guard let path = part.onlyPath else { return false }
            return paths.contains(path)
        }
    }
}

extension Node {
    func ranges(of path: FieldPath) -> KeyRanges? {
        switch self {
        case .all(let parts):
            var bound: KeyRanges?
            for part in parts {
                guard let ranges = part.ranges(of: path) else { continue }
                bound = bound?.intersection(ranges) ?? ranges
            }
            return bound
        case .any(let parts):
            var bound = KeyRanges.none
            for part in parts {
                guard let ranges = part.ranges(of: path) else { return nil }
                bound = bound.union(ranges)
            }
            return bound
        case .test(.path(path), let condition): return condition.ranges
        case .test: return nil
        }
    }

    /// The one path that it speaks of; nil when there are several, or something else.
    fileprivate var onlyPath: FieldPath? {
        switch self {
        case .all(let parts), .any(let parts):
            guard let first = parts.first?.onlyPath, parts.allSatisfy({ $0.onlyPath == first }) else { return nil }
            return first
        case .test(.path(let path), _): return path
        case .test: return nil
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
