import Glibc
import SQLite

/// What a start finds in the data directory and makes of it: the tables as they are, the log's changes above them in
/// memory, and a segment to go on with.
///
/// After an unclean stop the page cache may show commits that no sync has covered: they are readable now and may be gone
/// after a power cut. So the changes above `foldedRev` are copied to a fresh segment and synced, directory too, before
/// the first reply. (Syncing the old file would not do: after a failed sync the kernel reports its pages as clean.)
struct Recovery {
    let ledger: Ledger
    let log: Log
    let settings: SettingsStore
    let documents: DocumentsStore
    let writer: Connection
    let epoch: String
    /// Changes that were only in the log.
    let replayedChanges: Int
    /// Revisions were passed over: an unclean stop may have lost relaxed changes.
    let hasRaisedRevision: Bool

    init(_ configuration: StorageConfiguration, housekeeper: Housekeeper) throws(StorageFault) {
        let path = configuration.tablesPath
        let cacheKibibytes = max(2048, configuration.overlayBytes / 2 / 1024)
        writer = try Tables.openWriter(path, cacheKibibytes: cacheKibibytes)
        let foldedRev: UInt64
        var closed: [Log.Closed]
        let scopes: ScopeTable
        do throws(SQLiteError) {
            (epoch, foldedRev) = try Self.readMeta(writer)
            closed = try Self.readSegments(writer)
            scopes = try Self.readScopes(writer)
        } catch { throw .database(error, file: path) }
        ledger = Ledger(configuration: configuration, scopes: scopes, rev: foldedRev)
        do throws(SQLiteError) { try Self.loadSettings(writer, ledger) } catch { throw .database(error, file: path) }
        settings = SettingsStore(ledger: ledger)
        documents = DocumentsStore(ledger: ledger, reader: try DocumentReader(path: path, mayWait: false))

        let found = try Self.openUnlisted(configuration, closed: closed, foldedRev: foldedRev)
        closed.removeAll { listed in found.leftovers.contains { $0.number == listed.number } }
        let highest = max(closed.last?.number ?? 0, found.leftovers.last?.number ?? 0)
        let active: Segment
        if let pristine = found.pristine, pristine.number > highest {
            active = pristine
        } else {
            // Small, so that a start is quick; the next one has its full size.
            active = try Segment(
                creating: max(highest, found.pristine?.number ?? 0) + 1, in: configuration.logDirectory,
                capacity: min(configuration.segmentBytes, 1 << 20), recycled: nil)
        }
        replayedChanges = try Self.replay(found.leftovers, foldedRev, into: active, ledger, documents, configuration)
        settings.recount()
        for leftover in found.leftovers {
            closed.append(
                Log.Closed(
                    number: leftover.number, firstRev: 0, lastRev: leftover.lastRev, bytes: leftover.capacity))
        }
        closed.sort { $0.number < $1.number }
        log = Log(configuration: configuration, housekeeper: housekeeper, active: active, closed: closed)
        hasRaisedRevision = try RelaxedDurability.resume(configuration, ledger, log)
    }

    /// Makes room on a full disk so that a start can succeed: the reserve, and segments that are kept only for the change
    /// feed. A checkpoint comes first, since only what the tables hold durably may leave the log.
    static func makeRoom(_ configuration: StorageConfiguration) throws(StorageFault) {
        try FileSystem.remove(configuration.reservePath)
        try FileSystem.remove(configuration.sparePath)
        let writer = try Tables.openWriter(configuration.tablesPath, cacheKibibytes: 2048)
        do throws(SQLiteError) {
            let foldedRev = UInt64(try writer.scalar("SELECT value FROM meta WHERE name = 'foldedRev'") ?? 0)
            let (frames, done) = try writer.checkpoint(.truncate)
            guard frames <= done else { return }
            for segment in try readSegments(writer) where segment.lastRev <= foldedRev {
                let path = Segment.path(configuration.logDirectory, segment.number)
                unlink(path)
                unlink(path + "-wal")
            }
        } catch { throw .database(error, file: configuration.tablesPath) }
    }

    // MARK: The tables

    private static func readMeta(_ connection: Connection) throws(SQLiteError) -> (epoch: String, foldedRev: UInt64) {
        if try connection.scalar("SELECT count(*) FROM meta") == 0 {
            let insert = try connection.prepare("INSERT INTO meta(name, value) VALUES('foldedRev', 0), ('epoch', ?1)")
            try insert.bind(1, text: UUIDv7Generator.random())
            try insert.run()
            // The history's name is shown to clients, so it has to outlive a power cut from the first reply on.
            _ = try connection.checkpoint(.full)
        }
        let select = try connection.prepare("SELECT value FROM meta WHERE name = 'epoch'")
        guard try select.step() else { return ("", 0) }
        let epoch = select.text(0)
        let foldedRev = try connection.scalar("SELECT value FROM meta WHERE name = 'foldedRev'") ?? 0
        return (epoch, UInt64(foldedRev))
    }

    private static func readSegments(_ connection: Connection) throws(SQLiteError) -> [Log.Closed] {
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
        let select = try connection.prepare("SELECT id, store, name, count, bytes, lastRev, nextRow FROM scopes")
        while try select.step() {
            guard let store = Store(rawValue: UInt8(select.int64(1))) else { continue }
            let scope = Scope(id: UInt32(select.int64(0)), store: store, name: Array(select.bytes(2)))
            scope.count = Int(select.int64(3))
            scope.bytes = Int(select.int64(4))
            scope.lastRev = UInt64(select.int64(5))
            scope.nextRow = max(scope.nextRow, select.int64(6))
            scope.mayHaveRows = true
            scopes.add(scope)
        }
        return scopes
    }

    private static func loadSettings(_ connection: Connection, _ ledger: Ledger) throws(SQLiteError) {
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
        while try select.step() {
            ledger.load(
                resident: select.bytes(1), value: select.bytes(2), rev: UInt64(select.int64(3)),
                updatedAt: select.int64(4),
                ledger.scopes[UInt32(select.int64(0))])
        }
    }

    // MARK: The log

    private struct Found {
        /// Segments with rows that the tables may not have, in the order of their numbers.
        var leftovers: [Segment] = []
        /// A segment that was made in advance and never written.
        var pristine: Segment?
    }

    /// Opens the segments that the tables do not list as folded, and removes files that belong to none.
    private static func openUnlisted(
        _ configuration: StorageConfiguration, closed: [Log.Closed], foldedRev: UInt64
    ) throws(StorageFault) -> Found {
        let directory = configuration.logDirectory
        let names = try FileSystem.names(in: directory)
        let numbers = names.compactMap(Segment.number(ofFile:)).sorted()
        var found = Found()
        for number in numbers {
            if let listed = closed.first(where: { $0.number == number }), listed.lastRev <= foldedRev { continue }
            let segment: Segment
            do throws(StorageFault) {
                segment = try Segment(opening: number, in: directory)
            } catch {
                // A kill while it was being made leaves a file without the table, which is synced before any row can be
                // written. Anything else is damage, and nothing is removed.
                guard case .database(let cause, _) = error, cause.code == 1, number == numbers.last else { throw error }
                try removeSegment(number, directory)
                continue
            }
            if segment.lastRev > 0 {
                found.leftovers.append(segment)
            } else {
                if let other = found.pristine { try removeSegment(other.number, directory) }
                found.pristine = segment
            }
        }
        for name in names where name.hasSuffix(".sqlite-wal") || name.hasSuffix("-journal") || name.hasSuffix("-shm") {
            let stem = name.split(separator: "-").first.map(String.init) ?? name
            if let number = Segment.number(ofFile: stem), !numbers.contains(number) {
                try FileSystem.remove(directory + "/" + name)
            }
        }
        return found
    }

    private static func removeSegment(_ number: Int, _ directory: String) throws(StorageFault) {
        let path = Segment.path(directory, number)
        try FileSystem.remove(path)
        try FileSystem.remove(path + "-wal")
    }

    /// Takes the changes above `foldedRev` into memory, and copies them into the segment that goes on, synced.
    private static func replay(
        _ leftovers: [Segment], _ foldedRev: UInt64, into active: Segment, _ ledger: Ledger,
        _ documents: DocumentsStore, _ configuration: StorageConfiguration
    ) throws(StorageFault) -> Int {
        guard leftovers.contains(where: { $0.lastRev > foldedRev }) else { return 0 }
        let mustCopy = FaultPoints.hit(.recoverCopy) != .skip
        let reader = try DocumentReader(path: configuration.tablesPath, mayWait: true)
        var applied = foldedRev
        var changes = 0
        for segment in leftovers {
            try segment.rows(after: applied) { (rev, at, records) throws(StorageFault) in
                var offset = 0
                while let record = try LogRecord.next(in: records, at: &offset) {
                    // A row's first changes may have been folded, its last not: slices end where a sync ended.
                    guard record.rev > foldedRev else { continue }
                    changes += 1
                    switch record.store {
                    case .settings, .requests, .configuration: ledger.replay(resident: record, at: at)
                    case .documents: try documents.replay(record, at: at, reader: reader)
                    }
                }
                if mustCopy {
                    do throws(SQLiteError) {
                        try active.append(rev: rev, at: at, records: records)
                    } catch { throw .database(error, file: active.path) }
                }
                applied = rev
            }
        }
        if mustCopy {
            guard fsync(active.descriptor) == 0 else { throw FileSystem.fail("fsync", active.path) }
            // The segment may have been made by a run that was killed before its name was durable.
            try FileSystem.syncDirectory(configuration.logDirectory)
            CountingVFS.count(role: .log, part: .wal, syncs: 1)
        }
        return changes
    }
}
