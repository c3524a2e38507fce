import KuraBytes
import SQLite
import Synchronization

/// Has the next segment made in advance, by the housekeeper, and tried again when that has failed. While secrets are scrubbed its files are
/// fresh ones, and small.
struct SegmentSupply {
    private let next = NextSegment()
    private var nextNumber: Int
    /// What is appended belongs to it.
    private let history: LogHistory?
    private var isPreparing = false
    private var prepareAgainAt: UInt64 = 0
    /// Why the last attempt has failed, when none was made since.
    private(set) var failure: EngineError?
    /// Files of the past are not used again: what is left in them is overwritten when they go.
    private(set) var isScrubbing = false
    private let configuration: StorageConfiguration
    private let housekeeper: Housekeeper

    /// `first`: the number of the next segment.
    init(
        first: Int, history: LogHistory?, _ configuration: StorageConfiguration, _ housekeeper: Housekeeper
    ) {
        (nextNumber, self.history) = (first, history)
        (self.configuration, self.housekeeper) = (configuration, housekeeper)
    }

    /// A segment stands ready.
    var isReady: Bool { next.isReady }

    /// The segment that takes over; nil while none stands ready.
    mutating func take() -> Segment? {
        guard let segment = next.take() else { return nil }
        isPreparing = false
        failure = nil
        return segment
    }

    /// Has the next segment made when there is none; called once a turn, cheap.
    /// `capacity`: bytes that it has in advance; nil for a full segment.
    /// `synced`: everything up to this revision is on the disk.
    mutating func prepare(now: UInt64, capacity: Int?, synced: UInt64) {
        guard !isPreparing, now >= prepareAgainAt, !next.isReady else { return }
        isPreparing = true
        let number = nextNumber
        nextNumber += 1
        let (configuration, next, history, mayRecycle) = (configuration, next, history, !isScrubbing)
        // Whoever may destroy secrets one by one has no full segment written for each.
        let usual = isScrubbing ? min(configuration.log.segmentBytes, 1 << 20) : configuration.log.segmentBytes
        housekeeper.submit {
            let spare =
                mayRecycle && FileSystem.exists(configuration.sparePath) ? configuration.sparePath : nil
            do throws(StorageFault) {
                next.put(
                    try Segment(
                        creating: number, in: configuration.logDirectory,
                        capacity: min(capacity ?? usual, usual), recycled: spare, synced: synced,
                        history: history))
            } catch {
                // A full disk, most likely: the active segment grows instead, and this is tried again in a second.
                next.fail(error.isFull ? .noSpace : .overloaded)
            }
        }
    }

    /// Notes that making the next segment failed, so that it is tried again later.
    /// - Returns: whether it failed since the last call.
    mutating func noticeFailures(now: UInt64) -> Bool {
        guard let failure = next.takeFailure() else { return false }
        isPreparing = false
        self.failure = failure
        prepareAgainAt = now + 1_000_000_000
        return true
    }

    // MARK: Scrubbing

    /// From now on no file is used again, and what waits to be is overwritten and goes: the spare, and the next segment if it was one.
    /// - Returns: whether there is a next segment of a fresh file; else it has to be asked again.
    mutating func beginScrub() -> Bool {
        guard !isScrubbing else { return next.isReady }
        // It may be using the spare.
        guard !isPreparing || next.isReady else { return false }
        isScrubbing = true
        if FaultPoints.hit(.scrubFiles) == .skip { return next.isReady }
        if let segment = next.take() {
            if segment.isRecycled {
                discard(segment)
                isPreparing = false
            } else {
                next.put(segment)
            }
        }
        let spare = configuration.sparePath
        housekeeper.submit { try? LogScrub.erase(spare) }
        return next.isReady
    }

    mutating func endScrub() { isScrubbing = false }

    /// Takes a segment without rows away, and what its file has from a former life.
    func discard(_ segment: Segment) {
        let (path, temporary) = (segment.path, configuration.temporaryDirectory)
        housekeeper.submit {
            withExtendedLifetime(segment) {}
            try? LogScrub.letGo(path, to: temporary)
        }
    }
}

/// The segment that waits to take over, passed from the housekeeper to the loop.
final class NextSegment: Sendable {
    private struct State {
        var segment: Segment?
        var failure: EngineError?
    }
    private let state = Guarded(State())
    private let ready = Atomic<Bool>(false)
    private let failed = Atomic<Bool>(false)

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

    func fail(_ failure: EngineError) {
        state.withLock { $0.failure = failure }
        failed.store(true, ordering: .releasing)
    }

    func takeFailure() -> EngineError? {
        // Asked in every turn.
        guard failed.load(ordering: .acquiring) else { return nil }
        failed.store(false, ordering: .relaxed)
        return state.withLock { state in
            defer { state.failure = nil }
            return state.failure
        }
    }
}
