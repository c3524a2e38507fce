import SQLite

/// The statements by which queries walk, prepared when they are first wanted, once a reader. No text of a client's is in them.
final class ScanStatements {
    /// A statement in a dictionary.
    final class Box {
        let statement: Statement

        init(_ statement: consuming Statement) {
            self.statement = statement
        }
    }

    private enum Walk: Hashable {
        case rows, row, formerRows, formerRow, item, ids, idsDescending
        case index(Int64, isDescending: Bool, withDocuments: Bool)
        case keys(Int64, isDescending: Bool)
        case count(Int64)
    }
    private var prepared: [Walk: Box] = [:]
    private let connection: Connection
    private static let limit = 64

    init(_ connection: Connection) {
        self.connection = connection
    }

    private static let columns = "row, id, rev, isDeleted, body"

    /// Columns: row, id, rev, isDeleted, body. ?1 and ?2 are rows, both excluded.
    func rows() throws(SQLiteError) -> Box {
        try box(.rows, "SELECT \(Self.columns) FROM documents WHERE row > ?1 AND row < ?2 ORDER BY row")
    }

    /// The same for one row.
    func row() throws(SQLiteError) -> Box {
        try box(.row, "SELECT \(Self.columns) FROM documents WHERE row = ?1")
    }

    /// As `rows`, with documents as they were at the revision ?3. ?4: former versions up to this number are being erased.
    /// A sixth column says that it is not known what the document was then.
    func formerRows() throws(SQLiteError) -> Box {
        try box(.formerRows, "\(Self.former) WHERE d.row > ?1 AND d.row < ?2 ORDER BY d.row")
    }

    /// The same for one row, ?1.
    func formerRow() throws(SQLiteError) -> Box { try box(.formerRow, "\(Self.former) WHERE d.row = ?1") }

    /// A document that has no version from before, and whose first one is known, came to be later.
    private static let former = """
        SELECT d.row, d.id, ifnull(h.rev, d.rev),
            CASE WHEN d.rev <= ?3 THEN d.isDeleted WHEN h.rev IS NULL THEN 1 ELSE h.isDeleted END,
            CASE WHEN d.rev <= ?3 THEN d.body ELSE h.body END,
            CASE WHEN d.rev <= ?3 THEN 0 WHEN h.rev IS NOT NULL THEN h.until <= ?3 ELSE 1 <> ifnull(
                (SELECT version FROM history WHERE row = d.row AND number > ?4 ORDER BY rev LIMIT 1), d.version) END
        FROM documents d LEFT JOIN history h ON d.rev > ?3 AND h.row = d.row AND h.number > ?4 AND h.rev =
            (SELECT rev FROM history WHERE row = d.row AND rev <= ?3 ORDER BY rev DESC LIMIT 1)
        """

    /// What an item is made from, for the row ?1.
    func item() throws(SQLiteError) -> Box {
        try box(.item, "SELECT \(ItemRef.columns) FROM documents WHERE row = ?1")
    }

    /// As `rows`: ?1 is a collection; ids from ?2 on and before ?3.
    func ids(isDescending: Bool) throws(SQLiteError) -> Box {
        try box(
            isDescending ? .idsDescending : .ids,
            """
            SELECT \(Self.columns) FROM documents INDEXED BY documents_id
            WHERE collection = ?1 AND id >= ?2 AND id < ?3 ORDER BY id \(isDescending ? "DESC" : "ASC")
            """)
    }

    /// The same, with the key before it; without documents row and key alone, in the same columns.
    ///
    /// Entries behind the key ?1 with the row ?2, up to the key ?3: ascending before it, descending from it on.
    func index(_ number: Int64, isDescending: Bool, withDocuments: Bool) throws(SQLiteError) -> Box {
        try box(
            .index(number, isDescending: isDescending, withDocuments: withDocuments),
            withDocuments
                ? """
                SELECT d.row, d.id, d.rev, d.isDeleted, d.body, i.key FROM index_\(number) AS i
                CROSS JOIN documents AS d ON d.row = i.row WHERE \(Self.range(isDescending: isDescending))
                """
                : """
                SELECT i.row, NULL, NULL, NULL, NULL, i.key FROM index_\(number) AS i
                WHERE \(Self.range(isDescending: isDescending))
                """)
    }

    /// Row and key of the entries from the key ?1 on and before ?2; descending, from the one before ?2 on. It compares no rows, so it is half
    /// the work of `index`.
    func keys(_ number: Int64, isDescending: Bool) throws(SQLiteError) -> Box {
        let order = isDescending ? "DESC" : "ASC"
        return try box(
            .keys(number, isDescending: isDescending),
            """
            SELECT i.row, i.key FROM index_\(number) AS i WHERE i.key >= ?1 AND i.key < ?2
            ORDER BY i.key \(order), i.row \(order)
            """)
    }

    /// How many entries there are from the key ?1 on and before ?2, ?3 at most: counted where they lie, none is handed out.
    func count(_ number: Int64) throws(SQLiteError) -> Box {
        try box(
            .count(number),
            "SELECT count(*) FROM (SELECT 1 FROM index_\(number) AS i WHERE i.key >= ?1 AND i.key < ?2 LIMIT ?3)")
    }

    private static func range(isDescending: Bool) -> String {
        let (compare, end, order) = isDescending ? ("<", ">=", "DESC") : (">", "<", "ASC")
        return "(i.key, i.row) \(compare) (?1, ?2) AND i.key \(end) ?3 ORDER BY i.key \(order), i.row \(order)"
    }

    private func box(_ walk: Walk, _ text: @autoclosure () -> String) throws(SQLiteError) -> Box {
        if let box = prepared[walk] { return box }
        // Indexes come and go.
        if prepared.count >= Self.limit { prepared = [:] }
        let box = Box(try connection.prepare(text()))
        prepared[walk] = box
        return box
    }
}
