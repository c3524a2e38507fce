import KuraBytes
import SQLite

/// Walks over all rows of the tables in the order of their keys, from snapshot to snapshot. One thread's.
final class WalkStatements {
    enum Part {
        /// Items that are in memory whole: settings, configurations, heads of secrets.
        case resident
        /// Documents, lists of attachments, versions of secrets.
        case rows
    }

    /// What is to become of the row that was shown.
    enum Step {
        case take
        /// Taken, and the snapshot ends.
        case takeAndStop
        /// Not taken: it comes again first of all.
        case stop
        /// Not taken, nor any other of its scope.
        case skipScope
    }

    private let resident: Statement
    private let rows: Statement
    private var scope: Int64 = 0
    private var key: [UInt8] = []
    private var row: Int64 = 0

    init(_ connection: Connection) throws(SQLiteError) {
        resident = try connection.prepare(
            """
            SELECT scope, key, rev, updatedAt, value FROM settings WHERE (scope, key) > (?1, ?2) ORDER BY scope, key
            """)
        rows = try connection.prepare(
            """
            SELECT row, collection, id, rev, version, createdAt, updatedAt, isDeleted, body FROM documents
            WHERE row > ?1 ORDER BY row
            """)
    }

    /// Goes on within one snapshot.
    /// `visit`: gets the number of the row's scope, and a record whose store and scope are still to be filled in, good until it returns.
    /// - Returns: whether no row is left.
    func step(
        _ part: Part, _ visit: (UInt32, BackupRecord) throws(SQLiteError) -> Step
    ) throws(SQLiteError) -> Bool {
        switch part {
        case .resident: try stepResident(visit)
        case .rows: try stepRows(visit)
        }
    }

    private func stepResident(
        _ visit: (UInt32, BackupRecord) throws(SQLiteError) -> Step
    ) throws(SQLiteError) -> Bool {
        while true {
            defer { resident.reset() }
            let from = key
            let goesOn = try from.withBytes { (from) throws(SQLiteError) -> Bool? in
                try resident.bind(1, scope)
                try resident.bind(2, utf8: from)
                while try resident.step() {
                    var record = BackupRecord(
                        store: .settings, rev: UInt64(resident.int64(2)), scope: Bytes(), key: resident.bytes(1),
                        value: resident.bytes(4))
                    record.version = 1
                    record.createdAt = resident.int64(3)
                    record.updatedAt = resident.int64(3)
                    let number = resident.int64(0)
                    switch try visit(UInt32(number), record) {
                    case .stop: return false
                    case .skipScope:
                        (scope, key) = (number + 1, [])
                        return nil
                    case .take: (scope, key) = (number, Array(resident.bytes(1)))
                    case .takeAndStop:
                        (scope, key) = (number, Array(resident.bytes(1)))
                        return false
                    }
                }
                return true
            }
            if let goesOn { return goesOn }
        }
    }

    private func stepRows(
        _ visit: (UInt32, BackupRecord) throws(SQLiteError) -> Step
    ) throws(SQLiteError) -> Bool {
        while true {
            defer { rows.reset() }
            var isSkipping = false
            try rows.bind(1, row)
            while !isSkipping {
                guard try rows.step() else { return true }
                let number = rows.int64(0)
                var record = BackupRecord(
                    store: .documents, rev: UInt64(rows.int64(3)), scope: Bytes(), key: rows.bytes(2),
                    value: rows.bytes(8))
                record.flags = rows.int64(7) != 0 ? .isDeleted : []
                record.version = UInt32(truncatingIfNeeded: rows.int64(4))
                record.createdAt = rows.int64(5)
                record.updatedAt = rows.int64(6)
                record.row = UInt64(number & BackupRecord.rowMask)
                let collection = rows.int64(1)
                switch try visit(UInt32(collection), record) {
                case .stop: return false
                case .skipScope:
                    // The last number that a row of it can have.
                    row = (collection + 1) << BackupRecord.rowBits - 1
                    isSkipping = true
                case .take: row = number
                case .takeAndStop:
                    row = number
                    return false
                }
            }
        }
    }
}
