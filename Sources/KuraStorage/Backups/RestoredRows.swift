import KuraBytes
import SQLite

/// Writes a backup's records to kura.sqlite, row by row: of an item the greatest revision counts. One thread's.
final class RestoredRows {
    private let connection: Connection
    private let insertDocument: Statement
    private let updateDocument: Statement
    private let removeDocument: Statement
    private let hasDocument: Statement
    private let removeRows: Statement
    private let putSetting: Statement
    private let removeSetting: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        insertDocument = try connection.prepare(
            """
            INSERT INTO documents(row, collection, id, rev, version, createdAt, updatedAt, isDeleted, body)
            VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING
            """)
        updateDocument = try connection.prepare(
            """
            UPDATE documents SET rev = ?3, version = ?4, createdAt = ifnull(?5, createdAt), updatedAt = ?6,
                isDeleted = ?7, body = ifnull(?8, body)
            WHERE collection = ?1 AND id = ?2 AND rev <= ?3
            """)
        removeDocument = try connection.prepare(
            "DELETE FROM documents WHERE collection = ?1 AND id = ?2 AND rev <= ?3")
        hasDocument = try connection.prepare("SELECT 1 FROM documents WHERE collection = ?1 AND id = ?2")
        removeRows = try connection.prepare("DELETE FROM documents WHERE row >= ?1 AND row < ?2 AND rev < ?3")
        putSetting = try connection.prepare(
            """
            INSERT INTO settings(scope, key, rev, updatedAt, value) VALUES(?1, ?2, ?3, ?4, ?5)
            ON CONFLICT(scope, key) DO UPDATE SET rev = ?3, updatedAt = ?4, value = ?5 WHERE rev <= ?3
            """)
        removeSetting = try connection.prepare("DELETE FROM settings WHERE scope = ?1 AND key = ?2 AND rev <= ?3")
    }

    /// Removes a scope's documents that are older than a revision.
    func remove(olderThan rev: UInt64, of scope: UInt32) throws(SQLiteError) {
        try removeRows.bind(1, Int64(scope) << BackupRecord.rowBits)
        try removeRows.bind(2, (Int64(scope) + 1) << BackupRecord.rowBits)
        try removeRows.bind(3, Int64(rev))
        try removeRows.run()
    }

    func take(setting record: BackupRecord, _ scope: UInt32) throws(SQLiteError) {
        if record.flags.contains(.isDeleted) {
            try removeSetting.bind(1, Int64(scope))
            try removeSetting.bind(2, utf8: record.key)
            try removeSetting.bind(3, Int64(record.rev))
            try removeSetting.run()
        } else {
            try putSetting.bind(1, Int64(scope))
            try putSetting.bind(2, utf8: record.key)
            try putSetting.bind(3, Int64(record.rev))
            try putSetting.bind(4, record.updatedAt)
            try putSetting.bind(5, utf8: record.value)
            try putSetting.run()
        }
    }

    func take(
        document record: BackupRecord, _ scope: UInt32, nextRow: inout Int64
    ) throws(SQLiteError) {
        let isDeleted = record.flags.contains(.isDeleted)
        if isDeleted, record.store == .secretVersions {
            try removeDocument.bind(1, Int64(scope))
            try removeDocument.bind(2, utf8: record.key)
            try removeDocument.bind(3, Int64(record.rev))
            try removeDocument.run()
            return
        }
        let keepsBody = record.flags.contains(.keepsBody)
        if !keepsBody, try insert(record, Int64(record.row), isDeleted, scope, &nextRow) { return }
        try updateDocument.bind(1, Int64(scope))
        try updateDocument.bind(2, utf8: record.key)
        try updateDocument.bind(3, Int64(record.rev))
        try updateDocument.bind(4, Int64(record.version))
        // Deleting leaves it as it is.
        if isDeleted { try updateDocument.bindNull(5) } else { try updateDocument.bind(5, record.createdAt) }
        try updateDocument.bind(6, record.updatedAt)
        try updateDocument.bind(7, isDeleted ? 1 : 0)
        if keepsBody { try updateDocument.bindNull(8) } else { try updateDocument.bind(8, utf8: record.value) }
        try updateDocument.run()
        guard connection.changes == 0, !keepsBody else { return }
        try hasDocument.bind(1, Int64(scope))
        try hasDocument.bind(2, utf8: record.key)
        let isThere = try hasDocument.step()
        hasDocument.reset()
        // A newer one is there; or its row was a dropped collection's, of the same name.
        if !isThere { _ = try insert(record, nextRow, isDeleted, scope, &nextRow) }
    }

    private func insert(
        _ record: BackupRecord, _ row: Int64, _ isDeleted: Bool, _ scope: UInt32, _ nextRow: inout Int64
    ) throws(SQLiteError) -> Bool {
        // No row reaches into the next scope's: a judged one has as many behind it as there can be records.
        try insertDocument.bind(1, Int64(scope) << BackupRecord.rowBits | row)
        try insertDocument.bind(2, Int64(scope))
        try insertDocument.bind(3, utf8: record.key)
        try insertDocument.bind(4, Int64(record.rev))
        try insertDocument.bind(5, Int64(record.version))
        try insertDocument.bind(6, record.createdAt)
        try insertDocument.bind(7, record.updatedAt)
        try insertDocument.bind(8, isDeleted ? 1 : 0)
        try insertDocument.bind(9, utf8: record.value)
        try insertDocument.run()
        guard connection.changes > 0 else { return false }
        nextRow = max(nextRow, row + 1)
        return true
    }
}
