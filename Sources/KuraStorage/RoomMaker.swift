import Glibc
import SQLite

/// Makes room on a full disk so that a start can succeed.
///
/// 1. What nobody misses goes: the reserve, the spare WAL, what segments have in advance.
/// 2. The tables are made durable, by a checkpoint, or where they lie when there is no room for one. Segments that they
///    hold whole go.
/// 3. The log is folded, a piece at a time, and a segment goes as soon as a checkpoint covers it. What lies in the tables
///    durably need not be copied by the recovery that follows.
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
    private static let pieceBytes = 64 << 10

    /// Throws: what is wrong apart from the disk's being full, or that it is full and the tables cannot even be opened.
    static func makeRoom(_ configuration: StorageConfiguration) throws(StorageFault) {
        let directory = configuration.logDirectory
        try FileSystem.remove(configuration.reservePath)
        try FileSystem.remove(configuration.sparePath)
        let numbers = try FileSystem.names(in: directory).compactMap(Segment.number(ofFile:)).sorted()
        for number in numbers { try Segment.trim(number, in: directory) }
        var maker = try RoomMaker(configuration)
        defer { maker.folder.stop() }
        do throws(StorageFault) { try maker.foldLog(numbers) } catch {
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
        // Nobody but the fold thread uses it from here on.
        nonisolated(unsafe) let writer = tables.writer
        folder = try Folder(
            connection: writer, configuration: configuration, foldedRev: foldedRev,
            wake: { [reported] in reported.signal() })
    }

    /// Folds the segments one after the other, and lets each go.
    private mutating func foldLog(_ numbers: [Int]) throws(StorageFault) {
        let directory = configuration.logDirectory
        let listed = tables.segments.filter { $0.lastRev <= foldedRev }.map(\.number)
        for number in listed { try Segment.remove(number, in: directory) }
        var durableRev = foldedRev
        for number in numbers where !listed.contains(number) {
            guard let lastRev = try replay(number), lastRev > 0 else { continue }
            if lastRev > durableRev {
                try fold()
                let outcome = outcome { folder.checkpoint() }
                if let error = outcome.error { throw .database(error, file: configuration.tablesPath) }
                durableRev = max(durableRev, outcome.durableRev)
                guard lastRev <= durableRev else { continue }
            }
            // Numbers are not used twice, so the newest segment stays, without its rows.
            if number == numbers.last {
                try Segment.empty(number, in: directory)
            } else {
                try Segment.remove(number, in: directory)
            }
        }
    }

    /// Takes a segment's changes into memory, and folds them whenever there is enough for a piece.
    /// - Returns: the segment's last revision; nil when it is none, left by a kill while it was made.
    private mutating func replay(_ number: Int) throws(StorageFault) -> UInt64? {
        let segment: Segment
        do throws(StorageFault) {
            segment = try Segment(opening: number, in: configuration.logDirectory)
        } catch {
            // The recovery knows what to do about it.
            guard case .database(let cause, _) = error, cause.code == 1 else { throw error }
            return nil
        }
        var replayed = replayedRev
        try segment.rows(after: replayedRev) { (rev, at, records) throws(StorageFault) in
            _ = try Recovery.apply(
                records, at: at, above: foldedRev, tables.settings, tables.documents, reader)
            replayed = rev
            if tables.ledger.overlayBytes >= Self.pieceBytes { try fold() }
        }
        replayedRev = replayed
        return segment.lastRev
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
            if let outcome = folder.outcomes().last { return outcome }
        }
    }
}
