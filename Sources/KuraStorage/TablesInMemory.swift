import KuraBytes
import SQLite
import Sodium

/// The tables as a start takes them in: the revision that they are as of, the scopes, all settings, and the connection that
/// goes on writing them.
package struct TablesInMemory {
    let writer: Connection
    private(set) var history: LogHistory
    /// Which segments of the log belong to the tables.
    let lineage: LogLineage
    /// For `RequestDigests`.
    let digestKey: [UInt8]
    /// Revisions that a damaged log has lost, as it was told.
    private(set) var lost = RevisionSet()
    /// Segments that are closed, in the order of their numbers.
    let segments: [Log.Closed]
    let ledger: Ledger
    let documents: DocumentsStore

    /// `boot`: counts the start; nil for what is no start of its own.
    init(
        _ configuration: StorageConfiguration, boot: Boot? = nil, report: (String) -> Void = { _ in }
    ) throws(StorageFault) {
        let path = configuration.tablesPath
        let cacheKibibytes = max(2048, configuration.fold.overlayBytes / 2 / 1024)
        try boot?.enter(.open)
        try Self.refuseEmptied(configuration)
        if let reason = try TablesCheck.shortfall(path) { throw .damaged("\(reason). Nothing was changed") }
        let healed = try ScrubJournal(tables: path).replay()
        if healed > 0 { report("\(path): \(healed) pages whose overwriting was cut off have been put back") }
        writer = try Tables.openWriter(
            path, cacheKibibytes: cacheKibibytes, report: report
        ) { () throws(StorageFault) in try boot?.enter(.migrate) }
        if boot?.isUnclean == true {
            try boot?.enter(.integrity)
            try Self.check(writer, configuration, report)
        }
        try boot?.enter(.tables)
        do throws(SQLiteError) {
            let foldedRev: UInt64
            (history, foldedRev) = try Self.readMeta(writer)
            lineage = try LogLineage(in: writer)
            digestKey = try Self.readDigestKey(writer)
            segments = try Self.readSegments(writer)
            lost = try RevisionSet(lostIn: writer)
            ledger = Ledger(configuration: configuration, scopes: try Self.readScopes(writer), rev: foldedRev)
            ledger.revisions.seeded = UInt64(
                try writer.scalar("SELECT value FROM meta WHERE name = '\(RestoredTables.seededRev)'") ?? 0)
            try Self.loadSettings(writer, ledger, report)
            // Before the log's changes are taken in: they hold keys of unique indexes.
            for scope in ledger.scopes.all where scope.store == .configuration { ledger.noteConfiguration(scope) }
            let collections = ledger.part(CollectionLedger.self)
            collections.publish(try IndexRow.all(writer).map(\.status))
            collections.publish(try SearchRow.all(writer).map(\.status))
        } catch { throw .database(error, file: path) }
        documents = DocumentsStore(ledger: ledger, reader: try DocumentReader(path: path, mayWait: false))
    }

    /// Begins a new history, which lacks changes of the one before. Durable when it returns.
    /// `rev`: up to there both are the same.
    /// `newest`: the newest change that is taken over; later than `rev` when some before it are lost.
    mutating func beginHistory(
        after rev: UInt64, without lost: RevisionSet, newest: UInt64, in path: String
    ) throws(StorageFault) {
        let history = self.history.successor(after: rev)
        do throws(SQLiteError) {
            try writer.execute("BEGIN IMMEDIATE")
            let insert = try writer.prepare("INSERT OR REPLACE INTO lost(firstRev, lastRev) VALUES(?1, ?2)")
            for range in lost.ranges {
                try insert.bind(1, Int64(clamping: range.lowerBound))
                try insert.bind(2, Int64(clamping: range.upperBound))
                try insert.run()
            }
            try history.write(in: writer, having: [self.history.epoch: newest])
            try writer.execute("COMMIT")
            _ = try writer.checkpoint(.full)
        } catch { throw .database(error, file: path) }
        self.lost.formUnion(lost)
        self.history = history
    }

    /// Goes on in the newest history of the log, and notes the ancestors where the tables do not name them. Durable when it returns.
    mutating func take(_ verdict: LogLineage.Verdict, in path: String) throws(StorageFault) {
        guard lineage.isUnnoted || verdict.newest != history else { return }
        do throws(SQLiteError) {
            try writer.execute("BEGIN IMMEDIATE")
            do throws(SQLiteError) {
                try verdict.newest.write(in: writer, having: verdict.taken)
                try writer.execute("COMMIT")
            } catch {
                try? writer.execute("ROLLBACK")
                throw error
            }
            _ = try writer.checkpoint(.full)
        } catch {
            // What is only to be noted can be later.
            guard error.isFull, verdict.newest == history else { throw .database(error, file: path) }
        }
        history = verdict.newest
    }

    /// SQLite takes an empty file for a new database, and deletes its WAL. There has been another one when there is a WAL with commits, or a
    /// log with changes.
    private static func refuseEmptied(_ configuration: StorageConfiguration) throws(StorageFault) {
        if let reason = try emptied(configuration) { throw .damaged("\(reason). Nothing was changed") }
    }

    /// What is wrong when there is no file, or an empty one, though there has been another; nil when nothing is. Changes nothing.
    package static func emptied(_ configuration: StorageConfiguration) throws(StorageFault) -> String? {
        let path = configuration.tablesPath
        guard try FileSystem.length(path) == 0, try hasChanges(configuration) else { return nil }
        return "\(path) is \(FileSystem.exists(path) ? "empty" : "missing"), though it has had data"
    }

    /// Whether there is neither a table nor a change: nothing has ever been here.
    static func areAbsent(_ configuration: StorageConfiguration) throws(StorageFault) -> Bool {
        guard try FileSystem.length(configuration.tablesPath) == 0 else { return false }
        return try !hasChanges(configuration)
    }

    private static func hasChanges(_ configuration: StorageConfiguration) throws(StorageFault) -> Bool {
        if try !WALCommits(path: configuration.tablesPath + "-wal").ends.isEmpty { return true }
        if try AcknowledgedNote.read(configuration.acknowledgedPath) ?? 0 > 0 { return true }
        for name in try FileSystem.names(in: configuration.logDirectory) {
            let path = configuration.logDirectory + "/" + name
            if name.hasSuffix("-wal"), LogFiles.isOurs(name), try !WALCommits(path: path).ends.isEmpty { return true }
            guard let number = Segment.number(ofFile: name) else { continue }
            // What does not even begin as a segment is none that was never written.
            guard try Segment.head(path) != nil else { return true }
            let segment = try Segment(opening: number, in: configuration.logDirectory)
            if segment.lastRev > 0 || !segment.damages.isEmpty { return true }
        }
        return false
    }

    /// What every start needs is looked through after an unclean stop, and the documents as far as the time goes.
    private static func check(
        _ writer: Connection, _ configuration: StorageConfiguration, _ report: (String) -> Void
    ) throws(StorageFault) {
        do throws(SQLiteError) {
            let (problems, _) = try TablesCheck.quick(
                writer, milliseconds: configuration.boot.lookMilliseconds, by: configuration.clock)
            for problem in problems {
                // Documents are served as far as they can be read.
                guard problem.table == "documents" else {
                    throw problem.error ?? .damaged("\(problem.table): \(problem.text)")
                }
                let path = configuration.tablesPath
                report("\(path) is damaged where documents lie, and the rest is served: \(problem.text)")
            }
        } catch { throw .database(error, file: configuration.tablesPath) }
    }

    private static func readMeta(_ connection: Connection) throws(SQLiteError) -> (LogHistory, foldedRev: UInt64) {
        if try connection.scalar("SELECT count(*) FROM meta") == 0 {
            let insert = try connection.prepare(
                "INSERT INTO meta(name, value) VALUES('foldedRev', 0), ('epoch', ?1), ('digestKey', ?2), ('ancestors', '')"
            )
            try insert.bind(1, text: UUIDv7Generator.random())
            try insert.bind(2, copying: Randomness.bytes(LookupHash.Key.byteCount))
            try insert.run()
            // The history's name is shown to clients, so it has to outlive a power cut from the first reply on.
            _ = try connection.checkpoint(.full)
        }
        let foldedRev = try connection.scalar("SELECT value FROM meta WHERE name = 'foldedRev'") ?? 0
        return (try LogHistory(in: connection), UInt64(foldedRev))
    }

    /// Made where there is none: tables of earlier versions, and those that a recovery has made.
    private static func readDigestKey(_ connection: Connection) throws(SQLiteError) -> [UInt8] {
        let select = try connection.prepare("SELECT value FROM meta WHERE name = 'digestKey'")
        if try select.step(), select.bytes(0).count == LookupHash.Key.byteCount { return [UInt8](select.bytes(0)) }
        let key = Randomness.bytes(LookupHash.Key.byteCount)
        do throws(SQLiteError) {
            let insert = try connection.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('digestKey', ?1)")
            try insert.bind(1, copying: key)
            try insert.run()
            // Digests in the log must not outlive it: under another key they tell nothing.
            _ = try connection.checkpoint(.full)
        } catch {
            // On a full disk it lasts until the next start.
            guard error.isFull else { throw error }
        }
        return key
    }

    static func readSegments(_ connection: Connection) throws(SQLiteError) -> [Log.Closed] {
        let select = try connection.prepare("SELECT number, firstRev, lastRev, bytes FROM segments ORDER BY number")
        var closed: [Log.Closed] = []
        while try select.step() {
            closed.append(
                Log.Closed(
                    number: Int(select.int64(0)), firstRev: UInt64(select.int64(1)), lastRev: UInt64(select.int64(2)),
                    bytes: Int(select.int64(3))))
        }
        return closed
    }

    private static func readScopes(_ connection: Connection) throws(SQLiteError) -> ScopeTable {
        let scopes = ScopeTable()
        // Numbers of collections that are gone are not used again.
        if let last = try connection.scalar("SELECT value FROM meta WHERE name = 'lastScope'") {
            scopes.reserve(UInt32(last))
        }
        let select = try connection.prepare("SELECT id, store, name, count, bytes, lastRev, nextRow FROM scopes")
        while try select.step() {
            guard let store = Store(rawValue: UInt8(select.int64(1))) else { continue }
            let scope = Scope(id: UInt32(select.int64(0)), store: store, name: Array(select.bytes(2)))
            scope.count = Int(select.int64(3))
            scope.bytes = Int(select.int64(4))
            scope.lastRev = UInt64(select.int64(5))
            scope.rows.reserve(below: select.int64(6))
            scope.rows.mayExist = true
            scopes.add(scope)
        }
        return scopes
    }

    private static func loadSettings(
        _ connection: Connection, _ ledger: Ledger, _ report: (String) -> Void
    ) throws(SQLiteError) {
        // In the order of their revisions where a store's items have an age.
        let select = try connection.prepare(
            """
            SELECT scope, key, value, rev, updatedAt FROM settings
            WHERE scope NOT IN (SELECT id FROM scopes WHERE store = ?1)
            UNION ALL SELECT * FROM (
                SELECT scope, key, value, rev, updatedAt FROM settings
                WHERE scope IN (SELECT id FROM scopes WHERE store = ?1) ORDER BY rev)
            """)
        try select.bind(1, Int64(Store.requests.rawValue))
        defer { Work.at(.other) }
        while try select.step() {
            Work.at(.loading, UInt64(clamping: select.int64(3)))
            _ = FaultPoints.hit(.recoverItem)
            let scope = ledger.scopes[UInt32(select.int64(0))]
            guard scope.store.isSealed || !select.bytes(2).breaksLines else {
                let place = scope.name.withBytes { ShownName.text($0) }
                report("\(scope.store.roomName)/\(place) has a value that is not one line: it is not served")
                continue
            }
            ledger.load(
                resident: select.bytes(1), value: select.bytes(2), rev: UInt64(select.int64(3)),
                updatedAt: select.int64(4), scope)
        }
    }
}
