import KuraBytes
import SQLite

/// Has what destroyed versions have left on the disk overwritten, wherever it lies: the tables' pages, their WAL, the segments of the log, and
/// the files that are kept to be used again.
///
/// That it is owed stands in the store itself (`SecretRecords.scrubKey`), since the transaction that destroyed something, so a start goes on
/// with it, unlocked or not. It goes so, each step with the next turn:
///
/// 1. *clearing*: no file is recycled any more; the active segment is closed, and one of a fresh file takes over.
/// 2. *folding*: everything that the closed segments have is folded.
/// 3. *tables*: the fold thread checkpoints, empties the WAL, and zeroes what is between the cells of pages (`PageScrub`).
/// 4. *segments*: the housekeeper takes what is superseded out of the log (`LogScrub`).
/// 5. *done*: the note is taken away. When something was destroyed meanwhile it begins anew.
///
/// What cannot be done for want of room is tried again every second. Belongs to the loop.
final class SecretsScrub {
    enum Phase: Equatable {
        case idle, clearing
        case folding(to: UInt64)
        case tables, segments
        case done
    }
    private(set) var phase = Phase.idle
    /// What was destroyed up to this revision is what it is about.
    private(set) var target: UInt64 = 0
    /// When the step is tried again that could not be done.
    private(set) var retryAt: UInt64 = 0
    /// Since when somebody else has a file in his hands; 0 while nobody does.
    private var busySince: UInt64 = 0
    private let outcome = Guarded<Result<[Int: Int], StorageFault>?>(nil)
    private let note: ScrubNote
    private let ledger: Ledger
    private let log: LogKeeper
    private let tables: TablesKeeper
    private let desk: TicketDesk
    private let start: StorageStart
    private let host: StorageHost

    private static let pause: UInt64 = 1_000_000_000
    /// Somebody has a file in his hands for a moment.
    private static let shortPause: UInt64 = 5_000_000
    /// Longer than a backup's or a query's snapshot is held.
    private static let patience: UInt64 = 3_000_000_000

    init(
        _ note: ScrubNote, _ ledger: Ledger, _ log: LogKeeper, _ tables: TablesKeeper, _ desk: TicketDesk,
        _ start: StorageStart, _ host: StorageHost
    ) {
        (self.note, self.ledger, self.log, self.tables, self.desk) = (note, ledger, log, tables, desk)
        (self.start, self.host) = (start, host)
    }

    /// Waits until nothing is left on the disk of what was destroyed.
    /// `rev`: of the change that destroyed it.
    /// - Returns: its ticket; nil when nothing is left already.
    func awaitEnd(of rev: UInt64) -> UInt64? {
        guard let owed = note.owedRev else { return nil }
        let ticket = desk.takeTicket()
        desk.waits.add(ticket, .scrubbed(owed), ScrubDone(rev: rev))
        return ticket
    }

    /// Nothing is left of what was destroyed up to this revision.
    func isDone(_ rev: UInt64) -> Bool { phase == .done && rev <= target }

    /// The revision that it waits to see folded; 0 when it waits for something else.
    var wantedRev: UInt64 { if case .folding(let rev) = phase { rev } else { 0 } }

    // MARK: Steps

    /// The next step, if there is one now.
    /// - Returns: when it wants to be called again; nil when something else calls it.
    func step(_ time: UInt64) -> UInt64? {
        if phase == .idle, let owed = note.owedRev, owed <= ledger.committedRev { begin(owed) }
        guard time >= retryAt else { return retryAt }
        switch phase {
        case .idle: return nil
        case .clearing:
            guard !tables.room.isFull else {
                rest(.clearing, time, telling: .noSpace)
                return time
            }
            guard log.segments.beginScrub(), log.segments.turnOverForScrub() else {
                guard let failure = log.segments.nextFailure else { return time + 5_000_000 }
                rest(.clearing, time, telling: failure)
                return time
            }
            go(to: .folding(to: log.segments.closed.map(\.lastRev).max() ?? 0))
            return time
        case .folding(let rev):
            guard ledger.foldedRev >= rev, log.syncedRev.has(rev) else {
                // At once, whatever the pace is.
                tables.hasten()
                return time + 1_000_000
            }
            go(to: .tables)
            tables.folder.scrub()
            return nil
        case .tables: return nil
        case .segments:
            guard let outcome = takeOutcome() else { return nil }
            switch outcome {
            case .success(let sizes):
                log.segments.noteScrubbed(sizes)
                log.segments.endScrub()
                go(to: .done)
            case .failure(let fault):
                if case .database(let error, _) = fault, error.isBusy {
                    retry(.folding(to: 0), time)
                } else {
                    host.report("what destroyed secrets have left in the log is still there, and tried again: \(fault)")
                    rest(.folding(to: 0), time, telling: fault.isFull ? .noSpace : .overloaded)
                }
            }
            return time
        // The next turn takes the note away.
        case .done: return time
        }
    }

    /// The fold thread has been through the tables.
    /// - Returns: false when what became of them is not known.
    func noteTables(_ error: SQLiteError?, _ time: UInt64) -> Bool {
        guard let error else {
            go(to: .segments)
            scrubSegments()
            return true
        }
        guard !error.isBusy else {
            retry(.folding(to: 0), time)
            return true
        }
        guard error.isFull || error.isCorrupt else { return false }
        host.report("what destroyed secrets have left in the tables is still there, and tried again: \(error.message)")
        rest(.folding(to: 0), time, telling: error.isFull ? .noSpace : .overloaded)
        return true
    }

    /// Takes the note away that something is owed, unless there is more by now. At the beginning of a turn.
    func finish() {
        guard phase == .done else { return }
        let time = start.configuration.clock.monotonic
        guard time >= retryAt else { return }
        _ = FaultPoints.hit(.scrubDone)
        guard note.owedRev == target else { return end() }
        do throws(EngineError) {
            try note.stageDone()
            end()
        } catch {
            // No room for it now.
            rest(.done, time, telling: .noSpace)
        }
    }

    // MARK: Phases

    private func begin(_ rev: UInt64) {
        target = rev
        phase = .clearing
    }

    private func go(to next: Phase) {
        phase = next
        retryAt = 0
        if next == .segments || next == .done { busySince = 0 }
    }

    private func end() { phase = .idle }

    /// Somebody has a file in his hands: it goes on a moment later from `phase` on. When that takes long, who waits is told.
    private func retry(_ phase: Phase, _ time: UInt64) {
        if busySince == 0 { busySince = time }
        guard time - busySince < Self.patience else { return rest(phase, time, telling: .overloaded) }
        self.phase = phase
        retryAt = time + Self.shortPause
    }

    /// The same, and that may take long: who waits is told why.
    private func rest(_ phase: Phase, _ time: UInt64, telling error: EngineError) {
        self.phase = phase
        retryAt = time + Self.pause
        desk.waits.refuse(.scrub, error)
    }

    // MARK: Segments

    /// Has the closed segments looked through that the tables hold durably.
    private func scrubSegments() {
        let (log, configuration, wake) = (log.segments, start.configuration, host.wake)
        let durableRev = tables.durableRev
        let scrub = LogScrub(
            numbers: log.closed.filter { $0.lastRev <= durableRev }.map(\.number), rev: target,
            directory: configuration.logDirectory, temporary: configuration.temporaryDirectory, reader: log.reader)
        start.housekeeper.submit { [outcome] in
            let result: Result<[Int: Int], StorageFault>
            do throws(StorageFault) {
                let fault = FaultPoints.hit(.scrubLog)
                if let code = fault?.errno { throw .system(errno: code, call: "scrub", path: scrub.directory) }
                result = .success(fault == .skip ? [:] : try scrub.run())
            } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            wake()
        }
    }

    private func takeOutcome() -> Result<[Int: Int], StorageFault>? {
        outcome.withLock { outcome in
            defer { outcome = nil }
            return outcome
        }
    }
}

/// Tells that nothing is left of what was destroyed.
public final class ScrubDone: TableQuery {
    public let foldedTo: UInt64 = 0
    /// The revision of the change that destroyed it.
    public let rev: UInt64

    init(rev: UInt64) { self.rev = rev }

    public func run(_ tables: TableReader) {}
}
