import KuraBytes
import KuraJSON
import SQLite

/// The table of one index, `index_N(key, row)`, as the fold thread writes it.
///
/// `key` is `IndexKey`'s bytes of all fields, one behind the other; `row` leads to the document. A document that lacks fields is in
/// it all the same. How far it is built stands in the table `indexes`, in the same transactions:
///
/// - rows up to `builtTo` are in it, each with its current key;
/// - of rows up to `reached` there is nothing in it but current keys: the fold keeps them up;
/// - of rows above there is nothing in it.
final class IndexTable: DerivedTable {
    let number: Int64
    let collection: UInt32
    let definition: IndexDefinition
    private(set) var state: IndexStatus.State
    var reached: Int64
    var builtTo: Int64
    private var conflict: IndexConflict?
    /// Something of the above differs from what stands in `indexes`.
    var isChanged = false
    /// What is under way; nil when nothing is.
    private var build: IndexBuild?
    private let entries: IndexEntries
    private var changes = IndexChanges()
    private let connection: Connection

    static let catalogue: StaticString = "indexes"
    static let update = """
        UPDATE indexes SET state = ?2, reached = ?3, builtTo = ?4, entries = ?5, bytes = ?6, first = ?7, second = ?8
        WHERE number = ?1
        """

    static func name(_ number: Int64) -> String { "index_\(number)" }

    /// What makes the table; `number` is the program's own.
    static func creation(_ number: Int64) -> String {
        "CREATE TABLE \(name(number))(key BLOB NOT NULL, row INTEGER NOT NULL, PRIMARY KEY(key, row)) WITHOUT ROWID"
    }

    init(_ connection: Connection, _ row: IndexRow) throws(SQLiteError) {
        self.connection = connection
        number = row.status.number
        collection = row.status.collection
        definition = row.definition
        state = row.status.state
        reached = row.reached
        builtTo = row.builtTo
        conflict = row.status.conflict
        entries = try IndexEntries(
            connection, Self.name(number), count: Int64(row.status.entries), bytes: Int64(row.status.bytes))
    }

    static func all(_ connection: Connection) throws(SQLiteError) -> [IndexTable] {
        var tables: [IndexTable] = []
        for row in try IndexRow.all(connection) { tables.append(try IndexTable(connection, row)) }
        return tables
    }

    static func make(
        _ definition: IndexDefinition, _ collection: UInt32, _ connection: Connection
    ) throws(SQLiteError) -> IndexTable {
        let base = Int64(collection) << 40
        let add = try connection.prepare(
            "INSERT INTO indexes(collection, name, definition, state, reached, builtTo) VALUES(?1, ?2, ?3, ?4, ?5, ?5)")
        try add.bind(1, Int64(collection))
        try add.bind(2, text: definition.name.withBytes { String($0) })
        try add.bind(3, text: definition.text.withBytes { String($0) })
        try add.bind(4, Int64(IndexStatus.State.building.rawValue))
        try add.bind(5, base)
        try add.run()
        let number = try connection.scalar("SELECT max(number) FROM indexes") ?? 0
        try connection.execute(creation(number))
        return try IndexTable(
            connection,
            IndexRow(
                status: IndexStatus(
                    number: number, collection: collection, name: definition.name, text: definition.text,
                    state: .building, done: 0, entries: 0, bytes: 0),
                definition: definition, reached: base, builtTo: base))
    }

    static func isSame(_ left: IndexDefinition, _ right: IndexDefinition) -> Bool { left.text == right.text }

    var status: IndexStatus {
        IndexStatus(
            number: number, collection: collection, name: definition.name, text: definition.text, state: state,
            done: done, entries: Int(entries.count), bytes: Int(entries.bytes), conflict: conflict)
    }

    /// Documents of the collection that the build has gone through.
    private var done: Int {
        let base = Int64(collection) << 40
        let walked = builtTo == IndexBuild.end(of: collection) ? Int64(1) << 40 : builtTo - base
        return Int(max(0, walked) + (build?.written ?? 0))
    }

    func bind(to update: borrowing Statement) throws(SQLiteError) {
        try update.bind(1, number)
        try update.bind(2, Int64(state.rawValue))
        try update.bind(3, reached)
        try update.bind(4, builtTo)
        try update.bind(5, entries.count)
        try update.bind(6, entries.bytes)
        for (position, id) in [(Int32(7), conflict?.first), (8, conflict?.second)] {
            if let id {
                try update.bind(position, text: id.withBytes { String($0) })
            } else {
                try update.bindNull(position)
            }
        }
    }

    // MARK: In a fold

    var isDropping: Bool { state == .dropping }

    func drop() { end(.dropping) }

    /// The fold puts into it and takes out what changes.
    private var isKeptUp: Bool { state == .building || state == .built || state == .ready }

    func holds(_ row: Int64) -> Bool { isKeptUp && row <= reached }

    func note(_ row: Int64, _ old: StoredValue?, _ new: StoredValue?) {
        if changes.note(row, old, new, definition), row > builtTo { build?.touched.insert(row) }
    }

    func flush() throws(SQLiteError) {
        guard changes.count > 0 else { return }
        defer { changes.removeAll() }
        changes.sort()
        for position in 0..<changes.count {
            // One of them may have ended it.
            guard isKeptUp else { return }
            let change = changes[position]
            let key = changes.key(change)
            if !change.isInsertion {
                try delete(key, change.row)
            } else if definition.isUnique, change.isWhole, let other = try otherRow(key, than: change.row) {
                try fail(other, change.row)
            } else {
                try insert(key, change.row)
            }
        }
    }

    /// Its uniqueness has been watched over for all that is not folded.
    func confirm() { if state == .built { move(to: .ready) } }

    func insert(_ key: Bytes, _ row: Int64) throws(SQLiteError) {
        if try entries.insert(key, row) { isChanged = true }
    }

    private func delete(_ key: Bytes, _ row: Int64) throws(SQLiteError) {
        if try entries.delete(key, row) { isChanged = true }
    }

    /// Another row with this key.
    func otherRow(_ key: Bytes, than row: Int64) throws(SQLiteError) -> Int64? { try entries.otherRow(key, than: row) }

    /// Two documents have the same key: it will never be ready.
    private func fail(_ first: Int64, _ second: Int64) throws(SQLiteError) {
        conflict = IndexConflict(first: try id(first), second: try id(second))
        end(.failed)
    }

    private func id(_ row: Int64) throws(SQLiteError) -> [UInt8] {
        let select = try connection.prepare("SELECT id FROM documents WHERE row = ?1")
        try select.bind(1, row)
        return try select.step() ? Array(select.bytes(0)) : []
    }

    private func move(to state: IndexStatus.State) {
        self.state = state
        isChanged = true
    }

    private func end(_ state: IndexStatus.State) {
        build = nil
        move(to: state)
    }

    // MARK: Between folds

    var hasWork: Bool { state == .building || state == .dropping || (state == .failed && entries.count > 0) }
    var isUrgent: Bool { false }
    var isBuilding: Bool { state == .building }

    func work(
        _ documents: DocumentSource, until deadline: Deadline, _ begin: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        guard isBuilding else {
            try begin()
            return try clear(until: deadline) && isDropping
        }
        let build = build ?? IndexBuild(self, memory: documents.memory)
        self.build = build
        guard build.isWriting else {
            try build.read(documents, until: deadline)
            return false
        }
        try begin()
        if let (first, second) = try build.write(until: deadline) {
            try fail(first, second)
        } else if build.isDone {
            end(definition.isUnique ? .built : .ready)
        }
        return false
    }

    /// - Returns: whether nothing is left.
    private func clear(until deadline: Deadline) throws(SQLiteError) -> Bool {
        isChanged = true
        while try entries.clear(64) > 0 {
            if deadline.isOver { return false }
        }
        return true
    }
}
