import KuraBytes
import SQLite
import Testing

/// The rows of secrets in the tables of a daemon that has ended: to be looked at, and tampered with.
struct SecretsTables {
    struct Row: Equatable {
        /// Its table: `settings` for heads and records, `documents` for values.
        var table: String
        /// What picks it out there.
        var condition: String
        var key: [UInt8]
        var rev: Int64
        var value: [UInt8]
    }

    private let connection: Connection

    init(_ data: String) throws {
        connection = try Connection(path: data + "/durable/kura.sqlite", mode: .readWrite)
    }

    /// Of secrets; or of their audit, its head first, then the blocks in their order.
    func rows(ofAudit: Bool = false) throws -> [Row] {
        var rows: [Row] = []
        let isAudit = ofAudit ? "=" : "<>"
        let heads = try connection.prepare(
            "SELECT scope, key, rev, value FROM settings WHERE scope IN (SELECT id FROM scopes WHERE store = 6) AND key \(isAudit) 'audit' AND key <> 'auditBox' ORDER BY 1, 2"
        )
        while try heads.step() {
            let key = Array(heads.bytes(1))
            rows.append(
                Row(
                    table: "settings",
                    condition: "scope = \(heads.int64(0)) AND key = '\(String(decoding: key, as: UTF8.self))'",
                    key: key,
                    rev: heads.int64(2), value: Array(heads.bytes(3))))
        }
        let values = try connection.prepare(
            "SELECT row, id, rev, body FROM documents WHERE collection IN (SELECT id FROM scopes WHERE store = 7 AND name \(isAudit) '.') ORDER BY 1"
        )
        while try values.step() {
            rows.append(
                Row(
                    table: "documents", condition: "row = \(values.int64(0))", key: Array(values.bytes(1)),
                    rev: values.int64(2), value: Array(values.bytes(3))))
        }
        return rows
    }

    /// The scope of the store's record, which the audit's head and inbox lie in.
    private func storeScope() throws -> Int64 {
        try #require(try connection.scalar("SELECT id FROM scopes WHERE store = 6 AND name = '.'"))
    }

    /// A row beside the store's record; that record itself with key `.`.
    func beside(_ key: String) throws -> Row? {
        let scope = try storeScope()
        let condition = "scope = \(scope) AND key = '\(key)'"
        let rows = try connection.prepare("SELECT rev, value FROM settings WHERE \(condition)")
        guard try rows.step() else { return nil }
        return Row(
            table: "settings", condition: condition, key: Array(key.utf8), rev: rows.int64(0),
            value: Array(rows.bytes(1)))
    }

    func insertBeside(_ key: String, _ value: [UInt8]) throws {
        let insert = try connection.prepare(
            "INSERT INTO settings(scope, key, rev, updatedAt, value) VALUES (\(try storeScope()), '\(key)', 1, 0, ?1)")
        try insert.bind(1, copyingUTF8: value)
        try insert.run()
    }

    /// Puts a copy of the audit's newest block behind it, so many numbers further, as a daemon would have it.
    func copyNewestBlock(by distance: Int, rev: Int64? = nil) throws {
        let newest = try #require(try rows(ofAudit: true).last)
        let number = try #require(Int(String(decoding: newest.key, as: UTF8.self), radix: 16)) + distance
        let digits = String(number, radix: 16)
        let key = String(repeating: "0", count: 16 - digits.count) + digits
        let scope = "(SELECT collection FROM documents WHERE \(newest.condition))"
        try connection.execute(
            """
            INSERT INTO documents SELECT row + \(distance), collection, '\(key)', \(rev ?? newest.rev), version,
            createdAt, updatedAt, isDeleted, body FROM documents WHERE \(newest.condition)
            """)
        try connection.execute(
            "UPDATE scopes SET nextRow = nextRow + \(distance), count = count + 1 WHERE id = \(scope)")
    }

    /// Values of all secrets, also of services that are gone.
    func values() throws -> Int {
        Int(
            try connection.scalar(
                "SELECT count(*) FROM documents WHERE collection NOT IN (SELECT id FROM scopes WHERE store = 7 AND name = '.')"
            ) ?? 0)
    }

    func write(_ value: [UInt8], rev: Int64? = nil, to row: Row) throws {
        let column = row.table == "settings" ? "value" : "body"
        let update = try connection.prepare(
            "UPDATE \(row.table) SET \(column) = ?1, rev = \(rev ?? row.rev) WHERE \(row.condition)")
        try update.bind(1, copyingUTF8: value)
        try update.run()
    }

    /// Gives a value's row the name of a version of another secret.
    func move(_ row: Row, beside other: Row, as version: Int) throws {
        let key = String(decoding: other.key.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
        try connection.execute(
            "UPDATE documents SET id = '\(key)/\(version)', collection = (SELECT collection FROM documents WHERE \(other.condition)) WHERE \(row.condition)"
        )
    }

    func delete(_ row: Row) throws { try connection.execute("DELETE FROM \(row.table) WHERE \(row.condition)") }

    func swap(_ left: Row, _ right: Row) throws {
        try write(right.value, rev: right.rev, to: left)
        try write(left.value, rev: left.rev, to: right)
    }
}
