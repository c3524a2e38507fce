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
            "SELECT \(Self.residentColumns) FROM settings WHERE (scope, key) > (?1, ?2) ORDER BY scope, key")
        rows = try connection.prepare("SELECT \(Self.rowColumns) FROM documents WHERE row > ?1 ORDER BY row")
    }

    // MARK: A row as a record

    static let residentColumns = "scope, key, rev, updatedAt, value"
    static let rowColumns = "row, collection, id, rev, version, createdAt, updatedAt, isDeleted, body"

    /// What a statement with the columns of `residentColumns` stands at; store and scope are still to be filled in.
    static func resident(in statement: borrowing Statement) -> BackupRecord {
        var record = BackupRecord(
            store: .settings, rev: UInt64(clamping: statement.int64(2)), scope: Bytes(), key: statement.bytes(1),
            value: statement.bytes(4))
        record.version = 1
        record.createdAt = statement.int64(3)
        record.updatedAt = statement.int64(3)
        return record
    }

    /// The same with those of `rowColumns`.
    static func row(in statement: borrowing Statement) -> BackupRecord {
        var record = BackupRecord(
            store: .documents, rev: UInt64(clamping: statement.int64(3)), scope: Bytes(), key: statement.bytes(2),
            value: statement.bytes(8))
        record.flags = statement.int64(7) != 0 ? .isDeleted : []
        record.version = UInt32(truncatingIfNeeded: statement.int64(4))
        record.createdAt = statement.int64(5)
        record.updatedAt = statement.int64(6)
        record.row = UInt64(statement.int64(0) & BackupRecord.rowMask)
        return record
    }

    // MARK: Going on

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
                    let number = resident.int64(0)
                    switch try visit(UInt32(number), Self.resident(in: resident)) {
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
                let collection = rows.int64(1)
                switch try visit(UInt32(collection), Self.row(in: rows)) {
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
