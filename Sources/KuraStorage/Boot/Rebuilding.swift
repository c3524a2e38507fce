import CSyscalls
import Glibc
import KuraBytes
import SQLite

/// Makes what a start goes on with, of tables and log that were set aside.
///
/// 1. *The start state*: a copy of the tables themselves, with their WAL, when SQLite finds nothing wrong with them (then it was the log);
///    else the newest snapshot that holds; else nothing, revision 0.
/// 2. *The log*: rows that join up with it, revision by revision, go into a fresh segment. The start takes them in as after any unclean
///    stop, and they are folded. The first revision that is missing ends that: what follows stays in the quarantine.
/// 3. When that leaves something out, the tables are read around their damage (`TablesSalvage`), and what was read is the start state
///    if less is missing so. It lies in the quarantine besides.
///
/// Revisions that starts have trapped at (`RecoveredNotice.without`) are in none of these: in the log they are passed over as if they were lost, and
/// of the tables everything is taken but their rows.
///
/// Everything is copied: what lies in the quarantine stays as it was found. When starts fail with what was made, the next one leaves more
/// out (`RecoveredNotice.Rung`). Done again from the beginning after a kill.
struct Rebuilding {
    private let configuration: StorageConfiguration
    private var notice: RecoveredNotice
    private let report: (String) -> Void
    /// Of what was set aside.
    private let tables: String
    private let log: String
    private let scratch: String
    /// What the start state is of; nil where it does not say.
    private var lineage: LogLineage?

    init(_ configuration: StorageConfiguration, _ notice: RecoveredNotice, report: @escaping (String) -> Void) {
        self.configuration = configuration
        self.notice = notice
        self.report = report
        let directory = configuration.quarantineDirectory + "/" + notice.quarantine
        tables = directory + "/durable/kura.sqlite"
        log = directory + "/log"
        scratch = configuration.temporaryDirectory + "/salvage"
    }

    /// Whether there is room for the copies. Asked before anything is moved.
    /// - Throws: ENOSPC when there is none.
    static func checkRoom(_ configuration: StorageConfiguration) throws(StorageFault) {
        // A copy, or what is read of them when they are damaged and a copy of that.
        var needed =
            2 * (FileSystem.occupied(configuration.tablesPath) + FileSystem.occupied(configuration.tablesPath + "-wal"))
        for name in try FileSystem.names(in: configuration.logDirectory) {
            needed += 2 * FileSystem.occupied(configuration.logDirectory + "/" + name)
        }
        guard FileSystem.free(configuration.dataDirectory) >= needed else {
            throw .system(
                errno: ENOSPC, call: "setting tables and log aside needs \(needed) bytes in",
                path: configuration.dataDirectory)
        }
    }

    /// - Returns: the notice, with what was saved.
    mutating func run() throws(StorageFault) -> RecoveredNotice {
        try clear()
        (notice.origin, notice.snapshot, notice.savedRev, notice.newestRev) = (.nothing, "", 0, 0)
        notice.leftOut = []
        lineage = nil
        var rev: UInt64 = 0
        if notice.attempt.rung == .all, let found = try takeTables() {
            rev = found
            notice.origin = .tables
            if try tablesHaveWithout() { rev = try leaveOut() }
        } else if notice.attempt.rung != .nothing, let snapshot = try takeSnapshot() {
            rev = snapshot.rev
            (notice.origin, notice.snapshot, notice.leftOut) = (.snapshot, snapshot.name, snapshot.leftOut)
        } else if notice.attempt.rung != .nothing, let found = try takeBundle() {
            rev = found
            notice.origin = .bundle
        } else {
            try SeedRecord.remove(configuration)
            // Empty ones, so that the start does not miss them; it names their history.
            try Tables.openWriter(configuration.tablesPath, cacheKibibytes: 2048).close()
        }
        try takeLog(from: rev)
        if notice.attempt.rung == .all, notice.origin != .tables { try salvageTables() }
        for path in [configuration.durableDirectory, configuration.logDirectory] { try FileSystem.syncDirectory(path) }
        return notice
    }

    /// Adds the log's changes to a start state, and has the notice say what that comes to.
    /// `rev`: what the start state is as of.
    private mutating func takeLog(from rev: UInt64) throws(StorageFault) {
        try FileSystem.makeDirectory(scratch)
        var salvage = LogSalvage(
            from: log, scratch: scratch, to: configuration, after: rev,
            isTaking: notice.attempt.rung == .all || notice.attempt.rung == .withoutTables, report: report)
        salvage.passesOverLoss = true
        salvage.start.lineage = lineage
        salvage.without = Set(notice.without)
        salvage.start.isOfLog = notice.origin == .tables || notice.origin == .salvage
        salvage.start.acknowledged = try AcknowledgedNote.read(configuration.acknowledgedPath) ?? 0
        try salvage.run()
        (notice.savedRev, notice.newestRev) = (
            salvage.savedRev, max(rev, salvage.newestRev, salvage.start.acknowledged)
        )
        let lost = salvage.lost
        notice.missing = RecoveredNotice.missing(lost.revs, lost.records)
        if !lost.revs.isEmpty || salvage.savedRev > rev {
            try note(lost: lost.revs, savedRev: salvage.savedRev, of: salvage.history)
        }
        try FileSystem.removeDirectory(scratch)
    }

    /// Reads the tables around their damage, when something is missing without that, and goes on from there when less is.
    private mutating func salvageTables() throws(StorageFault) {
        guard notice.isLossy, try FileSystem.length(tables) > 0 else { return }
        let directory = String(tables.dropLast("/durable/kura.sqlite".count)) + "/salvaged"
        // Pages get their seals below a directory of this name.
        let path = directory + "/durable/kura.sqlite"
        let salvage: TablesSalvage
        do throws(StorageFault) {
            try FileSystem.removeDirectory(directory)
            for path in [directory, directory + "/durable"] { try FileSystem.makeDirectory(path) }
            salvage = try TablesSalvage(of: tables, into: path, names: directory + "/missing.jsonl", log: log)
        } catch {
            guard !error.isFull, !error.isPassing([tables, tables + "-wal"]) else { throw error }
            report("nothing can be made of what is left of the tables: \(error)")
            return try FileSystem.removeDirectory(directory)
        }
        let other = notice
        try clear()
        try FileSystem.copy(path, to: configuration.tablesPath)
        (notice.origin, notice.snapshot, notice.leftOut) = (.salvage, "", salvage.lost)
        try takeLog(from: try adopt())
        guard notice.lostChanges > other.lostChanges else { return }
        // What was made before lacks less.
        report("what could be read of the tables lies in \(directory)")
        let rung = notice.attempt.rung
        notice = other
        notice.attempt.rung = .withoutTables
        defer { notice.attempt.rung = rung }
        notice = try run()
    }

    /// Whether the tables that were copied have rows of revisions that are to be left out.
    private func tablesHaveWithout() throws(StorageFault) -> Bool {
        guard !notice.without.isEmpty else { return false }
        let revs = notice.without.map(String.init).joined(separator: ",")
        do throws(SQLiteError) {
            let connection = try Connection(path: configuration.tablesPath, mode: .readOnly)
            defer { connection.close() }
            let count = try connection.scalar(
                """
                SELECT EXISTS(SELECT 1 FROM settings WHERE rev IN (\(revs)))
                OR EXISTS(SELECT 1 FROM documents WHERE rev IN (\(revs)))
                """)
            return count == 1
        } catch { throw .database(error, file: configuration.tablesPath) }
    }

    /// Makes the tables anew, without the rows of these revisions.
    private mutating func leaveOut() throws(StorageFault) -> UInt64 {
        let directory = String(tables.dropLast("/durable/kura.sqlite".count)) + "/without"
        // Pages get their seals below a directory of this name.
        let path = directory + "/durable/kura.sqlite"
        try FileSystem.removeDirectory(directory)
        for path in [directory, directory + "/durable"] { try FileSystem.makeDirectory(path) }
        let salvage = try TablesSalvage(
            of: configuration.tablesPath, into: path, names: directory + "/missing.jsonl", without: Set(notice.without))
        try clear()
        try FileSystem.copy(path, to: configuration.tablesPath)
        try FileSystem.removeDirectory(directory + "/durable")
        notice.leftOut = salvage.lost
        return try adopt()
    }

    /// The start that follows does not miss what is lost, and the history that begins leaves the one before it, which is the log's, behind what both have.
    private func note(lost: RevisionSet, savedRev: UInt64, of former: LogHistory?) throws(StorageFault) {
        let path = configuration.tablesPath
        let connection = try Tables.openWriter(path, cacheKibibytes: 2048)
        defer { connection.close() }
        do throws(SQLiteError) {
            for range in lost.ranges {
                try connection.execute(
                    "INSERT OR REPLACE INTO lost VALUES(\(Int64(clamping: range.lowerBound)), \(Int64(clamping: range.upperBound)))"
                )
            }
            var history = try LogHistory(in: connection)
            history.began = lost.ranges.first.map { $0.lowerBound - 1 } ?? savedRev
            if let former { history.parent = former.epoch }
            if history.epoch.isEmpty {
                // Tables that have nothing.
                history.epoch = UUIDv7Generator.random()
                try connection.execute("INSERT OR IGNORE INTO meta(name, value) VALUES('foldedRev', 0)")
            }
            try history.write(in: connection, having: history.parent.isEmpty ? [:] : [history.parent: savedRev])
            _ = try connection.checkpoint(.full)
        } catch { throw .database(error, file: path) }
    }

    /// What an attempt before this one has made goes: copies, of which nobody has ever been answered.
    private func clear() throws(StorageFault) {
        for end in ["", "-wal", "-shm", "-journal"] { try FileSystem.remove(configuration.tablesPath + end) }
        for name in try FileSystem.names(in: configuration.logDirectory) {
            let path = configuration.logDirectory + "/" + name
            if path != configuration.sparePath { try FileSystem.remove(path) }
        }
        try FileSystem.removeDirectory(scratch)
    }

    // MARK: The start state

    /// Copies the tables, when they are sound.
    /// - Returns: the revision that they are as of; nil when they are not sound, and then nothing is there.
    private mutating func takeTables() throws(StorageFault) -> UInt64? {
        guard try FileSystem.length(tables) > 0 else { return nil }
        do throws(StorageFault) {
            for end in ["", "-wal"] where FileSystem.exists(tables + end) {
                try FileSystem.copy(tables + end, to: configuration.tablesPath + end)
            }
            return try adopt(isCopy: true)
        } catch {
            guard !error.isFull, !error.isPassing([tables, tables + "-wal"]) else { throw error }
            report("the tables that were set aside do not hold: \(error)")
            for end in ["", "-wal", "-shm"] { try FileSystem.remove(configuration.tablesPath + end) }
            return nil
        }
    }

    private mutating func takeSnapshot() throws(StorageFault) -> SnapshotSource.Snapshot? {
        let snapshot: SnapshotSource.Snapshot
        do throws(StorageFault) {
            guard let newest = try configuration.snapshots.newest(configuration) else { return nil }
            snapshot = newest
            try snapshot.restore(configuration)
            let rev = try adopt()
            guard rev == snapshot.rev else { throw .damaged("it is as of revision \(rev), and says \(snapshot.rev)") }
        } catch {
            guard !error.isFull, !error.isPassing([]) else { throw error }
            report("a snapshot could not be restored: \(error)")
            for end in ["", "-wal", "-shm"] { try FileSystem.remove(configuration.tablesPath + end) }
            return nil
        }
        return snapshot
    }

    /// Begins with the seed bundle that the tables had begun with, so that the log joins up with it.
    /// - Returns: its revision; nil when there is no such bundle.
    private mutating func takeBundle() throws(StorageFault) -> UInt64? {
        guard let file = configuration.seedBundle else { return nil }
        do throws(BackupFault) {
            let bundle = try SeedBundle(file)
            guard SeedRecord.names(bundle, configuration) else { return nil }
            _ = try bundle.layTables(configuration)
            return bundle.manifest.rev
        } catch {
            if error == .noSpace { throw StorageFault(error) }
            report("the seed bundle that the tables began with cannot be laid down anew: \(error)")
            try FileSystem.removeAll(of: configuration.tablesPath)
            return nil
        }
    }

    /// Looks through the tables that are in their place now, and has them begin a history of their own, with no segments.
    /// `isCopy`: they are those that the log was beside; else they were made anew, and began a history by that.
    /// - Returns: the revision that they are as of.
    private mutating func adopt(isCopy: Bool = false) throws(StorageFault) -> UInt64 {
        let path = configuration.tablesPath
        let connection = try Tables.openWriter(path, cacheKibibytes: 2048)
        defer { connection.close() }
        do throws(SQLiteError) {
            if let problem = try TablesCheck.firstProblem(connection) { throw SQLiteError.damaged(problem) }
            guard let rev = try connection.scalar("SELECT value FROM meta WHERE name = 'foldedRev'"), rev >= 0 else {
                throw SQLiteError.damaged("it has no revision")
            }
            let former = try LogLineage(in: connection)
            lineage =
                isCopy
                ? former
                : former.history.parent.isEmpty
                    ? nil : LogLineage(LogHistory(epoch: former.history.parent), foldedRev: UInt64(rev))
            try connection.execute("BEGIN IMMEDIATE; DELETE FROM segments; DELETE FROM lost;")
            try LogHistory(in: connection).successor(after: UInt64(rev)).write(in: connection)
            // What the log has had is not in it any more.
            try connection.execute(
                "INSERT INTO meta(name, value) VALUES('compactedRev', \(rev)) ON CONFLICT(name) DO UPDATE SET value = \(rev); COMMIT;"
            )
            _ = try connection.checkpoint(.full)
            return UInt64(rev)
        } catch { throw .database(error, file: path) }
    }
}

extension FileSystem {
    /// Bytes that the file system has left for us.
    static func free(_ path: String) -> Int {
        guard let information = room(path) else { return .max }
        return Int(clamping: UInt64(information.f_bavail) * UInt64(information.f_frsize))
    }

    /// A file of its own with another's bytes, which shares their blocks where the file system can; synced. Holes stay holes: a file of a
    /// terabyte that has nothing in it takes neither room nor time.
    /// `endsWithData`: leaves out a hole at the end, for whoever would look through it.
    package static func copy(_ from: String, to: String, endsWithData: Bool = false) throws(StorageFault) {
        let source = try openRegular(from)
        defer { close(source) }
        let target = try open(to, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW)
        defer { close(target) }
        guard DiskLimit.admits(target, occupied(from), at: 0) else { throw fail("write", to) }
        if csys_clone_file(source, target) != 0 {
            try copyData(source, from, target, to)
        }
        if endsWithData, let end = dataEnd(target), ftruncate(target, off_t(end)) != 0 { throw fail("ftruncate", to) }
        guard fsync(target) == 0 else { throw fail("fsync", to) }
    }

    /// Copies what lies between holes. Somebody may be appending to the source.
    private static func copyData(
        _ source: Int32, _ from: String, _ target: Int32, _ to: String
    ) throws(StorageFault) {
        var buffer = ByteBuffer(capacity: 256 << 10)
        var offset = 0
        copying: while let start = data(source, from: offset) {
            offset = start
            let end = endOfData(source, from: start)
            while offset < end {
                buffer.removeAll()
                let most = min(256 << 10, end - offset)
                let count = try read(source, atMost: most, at: offset, into: &buffer, path: from)
                if count == 0 { break copying }
                try write(target, buffer.bytes, at: offset, path: to)
                offset += count
            }
        }
        let size = Int(lseek(source, 0, SEEK_END))
        guard size <= offset || ftruncate(target, off_t(size)) == 0 else { throw fail("ftruncate", to) }
    }

    /// Where data begins at `offset` or behind it; nil behind the last. Where nobody tells of holes everything is data.
    static func data(_ descriptor: Int32, from offset: Int) -> Int? {
        let start = Int(csys_data_at(descriptor, Int64(offset)))
        if start < 0, errno == ENXIO { return nil }
        return max(offset, start)
    }

    /// Where the data that lies at `offset` ends; `.max` where nobody tells of holes.
    static func endOfData(_ descriptor: Int32, from offset: Int) -> Int {
        let hole = Int(csys_hole_at(descriptor, Int64(offset)))
        return hole > offset ? hole : .max
    }

    /// Where the last data of a file ends; nil where nobody tells of holes.
    static func dataEnd(_ descriptor: Int32) -> Int? {
        var end = 0
        while let start = data(descriptor, from: end) {
            end = endOfData(descriptor, from: start)
            if end == .max { return nil }
        }
        return end
    }
}
