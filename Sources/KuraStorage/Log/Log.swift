import Glibc
import SQLite
import Synchronization

/// The log as the loop sees it: the segment being written, the one that waits to take over, and those of the past.
///
/// The loop only appends. The housekeeper makes the next segment in advance, and retires old ones when the tables hold
/// their changes durably and the change feed's retention has let them go.
final class Log {
    /// A closed segment; `bytes` is the size of its WAL.
    struct Closed {
        var number: Int
        var firstRev: UInt64
        var lastRev: UInt64
        var bytes: Int
    }

    private let configuration: StorageConfiguration
    private let housekeeper: Housekeeper
    private(set) var active: Segment
    /// In the order of their numbers.
    private(set) var closed: [Closed]
    /// Segments that hold changes which are appended and not synced.
    private(set) var unsynced: [Segment] = []
    private let next = NextSegment()
    private var nextNumber: Int
    private var isPreparing = false
    private var prepareAgainAt: UInt64 = 0
    /// Segments closed and retired that the tables have not been told of.
    private var unrecorded: [Closed] = []
    private var retired: [Int] = []
    private(set) var commits: UInt64 = 0
    private(set) var bytesAppended: UInt64 = 0

    /// `retired`: segments that are gone and that the tables list.
    init(
        configuration: StorageConfiguration, housekeeper: Housekeeper, active: Segment, closed: [Closed],
        retired: [Int] = []
    ) {
        self.configuration = configuration
        self.housekeeper = housekeeper
        self.active = active
        self.closed = closed
        self.retired = retired
        nextNumber = max(active.number, closed.last?.number ?? 0) + 1
    }

    /// Bytes of the files of all segments.
    var bytes: Int { closed.reduce(active.capacity) { $0 + $1.bytes } }
    var segments: Int { closed.count + 1 }

    // MARK: Appending

    /// Appends one row, in the next segment when the active one is full and another stands ready.
    func append(rev: UInt64, at: Int64, records: Bytes) throws(SQLiteError) {
        if active.isFull(for: records.count) { switchSegment() }
        if let code = FaultPoints.hit(.logAppend)?.errno {
            throw SQLiteError.injected(code)
        }
        do throws(SQLiteError) {
            try active.append(rev: rev, at: at, records: records)
        } catch {
            active.abandon()
            throw error
        }
        if unsynced.last !== active { unsynced.append(active) }
        commits += 1
        bytesAppended += UInt64(records.count)
        // The row is in: whatever fails from here on leaves the outcome unknown.
        if FaultPoints.hit(.logCommit)?.errno != nil {
            throw SQLiteError.injected(EIO)
        }
    }

    /// A sync up to the newest revision has been asked for; what comes later is another sync's.
    func takeUnsynced() -> [Segment] {
        defer { unsynced = [] }
        return unsynced
    }

    /// Whether the tables' list of segments is behind.
    var hasNews: Bool { !unrecorded.isEmpty || !retired.isEmpty }

    func takeUnrecorded() -> [Closed] {
        defer { unrecorded = [] }
        return unrecorded
    }

    func takeRetired() -> [Int] {
        defer { retired = [] }
        return retired
    }

    private func switchSegment() {
        guard active.lastRev > 0, let segment = next.take() else { return }
        _ = FaultPoints.hit(.logSegmentChange)
        isPreparing = false
        let old = Closed(
            number: active.number, firstRev: active.firstRev, lastRev: active.lastRev, bytes: active.capacity)
        closed.append(old)
        unrecorded.append(old)
        let leaving = active
        active = segment
        // The last reference goes on the housekeeper's thread, after the sync that still needs it.
        housekeeper.submit { withExtendedLifetime(leaving) {} }
    }

    // MARK: Upkeep

    /// Bytes of closed segments that only wait for a checkpoint to be let go.
    func bytesAwaitingCheckpoint(foldedRev: UInt64, durableRev: UInt64) -> Int {
        closed.reduce(0) { $0 + ($1.lastRev > durableRev && $1.lastRev <= foldedRev ? $1.bytes : 0) }
    }

    /// Has the next segment made when there is none; called once a turn, cheap.
    /// `capacity`: bytes that it has in advance; nil for a full segment.
    func prepareNext(now: UInt64, capacity: Int? = nil) {
        guard !isPreparing, now >= prepareAgainAt, !next.isReady else { return }
        isPreparing = true
        let number = nextNumber
        nextNumber += 1
        let configuration = self.configuration
        let next = self.next
        housekeeper.submit {
            let spare = FileSystem.exists(configuration.sparePath) ? configuration.sparePath : nil
            do throws(StorageFault) {
                next.put(
                    try Segment(
                        creating: number, in: configuration.logDirectory,
                        capacity: capacity ?? configuration.segmentBytes, recycled: spare))
            } catch {
                // A full disk, most likely: the active segment grows instead, and this is tried again in a second.
                let path = Segment.path(configuration.logDirectory, number)
                unlink(path)
                unlink(path + "-wal")
                next.fail()
            }
        }
    }

    /// Notes that making the next segment failed, so that it is tried again later.
    /// - Returns: whether it failed since the last call.
    @discardableResult
    func noticeFailures(now: UInt64) -> Bool {
        guard next.takeFailure() else { return false }
        isPreparing = false
        prepareAgainAt = now + 1_000_000_000
        return true
    }

    /// Closes the active segment when it has rows and another stands ready, so that it can be let go.
    func turnOver() {
        switchSegment()
    }

    /// Lets go of segments whose changes the tables hold durably, oldest first, down to the retention's bytes.
    /// `keeping`: bytes of segments to keep for the change feed.
    func retire(durableRev: UInt64, keeping: Int) {
        var total = closed.reduce(0) { $0 + $1.bytes }
        while let oldest = closed.first, oldest.lastRev <= durableRev, total > keeping {
            closed.removeFirst()
            retired.append(oldest.number)
            total -= oldest.bytes
            let path = Segment.path(configuration.logDirectory, oldest.number)
            let spare = configuration.sparePath
            housekeeper.submit {
                _ = FaultPoints.hit(.logRetire)
                unlink(path)
                if !FileSystem.exists(spare) {
                    rename(path + "-wal", spare)
                } else {
                    unlink(path + "-wal")
                }
            }
        }
    }
}

/// The segment that waits to take over, passed from the housekeeper to the loop.
final class NextSegment: Sendable {
    private struct State {
        var segment: Segment?
        var hasFailed = false
    }
    private let state = Guarded(State())
    private let ready = Atomic<Bool>(false)

    var isReady: Bool { ready.load(ordering: .acquiring) }

    func put(_ segment: Segment) {
        state.withLock { $0.segment = segment }
        ready.store(true, ordering: .releasing)
    }

    func take() -> Segment? {
        guard isReady else { return nil }
        ready.store(false, ordering: .releasing)
        return state.withLock { state in
            defer { state.segment = nil }
            return state.segment
        }
    }

    func fail() { state.withLock { $0.hasFailed = true } }

    func takeFailure() -> Bool {
        state.withLock { state in
            defer { state.hasFailed = false }
            return state.hasFailed
        }
    }
}

extension SQLiteError {
    /// What an armed fault point stands for.
    static func injected(_ code: Int32) -> SQLiteError {
        SQLiteError(
            extendedCode: code == ENOSPC ? 13 : 10, systemErrno: code, message: "injected fault \(code)")
    }
}
