import Glibc
import KuraBytes
import SQLite
import Synchronization

/// Makes appended revisions durable: one `fdatasync` for all that came since the last.
///
/// Its thread sleeps until the loop names a revision, syncs the segments concerned, publishes the revision and wakes the
/// loop; whatever was appended meanwhile rides the next sync. A failed sync is never retried (the kernel may have dropped
/// the pages it could not write and report success next time): `failure` is set for good and the daemon must stop.
final class LogSync: @unchecked Sendable {
    // `state` is behind its lock, the rest are atomics.

    private struct State {
        var wantedRev: UInt64 = 0
        var segments = UnsyncedSegments()
        var mark: [UInt8] = []
        var isRunning = false
        var isStopping = false
    }
    private let state = Guarded(State())
    private let request = Semaphore()
    private let synced: Atomic<UInt64>
    private let failedWith = Atomic<Int32>(0)
    private let syncCount = Atomic<UInt64>(0)
    private let smoothedTime = Atomic<UInt64>(0)
    private struct Measured {
        var times = Histogram()
        var revs = Histogram()
    }
    private let measured = Guarded(Measured())
    private let wake: @Sendable () -> Void
    private let thread = OwnedThread(name: "kura-sync", isBackground: false)
    private let note: AcknowledgedNote?
    private let clock: Clock

    /// `note`: is told what is on the disk, before anybody else.
    /// `wake`: called on the log-sync thread after each sync; makes the loop look.
    init(
        syncedRev: SyncedRev, note: AcknowledgedNote? = nil, clock: Clock = .system,
        wake: @escaping @Sendable () -> Void
    ) {
        self.note = note
        self.clock = clock
        synced = Atomic(syncedRev.rev)
        self.wake = wake
    }

    func begin() throws(StorageFault) { try thread.begin { [unowned self] in run() } }

    /// Everything up to this revision is on the disk.
    var syncedRev: SyncedRev { SyncedRev(synced.load(ordering: .acquiring)) }

    /// errno of the sync that failed; nil while all went well.
    var failure: Int32? {
        let code = failedWith.load(ordering: .acquiring)
        return code == 0 ? nil : code
    }

    var count: UInt64 { syncCount.load(ordering: .relaxed) }

    /// What a sync takes, nanoseconds, smoothed over the last few; 0 before the first.
    var syncTime: UInt64 { smoothedTime.load(ordering: .relaxed) }

    /// What syncs took, nanoseconds, and how many revisions each made durable.
    var measures: (times: Histogram, revs: Histogram) { measured.withLock { ($0.times, $0.revs) } }

    /// Whether a sync is under way or asked for.
    var isBusy: Bool { state.withLock { $0.isRunning } }

    /// Asks for a sync up to `rev`, whose records lie in `segments`. `mark`: how far the secrets have come by then; empty: as before.
    func sync(to rev: UInt64, segments: UnsyncedSegments, mark: [UInt8] = []) {
        let mustWake = state.withLock { state in
            state.wantedRev = rev
            state.mark = mark
            state.segments.formUnion(segments)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustWake { request.signal() }
    }

    /// Syncs on the calling thread. Only while `isBusy` is false; after a failure, which the loop may not have seen yet, no more.
    func syncInline(to rev: UInt64, segments: UnsyncedSegments, mark: [UInt8] = []) {
        guard failure == nil else { return }
        finish(rev, perform(segments), mark)
    }

    /// - Parameter isCut: what was asked for is not synced any more; a sync that is under way comes to its end.
    func stop(isCut: Bool = false) {
        state.withLock { state in
            state.isStopping = true
            if isCut { state.segments = UnsyncedSegments() }
        }
        request.signal()
        thread.join()
    }

    private func run() {
        while true {
            request.wait()
            while let (rev, segments, mark) = next() {
                finish(rev, perform(segments), mark)
                wake()
            }
            if state.withLock({ $0.isStopping }) { return }
        }
    }

    private func next() -> (UInt64, UnsyncedSegments, [UInt8])? {
        state.withLock { state in
            guard failure == nil, !state.segments.isEmpty else {
                state.isRunning = false
                return nil
            }
            defer { state.segments = UnsyncedSegments() }
            return (state.wantedRev, state.segments, state.mark)
        }
    }

    /// - Returns: 0 or errno.
    private func perform(_ segments: UnsyncedSegments) -> Int32 {
        let start = clock.monotonic
        defer {
            let (duration, known) = (clock.monotonic - start, syncTime)
            measured.withLock { $0.times.record(duration) }
            smoothedTime.store(known == 0 ? duration : (known * 7 + duration) / 8, ordering: .relaxed)
        }
        return segments.firstResult { segment in
            if let action = FaultPoints.hit(.logSync) { return action.errno }
            guard fdatasync(segment.descriptor) == 0 else { return errno }
            CountingVFS.count(role: .log, part: .wal, syncs: 1)
            return nil
        } ?? 0
    }

    private func finish(_ rev: UInt64, _ code: Int32, _ mark: [UInt8]) {
        syncCount.add(1, ordering: .relaxed)
        guard code == 0 else { return failedWith.store(code, ordering: .releasing) }
        // One that was under way when the last failed proves nothing: the kernel tells of lost pages once.
        guard failure == nil else { return }
        measured.withLock { $0.revs.record(rev &- syncedRev.rev) }
        note?.write(rev, mark: mark)
        synced.store(rev, ordering: .releasing)
    }
}
