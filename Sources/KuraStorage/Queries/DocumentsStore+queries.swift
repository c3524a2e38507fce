public import KuraBytes
import KuraJSON

extension DocumentsStore {
    /// Most documents that a query may look at without being told that it may look at all.
    public static let scanLimit = 10_000

    /// A query with its plan; nil when there is no such collection.
    ///
    /// - Parameters:
    ///   - collection: its name.
    ///   - shape: what is asked for. Where that is a number only, documents that an index decides on are not offered.
    ///   - limit: documents that are wanted at most.
    ///   - position: where an earlier page ended.
    ///   - control: ends it.
    ///   - allowsScan: it may look at every document of a large collection.
    /// - Returns: what a `TableQuery` runs.
    /// - Throws: `.indexNeeded`; `.indexGone` when the position stands in an index that is no longer there.
    public func query(
        _ collection: Bytes, _ shape: QueryShape, limit: Int = .max, after position: QueryPosition? = nil,
        control: QueryControl, allowsScan: Bool
    ) throws(QueryError) -> DocumentQuery? {
        guard let scope = ledger.scopes.find(.documents, collection) else { return nil }
        guard let plan = Planner(shape: shape).plan(scope.queryIndexes, keeping: position) else { throw .indexGone }
        if plan.isScan, !allowsScan, scope.count > Self.scanLimit {
            throw .indexNeeded(limit: Self.scanLimit, IndexAdvice(for: shape))
        }
        return DocumentQuery(
            scope, foldedTo: ledger.scopes.newestRev(scope), shape: shape, plan: plan, limit: limit, after: position,
            control: control)
    }
}
