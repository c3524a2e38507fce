import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// A page of `documents.find`, written as JSON on the reader thread.
final class FindPage: DocumentsAnswer, @unchecked Sendable {
    // Safety: as for every answer.

    /// A page ends before it grows over so many bytes; one document always fits.
    static let byteLimit = 1 << 20
    /// A query that looks at so many documents for each that it returns is told of.
    private static let visitsPerDocument = 100
    /// Room that most pages do with, so that few are moved while they grow.
    private static let usualBytes = 16 << 10

    private let list: ListPage
    private let fields: Projection?
    private let isSorted: Bool
    /// What its documents refer to and the reply is to bring along.
    let expansion: Expansion?
    private var text = Text()

    init(
        _ query: DocumentQuery?, list: ListPage, fields: Projection?, isSorted: Bool, expansion: Expansion? = nil,
        emptyAsOf: UInt64
    ) {
        self.expansion = expansion
        self.list = list
        self.fields = fields
        self.isSorted = isSorted
        super.init(query, emptyAsOf: emptyAsOf)
    }

    override func run(_ query: DocumentQuery, _ tables: TableReader) throws(QueryError) {
        text.json.removeAll()
        text.json.reserve(Self.usualBytes)
        text.count = 0
        expansion?.removeAll()
        try query.run(tables) { take($0) }
    }

    override var footprint: Int { text.json.capacity }

    override func discard() {
        text.json.releaseMemory()
        text.count = 0
    }

    private func take(_ document: FoundDocument) -> DocumentQuery.Verdict {
        let start = text.json.count
        guard text.append(document, fields) else { return .refused }
        if let expansion, !expansion.note(StoredValue(document.value)) {
            guard text.count == 1 else {
                text.takeBack(to: start)
                return .refused
            }
            expansion.isOver = true
        }
        return .taken
    }

    /// The documents as JSON, in one piece, so that a document costs one access to the object.
    private struct Text: ~Copyable {
        var count = 0
        var json = ByteBuffer()

        /// - Returns: whether there was room.
        mutating func append(_ document: FoundDocument, _ fields: Projection?) -> Bool {
            let start = json.count
            json.openObject()
            json.append(document: document.id, document.value, rev: document.rev, fields: fields)
            json.closeObject()
            guard count == 0 || json.count <= FindPage.byteLimit else {
                json.truncate(to: start)
                return false
            }
            count += 1
            return true
        }

        mutating func takeBack(to start: Int) {
            json.truncate(to: start)
            count -= 1
        }
    }

    /// The result but for its last bracket.
    func append(to out: inout ByteBuffer) throws(Refusal) {
        out.openObject()
        out.openList(.documents)
        out.append(text.json.bytes)
        out.closeList()
        out.append(.rev, list.rev(rev))
        if let query, query.hasMore { try append(cursor: query.position, list, to: &out) }
        append(planTo: &out, isSorted: isSorted)
        appendWarnings(to: &out)
    }

    func append(explanationTo out: inout ByteBuffer) {
        let cost = query?.cost ?? QueryCost()
        out.openObject()
        append(planTo: &out, isSorted: isSorted)
        out.append(.keysVisited, cost.keys)
        out.append(.documentsVisited, cost.documents)
        out.append(.matched, cost.matched)
        out.append(.returned, text.count)
        out.append(.snapshots, cost.snapshots)
        out.append(.elapsedMs, elapsedMilliseconds)
        out.append(.rev, rev)
        appendWarnings(to: &out)
        out.closeObject()
    }

    private func appendWarnings(to out: inout ByteBuffer) {
        guard let query else { return }
        let isWasteful = query.cost.documents > max(1000, text.count * Self.visitsPerDocument)
        let sortsMany = query.plan.sortsInMemory && query.cost.matched > DocumentsStore.scanLimit
        guard isWasteful || sortsMany else { return }
        out.openList(.warnings)
        if isWasteful {
            out.append(element: Bytes("many documents were read for each that is returned: an index would help"))
        }
        if sortsMany {
            out.append(element: Bytes("each page sorts all that match: an index on the fields to sort by would help"))
        }
        out.closeList()
    }
}
