import KuraJSON

/// Chooses how a query finds its documents: by an index, by ids, or by looking at all of them.
///
/// There are no statistics. An index is the better, the more of its fields are bound from the first on: equal values count most, then
/// ranges; next comes whether it gives the wanted order, then fewer fields. What the index does not tell is asked of the documents.
struct Planner {
    let shape: QueryShape
    /// What the selector speaks of, and the keys that each of them may have there.
    private let bounds: [(path: FieldPath, ranges: KeyRanges?)]

    init(shape: QueryShape) {
        self.shape = shape
        bounds = shape.selector.paths.map { ($0, shape.selector.ranges(of: $0)) }
    }

    private func ranges(of path: FieldPath) -> KeyRanges? { bounds.first { $0.path == path }?.ranges }

    /// Ranges of one plan at most; with more of them, fields further back are left to the selector.
    static let rangeLimit = 20_000

    /// An index and what it can do here.
    private struct Candidate {
        var plan: QueryPlan
        var score: Int
    }

    /// `keeping`: the access that an earlier page had, by which the next one goes on; nil for the first.
    func plan(_ indexes: [QueryIndex], keeping: QueryPosition? = nil) -> QueryPlan? {
        if isImpossible { return QueryPlan(access: .none) }
        // Indexes have what documents are now.
        if let past = shape.past {
            var plan = scan(.collection)
            plan.past = past
            return plan
        }
        switch keeping {
        case nil, .sorted: break
        case .row: return scan(.collection)
        case .id: return byID(isForced: true)?.plan
        case .key(let number, _, _):
            return indexes.first { $0.number == number }.flatMap { candidate($0, isForced: true)?.plan }
        }
        var best = byID(isForced: false)
        for index in indexes {
            guard let candidate = candidate(index, isForced: false), candidate.score > best?.score ?? 0 else {
                continue
            }
            best = candidate
        }
        if case .sorted? = keeping {
            // The position is one in the sorted order, whatever finds the documents.
            var plan = best?.plan ?? scan(.collection)
            plan.sortsInMemory = true
            return plan
        }
        return best?.plan ?? scan(.collection)
    }

    private var isImpossible: Bool {
        if let ids = shape.selector.idRanges, ids.isEmpty { return true }
        return bounds.contains { $0.ranges?.isEmpty == true }
    }

    private func scan(_ access: QueryPlan.Access) -> QueryPlan {
        QueryPlan(
            access: access, sortsInMemory: !shape.sort.isEmpty,
            isScan: !(shape.selector.isEmpty && shape.isPage && shape.sort.isEmpty))
    }

    // MARK: Ids

    private func byID(isForced: Bool) -> Candidate? {
        let bound = shape.selector.idRanges
        let gives = shape.sort.first?.path.isID == true
        guard isForced || bound?.isWeak == false || gives else { return nil }
        let ranges = (bound ?? KeyRanges.all).ranges.compactMap(Self.bytes)
        // Ids differ: behind them nothing else is left to sort by.
        let isDescending = gives && shape.sort[0].isDescending
        let isNarrow = bound?.isWeak == false
        let isSorted = shape.sort.isEmpty || gives
        var plan = QueryPlan(access: .ids(ranges, isDescending: isDescending), sortsInMemory: !isSorted)
        plan.isScan = !isNarrow && !(isSorted && shape.isPage && shape.selector.isEmpty)
        let points = bound?.ranges.allSatisfy(\.isPoint) == true
        return Candidate(plan: plan, score: points ? 2000 : isNarrow ? 45 : 5)
    }

    /// A range of keys of strings as one of the strings' bytes.
    private static func bytes(_ range: KeyRange) -> KeyRange? {
        let string = IndexKey.stringTag
        var lower: [UInt8] = []
        var upper: [UInt8] = [0xFF]
        if let first = range.lower.first, first >= string {
            guard first == string else { return nil }
            lower = Array(range.lower.dropFirst())
            // A whole string ends with 0; what is behind it has the end's mark besides.
            if lower.last == 0 {
                lower.removeLast()
            } else if lower.suffix(2) == [0, IndexKey.end] {
                lower.removeLast()
            }
        }
        if let first = range.upper.first, first <= string {
            guard first == string else { return nil }
            upper = Array(range.upper.dropFirst())
            if upper.last == 0 {
                upper.removeLast()
            } else if upper.suffix(2) == [0, IndexKey.end] {
                upper.removeLast()
            }
        }
        return lower.lexicographicallyPrecedes(upper) ? KeyRange(lower, upper) : nil
    }

    // MARK: Indexes

    private func candidate(_ index: QueryIndex, isForced: Bool) -> Candidate? {
        // `_id` in a selector is the document's own.
        guard !index.fields.contains(where: \.isID), index.filter.map({ shape.selector.implies($0) }) ?? true else {
            return nil
        }
        var prefixes: [[UInt8]] = [[]]
        var exact = [true]
        var ranges: [KeyRange] = []
        var points = 0
        var score = 0
        var isBound = false
        // Fields whose ranges hold for every entry that is walked over.
        var applied = 0
        var isOpen = true
        fields: for (position, field) in index.fields.enumerated() {
            guard let bound = self.ranges(of: field) else { break }
            guard prefixes.count * bound.ranges.count + ranges.count <= Self.rangeLimit else { break }
            let isPoint = bound.ranges.allSatisfy(\.isPoint)
            var next: [[UInt8]] = []
            var nextExact: [Bool] = []
            for (prefix, isExact) in zip(prefixes, exact) {
                for range in bound.ranges {
                    if range.isPoint {
                        next.append(prefix + range.lower)
                        nextExact.append(isExact && range.isExact)
                    } else {
                        ranges.append(
                            KeyRange(prefix + range.lower, prefix + range.upper, isExact: isExact && range.isExact))
                    }
                }
            }
            prefixes = next
            exact = nextExact
            if isOpen { applied = position + 1 }
            if !isPoint { isOpen = false }
            if !bound.isWeak { isBound = true }
            score += isPoint ? (bound.ranges.count == 1 ? 100 : 80) : bound.isWeak ? 2 : 50
            if isPoint, bound.ranges.count == 1, points == position { points += 1 }
            if prefixes.isEmpty { break fields }
        }
        for (prefix, isExact) in zip(prefixes, exact) {
            ranges.append(KeyRange(prefix, prefix + [IndexKey.end], isExact: isExact))
        }
        ranges.sort { $0.lower.lexicographicallyPrecedes($1.lower) }
        let order = order(of: index, points: points)
        let givesValues = shape.values.map { index.fields.first == $0 } ?? false
        let isCovered = shape.selector.isCovered(by: Array(index.fields.prefix(applied)))
        // Hardly any key is left out: but those that lie here match, and a page or a number asks for nothing else.
        let isPlain =
            isCovered && applied > 0 && ranges.contains(where: \.isExact)
            && (shape.countsOnly || shape.isPage && order != nil)
        // It has those that match and no others.
        let isPartial = index.filter?.implies(shape.selector) ?? false
        guard isForced || isBound || (order != nil && !shape.sort.isEmpty) || givesValues || isPlain || isPartial
        else { return nil }
        var plan = QueryPlan(
            access: .index(index, ranges, isDescending: order ?? false), sortsInMemory: order == nil)
        plan.isCovered = isCovered
        plan.isScan =
            !isBound && !isPartial && !(shape.isPage && order != nil && shape.selector.isEmpty) && !plan.isCovered
        plan.isWide = !isBound && !shape.isPage
        if order != nil, !shape.sort.isEmpty { score += 60 }
        if index.isUnique, points == index.fields.count { score += 1000 }
        if givesValues { score += 10 }
        return Candidate(plan: plan, score: max(score * 16 - index.fields.count, 1))
    }

    /// Whether the index has the documents in the wanted order, and which way it is walked then; nil when it has not.
    private func order(of index: QueryIndex, points: Int) -> Bool? {
        var isDescending: Bool?
        var position = 0
        for wanted in shape.sort {
            // All that match are equal in it.
            if let bound = ranges(of: wanted.path), bound.ranges.count == 1, bound.ranges[0].isPoint {
                continue
            }
            while position < points, index.fields[position] != wanted.path { position += 1 }
            guard position < index.fields.count, index.fields[position] == wanted.path,
                isDescending ?? wanted.isDescending == wanted.isDescending
            else { return nil }
            isDescending = wanted.isDescending
            position += 1
        }
        return isDescending ?? false
    }
}
