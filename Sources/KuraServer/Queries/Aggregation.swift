import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// One thing that is computed of each group.
struct AggregateColumn: Sendable {
    enum Operation: String, Sendable {
        case count, sum, min, max, avg
    }
    /// The name as JSON, with its quotes.
    var label: [UInt8]
    var operation: Operation
    var path: FieldPath
}

extension Call {
    /// `{"total":{"sum":"price"}}`
    func aggregateColumns(_ parameter: JSONParameter) throws(Refusal) -> [AggregateColumn] {
        guard has(parameter) else { return [] }
        var columns: [AggregateColumn] = []
        for member in StoredValue(self[parameter]).members {
            let place = "/" + JSONPointer.token(ResolvedText.bytes(member.name))
            guard columns.count < AggregateAnswer.columnLimit else {
                throw refusal(
                    parameter, path: place, "too many things to compute", limit: AggregateAnswer.columnLimit)
            }
            var operations = member.value.members
            guard let operation = operations.next(), operations.next() == nil,
                let kind = AggregateColumn.Operation(rawValue: String(operation.name))
            else {
                throw refusal(parameter, path: place, #"it is {"sum": "path"}, with count, sum, min, max or avg"#)
            }
            let path = try fieldPath(operation.value, parameter, place + "/" + kind.rawValue)
            columns.append(AggregateColumn(label: Array(member.quotedName), operation: kind, path: path))
        }
        return columns
    }
}

/// A document with its id, which `_id` finds.
struct GroupedDocument {
    var value: StoredValue
    /// As a JSON string; empty when nobody asks for it.
    var id: StoredValue

    func find(_ path: FieldPath) -> StoredValue? { path.isID ? id : path.find(in: value) }
}

/// What has been computed of one group so far.
struct AggregateGroup {
    /// The values that its documents share, as JSON; nil where they have none.
    var key: [[UInt8]?]
    var count = 0
    private var counts: [Int]
    private var sums: [DecimalSum]
    /// Smallest and largest values, as JSON.
    private var bounds: [[UInt8]?]

    init(key: [[UInt8]?], columns: Int) {
        self.key = key
        counts = Array(repeating: 0, count: columns)
        sums = Array(repeating: DecimalSum(), count: columns)
        bounds = Array(repeating: nil, count: columns)
    }

    /// - Returns: by how many bytes it has grown.
    mutating func add(_ document: GroupedDocument, _ columns: [AggregateColumn]) -> Int {
        count += 1
        var grown = 0
        for (place, column) in columns.enumerated() {
            guard let value = document.find(column.path) else { continue }
            counts[place] += 1
            switch column.operation {
            case .count: break
            case .sum, .avg: if value.kind == .number { sums[place].add(value.text) }
            case .min, .max:
                let order = bounds[place]?.withBytes { Collation.order(value, StoredValue($0)) }
                guard order.map({ column.operation == .min ? $0 < 0 : $0 > 0 }) ?? true else { continue }
                grown += value.text.count - (bounds[place]?.count ?? 0)
                bounds[place] = Array(value.text)
            }
        }
        return grown
    }

    func append(_ place: Int, _ operation: AggregateColumn.Operation, to out: inout ByteBuffer) {
        switch operation {
        case .count: out.append(integer: Int64(counts[place]))
        case .sum: sums[place].append(to: &out)
        case .avg: sums[place].append(averageTo: &out)
        case .min, .max: if let bound = bounds[place] { out.append(bound) } else { out.append("null") }
        }
    }
}

/// The groups of `documents.aggregate`.
final class AggregateAnswer: DocumentsAnswer, @unchecked Sendable {
    // Safety: as for every answer.

    static let columnLimit = 32
    static let groupLimit = WireLimits.listItems
    /// Bytes that all groups may hold.
    static let byteLimit = 16 << 20

    private let paths: [FieldPath]
    private let labels: [[UInt8]]
    private let columns: [AggregateColumn]
    /// By the index key of what they share.
    private var groups: [[UInt8]: AggregateGroup] = [:]

    init(_ query: DocumentQuery?, groupBy paths: [FieldPath], columns: [AggregateColumn], emptyAsOf: UInt64) {
        self.paths = paths
        self.columns = columns
        labels = paths.map { path in
            var label = ByteBuffer()
            path.text.withBytes { label.append(quoted: $0) }
            return Array(label.bytes)
        }
        super.init(query, emptyAsOf: emptyAsOf)
    }

    override func run(_ query: DocumentQuery, _ tables: TableReader) throws(StoreError) {
        groups = [:]
        var key = ByteBuffer()
        var bytes = 0
        var isFull = false
        let usesID = paths.contains(where: \.isID) || columns.contains { $0.path.isID }
        var id = ByteBuffer()
        try query.run(tables) { document in
            id.removeAll()
            if usesID { id.append(quoted: document.id) }
            let value = GroupedDocument(value: StoredValue(document.value), id: StoredValue(id.bytes))
            key.removeAll()
            for path in paths { IndexKey.append(value.find(path), to: &key) }
            let name = Array(key.bytes)
            if groups[name] == nil {
                let shared = paths.map { path in value.find(path).map { Array($0.text) } }
                bytes += name.count + shared.reduce(128 + 64 * columns.count) { $0 + ($1?.count ?? 0) }
                groups[name] = AggregateGroup(key: shared, columns: columns.count)
            }
            bytes += groups[name]!.add(value, columns)
            isFull = groups.count > Self.groupLimit || bytes > Self.byteLimit
            return isFull ? .refused : .taken
        }
        if isFull { throw .tooManyGroups(limit: Self.groupLimit) }
        // What nothing matches is still a group when nothing tells groups apart.
        if paths.isEmpty, groups.isEmpty { groups[[]] = AggregateGroup(key: [], columns: columns.count) }
    }

    func append(to out: inout ByteBuffer) throws(Refusal) {
        let start = out.count
        out.openObject()
        out.openList(.groups)
        for (_, group) in groups.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            out.openObject()
            out.openObject(.key)
            append(labels, of: &out) { place, out in
                guard let value = group.key[place] else { return false }
                out.append(value)
                return true
            }
            out.closeObject()
            out.append(.count, group.count)
            out.openObject(.values)
            append(columns.map(\.label), of: &out) { place, out in
                group.append(place, columns[place].operation, to: &out)
                return true
            }
            out.closeObject()
            out.closeObject()
            guard out.count - start < WireLimits.replyBytes else {
                throw .error(RPCError(.replyTooLarge, limit: WireLimits.replyBytes))
            }
        }
        out.closeList()
        out.append(.rev, rev)
        append(planTo: &out)
        out.closeObject()
    }

    /// Members with these names, as JSON; those that `value` does not write are left out.
    private func append(
        _ labels: [[UInt8]], of out: inout ByteBuffer, _ value: (Int, inout ByteBuffer) -> Bool
    ) {
        for (place, label) in labels.enumerated() {
            let start = out.count
            out.beginMember()
            out.append(label)
            out.append(":")
            if !value(place, &out) { out.truncate(to: start) }
        }
    }
}
