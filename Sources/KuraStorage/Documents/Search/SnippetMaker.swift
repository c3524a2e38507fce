import KuraBytes
import SQLite

/// Holds single documents against a search, and cuts out what was found in them: a full text index of its own, in memory, of one
/// document at a time. So the tokenizer is SQLite's, the same as in the index that was searched, the text is the document's as it is
/// now, and finding all words with a prefix takes no longer than this text has words.
final class SnippetMaker {
    /// What stands in a snippet before and behind what was found, and where text was left out. `SearchText` has none of them.
    static let start: UInt8 = 1
    static let end: UInt8 = 2
    static let gap: UInt8 = 3
    /// Most words that a snippet can have.
    static let wordLimit = 64

    private let connection: Connection
    private let fields: Int
    private let insert: Statement
    private let match: Statement
    private let cut: Statement
    private let begin: Statement
    private let rollback: Statement

    init(_ definition: SearchDefinition) throws(SQLiteError) {
        fields = definition.fields.count
        connection = try Connection(path: ":memory:", mode: .readWriteCreate)
        let columns = SearchTable.columns(definition)
        try connection.execute(
            "CREATE VIRTUAL TABLE one USING fts5(\(columns), tokenize='\(definition.tokenizer.argument)')")
        let values = definition.fields.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        insert = try connection.prepare("INSERT INTO one(\(columns)) VALUES(\(values))")
        match = try connection.prepare("SELECT 1 FROM one WHERE one MATCH ?1")
        let snippets = definition.fields.indices.map {
            "snippet(one, \($0), char(\(Self.start)), char(\(Self.end)), char(\(Self.gap)), ?2)"
        }
        cut = try connection.prepare("SELECT \(snippets.joined(separator: ", ")) FROM one WHERE one MATCH ?1")
        begin = try connection.prepare("BEGIN")
        rollback = try connection.prepare("ROLLBACK")
    }

    /// - Parameters:
    ///   - text: a document's.
    ///   - expression: what is searched for.
    ///   - words: of a snippet, at most; 0 for no snippets.
    /// - Returns: the snippets of the fields in which something was found, by their places; nil when the document does not match.
    /// - Throws: what SQLite says.
    func snippets(
        of text: borrowing SearchText, _ expression: SearchExpression, words: Int
    ) throws(SQLiteError) -> [(field: Int, text: [UInt8])]? {
        try begin.run()
        defer { try? rollback.run() }
        for field in 0..<fields { try insert.bind(Int32(field) + 1, utf8: text[field]) }
        try insert.run()
        guard words > 0 else {
            defer { match.reset() }
            try match.bind(1, text: expression.fts)
            return try match.step() ? [] : nil
        }
        defer { cut.reset() }
        try cut.bind(1, text: expression.fts)
        try cut.bind(2, Int64(min(words, Self.wordLimit)))
        guard try cut.step() else { return nil }
        var snippets: [(field: Int, text: [UInt8])] = []
        for field in 0..<fields {
            let snippet = cut.bytes(Int32(field))
            if snippet.contains(Self.start) { snippets.append((field, Array(snippet))) }
        }
        return snippets
    }
}

/// What a reader of the tables searches with, prepared when it is first wanted.
final class SearchStatements {
    private var matches: [Int64: ScanStatements.Box] = [:]
    private var makers: [[UInt8]: SnippetMaker] = [:]
    private let state: Statement
    private let connection: Connection
    /// Collections searched by turns, at most; what is more is prepared anew.
    private static let limit = 32

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        state = try connection.prepare("SELECT state FROM searches WHERE number = ?1")
    }

    /// Whether a full text index has every document in the snapshot. Ask in each: it may have been removed meanwhile.
    func isReady(_ number: Int64) throws(SQLiteError) -> Bool {
        defer { state.reset() }
        try state.bind(1, number)
        return try state.step() && state.int64(0) == Int64(SearchStatus.State.ready.rawValue)
    }

    /// Rows above ?2 that match the expression ?1, in their order, with their ranks; ?3 and so on are the fields' weights.
    func matches(_ number: Int64, _ definition: SearchDefinition) throws(SQLiteError) -> ScanStatements.Box {
        if let box = matches[number] { return box }
        if matches.count >= Self.limit { matches = [:] }
        let table = SearchTable.name(number)
        let weights = definition.fields.indices.map { "?\($0 + 3)" }.joined(separator: ", ")
        let box = ScanStatements.Box(
            try connection.prepare(
                """
                SELECT rowid, bm25(\(table), \(weights)) FROM \(table)
                WHERE \(table) MATCH ?1 AND rowid > ?2 ORDER BY rowid
                """))
        matches[number] = box
        return box
    }

    func maker(_ definition: SearchDefinition) throws(SQLiteError) -> SnippetMaker {
        if let maker = makers[definition.tableText] { return maker }
        if makers.count >= Self.limit { makers = [:] }
        let maker = try SnippetMaker(definition)
        makers[definition.tableText] = maker
        return maker
    }
}
