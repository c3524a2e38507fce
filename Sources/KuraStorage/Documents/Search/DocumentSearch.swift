public import KuraBytes
public import KuraJSON
import SQLite

/// A document that a search has found.
public struct RankedDocument {
    public var document: FoundDocument
    /// bm25: how well it fits, above 0; more is better.
    public var rank: Double
    /// By the places of their fields: what was found, between `SearchMarks`.
    public var snippets: [(field: Int, text: [UInt8])]
}

/// Bytes that stand in a snippet, and in no text that is searched, for what a client wants there.
public enum SearchMarks {
    public static let start = SnippetMaker.start
    public static let end = SnippetMaker.end
    public static let gap = SnippetMaker.gap
}

/// A full text search of a collection: the documents that match, the best first.
///
/// The index gives all that match, in the order of their rows, with their ranks; the best are kept. Only these are read, and held
/// against the search once more. Like every walk it goes from snapshot to snapshot.
///
/// Made on the loop, run on a reader thread by one user.
public final class DocumentSearch: @unchecked Sendable {
    // Safety: handed over with the query that holds it, which has one user at a time.

    /// The search is run when the tables are as of this revision.
    public let foldedTo: UInt64
    public let control: QueryControl
    public let definition: SearchDefinition
    /// It may take long.
    public let isLong: Bool
    private var page: RankedPage
    /// Others match behind the last one that was taken.
    public var hasMore: Bool { page.hasMore }
    /// Behind the last one that was taken; nil when none was.
    public var position: QueryPosition? { page.position }
    /// What the first snapshot was as of.
    public private(set) var rev: UInt64 = 0

    private let scope: UInt32
    private let number: Int64
    private let expression: SearchExpression
    private let selector: Selector
    private let snippetWords: Int
    private var quotedID = ByteBuffer()
    private var text = SearchText()
    /// Why it has ended within a snapshot.
    private var failure: QueryError?

    /// Documents from which on a search is taken to be long.
    private static let longFrom = 100_000

    init(
        _ scope: Scope, foldedTo: UInt64, _ search: CollectionSearch, _ expression: SearchExpression,
        _ selector: Selector, limit: Int, after position: QueryPosition?, snippetWords: Int, control: QueryControl
    ) {
        self.foldedTo = foldedTo
        self.control = control
        definition = search.definition
        number = search.number
        isLong = search.entries > (expression.hasShortPrefix || !selector.isEmpty ? Self.longFrom / 10 : Self.longFrom)
        self.scope = scope.id
        self.expression = expression
        self.selector = selector
        self.snippetWords = snippetWords
        page = RankedPage(limit: limit, after: position)
    }

    /// Offers the best documents to `visit`, in their order; their bytes are good until it returns.
    /// - Throws: `.timeout`, `.interrupted`, `.patternTooComplex`, `.indexGone`, `.unreadable`, `.cancelled`.
    public func run(_ tables: TableReader, _ visit: (RankedDocument) -> DocumentQuery.Verdict) throws(QueryError) {
        var best = SmallestEntries(limit: page.limit, byteLimit: DocumentQuery.sortBytes)
        var last = Int64(scope) << 40
        var goesOn = true
        while goesOn {
            if let fault = control.fault { throw fault }
            do throws(EngineError) {
                try tables.snapshot { (snapshot) throws(SQLiteError) in
                    if rev == 0 { rev = snapshot.rev }
                    goesOn = try walk(tables, snapshot, behind: &last, &best)
                }
            } catch { throw .engine(error) }
            if let failure { throw failure }
        }
        page.hasMore = best.leftOut
        var entries = best.sorted[...]
        while !entries.isEmpty {
            if let fault = control.fault { throw fault }
            do throws(EngineError) {
                try tables.snapshot { (snapshot) throws(SQLiteError) in
                    try fetch(&entries, tables, snapshot, visit)
                }
            } catch { throw .engine(error) }
            if let failure { throw failure }
        }
    }

    // MARK: Finding

    /// - Returns: whether there may be more.
    private func walk(
        _ tables: TableReader, _ snapshot: TableReader.Snapshot, behind last: inout Int64, _ best: inout SmallestEntries
    ) throws(SQLiteError) -> Bool {
        // When the collection has been dropped, what is left of it is nobody's.
        guard try tables.hasCollection(scope), try tables.searches.isReady(number) else {
            failure = .indexGone
            return false
        }
        let matches = try tables.searches.matches(number, definition)
        defer { matches.statement.reset() }
        try matches.statement.bind(1, text: expression.fts)
        try matches.statement.bind(2, last)
        for (place, field) in definition.fields.enumerated() {
            try matches.statement.bind(Int32(place) + 3, double: field.weight)
        }
        var key = ByteBuffer(capacity: 8)
        var seen = 0
        // Before the first one FTS5 counts all that match, and gathers the words that begin with a prefix: a snapshot is held for some
        // times as long as that, or a search that begins slowly would do little else.
        let began = tables.clock.monotonic
        var isWorthIt = began
        while try matches.statement.step() {
            if seen == 0 { isWorthIt += 4 * (tables.clock.monotonic - began) }
            last = matches.statement.int64(0)
            key.removeAll()
            RankedPage.append(matches.statement.double(1), to: &key)
            // When others are left out already, it need not be read to leave it out too.
            if page.isBehind(key.bytes, last), best.wants(key.bytes, row: last) || !best.leftOut,
                try isWanted(last, tables)
            {
                best.insert(key.bytes, row: last)
            }
            seen += 1
            guard seen % 32 == 0 else { continue }
            if let fault = control.fault {
                failure = fault
                return false
            }
            if snapshot.isStale, tables.clock.monotonic >= isWorthIt { return true }
        }
        return false
    }

    private func isWanted(_ row: Int64, _ tables: TableReader) throws(SQLiteError) -> Bool {
        guard !selector.isEmpty else { return true }
        let box = try tables.scans.row()
        defer { box.statement.reset() }
        try box.statement.bind(1, row)
        return try box.statement.step() && box.statement.int64(3) == 0
            && matches(box.statement.bytes(4), box.statement.bytes(1))
    }

    /// Whether a document fulfils the selector; one that a pattern takes too long for does not, and ends the search.
    private func matches(_ value: Bytes, _ id: Bytes) -> Bool {
        guard !selector.isEmpty else { return true }
        var gaveUpAt: String?
        quotedID.removeAll()
        quotedID.append(idAsJSON: id)
        let matches = selector.matches(StoredValue(value), id: StoredValue(quotedID.bytes), gaveUpAt: &gaveUpAt)
        if let gaveUpAt { failure = .patternTooComplex(at: gaveUpAt) }
        return matches && gaveUpAt == nil
    }

    // MARK: Reading

    /// Reads what was found: it may have changed since.
    private func fetch(
        _ entries: inout ArraySlice<SmallestEntries.Entry>, _ tables: TableReader, _ snapshot: TableReader.Snapshot,
        _ visit: (RankedDocument) -> DocumentQuery.Verdict
    ) throws(SQLiteError) {
        let box = try tables.scans.row()
        let maker = try tables.searches.maker(definition)
        while let entry = entries.first {
            defer { box.statement.reset() }
            try box.statement.bind(1, entry.row)
            if try box.statement.step(), box.statement.int64(3) == 0,
                matches(box.statement.bytes(4), box.statement.bytes(1))
            {
                let value = try box.statement.line(4)
                text.read(StoredValue(value), definition)
                if let snippets = try maker.snippets(of: text, expression, words: snippetWords) {
                    let document = FoundDocument(
                        row: entry.row, id: box.statement.bytes(1), rev: UInt64(box.statement.int64(2)), value: value,
                        key: Bytes())
                    let ranked = RankedDocument(
                        document: document, rank: RankedPage.rank(entry.key), snippets: snippets)
                    guard visit(ranked) == .taken else {
                        page.hasMore = true
                        entries = []
                        return
                    }
                }
            }
            if failure != nil { return }
            page.take(entry)
            entries.removeFirst()
            if let fault = control.fault {
                failure = fault
                return
            }
            if snapshot.isStale { return }
        }
    }
}

extension DocumentsStore {
    /// A full text search.
    ///
    /// - Parameters:
    ///   - collection: its name; how it is searched is `search(collection)`.
    ///   - expression: what for.
    ///   - selector: what documents must fulfil besides.
    ///   - limit: documents that are wanted at most.
    ///   - position: where an earlier page ended.
    ///   - snippetWords: words of a snippet at most, up to 64; 0 for none.
    ///   - control: ends it.
    /// - Returns: what a `TableQuery` runs.
    /// - Throws: `.searchBuilding`, `.searchNotDeclared`.
    public func search(
        _ collection: Bytes, for expression: SearchExpression, _ selector: Selector, limit: Int,
        after position: QueryPosition?, snippetWords: Int, control: QueryControl
    ) throws(QueryError) -> DocumentSearch {
        guard let scope = ledger.scopes.find(.documents, collection), let search = scope.collection.search.current
        else {
            throw .searchNotDeclared
        }
        guard search.isReady else {
            let rows = numbers(collection)?.rows ?? 0
            throw .searchBuilding(done: min(search.done, rows), total: rows)
        }
        return DocumentSearch(
            scope, foldedTo: ledger.scopes.newestRev(scope), search, expression, selector, limit: limit,
            after: position, snippetWords: snippetWords, control: control)
    }
}
