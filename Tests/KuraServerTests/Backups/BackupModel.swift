import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// What writers were told, and what follows from it for any revision.
final class BackupModel: @unchecked Sendable {
    /// One change, as its reply confirmed it.
    struct Change {
        var rev: Int
        var place: String
        /// nil: deleted. Of a collection that was dropped all goes: its place ends with `/`.
        var value: String?
    }

    private let changes = Guarded<[Change]>([])

    func note(_ rev: Int, _ place: String, _ value: String?) {
        changes.withLock { $0.append(Change(rev: rev, place: place, value: value)) }
    }

    var count: Int { changes.withLock { $0.count } }

    /// Everything that is there at a revision, by its place, with the revision of its last change.
    func state(at rev: Int) -> [String: String] {
        let all = changes.withLock { $0 }.filter { $0.rev <= rev }.sorted { $0.rev < $1.rev }
        // By domain or collection: what is dropped goes at once, however much else there is.
        var scopes: [String: [String: String]] = [:]
        for change in all {
            let scope = String(
                decoding: change.place.utf8.prefix(upTo: change.place.utf8.lastIndex(of: 0x2F)!), as: UTF8.self)
            if change.place.utf8.last == 0x2F {
                scopes[scope] = nil
            } else {
                scopes[scope, default: [:]][change.place] = change.value.map { "\(change.rev) \($0)" }
            }
        }
        return scopes.values.reduce(into: [:]) { state, scope in state.merge(scope) { $1 } }
    }

    /// The same as the tables in a data directory have it.
    static func tables(_ data: String) throws -> [String: String] {
        let connection = try Connection(path: data + "/durable/kura.sqlite", mode: .readOnly)
        var state: [String: String] = [:]
        let settings = try connection.prepare(
            "SELECT scopes.name, key, rev, value FROM settings JOIN scopes ON scopes.id = scope WHERE store = 1")
        while try settings.step() {
            state["settings/\(settings.text(0))/\(settings.text(1))"] = "\(settings.int64(2)) \(settings.text(3))"
        }
        let documents = try connection.prepare(
            """
            SELECT scopes.name, documents.id, rev, body FROM documents JOIN scopes ON scopes.id = collection
            WHERE store = 2 AND isDeleted = 0
            """)
        while try documents.step() {
            state["documents/\(documents.text(0))/\(documents.text(1))"] =
                "\(documents.int64(2)) \(documents.text(3))"
        }
        return state
    }

    /// Every column of every row, and what the tables say of themselves: for two directories that should be alike.
    static func everything(_ data: String) throws -> [String] {
        let connection = try Connection(path: data + "/durable/kura.sqlite", mode: .readOnly)
        var rows: [String] = []
        func read(_ sql: String, _ columns: Int32) throws {
            let select = try connection.prepare(sql)
            while try select.step() {
                rows.append((0..<columns).map { select.text($0) }.joined(separator: "|"))
            }
        }
        try read(
            """
            SELECT store, name, key, rev, updatedAt, hex(value) FROM settings JOIN scopes ON scopes.id = scope
            WHERE store != 3
            """, 6)
        try read(
            """
            SELECT store, name, documents.id, rev, version, createdAt, updatedAt, isDeleted, hex(body), row & 1099511627775
            FROM documents JOIN scopes ON scopes.id = collection
            """, 10)
        try read(
            """
            SELECT store, name, count, bytes, lastRev, nextRow & 1099511627775 FROM scopes WHERE store != 3
            """, 6)
        try read("SELECT digest, uses FROM contents WHERE uses > 0", 2)
        return rows.sorted()
    }
}
