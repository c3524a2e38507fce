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
        let statement = try connection(data).prepare(sql)
        var numbers: [Int] = []
        while try statement.step() { numbers.append(Int(statement.int64(0))) }
        return numbers
    }

    /// How an index differs from its documents' keys; nil when none does.
    static func difference(_ data: String) throws -> String? {
        let connection = try connection(data)
        for index in try IndexRow.all(connection) where index.status.state == .ready {
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
}
