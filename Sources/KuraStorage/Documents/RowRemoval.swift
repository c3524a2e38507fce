import KuraBytes
import SQLite

/// Takes some rows out of `documents` at a time. Lists of attachments name the contents that they give up, which are counted.
final class RowRemoval {
    private let connection: Connection
    private let uses: ContentUses
    private let history: HistoryTable
    private let tombstones, tombstonesOfLists, rows, rowsOfLists: Statement

    /// Rows at a time: between two looks at the clock.
    static let step = 64

    init(_ tables: FoldTables) throws(SQLiteError) {
        (connection, uses, history) = (tables.connection, tables.uses, tables.history)
        let purge = """
            DELETE FROM documents WHERE row IN (
                SELECT row FROM documents INDEXED BY documents_tombstones
                WHERE collection = ?1 AND isDeleted = 1 AND updatedAt < ?2 LIMIT ?3)
            """
        let drop = """
            DELETE FROM documents WHERE row IN (
                SELECT row FROM documents WHERE row > ?1 AND row < ?2 ORDER BY row LIMIT ?3)
            """
        tombstones = try connection.prepare(purge)
        tombstonesOfLists = try connection.prepare(purge + " RETURNING body")
        rows = try connection.prepare(drop)
        rowsOfLists = try connection.prepare(drop + " RETURNING body")
    }

    /// Removes some of what may be forgotten; tombstones go with what their documents were before.
    /// - Returns: how many they were; fewer than `step` when none is left.
    func some(of purge: Purge) throws(SQLiteError) -> Int {
        guard purge.kind != .history else { return try history.removeSome(agedBy: purge, limit: Self.step) }
        if purge.kind == .tombstones { try history.removeSome(purgedWith: purge, limit: Self.step) }
        return try run(
            tombstones, tombstonesOfLists, Int64(purge.collection), purge.before,
            isLists: purge.kind == .tombstonesOfLists)
    }

    /// The same of all rows of a collection.
    func some(ofCollection collection: UInt32, isLists: Bool) throws(SQLiteError) -> Int {
        try run(rows, rowsOfLists, Int64(collection) << 40, (Int64(collection) + 1) << 40, isLists: isLists)
    }

    private func run(
        _ plain: borrowing Statement, _ ofLists: borrowing Statement, _ first: Int64, _ second: Int64, isLists: Bool
    ) throws(SQLiteError) -> Int {
        guard isLists else {
            try bind(plain, first, second)
            try plain.run()
            return connection.changes
        }
        try bind(ofLists, first, second)
        defer { ofLists.reset() }
        uses.begin()
        var count = 0
        while try ofLists.step() {
            uses.noteRemoval(ofList: ofLists.bytes(0))
            count += 1
        }
        // Contents that nobody uses any more are found with the next slice.
        try uses.writeLater()
        return count
    }

    private func bind(_ statement: borrowing Statement, _ first: Int64, _ second: Int64) throws(SQLiteError) {
        try statement.bind(1, first)
        try statement.bind(2, second)
        try statement.bind(3, Int64(Self.step))
    }
}
