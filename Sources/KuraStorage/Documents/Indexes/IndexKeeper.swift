import KuraBytes
import KuraJSON
import SQLite

/// All index tables, on the fold thread: made and removed as definitions come and go, kept up with every fold, built between
/// folds.
///
/// What it does in a fold belongs to the fold's transaction. When a transaction is undone, `reload` takes up again what the
/// tables say; a build that was under way goes on from what they have.
final class IndexKeeper {
    private let connection: Connection
    /// Bytes that a build may gather before it writes.
    private let memory: Int
    private var tables: [IndexTable] = []
    private var byCollection: [UInt32: [IndexTable]] = [:]
    private let oldBody: Statement
    private let someBodies: Statement
    private let idOfRow: Statement
    private let addIndex: Statement
    private let putIndex: Statement
    private let removeIndex: Statement
    /// Something that the loop has not been told of.
    private(set) var hasNews = false

    /// An alteration of a table that the fold's documents ask for; they are made in the tables' order when all are known.
    private struct Change: BitwiseCopyable {
        var table: Int32
        var isInsertion: Bool
        var isWhole: Bool
        var start: UInt32
        var length: UInt32
        var row: Int64
    }
    private var changes = GrowingRow<Change>()
    private var keys = ByteBuffer()

    init(_ connection: Connection, memory: Int) throws(SQLiteError) {
        self.connection = connection
        self.memory = memory
        oldBody = try connection.prepare("SELECT isDeleted, body FROM documents WHERE row = ?1")
        someBodies = try connection.prepare(
            "SELECT row, isDeleted, body FROM documents WHERE row > ?1 AND row <= ?2 ORDER BY row")
        idOfRow = try connection.prepare("SELECT id FROM documents WHERE row = ?1")
        addIndex = try connection.prepare(
            "INSERT INTO indexes(collection, name, definition, state, reached, builtTo) VALUES(?1, ?2, ?3, ?4, ?5, ?5)")
        putIndex = try connection.prepare(
            """
            UPDATE indexes SET state = ?2, reached = ?3, builtTo = ?4, entries = ?5, bytes = ?6, first = ?7, second = ?8
            WHERE number = ?1
            """)
        removeIndex = try connection.prepare("DELETE FROM indexes WHERE number = ?1")
        try reload()
    }

    /// Takes up what the tables say.
    func reload() throws(SQLiteError) {
        tables = []
        byCollection = [:]
        changes.truncate(to: 0)
        keys.removeAll()
        for row in try IndexRow.all(connection) { try add(row) }
        hasNews = true
    }

    private func add(_ row: IndexRow) throws(SQLiteError) {
        let table = try IndexTable(
            connection, number: row.status.number, collection: row.status.collection, definition: row.definition,
            state: row.status.state, reached: row.reached, builtTo: row.builtTo, entries: Int64(row.status.entries),
            bytes: Int64(row.status.bytes), conflict: row.status.conflict)
        tables.append(table)
        byCollection[table.collection, default: []].append(table)
    }

    /// How all indexes stand, for the loop.
    func takeNews() -> [IndexStatus] {
        hasNews = false
        return tables.map(\.status)
    }

    // MARK: In a fold

    /// Makes and removes tables: from now on the collection has these indexes and no others.
    /// `text`: the definitions' list; empty for none.
    func define(_ collection: UInt32, _ text: Bytes) throws(SQLiteError) {
        let wanted = text.isEmpty ? [] : (try? IndexDefinition.list(text)) ?? []
        for table in byCollection[collection] ?? [] where table.state != .dropping {
            guard !wanted.contains(where: { $0.text == table.definition.text }) else { continue }
            table.state = .dropping
            table.build = nil
            table.isChanged = true
        }
        for definition in wanted {
            let isThere = (byCollection[collection] ?? []).contains {
                $0.state != .dropping && $0.definition.text == definition.text
            }
            if !isThere { try make(definition, collection) }
        }
        hasNews = true
    }

    private func make(_ definition: IndexDefinition, _ collection: UInt32) throws(SQLiteError) {
        let base = Int64(collection) << 40
        try addIndex.bind(1, Int64(collection))
        try addIndex.bind(2, text: definition.name.withBytes { String($0) })
        try addIndex.bind(3, text: definition.text.withBytes { String($0) })
        try addIndex.bind(4, Int64(IndexStatus.State.building.rawValue))
        try addIndex.bind(5, base)
        try addIndex.run()
        let number = try connection.scalar("SELECT max(number) FROM indexes") ?? 0
        try connection.execute(IndexTable.creation(number))
        try add(
            IndexRow(
                status: IndexStatus(
                    number: number, collection: collection, name: definition.name, text: definition.text,
                    state: .building, done: 0, entries: 0, bytes: 0),
                definition: definition, reached: base, builtTo: base))
    }

    /// Takes note of a document that the fold is about to write, while the tables have the one before it.
    func note(_ item: ItemRef) throws(SQLiteError) {
        guard !byCollection.isEmpty, let tables = byCollection[item.pointee.scope] else { return }
        let row = item.pointee.row
        guard tables.contains(where: { $0.isKeptUp && row <= $0.reached }) else { return }
        defer { oldBody.reset() }
        var old: StoredValue?
        if item.pointee.version > 1 {
            try oldBody.bind(1, row)
            if try oldBody.step(), oldBody.int64(0) == 0 { old = StoredValue(oldBody.bytes(1)) }
        }
        let new = item.isTombstone ? nil : StoredValue(item.value)
        for table in tables where table.isKeptUp && row <= table.reached {
            note(row, old, new, table)
        }
    }

    private func note(_ row: Int64, _ old: StoredValue?, _ new: StoredValue?, _ table: IndexTable) {
        guard !table.definition.isEach else { return noteEach(row, old, new, table) }
        let start = keys.count
        let before = old.flatMap { append($0, table) }
        let middle = keys.count
        let after = new.flatMap { append($0, table) }
        if before != nil, after != nil, keys.bytes(start..<middle).equals(keys.bytes(middle..<keys.count)) {
            keys.truncate(to: start)
            return
        }
        let position = Int32(tables.firstIndex { $0 === table } ?? 0)
        if let isWhole = before { append(position, false, isWhole, start..<middle, row) }
        if let isWhole = after { append(position, true, isWhole, middle..<keys.count, row) }
        if row > table.builtTo, before != nil || after != nil { table.build?.touched.insert(row) }
    }

    /// The same for an index with an entry for each id. What both have is taken out and put in again, in this order.
    private func noteEach(_ row: Int64, _ old: StoredValue?, _ new: StoredValue?, _ table: IndexTable) {
        let field = table.definition.fields[0]
        let before = old.map { field.ids(in: $0) } ?? []
        let after = new.map { field.ids(in: $0) } ?? []
        if before.count == after.count, zip(before, after).allSatisfy({ $0.text.equals($1.text) }) { return }
        let position = Int32(tables.firstIndex { $0 === table } ?? 0)
        for (ids, isInsertion) in [(before, false), (after, true)] {
            for id in ids {
                let start = keys.count
                IndexKey.append(id, to: &keys)
                append(position, isInsertion, false, start..<keys.count, row)
            }
        }
        if row > table.builtTo { table.build?.touched.insert(row) }
    }

    /// - Returns: whether the key has all fields; nil when the document is not in the index.
    private func append(_ document: StoredValue, _ table: IndexTable) -> Bool? {
        table.definition.covers(document) ? table.definition.appendKey(of: document, to: &keys) : nil
    }

    private func append(_ table: Int32, _ isInsertion: Bool, _ isWhole: Bool, _ key: Range<Int>, _ row: Int64) {
        changes.append(
            Change(
                table: table, isInsertion: isInsertion, isWhole: isWhole, start: UInt32(key.lowerBound),
                length: UInt32(key.count), row: row))
    }

    /// Alters the index tables as the fold's documents ask for.
    /// `confirmed`: numbers of indexes whose uniqueness has been watched over for all that is not folded after this.
    func finish(confirmed: [Int64]) throws(SQLiteError) {
        let bytes = keys.bytes
        changes.sort(from: 0) { left, right in
            if left.table != right.table { return left.table < right.table }
            let (mine, other) = (Self.key(left, bytes), Self.key(right, bytes))
            if !mine.equals(other) { return mine.precedes(other) }
            // What goes makes room for what comes.
            if left.isInsertion != right.isInsertion { return !left.isInsertion }
            return left.row < right.row
        }
        for position in 0..<changes.count {
            let change = changes[position]
            try apply(change, Self.key(change, bytes), tables[Int(change.table)])
        }
        changes.truncate(to: 0)
        keys.removeAll()
        if keys.capacity > 1 << 20 {
            keys.releaseMemory()
            changes.releaseMemory()
        }
        for table in tables where confirmed.contains(table.number) && table.state == .built {
            table.state = .ready
            table.isChanged = true
            hasNews = true
        }
        try save()
    }

    private static func key(_ change: Change, _ keys: Bytes) -> Bytes {
        keys.extracting(Int(change.start)..<Int(change.start) + Int(change.length))
    }

    private func apply(_ change: Change, _ key: Bytes, _ table: IndexTable) throws(SQLiteError) {
        guard table.isKeptUp else { return }
        guard change.isInsertion else { return try table.delete(key, change.row) }
        if table.definition.isUnique, change.isWhole, let other = try table.otherRow(key, than: change.row) {
            try fail(table, other, change.row)
        } else {
            try table.insert(key, change.row)
        }
    }

    private func fail(_ table: IndexTable, _ first: Int64, _ second: Int64) throws(SQLiteError) {
        table.fail(IndexConflict(first: try id(first), second: try id(second)))
        hasNews = true
    }

    private func id(_ row: Int64) throws(SQLiteError) -> [UInt8] {
        defer { idOfRow.reset() }
        try idOfRow.bind(1, row)
        return try idOfRow.step() ? Array(idOfRow.bytes(0)) : []
    }

    /// Writes down how the tables stand.
    private func save() throws(SQLiteError) {
        for table in tables where table.isChanged {
            try putIndex.bind(1, table.number)
            try putIndex.bind(2, Int64(table.state.rawValue))
            try putIndex.bind(3, table.reached)
            try putIndex.bind(4, table.builtTo)
            try putIndex.bind(5, table.entries)
            try putIndex.bind(6, table.bytes)
            for (position, id) in [(Int32(7), table.conflict?.first), (8, table.conflict?.second)] {
                if let id {
                    try putIndex.bind(position, text: id.withBytes { String($0) })
                } else {
                    try putIndex.bindNull(position)
                }
            }
            try putIndex.run()
            table.isChanged = false
            hasNews = true
        }
    }

    // MARK: Between folds

    var hasWork: Bool { tables.contains(where: \.hasWork) }

    /// A bounded piece of building or removing. In no transaction, or with `begin` called before anything is written.
    /// - Returns: whether something was written.
    func work(until deadline: Deadline, begin: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        guard let table = tables.first(where: { $0.state == .building }) ?? tables.first(where: \.hasWork) else {
            return
        }
        switch table.state {
        case .building: try build(table, until: deadline, begin)
        case .failed:
            try begin()
            try clear(table, until: deadline)
            try save()
        default:
            try begin()
            guard try clear(table, until: deadline) else { return try save() }
            try remove(table)
        }
    }

    private func build(
        _ table: IndexTable, until deadline: Deadline, _ begin: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        if table.build == nil { table.build = IndexBuild(table, memory: memory) }
        guard let build = table.build else { return }
        guard build.isWriting else { return try build.read(someBodies, until: deadline) }
        try begin()
        if let (first, second) = try build.write(until: deadline) {
            try fail(table, first, second)
        } else if build.isDone {
            table.build = nil
            table.state = table.definition.isUnique ? .built : .ready
            hasNews = true
        }
        try save()
    }

    /// - Returns: whether nothing is left.
    @discardableResult
    private func clear(_ table: IndexTable, until deadline: Deadline) throws(SQLiteError) -> Bool {
        while try table.clear(64) > 0 {
            if deadline.isOver { return false }
        }
        return true
    }

    private func remove(_ table: IndexTable) throws(SQLiteError) {
        tables.removeAll { $0 === table }
        byCollection[table.collection]?.removeAll { $0 === table }
        if byCollection[table.collection]?.isEmpty == true { byCollection[table.collection] = nil }
        try removeIndex.bind(1, table.number)
        try removeIndex.run()
        try connection.execute("DROP TABLE \(IndexTable.name(table.number))")
        hasNews = true
    }
}

/// A row of the table `indexes`.
struct IndexRow {
    var status: IndexStatus
    var definition: IndexDefinition
    var reached: Int64
    var builtTo: Int64

    static func all(_ connection: Connection) throws(SQLiteError) -> [IndexRow] {
        let select = try connection.prepare(
            """
            SELECT number, collection, name, definition, state, reached, builtTo, entries, bytes, first, second
            FROM indexes ORDER BY number
            """)
        var rows: [IndexRow] = []
        while try select.step() {
            let collection = UInt32(select.int64(1))
            let text = Array(select.bytes(3))
            var list: [UInt8] = [UInt8(ascii: "[")]
            list += text
            list.append(UInt8(ascii: "]"))
            // One of a later version is left alone.
            let known = list.withBytes { try? IndexDefinition.list($0) }
            guard let definition = known?.first, let state = IndexStatus.State(rawValue: UInt8(select.int64(4))) else {
                continue
            }
            let builtTo = select.int64(6)
            rows.append(
                IndexRow(
                    status: IndexStatus(
                        number: select.int64(0), collection: collection, name: Array(select.bytes(2)), text: text,
                        state: state, done: Int(max(0, builtTo - Int64(collection) << 40)),
                        entries: Int(select.int64(7)), bytes: Int(select.int64(8)),
                        conflict: select.isNull(9)
                            ? nil
                            : IndexConflict(first: Array(select.bytes(9)), second: Array(select.bytes(10)))),
                    definition: definition, reached: select.int64(5), builtTo: builtTo))
        }
        return rows
    }
}
