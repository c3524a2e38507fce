import Glibc
import KuraBytes
import SQLite

/// Makes room on a full disk so that a start can succeed.
///
/// 1. What nobody misses goes: the reserve, the spare WAL, what segments have in advance.
/// 2. The tables are made durable, by a checkpoint, or where they lie when there is no room for one. Segments that they
///    hold whole go.
/// 3. When that was not enough, the log is folded, a piece at a time, and a segment goes as soon as a checkpoint covers it.
///
/// The room that a step needs is what the steps before it gave.
///
/// Each step leaves a data directory that any later start can go on with.
struct RoomMaker {
    private let configuration: StorageConfiguration
    private let tables: TablesInMemory
    private let reader: DocumentReader
    private let folding: FoldAhead
    /// The tables were as of this revision at first.
    private let foldedRev: UInt64
    /// Changes up to this revision are in memory or in the tables.
    private var replayedRev: UInt64

    /// Bytes that changes take in memory before they are folded. A piece needs room of its own in the tables' WAL.
    private static let pieceBytes = 32 << 10

    /// How far to go; each makes more room where the ones before it made too little.
    enum Effort: CaseIterable {
        case whatNobodyMisses, folding
    }

    /// Throws: what is wrong apart from the disk's being full, or that it is full and the tables cannot even be opened.
    static func makeRoom(_ configuration: StorageConfiguration, _ effort: Effort) throws(StorageFault) {
        let directory = configuration.logDirectory
        try FileSystem.remove(configuration.reservePath)
        try FileSystem.remove(configuration.sparePath)
        let numbers = try LogFiles.numbers(in: directory)
        try trim(numbers, configuration)
        var maker = try RoomMaker(configuration)
        defer { maker.folding.stop() }
        do throws(StorageFault) {
            let rest = try maker.letGoOfFolded(numbers)
            switch effort {
            case .whatNobodyMisses: break
            case .folding: try maker.foldLog(rest)
            }
        } catch {
            // What is not folded is the recovery's to copy, which may need less.
            guard error.isFull else { throw error }
        }
    }

    /// Segments give back what they have in advance. None does when the log may have been cut short: what is left of the newest rows would
    /// go as well.
    private static func trim(_ numbers: [Int], _ configuration: StorageConfiguration) throws(StorageFault) {
        let directory = configuration.logDirectory
        var segments: [Segment] = []
        for number in numbers where FileSystem.exists(Segment.path(directory, number)) {
            // The recovery knows what to do about one that is damaged.
            if let segment = try? Segment(opening: number, in: directory) { segments.append(segment) }
        }
        let acknowledged = try AcknowledgedNote.read(configuration.acknowledgedPath) ?? 0
        guard segments.allSatisfy(\.damages.isEmpty), segments.contains(where: { $0.lastRev >= acknowledged }) else {
            return
        }
        for segment in segments { try segment.trim() }
    }

    private init(_ configuration: StorageConfiguration) throws(StorageFault) {
        var configuration = configuration
        // The tables' WAL starts over before it grows.
        configuration.fold.checkpointBytes = configuration.log.segmentBytes / 4
        self.configuration = configuration
        let path = configuration.tablesPath
        var tables = try TablesInMemory(configuration)
        // Before anything of the log goes into the tables.
        try tables.take(try tables.lineage.judge(beside: tables.segments, configuration), in: path)
        self.tables = tables
        foldedRev = tables.ledger.foldedRev
        replayedRev = foldedRev
        reader = try DocumentReader(path: path, mayWait: true)
        do throws(SQLiteError) { _ = try tables.writer.checkpoint(.truncate) } catch {
            guard error.isFull else { throw .database(error, file: path) }
            try FileSystem.writeAgain(path + "-wal")
            try FileSystem.syncDirectory(configuration.durableDirectory)
        }
        folding = try FoldAhead(configuration, tables.ledger, writer: tables.writer)
    }

    private struct Leftover {
        var number: Int
        var firstRev: UInt64
        var lastRev: UInt64
    }

    /// The tables are durable: the segments that they hold whole go.
    /// - Returns: the others, in the order of their first revisions.
    private func letGoOfFolded(_ numbers: [Int]) throws(StorageFault) -> [Leftover] {
        let listed = tables.segments.filter { $0.lastRev <= foldedRev }.map(\.number)
        for number in listed { try LogFiles.remove(number, in: configuration.logDirectory) }
        var rest: [Leftover] = []
        for number in numbers where !listed.contains(number) {
            let leftover: Leftover
            do throws(StorageFault) {
                let segment = try LogFiles.open(number, in: configuration.logDirectory)
                // One that is damaged, or was left by a kill while it was made, is the recovery's.
                guard segment.lastRev > 0, segment.damages.isEmpty else { continue }
                leftover = Leftover(number: number, firstRev: segment.firstRev, lastRev: segment.lastRev)
            } catch {
                switch error {
                case .damaged: continue
                case .database(let cause, _) where cause.code == 1: continue
                default: throw error
                }
            }
            if leftover.lastRev <= foldedRev {
                try LogFiles.remove(number, in: configuration.logDirectory)
            } else {
                rest.append(leftover)
            }
        }
        return rest.sorted { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }
    }

    /// Folds the segments one after the other, and lets each go.
    private mutating func foldLog(_ leftovers: [Leftover]) throws(StorageFault) {
        for leftover in leftovers {
            try replay(leftover.number)
            try folding.fold()
            if try folding.checkpoint() >= leftover.lastRev {
                try LogFiles.remove(leftover.number, in: configuration.logDirectory)
            }
        }
    }

    /// Takes a segment's changes into memory, and folds them whenever there is enough for a piece.
    private mutating func replay(_ number: Int) throws(StorageFault) {
        let segment = try LogFiles.open(number, in: configuration.logDirectory)
        let log = LogReplay(tables.ledger, reader)
        var replayed = replayedRev
        var newest = replayedRev
        try segment.rows(after: replayedRev) { (row) throws(StorageFault) in
            _ = try log.apply(row, above: foldedRev, behind: &newest, without: tables.lost)
            replayed = row.rev
            if tables.ledger.overlay.bytes >= Self.pieceBytes { try folding.fold() }
        }
        replayedRev = replayed
    }
}
