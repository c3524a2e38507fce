import KuraBytes
import KuraJSON
import SQLite

/// A question to a collection, with its plan: which documents match, in which order, from which on, and how many.
///
/// Made on the loop, run on a reader thread by one user.
public final class DocumentQuery: @unchecked Sendable {
    // Safety: handed over with the query that holds it, which has one user at a time.

    /// What is to happen behind a document that was offered.
    public enum Verdict: Sendable {
        case taken
        /// There is no room for it: the page ends before it.
        case refused
    }

    public let plan: QueryPlan
    /// What is asked for.
    public let shape: QueryShape
    /// The query is run when the tables are as of this revision.
    public let foldedTo: UInt64
    /// Documents in the collection when the query was made.
    public let count: Int
    public let control: QueryControl
    /// Others may match behind the last one that was taken.
    public private(set) var hasMore = false
    /// Behind the last one that was taken; nil when none was.
    public private(set) var position: QueryPosition?
    public var cost: QueryCost {
        var cost = scan.cost
        cost.documents += reread
        return cost
    }
    /// What the first snapshot was as of.
    public var rev: UInt64 { scan.rev }
    /// What the last snapshot was as of: with the changes since the first, up to this one, it is one state.
    public var newestRev: UInt64 { scan.newestRev }

    private let scope: UInt32
    private let selector: Selector
    private let order: SortOrder
    private let limit: Int
    private let scan: CandidateScan
    private let after: QueryPosition?
    private var reread = 0
    public private(set) var isBrief = false

    /// Bytes of keys that a sort in memory may hold.
    static let sortBytes = 16 << 20
    /// What is looked at on the loop at most: documents in memory, of which those in the tables count four times.
    private static let briefDocuments = 256
    private static let briefBytes = 256 << 10

    init(
        _ scope: Scope, foldedTo: UInt64, shape: QueryShape, plan: QueryPlan, limit: Int,
        after position: QueryPosition?, control: QueryControl
    ) {
        self.plan = plan
        self.shape = shape
        self.foldedTo = foldedTo
        count = scope.count
        self.control = control
        self.limit = limit
        self.scope = scope.id
        selector = shape.selector
        order = SortOrder(fields: shape.sort)
        after = position
        self.position = position
        scan = CandidateScan(
            scope: scope.id, plan: plan, selector: shape.selector, after: position, control: control,
            countsOnly: shape.countsOnly)
        scan.isUnused = scope.lastRev == 0
    }

    private init(_ query: DocumentQuery, _ control: QueryControl) {
        shape = query.shape
        (plan, foldedTo, count, limit) = (query.plan, query.foldedTo, query.count, query.limit)
        (selector, order, after, scope) = (query.selector, query.order, query.position, query.scope)
        position = after
        self.control = control
        scan = CandidateScan(scope: scope, plan: plan, selector: selector, after: after, control: control)
        scan.isUnused = query.scan.isUnused
    }

    /// The same question from where this one has ended, in the same plan. Not for what sorts in memory.
    public func following(_ control: QueryControl) -> DocumentQuery { DocumentQuery(self, control) }

    /// It may be over soon: what it looks at lies together.
    public var mayBeBrief: Bool { !plan.sortsInMemory && !plan.isScan && plan.ranges <= 16 }

    /// Makes `run` end with `.cold` when it is not done after a few documents: for the loop, which then has a thread do it.
    public func keepBrief(_ storage: isolated Storage) {
        isBrief = true
        scan.memory = storage.ledger
        scan.budget.candidates = Self.briefDocuments
        scan.budget.bytes = Self.briefBytes
        // And the one behind the page, which tells that there is one.
        scan.budget.wanted = min(limit, .max - 1) + 1
    }

    /// Offers the documents that match to `visit`, in their order; their bytes are good until it returns.
    /// - Throws: `.timeout`, `.interrupted`, `.patternTooComplex`, `.indexGone`, `.unreadable`, `.cancelled`.
    public func run(_ tables: TableReader, _ visit: (FoundDocument) -> Verdict) throws(QueryError) {
        if plan.sortsInMemory { try sort(tables, visit) } else { try walk(tables, visit) }
    }

    private func walk(_ tables: TableReader, _ visit: (FoundDocument) -> Verdict) throws(QueryError) {
        var taken = 0
        var isFull = false
        try scan.run(tables) { document in
            if isFull { return .refuse }
            guard visit(document) == .taken else {
                isFull = true
                return .refuse
            }
            taken += 1
            guard taken < limit else {
                isFull = true
                position = scan.position(of: document)
                return .lookAhead
            }
            return .goOn
        }
        if isBrief, !isFull, !scan.isAtEnd { throw .engine(.cold) }
        hasMore = !scan.isAtEnd
        if taken < limit { position = scan.position }
    }

    // MARK: Sorting

    private func sort(_ tables: TableReader, _ visit: (FoundDocument) -> Verdict) throws(QueryError) {
        var smallest = SmallestEntries(limit: limit, byteLimit: Self.sortBytes)
        var key = ByteBuffer()
        var id = ByteBuffer()
        try scan.run(tables) { document in
            key.removeAll()
            if order.usesID {
                id.removeAll()
                id.append(idAsJSON: document.id)
            }
            order.append(StoredValue(document.value), id: StoredValue(id.bytes), to: &key)
            if case .sorted(let start, let row)? = after, !Self.isBehind(key.bytes, document.row, start, row) {
                return .goOn
            }
            smallest.insert(key.bytes, row: document.row)
            return .goOn
        }
        hasMore = smallest.leftOut
        var entries = smallest.sorted[...]
        while !entries.isEmpty {
            if let fault = control.fault { throw fault }
            do throws(EngineError) {
                try tables.snapshot { (snapshot) throws(SQLiteError) in
                    try fetch(&entries, tables, snapshot, visit)
                }
            } catch { throw .engine(error) }
            if let failure = scan.failure { throw failure }
        }
    }

    private static func isBehind(_ key: Bytes, _ row: Int64, _ start: [UInt8], _ startRow: Int64) -> Bool {
        start.withBytes { start in start.precedes(key) || (!key.precedes(start) && row > startRow) }
    }

    /// Reads what was sorted again: it may have changed since.
    private func fetch(
        _ entries: inout ArraySlice<SmallestEntries.Entry>, _ tables: TableReader, _ snapshot: TableReader.Snapshot,
        _ visit: (FoundDocument) -> Verdict
    ) throws(SQLiteError) {
        let box = try plan.past == nil ? tables.scans.row() : tables.scans.formerRow()
        try scan.bindPast(box.statement, tables)
        while let entry = entries.first {
            defer { box.statement.reset() }
            try box.statement.bind(1, entry.row)
            reread += 1
            let isThere = try box.statement.step()
            if isThere { scan.noteUnknown(box.statement) }
            if isThere, box.statement.int64(3) == 0,
                scan.matches(box.statement.bytes(4), box.statement.bytes(1))
            {
                let document = FoundDocument(
                    row: entry.row, id: box.statement.bytes(1), rev: UInt64(box.statement.int64(2)),
                    value: try box.statement.line(4), key: Bytes())
                guard visit(document) == .taken else {
                    hasMore = true
                    entries = []
                    return
                }
            }
            position = .sorted(entry.key, row: entry.row)
            entries.removeFirst()
            if reread % 32 == 0, snapshot.isStale { return }
        }
    }
}
