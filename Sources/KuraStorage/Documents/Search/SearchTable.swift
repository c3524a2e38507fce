import KuraBytes
import SQLite

/// The full text index of one collection, `search_N`, as the fold thread writes it: an FTS5 table of columns `c0`, `c1`…, one a
/// field, whose rows have the numbers of the documents'.
///
/// It is *contentless*: it has the words and where they stand, and no copy of the text, which the documents have. That
/// is a third of the size, and of the writing, of a table with a copy. What it asks for in return is that a row is taken out with the very
/// text that it was put in with (SQLite 3.40 knows no other way): the fold has the old body before it, in the same transaction, and
/// `SearchDefinition.version` tells when the same body meant another text. Whoever searches holds what is found against the
/// document itself (`SnippetMaker`), so that even a word too many in here shows nothing wrong.
///
/// How far it is built stands in the table `searches`, in the same transactions: of rows up to `builtTo` the live documents are in it,
/// each with its current text; of rows above there is nothing.
///
/// FTS5 writes a segment a transaction and merges segments when there are many, as much as it likes. Here it may not: merging is
/// done between folds, some pages at a time. Should there never be a moment for that, FTS5 helps itself (`crisismerge`).
final class SearchTable {
    let number: Int64
    let collection: UInt32
    let definition: SearchDefinition
    var state: SearchStatus.State
    var builtTo: Int64
    private(set) var entries: Int64
    /// Something of the above differs from what stands in `searches`.
    var isChanged = false
    /// Segments that have come since nothing was left to merge; many after a start, to find out.
    private var segments = SearchTable.mergeFrom
    /// The transaction under way has written to it.
    private var isWritten = false

    private let insert: Statement
    private let delete: Statement
    private let merge: Statement
    private let connection: Connection

    static func name(_ number: Int64) -> String { "search_\(number)" }

    /// Segments from which on merging is worth it.
    private static let mergeFrom = 8
    /// Pages to merge between two looks at the clock.
    private static let mergePages: Int64 = 16

    /// What makes the table; nothing of a client's is in it.
    static func creation(_ number: Int64, _ definition: SearchDefinition) -> String {
        let table = name(number)
        return """
            CREATE VIRTUAL TABLE \(table) USING fts5(\(columns(definition)), content='', \
            tokenize='\(definition.tokenizer.argument)');
            INSERT INTO \(table)(\(table), rank) VALUES('automerge', 0);
            INSERT INTO \(table)(\(table), rank) VALUES('crisismerge', 64);
            """
    }

    static func columns(_ definition: SearchDefinition) -> String {
        definition.fields.indices.map { "c\($0)" }.joined(separator: ", ")
    }

    init(_ connection: Connection, _ row: SearchRow) throws(SQLiteError) {
        number = row.status.number
        collection = row.status.collection
        definition = row.definition
        state = row.status.state
        builtTo = row.builtTo
        entries = Int64(row.status.entries)
        self.connection = connection
        let table = Self.name(number)
        let columns = Self.columns(definition)
        let values = definition.fields.indices.map { "?\($0 + 2)" }.joined(separator: ", ")
        insert = try connection.prepare("INSERT INTO \(table)(rowid, \(columns)) VALUES(?1, \(values))")
        delete = try connection.prepare(
            "INSERT INTO \(table)(\(table), rowid, \(columns)) VALUES('delete', ?1, \(values))")
        merge = try connection.prepare("INSERT INTO \(table)(\(table), rank) VALUES('merge', ?1)")
    }

    /// The fold puts into it and takes out what changes.
    var isKeptUp: Bool { state == .building || state == .ready }

    var needsMerging: Bool { isKeptUp && segments >= Self.mergeFrom }

    /// There is something to do between folds.
    var hasWork: Bool { state != .ready || needsMerging }

    func insert(_ row: Int64, _ text: borrowing SearchText) throws(SQLiteError) {
        try run(insert, row, text)
        entries += 1
    }

    /// `text`: what it was put in with.
    func delete(_ row: Int64, _ text: borrowing SearchText) throws(SQLiteError) {
        try run(delete, row, text)
        entries -= 1
    }

    private func run(
        _ statement: borrowing Statement, _ row: Int64, _ text: borrowing SearchText
    ) throws(SQLiteError) {
        try statement.bind(1, row)
        for field in definition.fields.indices { try statement.bind(Int32(field) + 2, utf8: text[field]) }
        try statement.run()
        isChanged = true
        isWritten = true
    }

    /// The transaction is about to end: what it has written becomes a segment.
    func closeSegment() {
        if isWritten { segments += 1 }
        isWritten = false
    }

    /// Merges segments until it is time to stop, or nothing is left that is worth it.
    func merge(until deadline: Deadline) throws(SQLiteError) {
        repeat {
            let before = connection.totalChanges
            try merge.bind(1, Self.mergePages)
            try merge.run()
            // Source: https://sqlite.org/fts5.html#the_merge_command
            if connection.totalChanges - before < 2 {
                segments = 0
                return
            }
        } while !deadline.isOver
    }

    /// Takes out what is in the tables under it, of which `_data`, where most is, comes last; what FTS5 needs to open it stays.
    /// - Returns: whether nothing is left.
    func clear(until deadline: Deadline) throws(SQLiteError) -> Bool {
        let table = Self.name(number)
        // FTS5's own tables are closed to other SQL while this is on; and it was, as soon as the statements are made.
        try connection.setDefensive(false)
        defer { try? connection.setDefensive(true) }
        let docsize = try connection.prepare(
            "DELETE FROM \(table)_docsize WHERE id IN (SELECT id FROM \(table)_docsize LIMIT 64)")
        let idx = try connection.prepare(
            "DELETE FROM \(table)_idx WHERE (segid, term) IN (SELECT segid, term FROM \(table)_idx LIMIT 64)")
        // Rows up to 10 tell of the others.
        let data = try connection.prepare(
            "DELETE FROM \(table)_data WHERE id IN (SELECT id FROM \(table)_data WHERE id > 10 LIMIT 16)")
        entries = 0
        isChanged = true
        while true {
            try docsize.run()
            if connection.changes == 0 { try idx.run() }
            if connection.changes == 0 { try data.run() }
            if connection.changes == 0 { return true }
            if deadline.isOver { return false }
        }
    }

    /// Documents of the collection that the build has gone through.
    var done: Int { Int(builtTo == IndexBuild.end(of: collection) ? 1 << 40 : builtTo - Int64(collection) << 40) }

    var status: SearchStatus {
        SearchStatus(
            number: number, collection: collection, tableText: definition.tableText, state: state, done: done,
            entries: Int(max(0, entries)))
    }
}
