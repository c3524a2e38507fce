import KuraBytes
import KuraJSON
import SQLite

/// All full text indexes, on the fold thread: made and removed as collections are configured, kept up with every fold, built and
/// merged between folds. What `IndexKeeper` is for indexes, with the same rules: what it does in a fold belongs to the fold's
/// transaction, and `reload` takes up again what the tables say when one is undone.
final class SearchKeeper {
    private let connection: Connection
    private var tables: [SearchTable] = []
    /// Those that folds keep up: one a collection at most.
    private var kept: [UInt32: SearchTable] = [:]
    private var before = SearchText()
    private var after = SearchText()
    private let oldBody: Statement
    private let someBodies: Statement
    private let addSearch: Statement
    private let putSearch: Statement
    private let removeSearch: Statement
    /// Something that the loop has not been told of.
    private(set) var hasNews = false

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        oldBody = try connection.prepare("SELECT isDeleted, body FROM documents WHERE row = ?1")
        someBodies = try connection.prepare(
            "SELECT row, isDeleted, body FROM documents WHERE row > ?1 AND row <= ?2 ORDER BY row")
        addSearch = try connection.prepare(
            "INSERT INTO searches(collection, definition, version, state, builtTo) VALUES(?1, ?2, ?3, ?4, ?5)")
        putSearch = try connection.prepare(
            "UPDATE searches SET state = ?2, builtTo = ?3, entries = ?4 WHERE number = ?1")
        removeSearch = try connection.prepare("DELETE FROM searches WHERE number = ?1")
        try renew()
        try reload()
    }

    /// Has anew what a version has built that made other text of documents.
    private func renew() throws(SQLiteError) {
        let outdated = try SearchRow.all(connection).filter(\.isOutdated)
        guard !outdated.isEmpty else { return }
        try connection.execute("BEGIN IMMEDIATE")
        for row in outdated {
            try add(row)
            tables.last?.isChanged = true
            try row.definition.text.withBytes { (text) throws(SQLiteError) in
                try make(row.definition, text, row.status.collection)
            }
        }
        try save()
        try connection.execute("COMMIT")
    }

    /// Takes up what the tables say.
    func reload() throws(SQLiteError) {
        tables = []
        kept = [:]
        for row in try SearchRow.all(connection) { try add(row) }
        hasNews = true
    }

    private func add(_ row: SearchRow) throws(SQLiteError) {
        let table = try SearchTable(connection, row)
        tables.append(table)
        if table.isKeptUp { kept[table.collection] = table }
    }

    /// How all of them stand, for the loop.
    func takeNews() -> [SearchStatus] {
        hasNews = false
        return tables.map(\.status)
    }

    // MARK: In a fold

    /// From now on the collection is searched so.
    /// `text`: the definition; empty for none.
    func define(_ collection: UInt32, _ text: Bytes) throws(SQLiteError) {
        let wanted = text.isEmpty ? nil : SearchDefinition(stored: text)
        if let table = kept[collection] {
            guard table.definition.tableText != wanted?.tableText else { return }
            table.state = .dropping
            table.isChanged = true
            kept[collection] = nil
        }
        if let wanted { try make(wanted, text, collection) }
        hasNews = true
    }

    private func make(_ definition: SearchDefinition, _ text: Bytes, _ collection: UInt32) throws(SQLiteError) {
        let base = Int64(collection) << 40
        try addSearch.bind(1, Int64(collection))
        try addSearch.bind(2, utf8: text)
        try addSearch.bind(3, SearchDefinition.version)
        try addSearch.bind(4, Int64(SearchStatus.State.building.rawValue))
        try addSearch.bind(5, base)
        try addSearch.run()
        let number = try connection.scalar("SELECT max(number) FROM searches") ?? 0
        try connection.execute(SearchTable.creation(number, definition))
        try add(
            SearchRow(
                status: SearchStatus(
                    number: number, collection: collection, tableText: definition.tableText, state: .building, done: 0,
                    entries: 0),
                definition: definition, builtTo: base))
    }

    /// Takes note of a document that the fold is about to write, while the tables have the one before it.
    func note(_ item: ItemRef) throws(SQLiteError) {
        guard !kept.isEmpty, let table = kept[item.pointee.scope] else { return }
        let row = item.pointee.row
        guard row <= table.builtTo else { return }
        before.clear()
        after.clear()
        if item.pointee.version > 1 {
            defer { oldBody.reset() }
            try oldBody.bind(1, row)
            if try oldBody.step(), oldBody.int64(0) == 0 {
                before.read(StoredValue(oldBody.bytes(1)), table.definition)
            }
        }
        if !item.isTombstone { after.read(StoredValue(item.value), table.definition) }
        guard !(before.isEmpty && after.isEmpty), !before.equals(after) else { return }
        if !before.isEmpty { try table.delete(row, before) }
        if !after.isEmpty { try table.insert(row, after) }
    }

    /// The fold's documents are through.
    func finish() throws(SQLiteError) { try save() }

    /// Writes down how the tables stand.
    private func save() throws(SQLiteError) {
        for table in tables {
            table.closeSegment()
            guard table.isChanged else { continue }
            try putSearch.bind(1, table.number)
            try putSearch.bind(2, Int64(table.state.rawValue))
            try putSearch.bind(3, table.builtTo)
            try putSearch.bind(4, Int64(table.status.entries))
            try putSearch.run()
            table.isChanged = false
            hasNews = true
        }
    }

    // MARK: Between folds

    var hasWork: Bool { tables.contains(where: \.hasWork) }

    /// A bounded piece of merging, building or removing. In a transaction.
    func work(until deadline: Deadline) throws(SQLiteError) {
        let table =
            tables.first(where: \.needsMerging) ?? tables.first(where: { $0.state == .building })
            ?? tables.first(where: \.hasWork)
        guard let table else { return }
        if table.needsMerging {
            try table.merge(until: deadline)
        } else if table.state == .building {
            try build(table, until: deadline)
        } else if try table.clear(until: deadline) {
            try remove(table)
        }
        try save()
    }

    private func build(_ table: SearchTable, until deadline: Deadline) throws(SQLiteError) {
        let end = IndexBuild.end(of: table.collection)
        defer { someBodies.reset() }
        try someBodies.bind(1, table.builtTo)
        try someBodies.bind(2, end)
        table.isChanged = true
        var work = 0
        while try someBodies.step() {
            let row = someBodies.int64(0)
            work += 512
            if someBodies.int64(1) == 0 {
                after.read(StoredValue(someBodies.bytes(2)), table.definition)
                if !after.isEmpty { try table.insert(row, after) }
                work += someBodies.bytes(2).count / 4 + after.count * 4
            }
            table.builtTo = row
            if work >= 16_384 {
                work = 0
                if deadline.isOver { return }
            }
        }
        table.builtTo = end
        table.state = .ready
        hasNews = true
    }

    private func remove(_ table: SearchTable) throws(SQLiteError) {
        tables.removeAll { $0 === table }
        try removeSearch.bind(1, table.number)
        try removeSearch.run()
        try connection.execute("DROP TABLE \(SearchTable.name(table.number))")
        hasNews = true
    }
}

/// A row of the table `searches`.
struct SearchRow {
    var status: SearchStatus
    var definition: SearchDefinition
    var builtTo: Int64
    /// It was built by another version (`SearchDefinition.version`), and is to go.
    var isOutdated = false

    static func all(_ connection: Connection) throws(SQLiteError) -> [SearchRow] {
        let select = try connection.prepare(
            "SELECT number, collection, definition, version, state, builtTo, entries FROM searches ORDER BY number")
        var rows: [SearchRow] = []
        while try select.step() {
            // One of a later version is left alone.
            guard let definition = SearchDefinition(stored: select.bytes(2)),
                let state = SearchStatus.State(rawValue: UInt8(select.int64(4)))
            else { continue }
            let isOutdated = select.int64(3) != SearchDefinition.version && state != .dropping
            let collection = UInt32(select.int64(1))
            let builtTo = select.int64(5)
            rows.append(
                SearchRow(
                    status: SearchStatus(
                        number: select.int64(0), collection: collection, tableText: definition.tableText,
                        state: isOutdated ? .dropping : state,
                        done: Int(max(0, builtTo - Int64(collection) << 40)), entries: Int(select.int64(6))),
                    definition: definition, builtTo: builtTo, isOutdated: isOutdated))
        }
        return rows
    }
}
