import SQLite

/// Counts the deleted documents of a collection that have not been forgotten.
public final class TombstoneCount: TableQuery, @unchecked Sendable {
    // Used by one thread at a time: the pool hands it over under its lock.

    public let foldedTo: UInt64
    private let scope: UInt32
    public private(set) var count = 0
    /// When the newest of them was deleted: milliseconds since 1970, 0 when there is none. Of a clock that was set back, it lies in the future.
    public private(set) var newest: Int64 = 0

    init(_ scope: Scope, foldedTo: UInt64) {
        self.scope = scope.id
        self.foldedTo = foldedTo
    }

    public func run(_ tables: TableReader) throws(QueryError) {
        do throws(EngineError) {
            try tables.snapshot { (_) throws(SQLiteError) in
                let select = try tables.connection.prepare(
                    """
                    SELECT count(*), coalesce(max(updatedAt), 0) FROM documents INDEXED BY documents_tombstones
                    WHERE collection = ?1 AND isDeleted = 1
                    """)
                try select.bind(1, Int64(scope))
                if try select.step() { (count, newest) = (Int(select.int64(0)), select.int64(1)) }
            }
        } catch { throw .engine(error) }
    }
}
