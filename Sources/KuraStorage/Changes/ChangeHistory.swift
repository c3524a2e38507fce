import Glibc
import KuraBytes
import SQLite

/// Where the loop gets the log's rows from: those committed lately from memory, older ones from closed segments, a chunk at
/// a time, which the housekeeper reads.
///
/// `chunk` never waits: what has to be read first throws `.cold`, `fetch` has it read under a ticket, and `takeDone` gives
/// the ticket back. A few chunks are kept, so that many readers of the same stretch cost one reading. Belongs to the loop.
final class ChangeHistory {
    let log: Log
    let housekeeper: Housekeeper
    let wake: @Sendable () -> Void
    private let report: @Sendable (String) -> Void

    /// Chunks read, the one used last at the end.
    private var chunks: ContiguousArray<ChangeChunk> = []
    private static let chunkLimit = 8
    private var tickets: [UInt64: [UInt64]] = [:]
    /// Where readings that failed began; told to whoever asks next.
    private var failures: Set<UInt64> = []
    /// Revisions behind which nothing could be read for want of descriptors or memory.
    private var wants: Set<UInt64> = []
    private let done = Outbox<(after: UInt64, outcome: SegmentReader.Outcome)>()
    /// Searches that are under way, by ticket.
    var reading: [UInt64: any RowSearch] = [:]
    let versionsRead = Outbox<(ticket: UInt64, error: QueryError?)>()
    /// Somebody wants what only the active segment has.
    private var wantsTurnOver = false
    /// When a chunk was used last.
    private var usedAt: UInt64 = 0
    /// What the last `.cold` was about.
    private var missing: UInt64?

    /// `wake`: called when a chunk has been read; makes the loop look.
    /// `report`: takes lines for the operator; called on the loop.
    init(
        log: Log, housekeeper: Housekeeper, wake: @escaping @Sendable () -> Void,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.log = log
        self.housekeeper = housekeeper
        self.wake = wake
        self.report = report
    }

    /// The smallest revision from which every change can still be read.
    var oldestRev: UInt64 { min(log.compactedRev, log.recent.after) }

    /// The rows that follow `rev`, which is below the newest.
    /// - Throws: `.compacted` when retention has let them go; `.cold` when they have to be read first; `.damagedLog`;
    ///   `.overloaded` when they lie in a segment that cannot be closed yet: a large burst, or a full disk. Ask again soon.
    func chunk(after rev: UInt64) throws(ChangesError) -> ChangeChunk {
        if let chunk = log.recent.chunk(after: rev) { return chunk }
        if rev < log.compactedRev { throw .compacted(oldestRev: oldestRev) }
        if let position = chunks.lastIndex(where: { $0.continues(rev) }) {
            let chunk = chunks[position]
            usedAt = log.configuration.clock.monotonic
            if position != chunks.count - 1 { chunks.append(chunks.remove(at: position)) }
            return chunk
        }
        if failures.remove(rev) != nil { throw .damagedLog }
        if wants.remove(rev) != nil { throw .overloaded }
        if log.segmentNumbers(after: rev).isEmpty {
            if rev >= log.activeAfter { throw notClosed() }
            // Listed nowhere: files that went with a run that could not say so.
            log.compact(to: log.activeAfter)
            throw .compacted(oldestRev: oldestRev)
        }
        missing = rev
        throw .cold
    }

    /// Fills a page with what follows `rev`, as `Storage.fill` says.
    /// `synced`: everything up to this revision is on the disk.
    func fill(
        _ page: ChangePage, after rev: UInt64, upTo synced: UInt64, _ filter: ChangeFilter, _ limits: ChangePage.Limits,
        values: Bool, secrets: SecretsStore
    ) throws(ChangesError) {
        page.begin(after: rev)
        while page.rev < synced, !page.isFull {
            let from = page.rev
            let rows: ChangeChunk
            do throws(ChangesError) { rows = try chunk(after: from) } catch {
                guard from > rev else { throw error }
                // What has been read already is an answer; the rest is read meanwhile.
                if error == .cold { prefetch() }
                return
            }
            do throws(StorageFault) {
                try page.take(rows, upTo: synced, filter, limits, values: values, secrets: secrets)
            } catch {
                page.clear()
                throw .damagedLog
            }
            guard page.rev > from || page.isFull else { throw .damagedLog }
        }
    }

    /// Has the chunk read that the last `.cold` was about.
    /// - Returns: false when it was not about a chunk.
    func fetch(_ ticket: UInt64) -> Bool {
        guard let rev = missing else { return false }
        missing = nil
        if tickets[rev] != nil {
            tickets[rev]!.append(ticket)
            return true
        }
        tickets[rev] = [ticket]
        let numbers = log.segmentNumbers(after: rev)
        let (reader, done, wake) = (log.reader, self.done, self.wake)
        housekeeper.submit {
            let outcome = reader.read(after: rev, in: numbers)
            // The sync that a segment was closed under may not have let go of it.
            if case .busy = outcome { usleep(1000) }
            done.append((rev, outcome))
            wake()
        }
        return true
    }

    func dismiss() { missing = nil }

    /// Rows that memory does not have lie in the active segment. It is closed as soon as another stands ready.
    func notClosed() -> ChangesError {
        wantsTurnOver = true
        return .overloaded
    }

    /// Has the active segment closed when somebody wants what is in it, and another stands ready.
    func turnOver() {
        guard wantsTurnOver else { return }
        wantsTurnOver = !log.turnOver()
    }

    /// The same with nobody waiting for it.
    func prefetch() { _ = fetch(0) }

    /// Tickets of the readings that have ended, well or not; nil when none has.
    func takeDone() -> [UInt64]? {
        guard let outcomes = done.take() else { return nil }
        var ended: [UInt64] = []
        for (rev, outcome) in outcomes {
            switch outcome {
            case .chunk(let chunk):
                chunks.append(chunk)
                usedAt = log.configuration.clock.monotonic
                if chunks.count > Self.chunkLimit { chunks.removeFirst() }
            case .gap(let after): log.compact(to: min(after, log.activeAfter))
            case .busy: break
            // Nothing is known of the segment: whoever waits may ask again.
            case .failed(let fault) where fault.isWant: wants.insert(rev)
            case .failed(let fault):
                failures.insert(rev)
                report("the log could not be read for the change feed: \(fault)")
            }
            ended += tickets.removeValue(forKey: rev) ?? []
        }
        return ended
    }

    /// Gives back what reading the past has taken when nobody has done so for a while.
    /// - Returns: nanoseconds until it wants to be asked again; nil when there is nothing to give back.
    func trim(at time: UInt64) -> UInt64? {
        guard !chunks.isEmpty || !failures.isEmpty || !wants.isEmpty else { return nil }
        let due = usedAt + Self.idleTime
        guard time >= due else { return due - time }
        chunks.removeAll()
        failures.removeAll()
        wants.removeAll()
        let reader = log.reader
        housekeeper.submit { reader.close() }
        return nil
    }

    private static let idleTime: UInt64 = 10_000_000_000
}
