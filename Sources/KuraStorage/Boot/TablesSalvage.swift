import KuraBytes
import SQLite

/// Takes what can be read of damaged tables into new ones.
///
/// Which table a row is of follows from its columns (`TablePages`). How much a scope has lost follows from its own count. Documents that are lost
/// are named by the index of their ids, which lies on other pages. Where the table of the scopes is damaged as well, that index counts them too, and
/// what nothing counts is told by the pages that cannot be read.
struct TablesSalvage {
    /// The new tables are as of this revision, so that the log joins up with them.
    let rev: UInt64
    /// What could not be read, by scope.
    let lost: [RecoveredOmission]

    /// What the tables say of themselves.
    private struct Facts {
        var scopes: [UInt32: Scope] = [:]
        /// Of scopes whose own row is damaged: the index of the names has them.
        var names: [UInt32: Scope] = [:]
        /// Names of tables and indexes, by the roots of their trees.
        var roots: [Int: String] = [1: "sqlite_schema"]
        var foldedRev: UInt64?
        var seededRev: UInt64 = 0
        var newestRev: UInt64 = 0
        var history = LogHistory(epoch: "")
    }

    private struct Scope {
        var id: UInt32
        var store: Store
        var name: [UInt8]
        /// Items that are not deleted, as it says, and so many that were read.
        /// Nil where its own row is damaged.
        var count: Int?
        var read = 0
        /// Rows that were read, deleted documents' among them, and what the index of the ids has of them.
        var rows = 0
        var indexed = 0
        var lastRev: UInt64 = 0
        var nextRow: Int64 = 0

        var lost: Int { max(0, count.map { $0 - read } ?? indexed - rows) }
    }

    /// The newest row of a scope whose name cannot be read.
    private struct Newest {
        var rev: UInt64
        var key: [UInt8]
        var value: [UInt8]
        var isResident: Bool
    }

    private static let rowBits = BackupRecord.rowBits

    /// - Parameters:
    ///   - damaged: is only read.
    ///   - path: of the new tables; nothing is there.
    ///   - names: of the file that gets the names of lost documents, one JSON object a line; there is none when no name is known.
    ///   - without: revisions whose rows are not taken.
    ///   - log: a directory of segments, which may tell names of scopes that nothing in the tables tells.
    /// - Throws: why nothing can be made of them: no name of a scope can be read, or the disk is full.
    init(
        of damaged: String, into path: String, names: String, without: Set<UInt64> = [], log: String? = nil
    ) throws(StorageFault) {
        let pages = try TablePages(damaged)
        var facts = Facts()
        pages.each { (row) throws(Never) in Self.learn(row, &facts) }
        var scopes = facts.names.merging(facts.scopes) { $1 }
        var broken: [String: Int] = [:]
        for (root, count) in pages.damagedPages() { broken[facts.roots[root] ?? "", default: 0] += count }
        // Where that table is whole, rows without a scope are those of a collection that was dropped.
        let mayLackScopes = broken["scopes"] != nil || broken[""] != nil
        if let log, mayLackScopes { scopes.merge(Self.named(Self.newest(pages, besides: scopes), by: log)) { $1 } }
        guard !scopes.isEmpty else { throw .damaged("\(damaged) names no scopes") }
        rev = max(facts.foldedRev ?? 0, facts.newestRev)
        // Rows of no scope whose name can be read, by table.
        var nameless: [String: Int] = [:]
        do throws(BackupFault) {
            let target = try RestoredTables(path, leavesOutStrays: true, cacheKibibytes: 8 << 10)
            // What no daemon writes is lost like what cannot be read.
            var records = RecordGuard(.tables)
            for scope in scopes.values.sorted(by: { $0.id < $1.id }) where scope.lastRev > 0 {
                var own = BackupRecord(store: scope.store, rev: scope.lastRev, scope: Bytes())
                own.flags = .isScope
                own.row = UInt64(clamping: scope.nextRow & BackupRecord.rowMask)
                _ = try Self.apply(own, of: scope, to: target, &records)
            }
            try pages.each { (row) throws(BackupFault) in
                if let (id, _) = Self.indexEntry(row) { scopes[id]?.indexed += 1 }
                guard let (id, record) = Self.record(row) else { return }
                if scopes[id] == nil { nameless[row.number == nil ? "settings" : "documents", default: 0] += 1 }
                guard let scope = scopes[id], scope.store.isResident == (row.number == nil),
                    !without.contains(record.rev) || SecretRecords.holdsKeys(scope.store, record.key)
                else { return }
                guard try Self.apply(record, of: scope, to: target, &records) else { return }
                scopes[id]?.rows += 1
                if !record.flags.contains(.isDeleted) { scopes[id]?.read += 1 }
            }
            _ = try target.countContents()
            try target.finish(facts.history.successor(after: rev), rev: rev, seededRev: facts.seededRev)
        } catch { throw StorageFault(error) }
        let told = Self.omissions(scopes.values.filter { $0.lost > 0 })
        lost = mayLackScopes ? told + Self.uncounted(broken, scopes, nameless, besides: told) : told
        try Self.writeNames(pages, scopes, salvaged: path, to: names)
    }

    /// - Returns: whether it has passed.
    private static func apply(
        _ found: BackupRecord, of scope: Scope, to target: RestoredTables, _ records: inout RecordGuard
    ) throws(BackupFault) -> Bool {
        try scope.name.withBytes { (name) throws(BackupFault) in
            var record = found
            (record.store, record.scope) = (scope.store, name)
            guard let judged = records.admit(record) else { return false }
            try target.apply(judged)
            return true
        }
    }

    // MARK: Rows

    /// Takes note of a row of `scopes`, of the index of its names, or of `meta`.
    private static func learn(_ row: TablePages.Row, _ facts: inout Facts) {
        if let (_, record) = record(row), RecordGuard.revs.contains(record.rev) {
            facts.newestRev = max(facts.newestRev, record.rev)
        }
        if let id = row.number, row.count == 8, let store = row.integer(1).flatMap(store), let name = row.text(2),
            let count = row.integer(3), let rev = row.integer(5), let next = row.integer(6)
        {
            let id = UInt32(clamping: id)
            facts.scopes[id] = Scope(
                id: id, store: store, name: Array(name), count: Int(count), lastRev: UInt64(clamping: rev),
                nextRow: next)
        } else if row.number != nil, row.count == 5, let kind = row.text(0), let name = row.text(1),
            let root = row.integer(3), kind.equals("table") || kind.equals("index")
        {
            // The schema comes first.
            let root = Int(root)
            facts.roots[root] = facts.roots[root] ?? String(decoding: name, as: UTF8.self)
        } else if row.number == nil, row.count == 3, let store = row.integer(0).flatMap(store), let name = row.text(1),
            let id = row.integer(2), id < 1 << rowBits
        {
            let id = UInt32(clamping: id)
            facts.names[id] = Scope(id: id, store: store, name: Array(name))
        } else if row.number == nil, row.count == 2, let name = row.text(0), name.equals(Bytes("epoch")),
            let epoch = row.text(1)
        {
            facts.history.epoch = String(decoding: epoch, as: UTF8.self)
        } else if row.number == nil, row.count == 2, let name = row.text(0), let value = row.integer(1) {
            let rev = UInt64(clamping: value)
            guard RecordGuard.revs.contains(rev) else { return }
            if name.equals(Bytes("foldedRev")) { facts.foldedRev = rev }
            if name.equals(Bytes("seededRev")) { facts.seededRev = rev }
        }
    }

    /// The number of the scope and the id that a row of the index of the ids is of; nil for another row.
    private static func indexEntry(_ row: TablePages.Row) -> (UInt32, Bytes)? {
        guard row.number == nil, row.count == 3, let scope = row.integer(0), let id = row.text(1),
            let place = row.integer(2), place >> rowBits == scope
        else { return nil }
        return (UInt32(clamping: scope), id)
    }

    private static func store(_ number: Int64) -> Store? { UInt8(exactly: number).flatMap { Store(rawValue: $0) } }

    /// What a row of `settings` or of `documents` is, and the number of its scope; nil for a row of another table.
    private static func record(_ row: TablePages.Row) -> (UInt32, BackupRecord)? {
        if row.number == nil, row.count == 5, let scope = row.integer(0), let key = row.text(1),
            let rev = row.integer(2),
            let at = row.integer(3), let value = row.text(4)
        {
            var record = BackupRecord(
                store: .settings, rev: UInt64(clamping: rev), scope: Bytes(), key: key, value: value)
            (record.version, record.createdAt, record.updatedAt) = (1, at, at)
            return (UInt32(clamping: scope), record)
        }
        guard let number = row.number, row.count == 9, let scope = row.integer(1), scope == number >> rowBits,
            let id = row.text(2), let rev = row.integer(3), let version = row.integer(4), let created = row.integer(5),
            let updated = row.integer(6), let isDeleted = row.integer(7), let body = row.text(8)
        else { return nil }
        var record = BackupRecord(store: .documents, rev: UInt64(clamping: rev), scope: Bytes(), key: id, value: body)
        record.flags = isDeleted != 0 ? .isDeleted : []
        (record.version, record.createdAt, record.updatedAt) = (UInt32(truncatingIfNeeded: version), created, updated)
        record.row = UInt64(number & BackupRecord.rowMask)
        return (UInt32(clamping: scope), record)
    }

    // MARK: Names that the log has

    /// The newest row of each scope but these.
    private static func newest(_ pages: TablePages, besides scopes: [UInt32: Scope]) -> [UInt32: Newest] {
        var newest: [UInt32: Newest] = [:]
        pages.each { (row) throws(Never) in
            guard let (id, record) = record(row), scopes[id] == nil, RecordGuard.revs.contains(record.rev),
                record.rev > newest[id]?.rev ?? 0
            else { return }
            newest[id] = Newest(
                rev: record.rev, key: Array(record.key), value: Array(record.value), isResident: row.number == nil)
        }
        return newest
    }

    /// The scopes of these rows, as far as the log has the change that a row is of, and no other that could be it.
    private static func named(_ rows: [UInt32: Newest], by log: String) -> [UInt32: Scope] {
        let wanted = Dictionary(grouping: rows) { $0.value.rev }
        var found: [UInt32: [Scope]] = [:]
        var drops: [Scope] = []
        for number in (try? LogFiles.numbers(in: log)) ?? [] where !rows.isEmpty {
            // Earlier layouts are databases, which opening changes.
            guard FileSystem.isRegular(Segment.path(log, number)), let segment = try? Segment(opening: number, in: log)
            else { continue }
            try? segment.rows(after: 0) { (row) throws(StorageFault) in
                var offset = 0
                while let record = try LogRecord.next(in: row.records, at: &offset) {
                    var scope = Scope(id: 0, store: record.store, name: Array(record.scope))
                    scope.lastRev = record.rev
                    if record.isDrop { drops.append(scope) }
                    for (id, row) in wanted[record.rev] ?? [] {
                        guard row.isResident == record.store.isResident, record.key.elementsEqual(row.key),
                            record.value.elementsEqual(row.value)
                        else { continue }
                        scope.id = id
                        found[id, default: []].append(scope)
                    }
                }
            }
        }
        // Damaged segments are written anew, so that several may have the same change.
        return found.compactMapValues { scopes in
            let first = scopes[0]
            let isOne = scopes.allSatisfy { $0.store == first.store && $0.name == first.name }
            let isDropped = drops.contains {
                $0.store == first.store && $0.name == first.name && $0.lastRev > first.lastRev
            }
            var named = first
            named.lastRev = 0
            return isOne && !isDropped ? named : nil
        }
    }

    // MARK: What is lost

    private static func omissions(_ scopes: [Scope]) -> [RecoveredOmission] {
        var all: [RecoveredOmission] = []
        // Results of earlier requests are nothing that anybody reads.
        for scope in scopes where scope.store != .requests {
            let isNamed = !scope.store.isSealed && all.count < RecoveredOmission.most
            let name = isNamed ? scope.name.withBytes { ShownName.text($0) } : ""
            let store = scope.store.shownName
            if let position = all.firstIndex(where: { $0.store == store && $0.scope == name }) {
                all[position].count += scope.lost
            } else {
                all.append(RecoveredOmission(store: store, scope: name, count: scope.lost, reason: .damaged))
            }
        }
        return all.sorted { ($0.store, $0.scope) < ($1.store, $1.scope) }
    }

    /// What no scope's count tells, since the table of the scopes is damaged: rows of scopes without a name, and pages of rows that nothing else
    /// counts, one item each at least.
    /// `damaged`: pages that cannot be read, by table or index; those of an unknown one without a name.
    /// `told`: what the counts and the index of the ids tell.
    private static func uncounted(
        _ damaged: [String: Int], _ scopes: [UInt32: Scope], _ nameless: [String: Int],
        besides told: [RecoveredOmission]
    ) -> [RecoveredOmission] {
        let unknown = damaged[""] ?? 0
        var lost = nameless
        let isCounted =
            damaged["scopes"] == nil && nameless.isEmpty && scopes.values.allSatisfy { $0.count != nil }
        for table in Set(Store.all(.named).map(\.table)) where !isCounted {
            let names = Store.all(.named).filter { $0.table == table }.map(\.roomName)
            guard lost[table] == nil, !told.contains(where: { names.contains($0.store) }) else { continue }
            let rows = (damaged[table] ?? 0) + unknown
            let isIndexed = table == "documents" && damaged["documents_id"] == nil && unknown == 0
            if rows > 0, !isIndexed { lost[table] = rows }
        }
        // Nothing is left that tells them from secrets, which lie in the same tables.
        return lost.map {
            RecoveredOmission(store: "\($0) or secrets", scope: "", count: $1, reason: .damaged)
        }.sorted { $0.store < $1.store }
    }

    /// Writes down which documents are lost.
    private static func writeNames(
        _ pages: TablePages, _ scopes: [UInt32: Scope], salvaged path: String, to names: String
    ) throws(StorageFault) {
        guard scopes.values.contains(where: { $0.store == .documents && $0.lost > 0 }) else { return }
        var text = ByteBuffer()
        do throws(SQLiteError) {
            let salvaged = try Connection(path: path, mode: .readOnly)
            defer { salvaged.close() }
            let isThere = try salvaged.prepare(
                """
                SELECT 1 FROM documents WHERE id = ?2
                AND collection = (SELECT id FROM scopes WHERE store = \(Store.documents.rawValue) AND name = ?1)
                """)
            try pages.each { (row) throws(SQLiteError) in
                guard let (number, id) = indexEntry(row), let scope = scopes[number], scope.store == .documents,
                    scope.lost > 0
                else { return }
                defer { isThere.reset() }
                try isThere.bind(1, text: String(decoding: scope.name, as: UTF8.self))
                try isThere.bind(2, utf8: id)
                guard try !isThere.step() else { return }
                text.append("{\"collection\":")
                text.append(jsonString: scope.name)
                text.append(",\"id\":")
                text.append(jsonString: Array(id))
                text.append("}\n")
            }
        } catch { throw .database(error, file: path) }
        guard text.count > 0 else { return }
        try FileSystem.replace(names, with: text.bytes, in: String(names.dropLast("/missing.jsonl".count)))
    }
}
