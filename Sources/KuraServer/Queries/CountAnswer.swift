import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// How many documents match: those that an index decides on are counted by their keys alone.
final class CountAnswer: DocumentsAnswer, @unchecked Sendable {
    // Safety: as for every answer.

    override func run(_ query: DocumentQuery, _ tables: TableReader) throws(QueryError) {
        try query.run(tables) { _ in .taken }
    }

    func append(to out: inout ByteBuffer) {
        out.openObject()
        out.append(.count, query?.cost.matched ?? 0)
        out.append(.rev, rev)
        append(planTo: &out)
        out.closeObject()
    }
}

/// The values of one field, each once, in their order.
final class DistinctPage: DocumentsAnswer, @unchecked Sendable {
    // Safety: as for every answer.

    private let path: FieldPath
    private let after: QueryPosition?
    private let list: ListPage
    private let limit: Int
    private var found: ArraySlice<SmallestEntries.Entry> = []
    private var hasMore = false

    init(
        _ query: DocumentQuery?, of path: FieldPath, limit: Int, after position: QueryPosition?, list: ListPage,
        emptyAsOf: UInt64
    ) {
        self.path = path
        after = position
        self.list = list
        self.limit = limit
        super.init(query, emptyAsOf: emptyAsOf)
    }

    override func run(_ query: DocumentQuery, _ tables: TableReader) throws(QueryError) {
        var values = SmallestEntries(limit: limit, byteLimit: FindPage.byteLimit, isDistinct: true)
        var key = ByteBuffer()
        var id = ByteBuffer()
        try query.run(tables) { document in
            var value: StoredValue?
            if path.isID {
                id.removeAll()
                id.append(quoted: document.id)
                value = StoredValue(id.bytes)
            } else {
                value = path.find(in: StoredValue(document.value))
            }
            guard let value else { return .taken }
            key.removeAll()
            IndexKey.append(value, to: &key)
            if case .sorted(let start, _)? = after, !start.withBytes({ $0.precedes(key.bytes) }) { return .taken }
            values.insert(key.bytes, row: 0, value: value.text)
            return .taken
        }
        found = values.sorted[...]
        hasMore = values.leftOut
    }

    func append(to out: inout ByteBuffer) throws(Refusal) {
        out.openObject()
        out.openList(.values)
        for entry in found {
            out.beginElement()
            out.append(entry.value)
        }
        out.closeList()
        out.append(.rev, list.rev(rev))
        if hasMore, let last = found.last { try append(cursor: .sorted(last.key, row: 0), list, to: &out) }
        append(planTo: &out)
        out.closeObject()
    }
}
