import KuraBytes
import KuraJSON
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
final class SearchTable: DerivedTable {
    let number: Int64
    let collection: UInt32
    let definition: SearchDefinition
    private var state: SearchStatus.State
    private var builtTo: Int64
    private var entries: Int64
    /// Something of the above differs from what stands in `searches`.
    var isChanged = false
    /// Segments that have come since nothing was left to merge; many after a start, to find out.
    private var segments = SearchTable.mergeFrom
    /// The transaction under way has written to it.
    private var isWritten = false
    /// Of the document that was looked at last, and the one before it.
    private var before = SearchText()
    private var after = SearchText()

    private let insert: Statement
    private let delete: Statement
    private let merge: Statement
    private let connection: Connection

    static let catalogue: StaticString = "searches"
    static let update = "UPDATE searches SET state = ?2, builtTo = ?3, entries = ?4 WHERE number = ?1"

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

    static func all(_ connection: Connection) throws(SQLiteError) -> [SearchTable] {
        var tables: [SearchTable] = []
        for row in try SearchRow.all(connection) { tables.append(try SearchTable(connection, row)) }
        return tables
    }

    static func make(
        _ definition: SearchDefinition, _ collection: UInt32, _ connection: Connection
    ) throws(SQLiteError) -> SearchTable {
        let base = Int64(collection) << 40
        let add = try connection.prepare(
            "INSERT INTO searches(collection, definition, version, state, builtTo) VALUES(?1, ?2, ?3, ?4, ?5)")
        try add.bind(1, Int64(collection))
        try add.bind(2, text: definition.text.withBytes { String($0) })
        try add.bind(3, SearchDefinition.version)
        try add.bind(4, Int64(SearchStatus.State.building.rawValue))
        try add.bind(5, base)
        try add.run()
        let number = try connection.scalar("SELECT max(number) FROM searches") ?? 0
        try connection.execute(creation(number, definition))
        return try SearchTable(
            connection,
            SearchRow(
                status: SearchStatus(
                    number: number, collection: collection, tableText: definition.tableText, state: .building, done: 0,
                    entries: 0),
                definition: definition, builtTo: base))
    }

    static func isSame(_ left: SearchDefinition, _ right: SearchDefinition) -> Bool {
        left.tableText == right.tableText
    }

    func bind(to update: borrowing Statement) throws(SQLiteError) {
        try update.bind(1, number)
        try update.bind(2, Int64(state.rawValue))
        try update.bind(3, builtTo)
        try update.bind(4, Int64(status.entries))
    }

    // MARK: In a fold

    var isDropping: Bool { state == .dropping }

    func drop() {
        state = .dropping
        isChanged = true
    }

    func holds(_ row: Int64) -> Bool { !isDropping && row <= builtTo }

    func note(_ row: Int64, _ old: StoredValue?, _ new: StoredValue?) throws(SQLiteError) {
        before.clear()
        after.clear()
        if let old { before.read(old, definition) }
        if let new { after.read(new, definition) }
        guard !(before.isEmpty && after.isEmpty), !before.equals(after) else { return }
        if !before.isEmpty { try delete(row, before) }
        if !after.isEmpty { try insert(row, after) }
    }

    func insert(_ row: Int64, _ text: borrowing SearchText) throws(SQLiteError) {
        try run(insert, row, text)
        entries += 1
    }

    /// `text`: what it was put in with.
    private func delete(_ row: Int64, _ text: borrowing SearchText) throws(SQLiteError) {
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
    func flush() {
        if isWritten { segments += 1 }
        isWritten = false
    }

    // MARK: Between folds

    /// There are segments that are worth merging.
    var isUrgent: Bool { !isDropping && segments >= Self.mergeFrom }
    var isBuilding: Bool { state == .building }
    var hasWork: Bool { state != .ready || isUrgent }

    func work(
        _ documents: DocumentSource, until deadline: Deadline, _ begin: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        try begin()
        if isDropping { return try clear(until: deadline) }
        if isUrgent { try merge(until: deadline) } else if isBuilding { try build(documents, until: deadline) }
        return false
    }

    private func build(_ documents: DocumentSource, until deadline: Deadline) throws(SQLiteError) {
        let end = IndexBuild.end(of: collection)
        isChanged = true
        var work = 0
        let isThrough = try documents.walk(above: builtTo, upTo: end) { (row, body) throws(SQLiteError) in
            work += 512
            if let body {
                after.read(StoredValue(body), definition)
                if !after.isEmpty { try insert(row, after) }
                work += body.count / 4 + after.count * 4
            }
            builtTo = row
            guard work >= 16_384 else { return true }
            work = 0
            return !deadline.isOver
        }
        if isThrough { (builtTo, state) = (end, .ready) }
    }

    /// Merges segments until it is time to stop, or nothing is left that is worth it.
    private func merge(until deadline: Deadline) throws(SQLiteError) {
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
    private func clear(until deadline: Deadline) throws(SQLiteError) -> Bool {
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
    private var done: Int {
        Int(builtTo == IndexBuild.end(of: collection) ? 1 << 40 : builtTo - Int64(collection) << 40)
    }

    var status: SearchStatus {
        SearchStatus(
            number: number, collection: collection, tableText: definition.tableText, state: state, done: done,
            entries: Int(max(0, entries)))
    }
}
