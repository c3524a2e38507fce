public import KuraJSON

/// An index as the planner sees it.
public struct QueryIndex: Sendable {
    /// Its table is `index_N`.
    public var number: Int64
    public var name: [UInt8]
    public var fields: [FieldPath]
    /// Only documents that match are in it; nil: all are.
    public var filter: Selector?
    public var isUnique: Bool

    public init(number: Int64, name: [UInt8], fields: [FieldPath], filter: Selector? = nil, isUnique: Bool = false) {
        self.number = number
        self.name = name
        self.fields = fields
        self.filter = filter
        self.isUnique = isUnique
    }
}

extension Scope {
    /// The indexes that every document of the collection is in, as of any revision that a query reads at.
    var queryIndexes: [QueryIndex] { collection.indexes?.usable ?? [] }
}
