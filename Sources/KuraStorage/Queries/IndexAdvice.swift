import KuraBytes
import KuraJSON

/// What would serve a query that no index serves: made out by asking the planner, so that whoever follows the advice is served.
public struct IndexAdvice: Sendable, Equatable {
    /// Paths that an index should have, in their order; empty when none would help.
    public private(set) var fields: [[UInt8]] = []
    /// The index is to have the documents alone that match: its `where` is the query's.
    public private(set) var isPartial = false
    /// Every document is asked for.
    public private(set) var isOfAll = false

    /// Most fields that are named: more would hardly narrow it down.
    private static let fieldLimit = 4

    public init(for shape: QueryShape) {
        let planner = Planner(shape: shape)
        func serves(_ paths: [FieldPath], _ filter: Selector?) -> Bool {
            let index = QueryIndex(number: 0, name: [], fields: paths, filter: filter)
            guard !paths.isEmpty, let plan = planner.plan([index]), !plan.isScan else { return false }
            return plan.index != nil
        }
        let selector = shape.selector
        var equal: [FieldPath] = []
        var ranged: [FieldPath] = []
        var weak: [FieldPath] = []
        for path in selector.paths {
            guard let ranges = selector.ranges(of: path), !ranges.isWeak else {
                weak.append(path)
                continue
            }
            if ranges.ranges.allSatisfy(\.isPoint) { equal.append(path) } else { ranged.append(path) }
        }
        // Equal values first, then what is sorted by, then ranges.
        var best: [FieldPath] = []
        for path in equal + shape.sort.map(\.path) + ranged where !path.isID && !best.contains(path) {
            best.append(path)
        }
        best = Array(best.prefix(Self.fieldLimit))
        let values = shape.values.map { $0.isID ? [] : [$0] } ?? []
        for paths in [best, values] + weak.map({ [$0] }) where serves(paths, nil) {
            fields = paths.map(\.text)
            return
        }
        if !selector.isEmpty, !selector.usesPatterns, !selector.usesID {
            for paths in [best, Array(weak.prefix(1))] where serves(paths, selector) {
                fields = paths.map(\.text)
                isPartial = true
                return
            }
        }
        isOfAll = selector.isEmpty
    }

    /// As a sentence without its point.
    public var text: String {
        guard !fields.isEmpty else {
            return isOfAll
                ? "every document is asked for, so no index helps; a where would narrow it down"
                : "no index helps with this selector"
        }
        let names = fields.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
        return isPartial
            ? "an index on the fields \(names) whose where is the same as here would help"
            : "an index on the fields \(names), in this order, would help"
    }
}
