import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// A document as a query has found it.
struct MatchedDocument: Sendable {
    var id: [UInt8]
    var rev: UInt64
}

/// Documents that match, found on a reader thread to be deleted on the loop: so many as one transaction may take.
///
/// The thread also reads in what deleting them will look for, where the loop looks without waiting.
final class MatchedDocuments: DocumentsAnswer, @unchecked Sendable {
    // Safety: as for every answer.

    /// Documents of one transaction, and bytes of their values.
    static let limit = 5000
    static let byteLimit = 64 << 20

    let selector: Selector
    private(set) var found: [MatchedDocument] = []
    /// More of them match.
    private(set) var isOver = false
    private let looks: ReferenceLooks?

    init(_ query: DocumentQuery?, _ selector: Selector, looks: ReferenceLooks?, emptyAsOf: UInt64) {
        self.selector = selector
        self.looks = looks
        super.init(query, emptyAsOf: emptyAsOf)
    }

    /// What follows; nil when nothing does.
    func following(_ control: QueryControl) -> MatchedDocuments? {
        guard isOver, let query else { return nil }
        return MatchedDocuments(query.following(control), selector, looks: looks, emptyAsOf: query.rev)
    }

    override func run(_ query: DocumentQuery, _ tables: TableReader) throws(StoreError) {
        found = []
        isOver = false
        var bytes = 0
        try query.run(tables) { document in
            let isFull = found.count >= Self.limit || bytes + document.value.count > Self.byteLimit
            guard !isFull || found.isEmpty else {
                isOver = true
                return .refused
            }
            bytes += document.value.count
            found.append(MatchedDocument(id: Array(document.id), rev: document.rev))
            return .taken
        }
        if !query.isBrief { try looks?.warm(tables, found.map(\.id)) }
    }

    override var footprint: Int { found.count * 96 }

    override func discard() { found = [] }
}

extension Selector {
    /// Whether a document that has changed since it was found matches still.
    /// - Throws: `.patternTooComplex`.
    func stillMatches(_ value: Bytes, _ id: Bytes) throws(StoreError) -> Bool {
        var gaveUpAt: String?
        let matches: Bool
        if usesID {
            var quoted = ByteBuffer()
            quoted.append(quoted: id)
            matches = self.matches(StoredValue(value), id: StoredValue(quoted.bytes), gaveUpAt: &gaveUpAt)
        } else {
            matches = self.matches(StoredValue(value), id: nil, gaveUpAt: &gaveUpAt)
        }
        if let gaveUpAt { throw .patternTooComplex(at: gaveUpAt) }
        return matches
    }
}

extension DocumentsStore.Batch {
    /// Deletes those that are still as they were, or have changed and still match.
    /// - Returns: how many that were.
    func delete(_ documents: [MatchedDocument], where selector: Selector) throws(StoreError) -> Int {
        var deleted = 0
        for document in documents {
            let isDeleted = try document.id.withBytes { (id) throws(StoreError) in
                try delete(id, seenAt: document.rev) { (value) throws(StoreError) in
                    try selector.stillMatches(value, id)
                }
            }
            if isDeleted { deleted += 1 }
        }
        return deleted
    }
}
