/// Brings a database file to the newest schema that this program knows.
///
/// A file says whose it is by `application_id` and how far it has come by `user_version`.
/// Source: https://sqlite.org/pragma.html#pragma_application_id
public struct Migrator: Sendable {
    public struct Step: Sendable {
        /// The `user_version` that the file has after the step, at least 1.
        public let version: Int32
        /// Statements that run in one transaction; they neither begin nor end one.
        public let sql: String

        public init(version: Int32, sql: String) {
            self.version = version
            self.sql = sql
        }
    }

    public enum Failure: Error, Equatable, Sendable {
        /// The file is another program's: its `application_id`, or 0 when it has tables and no id.
        case foreignDatabase(applicationID: Int32)
        /// A newer program wrote the file.
        case newerSchema(found: Int32, known: Int32)
        case sqlite(SQLiteError)
    }

    private let steps: [Step]

    /// - Parameter steps: with rising versions.
    public init(steps: [Step]) {
        precondition(zip([0] + steps.map(\.version), steps).allSatisfy { $0 < $1.version }, "versions must rise")
        self.steps = steps
    }

    /// The version that a migrated file has.
    public var newestVersion: Int32 { steps.last?.version ?? 0 }

    /// Each version with the tables that its step makes: those that its SQL names behind CREATE TABLE.
    public var tables: [(version: Int32, names: [String])] {
        steps.map { step in
            let words = step.sql.split { $0 == " " || $0 == "\n" || $0 == "(" }
            let names = words.indices.dropLast(2).filter { words[$0] == "CREATE" && words[$0 + 1] == "TABLE" }
            return (step.version, names.map { String(words[$0 + 2]) })
        }
    }

    /// Runs the steps that the file has not seen, each in one transaction together with its `user_version`.
    ///
    /// An empty file without an id is taken: the id is set in the same transaction as the first step. When a step fails
    /// it leaves nothing behind, and the steps before it stay.
    /// - Parameters:
    ///   - connection: one that may write and is in no transaction.
    ///   - applicationID: not 0.
    /// - Returns: how many steps ran.
    /// - Throws: `Failure`, before anything is written for `foreignDatabase` and `newerSchema`.
    @discardableResult
    public func migrate(_ connection: Connection, applicationID: Int32) throws(Failure) -> Int {
        precondition(applicationID != 0, "0 is what every SQLite file starts with")
        let state = try mapped { () throws(SQLiteError) in try FileState(connection) }
        guard state.isNew || state.applicationID == applicationID else {
            throw .foreignDatabase(applicationID: state.applicationID)
        }
        guard state.version <= newestVersion else {
            throw .newerSchema(found: state.version, known: newestVersion)
        }
        let missing = steps.filter { $0.version > state.version }
        try mapped { () throws(SQLiteError) in
            if state.isNew, missing.isEmpty {
                try connection.execute("PRAGMA application_id=\(applicationID)")
            }
            for step in missing {
                try run(step, on: connection, applicationID: applicationID)
            }
        }
        return missing.count
    }

    private func run(_ step: Step, on connection: Connection, applicationID: Int32) throws(SQLiteError) {
        try connection.execute("BEGIN IMMEDIATE")
        do {
            try connection.execute(step.sql)
            try connection.execute("PRAGMA application_id=\(applicationID)")
            try connection.execute("PRAGMA user_version=\(step.version)")
            try connection.execute("COMMIT")
        } catch {
            // SQLite may have rolled back already; that the step failed is the news, not that rolling back did.
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    private func mapped<Value>(_ work: () throws(SQLiteError) -> Value) throws(Failure) -> Value {
        do { return try work() } catch { throw .sqlite(error) }
    }
}

private struct FileState {
    let applicationID: Int32
    let version: Int32
    let isNew: Bool

    init(_ connection: Connection) throws(SQLiteError) {
        applicationID = Int32(truncatingIfNeeded: try connection.scalar("PRAGMA application_id") ?? 0)
        version = Int32(truncatingIfNeeded: try connection.scalar("PRAGMA user_version") ?? 0)
        let objects = try connection.scalar("SELECT count(*) FROM sqlite_schema") ?? 0
        isNew = applicationID == 0 && version == 0 && objects == 0
    }
}
