import Glibc
import KuraBytes
import KuraClient
import SQLite

/// Rows of one table of a SQLite database as documents: an object of the columns, under the row's key. Opened for reading alone.
///
/// NULL is null, a blob base64 text. The id is the column that was named, else the primary key, else the rowid; a key of several columns
/// is joined with `/`, a `/` within written `~1` and a `~` `~0`, so that different keys stay different.
struct TableReader {
    enum Record {
        /// `blobs`: how many of its values were that.
        case document(id: String, value: [UInt8], blobs: Int)
        case unusable(reason: String)
    }

    /// The table's name as the database has it.
    let table: String
    /// A view is a query of whoever made the file: nobody knows how long it is before it has ended.
    let isView: Bool
    /// Longer values are refused by SQLite: no document could have them.
    private static let valueBytes = 16 << 20
    private let connection: Connection
    private let columns: [String]
    /// Columns whose values follow from the others': they are not read.
    let generated: [String]
    /// What the rowid is called; nil: it has none.
    private let rowid: String?
    /// Places of the columns that make the id; nil: the rowid does.
    private let key: [Int]?
    private let path: String

    /// - Parameters:
    ///   - path: the database's.
    ///   - table: nil: the only one.
    ///   - id: the column that becomes the id; nil: the key.
    /// - Throws: a usage failure that names the tables, or the columns.
    init(_ path: String, table: String?, id: String?) throws(Failure) {
        try Self.checkSiblings(of: path)
        let schema: Schema
        do throws(SQLiteError) {
            connection = try Connection(path: path, mode: .readOnly)
            connection.limit(valueBytes: Self.valueBytes)
            schema = try Schema(connection, table)
        } catch {
            throw Self.failure(error, path)
        }
        self.path = path
        guard let found = schema.table else {
            let names = schema.tables.joined(separator: ", ")
            if let table {
                throw .usage(
                    "\(path) has no table '\(table)'",
                    hint: Suggestion.hint(for: table, among: schema.tables) ?? "its tables: \(names)")
            }
            throw .usage(
                schema.tables.isEmpty
                    ? "\(path) has no tables"
                    : "\(path) has \(schema.tables.count == 1 ? "a view and no table" : "several tables"): --table NAME says which",
                hint: schema.tables.isEmpty ? nil : "its tables: \(names)")
        }
        self.table = found
        isView = schema.isView
        columns = schema.columns
        generated = schema.generated
        rowid = schema.rowid
        guard id != nil || !schema.primary.isEmpty || schema.rowid != nil else {
            throw .usage(
                "\(found) \(schema.isView ? "is a view and has" : "has") no key",
                hint: "--id COLUMN says which column becomes the id")
        }
        if let id {
            guard let place = schema.columns.firstIndex(of: id) else {
                throw .usage(
                    "\(found) has no column '\(id)'",
                    hint: Suggestion.hint(for: id, among: schema.columns)
                        ?? "its columns: \(schema.columns.joined(separator: ", "))")
            }
            key = [place]
        } else {
            key = schema.primary.isEmpty ? nil : schema.primary
        }
    }

    /// SQLite opens what lies beside the file under these names, and would wait for the other end of a FIFO.
    private static func checkSiblings(of path: String) throws(Failure) {
        // Safety: Swift lends paths as C strings for a call; `realpath` gives memory that is ours, and the kernel fills one `stat`.
        guard let resolved = unsafe realpath(path, nil) else { throw .file("cannot read \(path)") }
        defer { unsafe free(resolved) }
        let file = unsafe String(cString: resolved)
        for sibling in ["-wal", "-shm", "-journal"].map({ file + $0 }) {
            var information = stat()
            guard unsafe lstat(sibling, &information) == 0 else { continue }
            guard information.st_mode & S_IFMT == S_IFREG else {
                throw .usage("cannot read \(path): \(sibling) is no regular file")
            }
        }
    }

    private struct Schema {
        var tables: [String] = []
        var table: String?
        var columns: [String] = []
        var generated: [String] = []
        var rowid: String?
        var primary: [Int] = []
        var isView = false

        init(_ connection: Connection, _ wanted: String?) throws(SQLiteError) {
            var views: [String] = []
            let names = try connection.prepare(
                """
                SELECT name, type = 'view' FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!' \
                ORDER BY name
                """)
            while try names.step() {
                tables.append(names.text(0))
                if names.int64(1) == 1 { views.append(names.text(0)) }
            }
            // What runs is what was asked for: a view by its name alone.
            let only = tables.count == 1 && views.isEmpty ? tables[0] : nil
            table = wanted.map { name in tables.first { $0 == name } } ?? only
            guard let table else { return }
            isView = views.contains(table)
            var keys: [(order: Int64, place: Int)] = []
            var taken: Set<String> = []
            let information = try connection.prepare(
                "SELECT name, pk, hidden FROM pragma_table_xinfo(?) ORDER BY cid")
            try information.bind(1, text: table)
            while try information.step() {
                let name = information.text(0)
                taken.insert(name.lowercased())
                // https://sqlite.org/pragma.html#pragma_table_xinfo: 1 is a virtual table's, 2 and 3 are generated.
                let hidden = information.int64(2)
                if hidden > 1 { generated.append(name) }
                guard hidden == 0 else { continue }
                if information.int64(1) > 0 { keys.append((information.int64(1), columns.count)) }
                columns.append(name)
            }
            primary = keys.sorted { $0.order < $1.order }.map(\.place)
            let kind = try connection.prepare(
                "SELECT type <> 'view' AND NOT wr FROM pragma_table_list(?) WHERE schema = 'main'")
            try kind.bind(1, text: table)
            // A column may have a name of the rowid's.
            if try kind.step(), kind.int64(0) == 1 {
                rowid = ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
            }
        }
    }

    private static func failure(_ error: SQLiteError, _ path: String) -> Failure {
        .usage(
            "cannot read \(path): \(error.message)",
            hint: error.isBusy ? "another program is writing to it: try again" : nil)
    }

    private static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

    /// Rows; 0 for a view.
    func count() throws(Failure) -> Int64 {
        if isView { return 0 }
        do throws(SQLiteError) {
            return try connection.scalar("SELECT count(*) FROM \(Self.quoted(table))") ?? 0
        } catch {
            throw Self.failure(error, path)
        }
    }

    /// Hands each row on, in the table's order. One that has a value which is too long is passed over, where rows have numbers.
    func read(_ body: (Record) throws(Failure) -> Void) throws(Failure) {
        let names = (columns.map(Self.quoted) + (rowid.map { [$0] } ?? [])).joined(separator: ", ")
        let order = rowid.map { " WHERE \($0) >= ?1 ORDER BY \($0)" } ?? ""
        let statement: Statement
        var next = Int64.min
        do throws(SQLiteError) {
            statement = try connection.prepare("SELECT \(names) FROM \(Self.quoted(table))\(order)")
        } catch { throw Self.failure(error, path) }
        if rowid != nil { try begin(statement, at: next) }
        while true {
            let isRow: Bool
            do throws(SQLiteError) { isRow = try statement.step() } catch {
                guard error.isTooLong, let row = try firstRow(from: next) else { throw Self.failure(error, path) }
                try body(.unusable(reason: "a value of it is longer than \(Self.valueBytes) bytes"))
                guard row < .max else { return }
                next = row + 1
                try begin(statement, at: next)
                continue
            }
            guard isRow else { return }
            if rowid != nil {
                let row = statement.int64(Int32(columns.count))
                next = row < .max ? row + 1 : row
            }
            try body(record(statement))
        }
    }

    private func begin(_ statement: borrowing Statement, at row: Int64) throws(Failure) {
        statement.reset()
        do throws(SQLiteError) { try statement.bind(1, row) } catch { throw Self.failure(error, path) }
    }

    /// The rowid of the first row from one on; nil where there is none.
    private func firstRow(from row: Int64) throws(Failure) -> Int64? {
        guard let rowid else { return nil }
        do throws(SQLiteError) {
            return try connection.scalar(
                "SELECT min(\(rowid)) FROM \(Self.quoted(table)) WHERE \(rowid) >= \(row)")
        } catch { throw Self.failure(error, path) }
    }

    private func record(_ row: borrowing Statement) -> Record {
        var members: [(name: String, value: [UInt8])] = []
        var blobs = 0
        for (place, name) in columns.enumerated() {
            switch row.cell(Int32(place)) {
            case .null: members.append((name, Array("null".utf8)))
            case .integer(let value): members.append((name, Array(String(value).utf8)))
            case .double(let value):
                guard value.isFinite else { return .unusable(reason: "\(name) is no number of JSON: \(value)") }
                members.append((name, Array("\(value)".utf8)))
            case .text(let bytes):
                guard String(validating: bytes, as: UTF8.self) != nil else {
                    return .unusable(reason: "\(name) is text that is not UTF-8")
                }
                members.append((name, JSONParts.string(bytes)))
            case .blob(let bytes):
                blobs += 1
                var output = ByteBuffer()
                bytes.withBytes { Base64.encode($0, into: &output) }
                members.append((name, JSONParts.string(Array(output.bytes))))
            }
        }
        guard let key else {
            return .document(
                id: String(row.int64(Int32(columns.count))), value: JSONParts.object(members), blobs: blobs)
        }
        var parts: [String] = []
        for place in key {
            switch row.cell(Int32(place)) {
            case .integer(let value): parts.append(String(value))
            case .text(let bytes) where !bytes.isEmpty: parts.append(String(decoding: bytes, as: UTF8.self))
            case .double(let value): parts.append("\(value)")
            case .null: return .unusable(reason: "\(columns[place]), its id, is NULL")
            default: return .unusable(reason: "\(columns[place]), its id, is empty or a blob")
            }
        }
        let id =
            parts.count == 1
            ? parts[0]
            : parts.map { $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined(separator: "/")
        return .document(id: id, value: JSONParts.object(members), blobs: blobs)
    }
}
