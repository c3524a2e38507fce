import KuraBytes

/// How far the walk of a query's plan has come: what it has walked over last, and which of the plan's ranges it is in.
struct ScanPlace: ~Copyable {
    /// The last row; nil before the first one, 0 behind an id.
    private(set) var row: Int64?
    /// The id or the key of that row; empty where rows are walked by their numbers.
    private(set) var key = ByteBuffer()
    /// The range of the plan that is being walked.
    var range = 0

    /// Where a walk goes on that an earlier page has begun; nil for the beginning.
    init(behind position: QueryPosition?) {
        switch position {
        case nil, .sorted: break
        case .row(let row): self.row = row
        case .id(let id):
            row = 0
            key.append(id)
        case .key(_, let key, let row):
            self.row = row
            self.key.append(key)
        }
    }

    /// A row was walked over.
    mutating func set(_ row: Int64, _ key: Bytes) {
        self.row = row
        self.key.removeAll()
        self.key.append(key)
    }

    /// Behind the last row; nil before the first one.
    func position(_ access: QueryPlan.Access) -> QueryPosition? {
        guard let row else { return nil }
        return switch access {
        case .none: nil
        case .collection: .row(row)
        case .ids: .id(Array(key.bytes))
        case .index(let index, _, _): .key(index: index.number, Array(key.bytes), row: row)
        }
    }
}

/// What the walk of a query's plan may still do.
struct ScanBudget {
    /// Candidates, and bytes of them, that may be looked at.
    var candidates = Int.max
    var bytes = Int.max
    /// So many documents are wanted: a hint at how far to go ahead.
    var wanted = Int.max

    /// Reading a document from the tables takes as long as so many candidates from memory.
    static let costOfRow = 4

    @inline(__always)
    var isSpent: Bool { candidates <= 0 || bytes <= 0 }

    /// So many entries of an index are worth stepping over before their documents are looked at; one at least.
    @inline(__always)
    var stepsAhead: Int { max(1, min(candidates, wanted)) }
}
