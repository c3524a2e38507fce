import KuraBytes
import KuraJSON
import SQLite

/// The documents that derived tables are made of, as the tables have them.
final class DocumentSource {
    private let one, some: Statement
    /// The document under way was looked for; `one` stands at its row.
    private var isRead = false
    private var isThere = false
    /// Bytes that a build may gather before it writes.
    let memory: Int

    init(_ connection: Connection, memory: Int) throws(SQLiteError) {
        one = try connection.prepare("SELECT isDeleted, body FROM documents WHERE row = ?1")
        some = try connection.prepare(
            "SELECT row, isDeleted, body FROM documents WHERE row > ?1 AND row <= ?2 ORDER BY row")
        self.memory = memory
    }

    /// The document that this one is to take the place of; nil when there is none, or it was deleted. It is read once, whoever asks, and good until
    /// `release`.
    func before(_ item: ItemRef) throws(SQLiteError) -> StoredValue? {
        if !isRead {
            guard item.pointee.version > 1 else { return nil }
            isRead = true
            try one.bind(1, item.pointee.row)
            isThere = try one.step()
        }
        return isThere && one.int64(0) == 0 ? StoredValue(one.bytes(1)) : nil
    }

    /// Another document comes, or this one is written.
    func release() {
        if isRead { one.reset() }
        (isRead, isThere) = (false, false)
    }

    /// Calls `body` for each row above `first` and up to `last` until it returns false: with its number, and what its document has unless that was
    /// deleted.
    /// - Returns: whether nothing is left.
    func walk(
        above first: Int64, upTo last: Int64, _ body: (Int64, Bytes?) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        defer { some.reset() }
        try some.bind(1, first)
        try some.bind(2, last)
        while try some.step() {
            guard try body(some.int64(0), some.int64(1) == 0 ? some.bytes(2) : nil) else { return false }
        }
        return true
    }
}
