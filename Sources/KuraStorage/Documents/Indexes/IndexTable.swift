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
final class IndexTable {
    let number: Int64
    let collection: UInt32
    let definition: IndexDefinition
    var state: IndexStatus.State
    var reached: Int64
    var builtTo: Int64
    var entries: Int64
    var bytes: Int64
    var conflict: IndexConflict?
    /// Something of the above differs from what stands in `indexes`.
    var isChanged = false
    /// What is under way; nil when nothing is.
    var build: IndexBuild?

    private let insert: Statement
    private let delete: Statement
    private let other: Statement
    private let clear: Statement
    private let connection: Connection

    static func name(_ number: Int64) -> String { "index_\(number)" }

    /// What makes the table; `number` is the program's own.
    static func creation(_ number: Int64) -> String {
        "CREATE TABLE \(name(number))(key BLOB NOT NULL, row INTEGER NOT NULL, PRIMARY KEY(key, row)) WITHOUT ROWID"
    }

    init(
        _ connection: Connection, number: Int64, collection: UInt32, definition: IndexDefinition,
        state: IndexStatus.State, reached: Int64, builtTo: Int64, entries: Int64, bytes: Int64,
        conflict: IndexConflict?
    ) throws(SQLiteError) {
        self.number = number
        self.collection = collection
        self.definition = definition
        self.state = state
        self.reached = reached
        self.builtTo = builtTo
        self.entries = entries
        self.bytes = bytes
        self.conflict = conflict
        self.connection = connection
        let table = Self.name(number)
        insert = try connection.prepare("INSERT OR IGNORE INTO \(table)(key, row) VALUES(?1, ?2)")
        delete = try connection.prepare("DELETE FROM \(table) WHERE key = ?1 AND row = ?2")
        other = try connection.prepare("SELECT row FROM \(table) WHERE key = ?1 AND row <> ?2 LIMIT 1")
        clear = try connection.prepare(
            "DELETE FROM \(table) WHERE (key, row) IN (SELECT key, row FROM \(table) LIMIT ?1)")
    }

    /// The fold puts into it and takes out what changes.
    var isKeptUp: Bool { state == .building || state == .built || state == .ready }

    /// There is something to do between folds.
    var hasWork: Bool { state == .building || state == .dropping || (state == .failed && entries > 0) }

    func insert(_ key: Bytes, _ row: Int64) throws(SQLiteError) {
        try insert.bind(1, bytes: key)
        try insert.bind(2, row)
        try insert.run()
        guard connection.changes > 0 else { return }
        entries += 1
        bytes += Int64(key.count)
        isChanged = true
    }

    func delete(_ key: Bytes, _ row: Int64) throws(SQLiteError) {
        try delete.bind(1, bytes: key)
        try delete.bind(2, row)
        try delete.run()
        guard connection.changes > 0 else { return }
        entries -= 1
        bytes -= Int64(key.count)
        isChanged = true
    }

    /// Another row with this key.
    func otherRow(_ key: Bytes, than row: Int64) throws(SQLiteError) -> Int64? {
        defer { other.reset() }
        try other.bind(1, bytes: key)
        try other.bind(2, row)
        return try other.step() ? other.int64(0) : nil
    }

    /// Takes entries out, from the front.
    /// - Returns: how many there were.
    func clear(_ count: Int64) throws(SQLiteError) -> Int {
        try clear.bind(1, count)
        try clear.run()
        let gone = connection.changes
        entries = gone < count ? 0 : max(1, entries - Int64(gone))
        if entries == 0 { bytes = 0 }
        isChanged = true
        return gone
    }

    /// Two documents have the same key: it will never be ready.
    func fail(_ conflict: IndexConflict) {
        state = .failed
        self.conflict = conflict
        build = nil
        isChanged = true
    }

    /// Documents of the collection that the build has gone through.
    var done: Int {
        let base = Int64(collection) << 40
        let walked = builtTo == IndexBuild.end(of: collection) ? Int64(1) << 40 : builtTo - base
        return Int(max(0, walked) + (build?.written ?? 0))
    }

    var status: IndexStatus {
        IndexStatus(
            number: number, collection: collection, name: definition.name, text: definition.text, state: state,
            done: done, entries: Int(entries), bytes: Int(bytes), conflict: conflict)
    }
}
