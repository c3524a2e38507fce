import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `documents.list`: a page of the tables, read on a reader thread.
extension DocumentsHandlers {
    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let list = try call.queryPage(cursor: DocumentsList.cursor, in: storage)
        var after: [UInt8] = []
        if case .id(let id)? = try call.position(of: list, DocumentsList.cursor) { after = id }
        try call.refuseWhenTight()
        let page = DocumentPage(
            limit: Int(call[DocumentsList.limit] ?? 100), list: list,
            byteLimit: min(DocumentPage.byteLimit, call.server.limits.replyBytes))
        let walk = storage.documents.walk(call[DocumentsList.collection], in: .id, after: after) { [unowned page] in
            page.take($0)
        }
        guard let walk else {
            out.openObject()
            out.openList(.documents)
            out.closeList()
            out.append(.rev, list.rev(storage.rev))
            out.closeObject()
            call.shows(storage.rev)
            return
        }
        page.walk = walk
        throw call.wait(for: storage.submit(page)) { (call, page: DocumentPage, error, out, storage) throws(Refusal) in
            // A collection that has been dropped since is looked for anew: another one may have its name.
            if page.isGone { return try DocumentsHandlers.list(call, &out, storage) }
            if error == .engine(.overloaded) {
                throw .error(
                    RPCError(.overloaded, hint: BufferBudget.hint, limit: call.server.buffers.limit))
            }
            try call.check(error)
            page.append(to: &out)
            call.shows(page.rev)
        }
    }
}

/// One page of documents as JSON, written on the reader thread.
private final class DocumentPage: TableQuery, @unchecked Sendable {
    // Has one user at a time, as the pool sees to; `walk` is set before it is submitted.

    /// A page ends before it grows over so many bytes; one document always fits.
    static let byteLimit = 1 << 20

    var walk: DocumentWalk!
    private let limit: Int
    private let list: ListPage
    private let byteLimit: Int
    private var count = 0
    private var json = ByteBuffer()
    private var lastID = ByteBuffer()

    init(limit: Int, list: ListPage, byteLimit: Int) {
        self.limit = limit
        self.list = list
        self.byteLimit = byteLimit
    }

    var foldedTo: UInt64 { walk.foldedTo }
    var isGone: Bool { walk.isGone }
    /// What the page was read as of.
    var rev: UInt64 { walk.rev }

    func run(_ tables: TableReader) throws(QueryError) { try walk.run(tables) }

    var footprint: Int { json.capacity + lastID.capacity }

    func discard() {
        json.releaseMemory()
        lastID.releaseMemory()
    }

    func take(_ document: DocumentWalk.Row) -> Bool {
        guard count < limit, count == 0 || json.count + document.value.count < byteLimit else { return false }
        json.openObject()
        json.append(document: document.id, document.value, rev: document.rev)
        json.closeObject()
        count += 1
        lastID.removeAll()
        lastID.append(document.id)
        return true
    }

    func append(to out: inout ByteBuffer) {
        out.openObject()
        out.openList(.documents)
        out.append(json.bytes)
        out.closeList()
        out.append(.rev, list.rev(walk.rev))
        if !walk.isAtEnd {
            QueryPosition.id(Array(lastID.bytes)).encoded.withBytes { list.append(cursor: $0, rev: walk.rev, to: &out) }
        }
        out.closeObject()
    }
}
