import Glibc
import KuraBytes
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
    /// Room had to be made for the start: the reserve is given up.
    let wasDiskFull: Bool
    /// Revisions were passed over: an unclean stop may have lost relaxed changes.
    let hasRaisedRevision: Bool

    /// Opens what is there; on a full disk makes room for it first.
    /// `report`: takes lines for the operator.
    static func start(
        _ configuration: StorageConfiguration, housekeeper: Housekeeper, boot: Boot? = nil, report: (String) -> Void
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
        report: (String) -> Void = { _ in }
    ) throws(StorageFault) {
        wasDiskFull = isDiskFull
        let tables = try TablesInMemory(configuration, boot: boot, report: report)
        try boot?.enter(.log)
        (writer, epoch) = (tables.writer, tables.epoch)
        (ledger, settings, documents) = (tables.ledger, tables.settings, tables.documents)
        let foldedRev = ledger.foldedRev
        var closed = tables.segments
        var highest = closed.last?.number ?? 0

        var found = try Self.openUnlisted(configuration, closed: closed, foldedRev: foldedRev)
        closed.removeAll { listed in found.leftovers.contains { $0.number == listed.number } }
        highest = max(highest, found.leftovers.map(\.number).max() ?? 0)
        try LogHole.close(&found.leftovers, above: foldedRev, configuration, report)
        let leftovers = found.leftovers.map(\.number)
        // Let go without the tables' being told: by a run that was killed, or to make room.
        let gone = closed.filter { !FileSystem.exists(Segment.path(configuration.logDirectory, $0.number)) }
        closed.removeAll { listed in gone.contains { $0.number == listed.number } }
        let pristine = found.pristine.flatMap { $0.number > highest ? $0 : nil }
        let number = pristine?.number ?? max(highest, found.pristine?.number ?? 0) + 1
        let active: Segment
        do throws(StorageFault) {
            if let pristine {
                active = pristine
            } else {
                // Small, so that a start is quick; the next one has its full size.
                active = try Segment(
                    creating: number, in: configuration.logDirectory,
                    capacity: isDiskFull ? Segment.leastCapacity : min(configuration.segmentBytes, 1 << 20),
                    recycled: nil)
            }
            replayedChanges = try Self.replay(
                &found.leftovers, foldedRev, into: active, ledger, documents, configuration, isDiskFull: isDiskFull)
        } catch {
            // Half a copy, or half a segment, is of no use, and in the way on a full disk; but not when it has taken the
            // place of what was copied.
            let directory = configuration.logDirectory
            if leftovers.allSatisfy({ FileSystem.exists(Segment.path(directory, $0)) }) {
                try Segment.remove(number, in: directory)
            }
            throw error
        }
        settings.recount()
        for leftover in found.leftovers {
            closed.append(
                Log.Closed(
                    number: leftover.number, firstRev: leftover.firstRev, lastRev: leftover.lastRev,
                    bytes: leftover.capacity))
        }
        closed.sort { $0.number < $1.number }
        log = Log(
            configuration: configuration, housekeeper: housekeeper, active: active, closed: closed,
            retired: gone.map(\.number))
        hasRaisedRevision = try RelaxedDurability.resume(configuration, ledger, log, above: boot?.lostRev ?? 0)
    }

    // MARK: The log

    private struct Found {
        /// Segments with rows that the tables may not have, in the order of their first revisions: a copy that a kill cut
        /// short has a higher number than what follows it. Several may have the same rows.
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
                try Segment.remove(number, in: directory)
                continue
            }
            if segment.lastRev > 0 {
                found.leftovers.append(segment)
            } else if segment.isOfOldLayout {
                try Segment.remove(number, in: directory)
            } else {
                if let other = found.pristine { try Segment.remove(other.number, in: directory) }
                found.pristine = segment
            }
        }
        found.leftovers.sort { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }
        for name in names where name.hasSuffix(".sqlite-wal") || name.hasSuffix("-journal") || name.hasSuffix("-shm") {
            let stem = name.split(separator: "-").first.map(String.init) ?? name
            guard let number = Segment.number(ofFile: stem), !numbers.contains(number) else { continue }
            let path = directory + "/" + name
            // Nobody here removes a file before its WAL, but for earlier versions, which did so with what was folded.
            let isFolded = closed.contains { $0.number == number && $0.lastRev <= foldedRev }
            if !isFolded, name.hasSuffix("-wal"), try !WALCommits(path: path).ends.isEmpty {
                throw .damaged(
                    "\(path) has changes, and the file that they belong to, \(stem), is missing. Nothing was changed")
            }
            try FileSystem.remove(path)
        }
        return found
    }

    /// Takes the changes above `foldedRev` into memory, and copies them into the segment that goes on, synced.
    ///
    /// On a full disk each segment makes room for the copy of the next: it goes when its own copy is durable.
    private static func replay(
        _ leftovers: inout [Segment], _ foldedRev: UInt64, into active: Segment, _ ledger: Ledger,
        _ documents: DocumentsStore, _ configuration: StorageConfiguration, isDiskFull: Bool
    ) throws(StorageFault) -> Int {
        guard leftovers.contains(where: { $0.lastRev > foldedRev }) else { return 0 }
        let mustCopy = FaultPoints.hit(.recoverCopy) != .skip
        var copy = SegmentCopy(into: active, in: configuration.logDirectory)
        // Most of the time goes into reading old documents. The cache is for the trees' inner pages, which every look-up
        // passes; one that kept the ids' leaves as well was no faster.
        let reader = try DocumentReader(path: configuration.tablesPath, mayWait: true, cacheKibibytes: 4096)
        do throws(SQLiteError) { try reader.freeze() } catch {
            throw .database(error, file: configuration.tablesPath)
        }
        var applied = foldedRev
        var newest = foldedRev
        var changes = 0
        var position = 0
        while position < leftovers.count {
            let segment = leftovers[position]
            try segment.rows(after: applied) { (rev, at, records) throws(StorageFault) in
                changes += try apply(records, at: at, above: foldedRev, behind: &newest, ledger, documents, reader)
                if mustCopy { try copy.append(rev: rev, at: at, records: records) }
                applied = rev
            }
            if mustCopy, isDiskFull {
                try copy.finish()
                try Segment.remove(segment.number, in: configuration.logDirectory)
                leftovers.remove(at: position)
            } else {
                position += 1
            }
        }
        if mustCopy { try copy.finish() }
        return changes
    }

    /// Takes a row's changes above `foldedRev` into memory.
    /// `newest`: the revision of the last change that was taken in; what follows comes next to it.
    /// - Returns: how many they are.
    /// - Throws: `.hole` when some are missing: they may have been acknowledged, so nobody goes on without them unasked.
    static func apply(
        _ records: Bytes, at: Int64, above foldedRev: UInt64, behind newest: inout UInt64, _ ledger: Ledger,
        _ documents: DocumentsStore, _ reader: DocumentReader
    ) throws(StorageFault) -> Int {
        var changes = 0
        var offset = 0
        while let record = try LogRecord.next(in: records, at: &offset) {
            // A row's first changes may have been folded, its last not: slices end where a sync ended.
            guard record.rev > foldedRev else { continue }
            guard record.rev <= newest + 1 || RelaxedDurability.raises(record, from: newest) else {
                throw .hole(after: newest, next: record.rev)
            }
            newest = max(newest, record.rev)
            changes += 1
            switch record.store {
            case .settings, .requests, .configuration: ledger.replay(resident: record, at: at)
            case .secrets: ledger.replay(secret: record, at: at)
            case .secretVersions where record.isDrop:
                ledger.replay(drop: ledger.scopes.find(record.store, record.scope), rev: record.rev, at: at)
            case .secretVersions: try ledger.replay(secretVersion: record, at: at, reader: reader)
            case .documents, .attachments: try documents.replay(record, at: at, reader: reader)
            }
        }
        return changes
    }
}
