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

    private static let pause: UInt64 = 1_000_000_000
    /// Somebody has a file in his hands for a moment.
    private static let shortPause: UInt64 = 5_000_000
    /// Longer than a backup's or a query's snapshot is held.
    private static let patience: UInt64 = 3_000_000_000

    // MARK: Steps

    /// The revision that it waits to see folded; 0 when it waits for something else.
    var wantedRev: UInt64 { if case .folding(let rev) = phase { rev } else { 0 } }

    func begin(_ rev: UInt64) {
        target = rev
        phase = .clearing
    }

    func go(to next: Phase) {
        phase = next
        retryAt = 0
        if next == .segments || next == .done { busySince = 0 }
    }

    func end() { phase = .idle }

    /// Somebody has a file in his hands: it goes on a moment later from `phase` on. When that takes long, who waits is told.
    func retry(_ phase: Phase, _ time: UInt64, _ waits: inout TicketWaits) {
        if busySince == 0 { busySince = time }
        guard time - busySince < Self.patience else { return rest(phase, time, telling: .overloaded, &waits) }
        self.phase = phase
        retryAt = time + Self.shortPause
    }

    /// The same, and that may take long: who waits is told why.
    func rest(_ phase: Phase, _ time: UInt64, telling error: EngineError, _ waits: inout TicketWaits) {
        self.phase = phase
        retryAt = time + Self.pause
        waits.refuse(.scrub, error)
    }

    // MARK: Segments

    /// Has the closed segments looked through that the tables hold durably.
    func scrub(
        _ log: Log, durableRev: UInt64, _ configuration: StorageConfiguration, _ housekeeper: Housekeeper,
        wake: @escaping @Sendable () -> Void
    ) {
        let scrub = LogScrub(
            numbers: log.closed.filter { $0.lastRev <= durableRev }.map(\.number), rev: target,
            directory: configuration.logDirectory, temporary: configuration.temporaryDirectory, reader: log.reader)
        housekeeper.submit { [outcome] in
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

    func takeOutcome() -> Result<[Int: Int], StorageFault>? {
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

extension Storage {
    /// Waits until nothing is left on the disk of what was destroyed.
    /// `rev`: of the change that destroyed it.
    /// - Returns: a ticket that `takeAnswers` gives back; nil when nothing is left already.
    public func awaitScrub(of rev: UInt64) -> UInt64? {
        guard let owed = secrets.scrubNote.owedRev else { return nil }
        let ticket = takeTicket()
        waits.add(ticket, .scrubbed(owed), ScrubDone(rev: rev))
        return ticket
    }

    /// Something of what was destroyed is still on the disk.
    public var isScrubOwed: Bool { secrets.scrubNote.owedRev != nil }

    /// There are segments that a recovery has set aside: they are never touched.
    public var hasQuarantine: Bool { FileSystem.exists(configuration.quarantineDirectory) }

    /// The next step, if there is one now.
    /// - Returns: when it wants to be called again; nil when something else calls it.
    func scrubSecrets(_ time: UInt64) -> UInt64? {
        if scrub.phase == .idle, let owed = secrets.scrubNote.owedRev, owed <= ledger.committedRev { scrub.begin(owed) }
        guard time >= scrub.retryAt else { return scrub.retryAt }
        switch scrub.phase {
        case .idle: return nil
        case .clearing:
            guard !room.isFull else {
                scrub.rest(.clearing, time, telling: .noSpace, &waits)
                return time
            }
            guard log.beginScrub(), log.turnOverForScrub() else {
                guard let failure = log.nextFailure else { return time + 5_000_000 }
                scrub.rest(.clearing, time, telling: failure, &waits)
                return time
            }
            scrub.go(to: .folding(to: log.closed.map(\.lastRev).max() ?? 0))
            return time
        case .folding(let rev):
            guard ledger.foldedRev >= rev, syncedRev.has(rev) else {
                // At once, whatever the pace is.
                folding.hasten()
                return time + 1_000_000
            }
            scrub.go(to: .tables)
            folder.scrub()
            return nil
        case .tables: return nil
        case .segments:
            guard let outcome = scrub.takeOutcome() else { return nil }
            switch outcome {
            case .success(let sizes):
                log.noteScrubbed(sizes)
                log.endScrub()
                scrub.go(to: .done)
            case .failure(let fault):
                if case .database(let error, _) = fault, error.isBusy {
                    scrub.retry(.folding(to: 0), time, &waits)
                } else {
                    report("what destroyed secrets have left in the log is still there, and tried again: \(fault)")
                    scrub.rest(.folding(to: 0), time, telling: fault.isFull ? .noSpace : .overloaded, &waits)
                }
            }
            return time
        // The next turn takes the note away.
        case .done: return time
        }
    }

    /// The fold thread has been through the tables.
    /// - Returns: false when what became of them is not known.
    func noteScrub(_ error: SQLiteError?, _ time: UInt64) -> Bool {
        guard let error else {
            scrub.go(to: .segments)
            scrub.scrub(log, durableRev: folding.durableRev, configuration, housekeeper, wake: wake)
            return true
        }
        guard !error.isBusy else {
            scrub.retry(.folding(to: 0), time, &waits)
            return true
        }
        guard error.isFull || error.isCorrupt else { return false }
        report("what destroyed secrets have left in the tables is still there, and tried again: \(error.message)")
        scrub.rest(.folding(to: 0), time, telling: error.isFull ? .noSpace : .overloaded, &waits)
        return true
    }

    /// Takes the note away that something is owed, unless there is more by now. At the beginning of a turn.
    func noteScrubbed() {
        guard scrub.phase == .done else { return }
        let time = clock.monotonic
        guard time >= scrub.retryAt else { return }
        _ = FaultPoints.hit(.scrubDone)
        guard secrets.scrubNote.owedRev == scrub.target else { return scrub.end() }
        do throws(EngineError) {
            try secrets.scrubNote.stageDone()
            scrub.end()
        } catch {
            // No room for it now.
            scrub.rest(.done, time, telling: .noSpace, &waits)
        }
    }
}
