import KuraBytes
import SQLite

/// What the table of an index has, `index_N(key, row)`: entries go in and out, and are counted.
final class IndexEntries {
    private(set) var count: Int64
    /// Of their keys.
    private(set) var bytes: Int64
    private let insert, delete, other, clear: Statement
    private let connection: Connection

    init(_ connection: Connection, _ table: String, count: Int64, bytes: Int64) throws(SQLiteError) {
        (self.connection, self.count, self.bytes) = (connection, count, bytes)
        insert = try connection.prepare("INSERT OR IGNORE INTO \(table)(key, row) VALUES(?1, ?2)")
        delete = try connection.prepare("DELETE FROM \(table) WHERE key = ?1 AND row = ?2")
        other = try connection.prepare("SELECT row FROM \(table) WHERE key = ?1 AND row <> ?2 LIMIT 1")
        clear = try connection.prepare(
            "DELETE FROM \(table) WHERE (key, row) IN (SELECT key, row FROM \(table) LIMIT ?1)")
    }

    /// - Returns: whether it was not there.
    func insert(_ key: Bytes, _ row: Int64) throws(SQLiteError) -> Bool {
        try insert.bind(1, bytes: key)
        try insert.bind(2, row)
        try insert.run()
        guard connection.changes > 0 else { return false }
        count += 1
        bytes += Int64(key.count)
        return true
    }

    /// - Returns: whether it was there.
    func delete(_ key: Bytes, _ row: Int64) throws(SQLiteError) -> Bool {
        try delete.bind(1, bytes: key)
        try delete.bind(2, row)
        try delete.run()
        guard connection.changes > 0 else { return false }
        count -= 1
        bytes -= Int64(key.count)
        return true
    }

    /// Another row with this key.
    func otherRow(_ key: Bytes, than row: Int64) throws(SQLiteError) -> Int64? {
        defer { other.reset() }
        try other.bind(1, bytes: key)
        try other.bind(2, row)
        return try other.step() ? other.int64(0) : nil
    }

    /// Takes entries out, from the front: at most so many.
    /// - Returns: how many there were.
    func clear(_ limit: Int64) throws(SQLiteError) -> Int {
        try clear.bind(1, limit)
        try clear.run()
        let gone = connection.changes
        // A count that was wrong says at the end alone that nothing is left.
        count = gone < limit ? 0 : max(1, count - Int64(gone))
        if count == 0 { bytes = 0 }
        return gone
    }
}
