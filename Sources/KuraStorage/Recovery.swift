import Glibc
import KuraBytes
import SQLite

/// What a start finds in the data directory and makes of it: the tables as they are, the log's changes above them in
/// memory, and a segment to go on with.
///
/// `LogRepair` sees to it that what the log shows is whole and on the disk before the first reply.
struct Recovery {
    let ledger: Ledger
    let log: Log
    let documents: DocumentsStore
    let writer: Connection
    let epoch: String
    /// For `RequestDigests`.
    let digestKey: [UInt8]
    /// Changes that were only in the log.
    let replayedChanges: Int
    /// Room had to be made for the start: the reserve is given up.
    let wasDiskFull: Bool
    /// Revisions were passed over: an unclean stop may have lost relaxed changes.
    let hasRaisedRevision: Bool
    /// How far the secrets had come, as DATA/acknowledged says; empty where it says nothing of this history.
    let acknowledgedMark: [UInt8]

    /// Opens what is there; on a full disk makes room for it first.
    /// `report`: takes lines for the operator.
    static func start(
        _ configuration: StorageConfiguration, housekeeper: Housekeeper, boot: Boot? = nil,
        report: @escaping (String) -> Void
    ) throws(StorageFault) -> Recovery {
        var failure: StorageFault
        do throws(StorageFault) {
            return try Recovery(configuration, housekeeper: housekeeper, boot: boot, report: report)
        } catch {
            guard error.isFull else { throw error }
            failure = error
        }
        report("disk full at start: the reserve and retained log segments are given up")
        // A copy of small commits needs less room than folding them, and the other way round where keys are hot.
        for effort in RoomMaker.Effort.allCases {
            do throws(StorageFault) {
                try RoomMaker.makeRoom(configuration, effort)
                return try Recovery(
                    configuration, housekeeper: housekeeper, isDiskFull: true, boot: boot, report: report)
            } catch {
                guard error.isFull else { throw error }
                failure = error
            }
        }
        report("disk full at start: nothing is lost; free some space and start again")
        throw failure
    }

    /// `isDiskFull`: whatever can be smaller is, and a segment goes as soon as its rows have been copied.
    init(
        _ configuration: StorageConfiguration, housekeeper: Housekeeper, isDiskFull: Bool = false, boot: Boot? = nil,
        report: @escaping (String) -> Void = { _ in }
    ) throws(StorageFault) {
        wasDiskFull = isDiskFull
        var tables = try TablesInMemory(configuration, boot: boot, report: report)
        try boot?.enter(.log)
        writer = tables.writer
        (ledger, documents) = (tables.ledger, tables.documents)
        let foldedRev = ledger.foldedRev
        var closed = tables.segments
        let directory = configuration.logDirectory
        let strays = try LogFiles.strays(in: directory)
        if let first = strays.first {
            report(
                "log/\(first) is no file of the daemon's" + (strays.count > 1 ? ", and \(strays.count - 1) more" : "")
                    + ": it stays where it is, and nobody reads it")
        }
        let found = try Self.openUnlisted(configuration, closed: closed, foldedRev: foldedRev)
        let members = LogLineage.members(closed, found.leftovers, in: directory)
        try tables.take(try tables.lineage.judge(members, configuration), in: configuration.tablesPath)
        try Self.removeUseless(found, closed, foldedRev, directory)
        let listed = closed.last?.number ?? 0
        closed.removeAll { listed in found.leftovers.contains { $0.number == listed.number } }
        // Let go without the tables' being told: by a run that was killed, or to make room.
        let gone = closed.filter { !LogFiles.exists($0.number, in: directory) }
        closed.removeAll { listed in gone.contains { $0.number == listed.number } }
        // A recovery of tables and log has told what is missing.
        let isRebuilt = boot?.isRebuilding ?? false
        let note = isRebuilt ? 0 : try AcknowledgedNote.read(configuration.acknowledgedPath)
        // Earlier layouts of the log have none.
        let isNoteMissing = note == nil && boot?.isUnclean ?? false && !found.leftovers.contains { $0 is SQLiteSegment }
        // A restore has none, but no starts either. Of the log nothing is missing; the mark of the secrets is.
        if note == nil, !isRebuilt, !isNoteMissing, foldedRev > 0, boot?.hasStartedBefore ?? false {
            report(
                "\(configuration.acknowledgedPath) is missing or damaged, and no kill tells why: whether the secrets and their audit were set back since the last stop is not known"
            )
        }
        let examination = try LogExamination(
            found.leftovers, above: foldedRev, acknowledged: note ?? 0,
            isComplete: isNoteMissing || boot?.isOfThisKernel ?? false, known: tables.lost)
        var repair = LogRepair(
            found.leftovers, examination, unreadable: found.unreadable,
            highest: max(listed, found.highest), configuration, report)
        if isNoteMissing {
            repair.unknownEnd = Boot.unknownEnd(
                areTablesGone: boot?.hadTables == false, isLogGone: found.highest == 0)
        }
        try repair.run(
            tell: { (notice) throws(StorageFault) in try boot?.tell(lost: notice) },
            beginHistory: { (lost) throws(StorageFault) in
                // What is lost ends what both have.
                let last = lost.ranges.first.map { $0.lowerBound - 1 } ?? min(examination.newest, examination.end)
                try tables.beginHistory(
                    after: last, without: lost, newest: min(examination.newest, examination.end),
                    in: configuration.tablesPath)
            })
        epoch = tables.history.epoch
        acknowledgedMark = isRebuilt ? [] : AcknowledgedNote.mark(configuration.acknowledgedPath, of: epoch)
        digestKey = tables.digestKey
        let highest = max(found.highest, listed, repair.segments.map { $0.number }.max() ?? 0)
        // New segments say so: a copy of the log shows by it what is gone before them.
        let synced = max(foldedRev, min(note ?? 0, repair.segments.map { $0.lastRev }.max() ?? 0))
        let active: Segment
        // One that has more than any segment would never be full.
        if let pristine = found.pristine, pristine.number >= highest, pristine.capacity <= Segment.mostBytes,
            pristine.history ?? tables.history == tables.history
        {
            active = pristine
        } else {
            if let pristine = found.pristine { try Segment.remove(pristine.number, in: directory) }
            // Small, so that a start is quick; the next one has its full size.
            active = try Segment(
                creating: highest + 1, in: directory,
                capacity: isDiskFull ? Segment.leastCapacity : min(configuration.log.segmentBytes, 1 << 20),
                recycled: nil,
                synced: synced, history: tables.history)
        }
        replayedChanges = try Self.replay(
            repair.segments, foldedRev, without: tables.lost, ledger, writer, configuration)
        for segment in repair.segments {
            closed.append(
                Log.Closed(
                    number: segment.number, firstRev: segment.firstRev, lastRev: segment.lastRev,
                    bytes: LogFiles.size(segment.number, in: directory)))
        }
        closed.sort { $0.number < $1.number }
        // The oldest go first: what is gone behind one that is there was taken away.
        let last = closed.map(\.lastRev).max() ?? 0
        if last > 0, last < ledger.rev, !tables.lost.contains(last + 1...ledger.rev) {
            report(
                "revisions \(last + 1) to \(ledger.rev) are in no segment of log/: the tables have them, but neither "
                    + "the change feed nor 'kura restore --at' does")
        }
        log = Log(
            configuration: configuration, housekeeper: housekeeper, active: active, closed: closed, rev: ledger.rev,
            retired: gone.map(\.number), history: tables.history, synced: synced)
        // Given out, and not there: told now, or to a start that was killed behind it.
        let given = max(examination.lost.isEmpty ? 0 : examination.newest, tables.lost.ranges.last?.upperBound ?? 0)
        hasRaisedRevision = try RelaxedDurability.resume(
            configuration, ledger, log, above: max(boot?.lostRev ?? 0, given), isUnknown: isNoteMissing)
        boot?.hasReadLog()
    }

    // MARK: The log

    private struct Found {
        /// Segments with rows that the tables may not have, in the order of their first revisions: what was written anew has a higher
        /// number than what follows it. Several may have the same rows.
        var leftovers: [any ReadableSegment] = []
        /// A segment that was made in advance and never written.
        var pristine: Segment?
        /// Files that are no segments any more.
        var unreadable: [(path: String, reason: String)] = []
        /// Numbers of segments that have nothing.
        var useless: [Int] = []
        var highest = 0
    }

    /// Opens the segments that the tables do not list as folded.
    private static func openUnlisted(
        _ configuration: StorageConfiguration, closed: [Log.Closed], foldedRev: UInt64
    ) throws(StorageFault) -> Found {
        let directory = configuration.logDirectory
        let numbers = try LogFiles.numbers(in: directory)
        var found = Found(highest: numbers.last ?? 0)
        for number in numbers {
            if let listed = closed.first(where: { $0.number == number }), listed.lastRev <= foldedRev { continue }
            let segment: any ReadableSegment
            do throws(StorageFault) {
                segment = try LogFiles.open(number, in: directory)
            } catch {
                let path = Segment.path(directory, number)
                if case .damaged(let reason) = error, FileSystem.exists(path) {
                    found.unreadable.append((path, reason))
                    continue
                }
                // A kill while one of an earlier layout was being made leaves a file without the table.
                guard case .database(let cause, _) = error, cause.code == 1, number == numbers.last else { throw error }
                found.useless.append(number)
                continue
            }
            if segment.lastRev > 0 || !segment.damages.isEmpty {
                found.leftovers.append(segment)
            } else if let segment = segment as? Segment {
                if let other = found.pristine { found.useless.append(other.number) }
                found.pristine = segment
            } else {
                found.useless.append(number)
            }
        }
        found.leftovers.sort { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }
        return found
    }

    /// Removes segments that have nothing, and files that belong to none.
    private static func removeUseless(
        _ found: Found, _ closed: [Log.Closed], _ foldedRev: UInt64, _ directory: String
    ) throws(StorageFault) {
        let names = try FileSystem.names(in: directory)
        let numbers = try LogFiles.numbers(in: directory)
        for number in found.useless { try LogFiles.remove(number, in: directory) }
        for name in names where Segment.isDraft(name) { try FileSystem.remove(directory + "/" + name) }
        try removeOrphans(names, numbers, closed, foldedRev, directory)
    }

    /// Removes what earlier layouts have left beside a segment that is gone.
    private static func removeOrphans(
        _ names: [String], _ numbers: [Int], _ closed: [Log.Closed], _ foldedRev: UInt64, _ directory: String
    ) throws(StorageFault) {
        for name in names {
            guard let end = ["-wal", "-journal", "-shm"].first(where: { name.hasSuffix($0) }) else { continue }
            let path = directory + "/" + name
            let stem = String(name.dropLast(end.count))
            guard let number = SQLiteSegment.number(ofFile: stem) else {
                if name == "spare-wal" { try FileSystem.remove(path) }
                continue
            }
            guard !numbers.contains(number) else { continue }
            // Nobody here removes a file before its WAL, but for earlier versions, which did so with what was folded.
            let isFolded = closed.contains { $0.number == number && $0.lastRev <= foldedRev }
            if !isFolded, name.hasSuffix("-wal"), try !WALCommits(path: path).ends.isEmpty {
                throw .damaged(
                    "\(path) has changes, and the file that they belong to, \(stem), is missing. Nothing was changed")
            }
            try FileSystem.remove(path)
        }
    }

    /// Takes the changes above `foldedRev` into memory. When they are more than it may hold they are folded, as they are while the daemon runs:
    /// the log has them all, and is synced.
    private static func replay(
        _ segments: [any ReadableSegment], _ foldedRev: UInt64, without lost: RevisionSet, _ ledger: Ledger,
        _ writer: Connection, _ configuration: StorageConfiguration
    ) throws(StorageFault) -> Int {
        guard segments.contains(where: { $0.lastRev > foldedRev }) else { return 0 }
        // Most of the time goes into reading old documents. The cache is for the trees' inner pages, which every look-up
        // passes; one that kept the ids' leaves as well was no faster.
        let reader = try DocumentReader(path: configuration.tablesPath, mayWait: true, cacheKibibytes: 4096)
        try reader.freeze(configuration)
        let replay = LogReplay(ledger, reader)
        var applied = foldedRev
        var newest = foldedRev
        var changes = 0
        var folding: FoldAhead?
        defer { folding?.stop() }
        for segment in segments {
            try segment.rows(after: applied) { (row) throws(StorageFault) in
                changes += try replay.apply(row, above: foldedRev, behind: &newest, without: lost)
                applied = row.rev
                guard ledger.overlay.bytes >= configuration.fold.overlayBytes else { return }
                if folding == nil { folding = try FoldAhead(configuration, ledger, writer: writer) }
                try folding?.fold()
                try reader.thaw(configuration)
                try reader.freeze(configuration)
            }
        }
        return changes
    }
}
