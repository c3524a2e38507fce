import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// A page of `documents.search`, written as JSON on the reader thread.
final class SearchPage: TableQuery, @unchecked Sendable {
    // Safety: has one user at a time, as the pool sees to.

    /// How snippets look.
    struct Marks {
        var start: [UInt8]
        var end: [UInt8]
    }

    private let search: DocumentSearch
    private let list: ListPage
    private let fields: Projection?
    private let marks: Marks?
    private var count = 0
    private var json = ByteBuffer()
    private var snippet = ByteBuffer()

    /// Bytes of a snippet's text; a word can be as long as a document.
    private static let snippetBytes = 1024

    /// `marks`: nil for no snippets.
    init(_ search: DocumentSearch, list: ListPage, fields: Projection?, marks: Marks?) {
        self.search = search
        self.list = list
        self.fields = fields
        self.marks = marks
    }

    var foldedTo: UInt64 { search.foldedTo }
    var rev: UInt64 { search.rev }
    var isLong: Bool { search.isLong }
    func stop() { search.control.stop() }
    var footprint: Int { json.capacity }

    func discard() {
        json.releaseMemory()
        count = 0
    }

    func run(_ tables: TableReader) throws(QueryError) {
        json.removeAll()
        count = 0
        try search.run(tables) { take($0) }
    }

    private func take(_ found: RankedDocument) -> DocumentQuery.Verdict {
        let start = json.count
        json.openObject()
        let document = found.document
        json.append(document: document.id, document.value, rev: document.rev, fields: fields)
        json.append(name: .rank)
        json.append(text: "\(found.rank)")
        if let marks { append(found.snippets, marks) }
        json.closeObject()
        guard count == 0 || json.count <= FindPage.byteLimit else {
            json.truncate(to: start)
            return .refused
        }
        count += 1
        return .taken
    }

    private func append(_ snippets: [(field: Int, text: [UInt8])], _ marks: Marks) {
        json.openObject(.snippets)
        for (field, text) in snippets {
            search.definition.fields[field].path.text.withBytes { json.append(key: $0) }
            Self.write(text, marks, to: &snippet)
            json.append(quoted: snippet.bytes)
        }
        json.closeObject()
    }

    /// Writes a snippet with the client's marks; what is too long ends between two characters, and what is open is closed.
    static func write(_ text: [UInt8], _ marks: Marks, to out: inout ByteBuffer) {
        out.removeAll()
        var bytes = 0
        var isOpen = false
        for byte in text {
            switch byte {
            case SearchMarks.start:
                out.append(marks.start)
                isOpen = true
            case SearchMarks.end:
                out.append(marks.end)
                isOpen = false
            case SearchMarks.gap: out.append("…")
            default:
                if bytes >= snippetBytes, byte & 0xC0 != 0x80 {
                    if isOpen { out.append(marks.end) }
                    return out.append("…")
                }
                out.append(byte)
                bytes += 1
            }
        }
    }

    func append(to out: inout ByteBuffer) throws(Refusal) {
        out.openObject()
        out.openList(.documents)
        out.append(json.bytes)
        out.closeList()
        out.append(.rev, list.rev(rev))
        if search.hasMore, let position = search.position {
            position.encoded.withBytes { list.append(cursor: $0, rev: rev, to: &out) }
        }
        out.closeObject()
    }
}
