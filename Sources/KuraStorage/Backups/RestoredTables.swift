import KuraBytes
import SQLite

/// Makes kura.sqlite of a backup's records. They may come in any order: of an item the greatest revision counts, and what was dropped
/// stays away.
///
/// What the tables say of themselves (sizes, uses of contents, indexes) is made anew at the end.
final class RestoredTables {
    private let connection: Connection
    private let path: String
    private let keepsTombstones: Bool
    private let leavesOutStrays: Bool
    private let rows: RestoredRows
    private var scopes: [Name: RestoredScope] = [:]
    /// Numbers of the records of lists, by hashes of their scopes and keys: for a message alone.
    private var lists: [UInt64: Int] = [:]
    private var pending = 0
    private var sinceCheckpoint = 0
    private(set) var counts = BackupManifest.Counts()

    private struct Name: Hashable {
        var store: Store
        var name: [UInt8]

        init(store: Store, name: [UInt8]) { (self.store, self.name) = (store, name) }

        init(_ record: BackupRecord) { self.init(store: record.store, name: Array(record.scope)) }
    }

    private struct RestoredScope {
        var id: UInt32
        var lastRev: UInt64 = 0
        var nextRow: Int64 = 1
        var droppedAt: UInt64 = 0
        var count: Int64 = 0
        var bytes: Int64 = 0
        /// The tables go by what is configured for it, whether there are documents or not.
        var isDefined = false
    }

    /// Bytes of records in one transaction, and of those between two checkpoints.
    private let transactionBytes: Int
    private static let checkpointBytes = 64 << 20

    /// `withTombstones`: what is deleted can be brought back later.
    /// `leavesOutStrays`: lists of attachments whose documents are not there are left out; else they are refused.
    /// `transactionBytes`: with as much of records a transaction ends; what it changes is kept in memory until then.
    init(
        _ path: String, withTombstones: Bool = true, leavesOutStrays: Bool = false, cacheKibibytes: Int = 64 << 10,
        transactionBytes: Int = 8 << 20
    ) throws(BackupFault) {
        self.path = path
        self.transactionBytes = transactionBytes
        keepsTombstones = withTombstones
        self.leavesOutStrays = leavesOutStrays
        do throws(StorageFault) {
            connection = try Tables.openWriter(path, cacheKibibytes: cacheKibibytes)
        } catch { throw BackupFault(error) }
        do throws(SQLiteError) {
            // Nobody looks here before everything is synced at the end.
            try connection.execute("PRAGMA synchronous=OFF;")
            rows = try RestoredRows(connection)
            try connection.execute("BEGIN IMMEDIATE")
        } catch { throw Self.fault(error) }
    }

    private static func fault(_ error: SQLiteError) -> BackupFault {
        error.isFull || error.systemErrno == 28 ? .noSpace : .tables(.unreadable(error))
    }

    /// Its name in `meta`.
    static let seededRev = "seededRev"

    // MARK: Records

    func apply(_ judged: JudgedRecord) throws(BackupFault) {
        let record = judged.record
        guard scopes.count < ScopeTable.idLimit else { throw .refused("it has more scopes than there can be") }
        do throws(SQLiteError) {
            try take(record)
            if record.store == .attachments, record.flags.isEmpty, let id = scopes[Name(record)]?.id {
                lists[Self.hash(id, record.key)] = judged.number
            }
            pending += record.length
            guard pending >= transactionBytes else { return }
            try connection.execute("COMMIT")
            sinceCheckpoint += pending
            pending = 0
            if sinceCheckpoint >= Self.checkpointBytes {
                sinceCheckpoint = 0
                _ = try connection.checkpoint(.truncate)
            }
            try connection.execute("BEGIN IMMEDIATE")
        } catch { throw Self.fault(error) }
    }

    private func take(_ record: BackupRecord) throws(SQLiteError) {
        let name = Name(record)
        var scope = scopes[name] ?? RestoredScope(id: UInt32(scopes.count + 1))
        defer { scopes[name] = scope }
        if record.flags.contains(.isDrop) {
            scope.droppedAt = max(scope.droppedAt, record.rev)
            if scope.lastRev < record.rev { (scope.lastRev, scope.nextRow) = (0, 1) }
            try rows.remove(olderThan: record.rev, of: scope.id)
            return
        }
        guard record.rev >= scope.droppedAt else { return }
        scope.lastRev = max(scope.lastRev, record.rev)
        if record.flags.contains(.isScope) {
            scope.nextRow = max(scope.nextRow, Int64(record.row))
        } else if record.store.isResident {
            try rows.take(setting: record, scope.id)
        } else {
            try rows.take(document: record, scope.id, nextRow: &scope.nextRow)
        }
    }

    // MARK: What follows from them

    private static func hash(_ scope: UInt32, _ key: Bytes) -> UInt64 { Hash.bytes(key, seed: UInt64(scope)) }

    /// Holds lists of attachments against their documents: who puts a document where there is none would be given what lists it there.
    /// All records have been applied.
    /// - Throws: `unfit` for a list whose document is not there, unless these are left out.
    func checkLists() throws(BackupFault) {
        let stray =
            """
            FROM documents AS list WHERE collection = ?1 AND isDeleted = 0 AND NOT EXISTS (
                SELECT 1 FROM documents AS document
                WHERE document.collection = ?2 AND document.id = list.id AND document.isDeleted = 0)
            """
        var found: (record: Int, place: String)?
        do throws(SQLiteError) {
            let statement = try connection.prepare(leavesOutStrays ? "DELETE \(stray)" : "SELECT id \(stray)")
            for (name, scope) in scopes where name.store == .attachments {
                try statement.bind(1, Int64(scope.id))
                // No collection has the number 0.
                try statement.bind(2, Int64(scopes[Name(store: .documents, name: name.name)]?.id ?? 0))
                if leavesOutStrays {
                    try statement.run()
                    continue
                }
                while try statement.step() {
                    let record = lists[Self.hash(scope.id, statement.bytes(0))] ?? 0
                    guard record < found?.record ?? .max else { continue }
                    let collection = name.name.withBytes { ShownName.text($0) }
                    found = (record, "attachments/\(collection)/\(ShownName.text(statement.bytes(0)))")
                }
                statement.reset()
            }
        } catch { throw Self.fault(error) }
        if let found { throw .strayList(record: found.record, place: found.place) }
    }

    /// Counts how often each content is used.
    /// - Returns: all contents that lists name.
    /// - Throws: also when a list is of no document.
    func countContents() throws(BackupFault) -> Set<ContentDigest> {
        try checkLists()
        do throws(SQLiteError) {
            if !keepsTombstones { try connection.execute("DELETE FROM documents WHERE isDeleted = 1") }
            var uses: [ContentDigest: Int64] = [:]
            let select = try connection.prepare("SELECT isDeleted, body FROM documents WHERE collection = ?1")
            for (name, known) in scopes where name.store == .attachments {
                var scope = known
                try select.bind(1, Int64(scope.id))
                while try select.step() {
                    let list = AttachmentList(select.bytes(1))
                    for attachment in list.attachments { uses[attachment.digest, default: 0] += 1 }
                    guard select.int64(0) == 0 else { continue }
                    scope.count += 1
                    scope.bytes += Int64(list.totalBytes)
                }
                select.reset()
                scopes[name] = scope
            }
            let add = try connection.prepare("INSERT INTO contents(digest, uses) VALUES(?1, ?2)")
            for (digest, count) in uses {
                try add.bind(1, text: digest.text)
                try add.bind(2, count)
                try add.run()
            }
            return Set(uses.keys)
        } catch { throw Self.fault(error) }
    }

    /// Writes what the tables say of themselves, and has everything on the disk.
    /// `history`: the one that begins now.
    /// `rev`: what the tables are as of.
    /// `seededRev`: what is as old came from a seed bundle.
    func finish(_ history: LogHistory, rev: UInt64, seededRev: UInt64 = 0) throws(BackupFault) {
        do throws(SQLiteError) {
            try addUp()
            try noteDefined()
            try writeScopes()
            try connection.execute("DELETE FROM meta")
            let meta = try connection.prepare("INSERT INTO meta(name, value) VALUES(?1, ?2)")
            for (name, value) in [
                ("foldedRev", Int64(rev)), ("compactedRev", Int64(rev)), ("lastScope", Int64(scopes.count)),
                (Self.seededRev, Int64(seededRev)),
            ] where name != Self.seededRev || value > 0 {
                try meta.bind(1, text: name)
                try meta.bind(2, value)
                try meta.run()
            }
            try history.write(in: connection)
            try makeDefined()
            try connection.execute("COMMIT")
            _ = try connection.checkpoint(.truncate)
        } catch { throw Self.fault(error) }
        connection.close()
        do throws(StorageFault) { try FileSystem.sync(path) } catch { throw BackupFault(error) }
    }

    private func addUp() throws(SQLiteError) {
        let settings = try connection.prepare(
            """
            SELECT count(*), ifnull(sum(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))), 0)
            FROM settings WHERE scope = ?1
            """)
        let documents = try connection.prepare(
            """
            SELECT count(*), ifnull(sum(length(CAST(body AS BLOB))), 0) FROM documents
            WHERE row >= ?1 AND row < ?2 AND isDeleted = 0
            """)
        for (name, known) in scopes where name.store != .attachments {
            var scope = known
            if name.store.isResident {
                try settings.bind(1, Int64(scope.id))
                if try settings.step() { (scope.count, scope.bytes) = (settings.int64(0), settings.int64(1)) }
                settings.reset()
            } else {
                try documents.bind(1, Int64(scope.id) << BackupRecord.rowBits)
                try documents.bind(2, (Int64(scope.id) + 1) << BackupRecord.rowBits)
                if try documents.step() { (scope.count, scope.bytes) = (documents.int64(0), documents.int64(1)) }
                documents.reset()
            }
            scopes[name] = scope
            if name.store.isPublic {
                counts.add(name.store, Int(scope.count))
            } else if name.store == .secrets, !name.name.withBytes({ $0.equals(Bytes(SecretRecords.storeScope)) }) {
                // All but the service's record.
                counts[.secrets] += max(0, Int(scope.count) - 1)
            }
        }
    }

    private func writeScopes() throws(SQLiteError) {
        let insert = try connection.prepare(
            "INSERT INTO scopes(id, store, name, count, bytes, lastRev, nextRow) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")
        for (name, scope) in scopes where scope.lastRev > 0 || scope.isDefined {
            try insert.bind(1, Int64(scope.id))
            try insert.bind(2, Int64(name.store.rawValue))
            try insert.bind(3, text: String(decoding: name.name, as: UTF8.self))
            try insert.bind(4, scope.count)
            try insert.bind(5, scope.bytes)
            try insert.bind(6, Int64(scope.lastRev))
            try insert.bind(7, name.store.isResident ? 1 : Int64(scope.id) << BackupRecord.rowBits | scope.nextRow)
            try insert.run()
        }
    }

    /// Collections with indexes and the like have a row of their own also when they are empty: what is defined for them names it.
    private func noteDefined() throws(SQLiteError) {
        try forEachDefinition { (collection, _, _) throws(SQLiteError) in
            scopes[collection, default: RestoredScope(id: UInt32(scopes.count + 1))].isDefined = true
        }
    }

    /// Shows what collections are configured with that the tables go by.
    private func forEachDefinition(
        _ body: (Name, _ key: StaticString, _ text: Bytes) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let select = try connection.prepare("SELECT value FROM settings WHERE scope = ?1 AND key = ?2")
        func text(_ scope: UInt32, _ key: StaticString) throws(SQLiteError) -> [UInt8] {
            defer { select.reset() }
            try select.bind(1, Int64(scope))
            try select.bind(2, utf8: Bytes(key))
            return try select.step() ? Array(select.bytes(0)) : []
        }
        let prefix = Array((Store.documents.roomName + "/").utf8)
        for (name, scope) in scopes where name.store == .configuration && name.name.starts(with: prefix) {
            let collection = Name(store: .documents, name: Array(name.name.dropFirst(prefix.count)))
            for key in ConfigurationStore.toldToTables {
                let text = try text(scope.id, key)
                if text.isEmpty { continue }
                try text.withBytes { (text) throws(SQLiteError) in try body(collection, key, text) }
            }
        }
    }

    /// Has the tables made that collections are configured with; the daemon builds them.
    private func makeDefined() throws(SQLiteError) {
        let folder = try DocumentFolder(FoldTables(connection, memory: 1 << 20))
        try forEachDefinition { (collection, key, text) throws(SQLiteError) in
            guard let subject = scopes[collection] else { return }
            try folder.configure(subject.id, Bytes(key), text)
        }
        try folder.finish(FoldSlice())
    }
}
