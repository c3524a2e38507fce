import KuraBytes
import KuraJSON
import SQLite

@testable import KuraStorage

/// Looks into the tables of a daemon that has ended, or is idle: what they say of themselves against what a walk over all of them
/// makes out.
enum TablesRecount {
    private static func connection(_ data: String) throws -> Connection {
        try Connection(path: data + "/durable/kura.sqlite", mode: .readOnly)
    }

    static func numbers(_ data: String, _ sql: String) throws -> [Int] {
        // Open to the end: SQLite prepares a statement anew when the tables' layout changes meanwhile.
        let connection = try connection(data)
        defer { withExtendedLifetime(connection) {} }
        let statement = try connection.prepare(sql)
        var numbers: [Int] = []
        while try statement.step() { numbers.append(Int(statement.int64(0))) }
        return numbers
    }

    /// How an index differs from its documents' keys; nil when none does.
    static func difference(_ data: String) throws -> String? {
        let connection = try connection(data)
        for index in try IndexRow.all(connection)
        // A reference's has an entry for each id, and none for a document without.
        where index.status.state == .ready && !index.definition.isEach {
            let documents = try connection.prepare(
                "SELECT row, body FROM documents WHERE collection = \(index.status.collection) AND isDeleted = 0")
            var expected: [String] = []
            while try documents.step() {
                let document = StoredValue(documents.bytes(1))
                guard index.definition.covers(document) else { continue }
                var key = ByteBuffer()
                _ = index.definition.appendKey(of: document, to: &key)
                expected.append("\(Array(key.bytes)) \(documents.int64(0))")
            }
            let entries = try connection.prepare("SELECT key, row FROM index_\(index.status.number)")
            var found: [String] = []
            while try entries.step() { found.append("\(Array(entries.bytes(0))) \(entries.int64(1))") }
            guard found.sorted() == expected.sorted() else {
                return "index_\(index.status.number) has \(found.count) entries, its documents \(expected.count) keys"
            }
            guard index.status.entries == found.count else {
                return "index_\(index.status.number) says \(index.status.entries) of its \(found.count) entries"
            }
        }
        return nil
    }

    /// How a full text index differs from one that is made anew of the documents' text; nil when none does.
    static func searchDifference(_ data: String) throws -> String? {
        let connection = try connection(data)
        for row in try SearchRow.all(connection) where row.status.state == .ready {
            let (number, definition) = (row.status.number, row.definition)
            let other = try Connection(path: ":memory:", mode: .readWriteCreate)
            try other.execute(SearchTable.creation(number, definition))
            let anew = try SearchTable(other, row)
            let documents = try connection.prepare(
                "SELECT row, body FROM documents WHERE collection = \(row.status.collection) AND isDeleted = 0")
            var text = SearchText()
            var count = 0
            while try documents.step() {
                text.read(StoredValue(documents.bytes(1)), definition)
                guard !text.isEmpty else { continue }
                try anew.insert(documents.int64(0), text)
                count += 1
            }
            let (found, expected) = (try words(connection, number), try words(other, number))
            guard found == expected else { return "search_\(number) has \(found.count) words, not \(expected.count)" }
            guard row.status.entries == count else {
                return "search_\(number) says \(row.status.entries) of its \(count) entries"
            }
            let sizes = try connection.scalar("SELECT count(*) FROM search_\(number)_docsize")
            guard sizes == Int64(count) else { return "search_\(number) knows the size of \(sizes ?? 0) documents" }
        }
        return nil
    }

    private static func words(_ connection: Connection, _ number: Int64) throws -> [String] {
        try connection.execute(
            "CREATE VIRTUAL TABLE temp.words\(number) USING fts5vocab(main, search_\(number), instance)")
        let select = try connection.prepare("SELECT term, doc, col, offset FROM temp.words\(number)")
        var words: [String] = []
        while try select.step() {
            words.append("\(select.text(0)) \(select.int64(1)) \(select.text(2)) \(select.int64(3))")
        }
        return words
    }
}
