import KuraBytes
import KuraStorage
import SQLite

/// A look through a database file beside its one writer: read-only, in snapshots that are given up after 200 ms or 32 MiB of WAL.
///
/// SQLite's own check of a table is one statement, and so one snapshot. A table that it does not get through in that time is walked by
/// its key instead, every column of every row: that finds pages that cannot be read or are of another tree, and not an index entry that
/// leads elsewhere.
struct DatabaseLook {
    private let connection: Connection
    private let milliseconds: Int
    private let clock: Clock
    private let wal: FileRole

    /// Called between two snapshots; false ends the look.
    private let goesOn: () -> Bool

    init(
        _ path: String, role: FileRole, milliseconds: Int, clock: Clock = .system, goesOn: @escaping () -> Bool
    ) throws(SQLiteError) {
        connection = try Connection(path: path, mode: .readOnly)
        try connection.setBusyTimeout(milliseconds: 5000)
        try connection.execute("PRAGMA cache_size=-2048;")
        (self.milliseconds, self.clock, self.goesOn, wal) = (milliseconds, clock, goesOn, role)
    }

    private func time() -> Deadline { clock.deadline(milliseconds: milliseconds) }

    /// Tables with pages of their own.
    func tables() throws(SQLiteError) -> [String] {
        let select = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY rootpage")
        var names: [String] = []
        while try select.step() { names.append(select.text(0)) }
        return names
    }

    /// - Returns: what is wrong with a table and its indexes, a line each; empty when nothing is, or when the table has been dropped meanwhile.
    /// - Throws: what is none of the file's fault.
    func problems(of table: String) throws(SQLiteError) -> [String] {
        let found = try found(in: table)
        guard !found.isEmpty else { return [] }
        let select = try connection.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")
        try select.bind(1, text: table)
        do throws(SQLiteError) { return try select.step() ? found : [] } catch { return found }
    }

    private func found(in table: String) throws(SQLiteError) -> [String] {
        do throws(SQLiteError) {
            if let found = try check(table) { return found }
            try walk(table)
            return []
        } catch {
            guard error.isDamage else { throw error }
            return [error.message]
        }
    }

    /// SQLite's own look; nil when the time is over before it is through.
    private func check(_ table: String) throws(SQLiteError) -> [String]? {
        try connection.limited(until: time()) { () throws(SQLiteError) in
            let statement = try connection.prepare("PRAGMA integrity_check(\(Self.quoted(table)))")
            var lines: [String] = []
            while try statement.step() {
                let line = statement.text(0)
                if line != "ok" { lines.append(line) }
            }
            return lines
        }
    }

    /// Reads all rows by their key.
    private func walk(_ table: String) throws(SQLiteError) {
        let keys = try keys(of: table)
        let order = keys.joined(separator: ", ")
        let places = (1...keys.count).map { "?\($0)" }.joined(separator: ", ")
        let first = try connection.prepare("SELECT *, \(order) FROM \(Self.quoted(table)) ORDER BY \(order)")
        let next = try connection.prepare(
            "SELECT *, \(order) FROM \(Self.quoted(table)) WHERE (\(order)) > (\(places)) ORDER BY \(order)")
        let columns = Int32(try connection.scalar("SELECT count(*) FROM pragma_table_info(\(Self.quoted(table)))") ?? 0)
        var last: [Statement.Cell] = []
        while goesOn() {
            if last.isEmpty {
                guard try read(first, columns, keys.count, &last) else { return }
            } else {
                for (position, cell) in last.enumerated() { try next.bind(Int32(position + 1), cell) }
                guard try read(next, columns, keys.count, &last) else { return }
            }
        }
    }

    /// Reads rows until the snapshot has been held long enough.
    /// - Returns: whether there may be more.
    private func read(
        _ statement: borrowing Statement, _ columns: Int32, _ keys: Int, _ last: inout [Statement.Cell]
    ) throws(SQLiteError) -> Bool {
        defer { statement.reset() }
        let snapshot = TableReader.Snapshot(rev: 0, until: time(), of: wal)
        while try statement.step() {
            for column in 0..<columns { _ = statement.bytes(column) }
            guard snapshot.isStale else { continue }
            last = (0..<Int32(keys)).map { statement.cell(columns + $0) }
            return true
        }
        return false
    }

    private func keys(of table: String) throws(SQLiteError) -> [String] {
        let kind = try connection.prepare("SELECT wr FROM pragma_table_list WHERE name = ?1 AND schema = 'main'")
        try kind.bind(1, text: table)
        guard try kind.step(), kind.int64(0) == 1 else { return ["rowid"] }
        let select = try connection.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")
        try select.bind(1, text: table)
        var names: [String] = []
        while try select.step() { names.append(Self.quoted(select.text(0))) }
        return names
    }

    /// A name of the file's own schema.
    private static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }
}
