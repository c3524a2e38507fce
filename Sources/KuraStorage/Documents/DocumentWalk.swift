public import KuraBytes
import SQLite

/// A walk over a collection's documents as the tables have them, deleted ones left out.
///
/// It goes on from snapshot to snapshot by key: each document is met once, a change behind the walk is not, one ahead of it
/// is. Where it has come to is kept, so that a walk that was stopped can go on.
public final class DocumentWalk: TableQuery, @unchecked Sendable {
    // Used by one thread at a time: the queries' pool and the transfers hand it over under their locks.

    public enum Order: Sendable {
        /// The order of the ids' bytes.
        case id
        /// The order in which they were first written: the tables' own, so nothing is read twice.
        case row
    }

    public struct Row {
        public var id: Bytes
        /// JSON text.
        public var value: Bytes
        public var rev: UInt64
    }

    public let foldedTo: UInt64
    /// Documents in the collection when the walk was made.
    public let count: Int
    /// What the first snapshot was as of: a reader of changes that starts here misses nothing.
    public private(set) var rev: UInt64 = 0
    /// The collection was dropped before the walk was through.
    public private(set) var isGone = false
    /// No document is left.
    public private(set) var isAtEnd = false

    private let scope: UInt32
    private let order: Order
    private var id: [UInt8]
    private var row: Int64
    private let visit: (Row) -> Bool

    /// `visit`: called with bytes that are good until it returns; false stops the walk before this document.
    init(_ scope: Scope, order: Order, after id: [UInt8], _ visit: @escaping (Row) -> Bool) {
        self.scope = scope.id
        foldedTo = scope.lastRev
        count = scope.count
        self.order = order
        self.id = id
        row = Int64(scope.id) << 40
        self.visit = visit
    }

    /// Walks until `visit` stops it or no document is left.
    public func run(_ tables: TableReader) throws(QueryError) {
        do throws(EngineError) { while try step(tables), !isAtEnd {} } catch { throw .engine(error) }
    }

    /// It keeps nothing: `visit` does.
    public var footprint: Int { 0 }
    public func discard() {}

    /// Walks within one snapshot.
    /// - Returns: false when `visit` stopped it.
    public func step(_ tables: TableReader) throws(EngineError) -> Bool {
        var goesOn = true
        try tables.snapshot { (snapshot) throws(SQLiteError) in
            if rev == 0 { rev = snapshot.rev }
            guard try tables.hasCollection(scope) else {
                // Dropped: what is left of it is nobody's, and another one may have its name by now.
                isAtEnd = true
                isGone = true
                return
            }
            goesOn =
                switch order {
                case .id: try step(byID: tables.documents, snapshot)
                case .row: try step(byRow: tables.documents, snapshot)
                }
        }
        return goesOn
    }

    private func step(
        byID statements: DocumentStatements, _ snapshot: TableReader.Snapshot
    ) throws(SQLiteError) -> Bool {
        defer { statements.byID.reset() }
        let start = id
        return try start.withBytes { (start) throws(SQLiteError) -> Bool in
            try statements.byID.bind(1, Int64(scope))
            try statements.byID.bind(2, utf8: start)
            return try take(statements.byID, snapshot) { id = Array(statements.byID.bytes(1)) }
        }
    }

    private func step(
        byRow statements: DocumentStatements, _ snapshot: TableReader.Snapshot
    ) throws(SQLiteError) -> Bool {
        defer { statements.byRow.reset() }
        try statements.byRow.bind(1, row)
        try statements.byRow.bind(2, (Int64(scope) + 1) << 40)
        return try take(statements.byRow, snapshot) { row = statements.byRow.int64(0) }
    }

    /// Steps through the rows; `keep` notes where the walk has come to.
    private func take(
        _ statement: borrowing Statement, _ snapshot: TableReader.Snapshot, keep: () -> Void
    ) throws(SQLiteError) -> Bool {
        var seen = 0
        while true {
            guard try statement.step() else {
                isAtEnd = true
                return true
            }
            if statement.int64(3) == 0 {
                let document = Row(
                    id: statement.bytes(1), value: try statement.line(4), rev: UInt64(statement.int64(2)))
                guard visit(document) else { return false }
            }
            keep()
            seen += 1
            if seen % 32 == 0, snapshot.isStale { return true }
        }
    }
}

/// The statements of a walk, prepared once a reader.
final class DocumentStatements {
    let byID: Statement
    let byRow: Statement
    let one: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        byID = try connection.prepare(
            """
            SELECT row, id, rev, isDeleted, body FROM documents INDEXED BY documents_id
            WHERE collection = ?1 AND id > ?2 ORDER BY id
            """)
        one = try connection.prepare("SELECT body FROM documents WHERE collection = ?1 AND id = ?2")
        byRow = try connection.prepare(
            "SELECT row, id, rev, isDeleted, body FROM documents WHERE row > ?1 AND row < ?2 ORDER BY row")
    }
}
