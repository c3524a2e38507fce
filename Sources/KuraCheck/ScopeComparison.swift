import KuraStorage
import SQLite

/// What the tables have to say of scopes, as the memory knows them: each one whose newest change is folded has a row with its numbers.
struct ScopeComparison: Sendable {
    private struct Row: Equatable {
        var store: Store
        var name: [UInt8]
        var count, bytes: Int
        var lastRev: UInt64
    }

    private var expected: [UInt32: Row] = [:]
    /// The tables were as of this revision.
    private let foldedRev: UInt64

    /// On the loop.
    init(_ ledger: Ledger) {
        foldedRev = ledger.foldedRev
        for scope in ledger.scopes.all where scope.lastRev > 0 && scope.lastRev <= foldedRev {
            expected[scope.id] = Row(
                store: scope.store, name: scope.name, count: scope.count, bytes: scope.bytes, lastRev: scope.lastRev)
        }
    }

    /// Looks at the tables. Folds go on meanwhile: a scope that has changed since is passed over.
    /// - Returns: what is wrong, in words.
    func problems(_ connection: Connection) throws(SQLiteError) -> [String] {
        try connection.execute("BEGIN")
        defer { try? connection.execute("ROLLBACK") }
        var problems: [String] = []
        var rest = expected
        let select = try connection.prepare("SELECT id, store, name, count, bytes, lastRev FROM scopes")
        while try select.step() {
            guard let store = Store(rawValue: UInt8(truncatingIfNeeded: select.int64(1))),
                let wanted = rest.removeValue(forKey: UInt32(truncatingIfNeeded: select.int64(0)))
            else { continue }
            let row = Row(
                store: store, name: Array(select.bytes(2)), count: Int(select.int64(3)), bytes: Int(select.int64(4)),
                lastRev: UInt64(clamping: select.int64(5)))
            guard row != wanted, row.lastRev <= wanted.lastRev else { continue }
            problems.append(
                "\(Self.title(wanted)): \(row.count) items of \(row.bytes) bytes, and \(wanted.count) of \(wanted.bytes) are there"
            )
        }
        // One that is missing may have been dropped since.
        guard try connection.scalar("SELECT value FROM meta WHERE name = 'foldedRev'") == Int64(foldedRev) else {
            return problems
        }
        return problems + rest.values.map { "\(Self.title($0)) has no row" }.sorted()
    }

    private static func title(_ row: Row) -> String {
        row.store.isSealed
            ? "a scope of \(row.store.shownName)"
            : "\(row.store.described.scopeWord) \(String(decoding: row.name, as: UTF8.self))"
    }
}
