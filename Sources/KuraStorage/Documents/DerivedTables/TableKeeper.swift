import KuraBytes
import KuraJSON
import SQLite

/// All derived tables of a kind, on the fold thread: made and removed as collections are configured, kept up with every fold, built
/// between folds.
///
/// What it does in a fold belongs to the fold's transaction. When a transaction is undone, `reload` takes up again what the
/// tables say; a build that was under way goes on from what they have.
final class TableKeeper<Table: DerivedTable>: TableWork {
    private let connection: Connection
    private let documents: DocumentSource
    private var tables: [Table] = []
    private var byCollection: [UInt32: [Table]] = [:]
    private let update: Statement
    /// Something that the loop has not been told of.
    private(set) var hasNews = false

    init(_ connection: Connection, _ documents: DocumentSource) throws(SQLiteError) {
        (self.connection, self.documents) = (connection, documents)
        update = try connection.prepare(Table.update)
        try reload()
    }

    /// Takes up what the tables say.
    func reload() throws(SQLiteError) {
        tables = []
        byCollection = [:]
        for table in try Table.all(connection) { add(table) }
        hasNews = true
    }

    private func add(_ table: Table) {
        tables.append(table)
        byCollection[table.collection, default: []].append(table)
    }

    /// How all of them stand, for the loop; nil when nothing has changed.
    func takeNews() -> [Table.Status]? {
        guard hasNews else { return nil }
        hasNews = false
        return tables.map(\.status)
    }

    // MARK: In a fold

    /// Makes and removes tables: from now on the collection has these and no others.
    func define(_ collection: UInt32, _ wanted: [Table.Definition]) throws(SQLiteError) {
        for table in byCollection[collection] ?? [] where !table.isDropping {
            if !wanted.contains(where: { Table.isSame($0, table.definition) }) { table.drop() }
        }
        for definition in wanted {
            let isThere = (byCollection[collection] ?? []).contains {
                !$0.isDropping && Table.isSame($0.definition, definition)
            }
            if !isThere { add(try Table.make(definition, collection, connection)) }
        }
        hasNews = true
    }

    /// Has tables built anew that are dropped already: they are written down as that.
    func renew(_ outdated: [(collection: UInt32, definition: Table.Definition)]) throws(SQLiteError) {
        guard !outdated.isEmpty else { return }
        try connection.execute("BEGIN IMMEDIATE")
        for table in tables where table.isDropping { table.isChanged = true }
        for (collection, definition) in outdated { add(try Table.make(definition, collection, connection)) }
        try save()
        try connection.execute("COMMIT")
    }

    /// Takes note of a document that the fold is about to write, while the tables have the one before it.
    func note(_ item: ItemRef) throws(SQLiteError) {
        guard !byCollection.isEmpty, let tables = byCollection[item.pointee.scope] else { return }
        let row = item.pointee.row
        for table in tables where table.holds(row) {
            let new = item.isTombstone ? nil : StoredValue(item.value)
            try table.note(row, try documents.before(item), new)
        }
    }

    /// The fold's documents are through.
    func finish() throws(SQLiteError) { try save() }

    /// Writes down how the tables stand.
    private func save() throws(SQLiteError) {
        for table in tables {
            try table.flush()
            guard table.isChanged else { continue }
            try table.bind(to: update)
            try update.run()
            table.isChanged = false
            hasNews = true
        }
    }

    // MARK: Between folds

    var hasWork: Bool { tables.contains(where: \.hasWork) }

    func work(until deadline: Deadline, _ begin: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        let table =
            tables.first(where: \.isUrgent) ?? tables.first(where: \.isBuilding) ?? tables.first(where: \.hasWork)
        guard let table else { return }
        if try table.work(documents, until: deadline, begin) { try remove(table) }
        // Reading needs no transaction; what it has come to is written down with what it is read for.
        if connection.isInTransaction { try save() }
    }

    private func remove(_ table: Table) throws(SQLiteError) {
        tables.removeAll { $0 === table }
        byCollection[table.collection]?.removeAll { $0 === table }
        if byCollection[table.collection]?.isEmpty == true { byCollection[table.collection] = nil }
        try connection.execute("DELETE FROM \(Table.catalogue) WHERE number = \(table.number)")
        try connection.execute("DROP TABLE \(Table.name(table.number))")
        hasNews = true
    }
}

extension TableKeeper where Table == IndexTable {
    /// The fold's documents are through.
    /// `confirmed`: numbers of indexes whose uniqueness has been watched over for all that is not folded after this.
    func finish(confirmed: [Int64]) throws(SQLiteError) {
        for table in tables {
            try table.flush()
            if confirmed.contains(table.number) { table.confirm() }
        }
        try save()
    }
}
