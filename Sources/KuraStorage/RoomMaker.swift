import Glibc
import KuraBytes
import SQLite

/// Makes room on a full disk so that a start can succeed.
///
/// 1. What nobody misses goes: the reserve, the spare WAL, what segments have in advance.
/// 2. The tables are made durable, by a checkpoint, or where they lie when there is no room for one. Segments that they
///    hold whole go.
/// 3. When that was not enough, the log is compacted: `LogCompaction`.
/// 4. Nor that: the log is folded, a piece at a time, and a segment goes as soon as a checkpoint covers it. What lies in the
///    tables durably need not be copied by the recovery that follows.
///
/// The room that a step needs is what the steps before it gave.
///
/// Each step leaves a data directory that any later start can go on with.
struct RoomMaker {
    private let configuration: StorageConfiguration
    private let tables: TablesInMemory
    private let reader: DocumentReader
    private let folder: Folder
    private let reported = Semaphore()
    /// The tables were as of this revision at first.
    private let foldedRev: UInt64
    /// Changes up to this revision are in memory or in the tables.
    private var replayedRev: UInt64

    /// Bytes that changes take in memory before they are folded. A piece needs room of its own in the tables' WAL.
    private static let pieceBytes = 32 << 10

    /// How far to go; each makes more room where the ones before it made too little.
    enum Effort: CaseIterable {
        case whatNobodyMisses, compaction, folding
    }

    /// Throws: what is wrong apart from the disk's being full, or that it is full and the tables cannot even be opened.
    static func makeRoom(_ configuration: StorageConfiguration, _ effort: Effort) throws(StorageFault) {
        let directory = configuration.logDirectory
        try FileSystem.remove(configuration.reservePath)
        try FileSystem.remove(configuration.sparePath)
        let numbers = try FileSystem.names(in: directory).compactMap(Segment.number(ofFile:)).sorted()
        for number in numbers { try Segment.trim(number, in: directory) }
        var maker = try RoomMaker(configuration)
        defer { maker.folder.stop() }
        do throws(StorageFault) {
            let rest = try maker.letGoOfFolded(numbers)
            switch effort {
            case .whatNobodyMisses: break
            case .compaction: try maker.compact(rest, newest: numbers.last ?? 0)
            case .folding: try maker.foldLog(rest)
            }
        } catch {
            // What is not folded is the recovery's to copy, which may need less.
            guard error.isFull else { throw error }
        }
    }

    private init(_ configuration: StorageConfiguration) throws(StorageFault) {
        var configuration = configuration
        // The tables' WAL starts over before it grows.
        configuration.checkpointBytes = configuration.reserveBytes / 4
        self.configuration = configuration
        let path = configuration.tablesPath
        tables = try TablesInMemory(configuration)
        foldedRev = tables.ledger.foldedRev
        replayedRev = foldedRev
        reader = try DocumentReader(path: path, mayWait: true)
        do throws(SQLiteError) { _ = try tables.writer.checkpoint(.truncate) } catch {
            guard error.isFull else { throw .database(error, file: path) }
            try FileSystem.writeAgain(path + "-wal")
            try FileSystem.syncDirectory(configuration.durableDirectory)
        }
        // Safety: nobody but the fold thread uses it from here on.
        nonisolated(unsafe) let writer = tables.writer
        folder = try unsafe Folder(
            connection: writer, configuration: configuration, foldedRev: foldedRev, tends: false,
            wake: { [reported] in reported.signal() })
    }

    private struct Leftover {
        var number: Int
        var firstRev: UInt64
        var lastRev: UInt64
        /// Numbers are not used twice, so the newest segment stays, without its rows.
        var isNewest: Bool
    }

    /// The tables are durable: the segments that they hold whole go.
    /// - Returns: the others, in the order of their first revisions.
    private func letGoOfFolded(_ numbers: [Int]) throws(StorageFault) -> [Leftover] {
        let listed = tables.segments.filter { $0.lastRev <= foldedRev }.map(\.number)
        for number in listed { try Segment.remove(number, in: configuration.logDirectory) }
        var rest: [Leftover] = []
        for number in numbers where !listed.contains(number) {
            let leftover: Leftover
            do throws(StorageFault) {
                let segment = try Segment(opening: number, in: configuration.logDirectory)
                guard segment.lastRev > 0 else { continue }
                leftover = Leftover(
                    number: number, firstRev: segment.firstRev, lastRev: segment.lastRev,
                    isNewest: number == numbers.last)
            } catch {
                // None, left by a kill while it was made; the recovery knows what to do about it.
                guard case .database(let cause, _) = error, cause.code == 1 else { throw error }
                continue
            }
            if leftover.lastRev <= foldedRev { try letGo(leftover) } else { rest.append(leftover) }
        }
        return rest.sorted { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }
    }

    private func letGo(_ leftover: Leftover) throws(StorageFault) {
        if leftover.isNewest {
            try Segment.empty(leftover.number, in: configuration.logDirectory)
        } else {
            try Segment.remove(leftover.number, in: configuration.logDirectory)
        }
    }

    /// Has one segment take in all others' rows, the newest first.
    /// `newest`: the highest number.
    private func compact(_ leftovers: [Leftover], newest: Int) throws(StorageFault) {
        let directory = configuration.logDirectory
        let target: Segment
        if newest > 0, leftovers.allSatisfy({ $0.number != newest }) {
            target = try Segment(opening: newest, in: directory)
        } else {
            target = try Segment(
                creating: newest + 1, in: directory, capacity: Segment.leastCapacity, recycled: nil)
        }
        guard target.lastRev == 0 else { return }
        var compaction = LogCompaction(into: target, in: directory)
        for leftover in leftovers.sorted(by: { ($0.lastRev, $0.number) > ($1.lastRev, $1.number) }) {
            guard try compaction.move(leftover.number, above: foldedRev) else { return }
        }
    }

    /// Folds the segments one after the other, and lets each go.
    private mutating func foldLog(_ leftovers: [Leftover]) throws(StorageFault) {
        for leftover in leftovers {
            try replay(leftover.number)
            try fold()
            let outcome = outcome { folder.checkpoint() }
            if let error = outcome.error { throw .database(error, file: configuration.tablesPath) }
            if outcome.durableRev >= leftover.lastRev { try letGo(leftover) }
        }
    }

    /// Takes a segment's changes into memory, and folds them whenever there is enough for a piece.
    private mutating func replay(_ number: Int) throws(StorageFault) {
        let segment = try Segment(opening: number, in: configuration.logDirectory)
        var replayed = replayedRev
        var newest = replayedRev
        try segment.rows(after: replayedRev) { (rev, at, records) throws(StorageFault) in
            _ = try Recovery.apply(
                records, at: at, above: foldedRev, behind: &newest, tables.ledger, tables.documents, reader)
            replayed = rev
            if tables.ledger.overlayBytes >= Self.pieceBytes { try fold() }
        }
        replayedRev = replayed
    }

    /// Folds what is in memory.
    private func fold() throws(StorageFault) {
        let ledger = tables.ledger
        guard let slice = ledger.cutSlice(syncedRev: ledger.rev, log: nil) else { return }
        var failure = outcome { folder.submit(slice) }.error
        if let error = failure, error.isFull {
            // The tables' WAL may have grown as far as it can: it starts over.
            _ = outcome { folder.checkpoint() }
            failure = outcome { folder.submit(slice) }.error
        }
        if let failure { throw .database(failure, file: configuration.tablesPath) }
        while !ledger.settle(slice, budget: 100_000) {}
        ledger.trimCache()
    }

    /// Hands the fold thread a job and waits for its outcome.
    private func outcome(of job: () -> Void) -> Folder.Outcome {
        job()
        while true {
            reported.wait()
            if let outcome = folder.outcomes()?.last { return outcome }
        }
    }
}
