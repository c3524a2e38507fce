public import KuraJSON

/// How a query finds its documents.
public struct QueryPlan: Sendable {
    public enum Access: Sendable {
        /// Nothing can match.
        case none
        /// All documents, in the order in which they were first written.
        case collection
        /// Those whose ids lie in these ranges of bytes, in their order.
        case ids([KeyRange], isDescending: Bool)
        /// Those whose keys in the index lie in these ranges, in the order of the keys.
        case index(QueryIndex, [KeyRange], isDescending: Bool)
    }

    public var access: Access
    /// The order of `access` is not what is wanted: what matches is sorted in memory.
    public var sortsInMemory: Bool
    /// It may have to look at every document of the collection.
    public var isScan: Bool
    /// The keys tell which documents match: what lies in exact ranges need not be read to be counted.
    public var isCovered: Bool
    /// Documents are looked at as they were then.
    public var past: QueryShape.Past?
    /// All of an index is walked, or nearly: that takes long when the collection is large.
    public var isWide = false

    public init(access: Access, sortsInMemory: Bool = false, isScan: Bool = false, isCovered: Bool = false) {
        self.access = access
        self.sortsInMemory = sortsInMemory
        self.isScan = isScan
        self.isCovered = isCovered
    }

    /// It may look at very many documents or keys.
    public var isLong: Bool { isScan || sortsInMemory || isWide }

    public var index: QueryIndex? { if case .index(let index, _, _) = access { index } else { nil } }
    public var ranges: Int {
        switch access {
        case .none: 0
        case .collection: 1
        case .ids(let ranges, _), .index(_, let ranges, _): ranges.count
        }
    }
}

/// What a query asks for, as far as its plan depends on it.
public struct QueryShape: Sendable {
    public var selector: Selector
    public var sort: [SortField]
    /// The first documents will do: without a condition no more than these are looked at.
    public var isPage: Bool
    /// Values are all that is wanted of this path: an index on it gives them in their order.
    public var values: FieldPath?
    /// Only how many match is wanted.
    public var countsOnly: Bool
    /// Documents are looked at as they were then.
    public var past: Past?

    /// A revision, and the oldest one that the log has.
    public struct Past: Sendable {
        public var rev: UInt64
        public var oldestRev: UInt64

        public init(rev: UInt64, oldestRev: UInt64) { (self.rev, self.oldestRev) = (rev, oldestRev) }
    }

    public init(
        selector: Selector, sort: [SortField] = [], isPage: Bool = false, values: FieldPath? = nil,
        countsOnly: Bool = false, past: Past? = nil
    ) {
        self.past = past
        self.selector = selector
        self.sort = sort
        self.isPage = isPage
        self.values = values
        self.countsOnly = countsOnly
    }
}
