import Glibc
import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport
import SQLite
import Synchronization

/// The state of scheduled snapshots since the daemon started.
struct BackupHealth {
    /// Seconds between two.
    let every: Int
    /// When the newest was made, milliseconds since 1970; nil: there is none, or nobody has looked yet.
    var newestAt: Int64?
    /// Since the start.
    var failures = 0
    /// Since the newest was made.
    var lastFailure: (at: Int64, reason: String)?

    mutating func note(_ outcome: ScheduledBackups.Outcome?, now: Int64) {
        switch outcome {
        case .made:
            newestAt = now
            lastFailure = nil
        case .early(_, let time): newestAt = time
        case .failed(let reason, let time):
            failures += 1
            newestAt = time ?? newestAt
            lastFailure = (now, reason)
        case nil: break
        }
    }
}

/// Snapshots that the daemon makes by itself, one each so often, and the thinning of older ones. Belongs to the loop; the work is a
/// thread's.
final class ScheduledBackups {
    private let every: UInt64
    private let keep: BackupDirectory.Keep
    private var locks = BackupLocks()
    private let configuration: StorageConfiguration
    private var dueAt: UInt64
    private var thread: WorkerThread?
    private let outcome = Guarded<Outcome?>(nil)
    private let isStopping: Interrupted
    private let wake: @Sendable () -> Void
    fileprivate(set) var health: BackupHealth

    enum Outcome: Sendable {
        /// `shortfall`: what it goes without though nobody has asked for that; empty for nothing.
        case made(name: String, rev: UInt64, bytes: Int, removed: Int, shortfall: String)
        /// The newest, of that time (milliseconds since 1970), is younger; seconds until it is time.
        case early(Int, newestAt: Int64)
        /// `newestAt`: of the newest that there is, where that was learnt.
        case failed(String, newestAt: Int64?)
    }

    /// Set when the daemon ends.
    private final class Interrupted: Sendable {
        let isSet = Atomic<Bool>(false)
    }

    /// After a failure it is tried again so many nanoseconds later.
    private static let pause: UInt64 = 300_000_000_000
    /// A daemon that has just started has other things to do.
    private static let startPause: UInt64 = 2_000_000_000

    /// `every`: seconds. `recipients`: who opens them.
    init(
        every: Int, _ keep: BackupDirectory.Keep, _ recipients: [[UInt8]], _ configuration: StorageConfiguration,
        wake: @escaping @Sendable () -> Void
    ) {
        self.every = .nanoseconds(seconds: every)
        health = BackupHealth(every: every)
        self.keep = keep
        locks.recipients = recipients
        self.configuration = configuration
        self.wake = wake
        isStopping = Interrupted()
        dueAt = configuration.clock.monotonic + Self.startPause
    }

    /// Nanoseconds until it wants to be asked again; nil while a snapshot is being made.
    func timeToNext(at time: UInt64) -> UInt64? { thread == nil ? (dueAt > time ? dueAt - time : 0) : nil }

    /// Begins a snapshot when it is time. Once a turn.
    /// - Returns: what has become of one.
    func tend(at time: UInt64, _ storage: isolated Storage) -> Outcome? {
        if thread != nil {
            guard let done = outcome.withLock({ $0 }) else { return nil }
            outcome.withLock { $0 = nil }
            thread?.join()
            thread = nil
            switch done {
            case .made: dueAt = time.later(by: every)
            case .early(let seconds, _): dueAt = time.later(by: .nanoseconds(seconds: max(seconds, 1)))
            case .failed: dueAt = time + min(every, Self.pause)
            }
            return done
        }
        guard time >= dueAt else { return nil }
        var request = BackupRequest()
        request.goesWithoutUnusableSecrets = true
        let run: BackupRun
        do throws(BackupFault) { run = try storage.backup(request) } catch {
            dueAt = time + min(every, Self.pause)
            return .failed(error.description, newestAt: nil)
        }
        let folded = FoldSignal()
        folded.foldedTo = run.foldedTo
        _ = storage.submit(folded)
        let (keep, locks, configuration, outcome, wake, stopping) = (
            keep, locks, configuration, outcome, wake, isStopping
        )
        let seconds = Int(every / 1_000_000_000)
        let recoveredAt = storage.start.boot.recoveredAt
        self.folded = folded
        thread = try? WorkerThread(name: "kura-snapshot", isBackground: true) {
            let done = Self.make(run, folded, seconds, keep, sparing: recoveredAt, locks, configuration) {
                stopping.isSet.load(ordering: .relaxed)
            }
            outcome.withLock { $0 = done }
            wake()
        }
        guard thread == nil else { return nil }
        dueAt = time + min(self.every, Self.pause)
        return .failed("the system makes no thread for it", newestAt: nil)
    }

    /// What the thread may be waiting for.
    private var folded: FoldSignal?

    func stop() {
        isStopping.isSet.store(true, ordering: .relaxed)
        folded?.release(.cancelled)
        thread?.join()
        thread = nil
    }

    private static func make(
        _ run: BackupRun, _ folded: FoldSignal, _ every: Int, _ keep: BackupDirectory.Keep,
        sparing spared: Int64?, _ locks: BackupLocks, _ configuration: StorageConfiguration,
        _ isCancelled: @escaping @Sendable () -> Bool
    ) -> Outcome {
        var newestAt: Int64?
        do throws(BackupFault) {
            let now = configuration.clock.wall / 1000 * 1000
            BackupDirectory.removeDrafts(configuration, now: now)
            let newest = try BackupDirectory.list(configuration).first(where: \.isScheduled)
            newestAt = newest?.createdAt
            // A clock that was set back is no reason to wait for years.
            if let newest, newest.createdAt <= now,
                newest.createdAt.later(by: .milliseconds(seconds: every)) > now + 1000
            {
                return .early(Int((newest.createdAt - now) / 1000) + every, newestAt: newest.createdAt)
            }
            if let error = folded.wait() { throw BackupFault(error) }
            var stamp = ByteBuffer()
            stamp.append(timestamp: now)
            // "2026-03-01T04:05:06.000Z", without what a name may not have.
            let digits = stamp.bytes.filter { $0 >= 0x30 && $0 <= 0x39 }.prefix(14)
            let (name, summary) = try run.writeScheduled(String(decoding: digits, as: UTF8.self), locks, isCancelled)
            let going = BackupDirectory.superfluous(
                try BackupDirectory.list(configuration), keep, sparing: spared, configuration)
            for entry in going { try BackupDirectory.remove(entry.name, configuration) }
            let manifest = summary.manifest
            return .made(
                name: name, rev: manifest.rev, bytes: summary.bytes, removed: going.count, shortfall: manifest.shortfall
            )
        } catch { return .failed(error.description, newestAt: newestAt) }
    }
}

extension Server {
    /// Makes the next scheduled snapshot when it is time, and tells what has become of the last. Once a turn.
    func tendBackups(_ storage: isolated Storage) {
        guard let backups = jobs.backups, !drain.hasBegun else { return }
        let outcome = backups.tend(at: clock.monotonic, storage)
        backups.health.note(outcome, now: storage.now)
        switch outcome {
        case .made(let name, let rev, let bytes, let removed, let shortfall):
            var fields = [
                ("name", name), ("rev", String(rev)), ("bytes", String(bytes)), ("removed", String(removed)),
            ]
            if !shortfall.isEmpty { fields.append(("leftOut", shortfall)) }
            journal.log(shortfall.isEmpty ? .info : .warning, "snapshot made", fields)
        case .failed(let reason, _): journal.log(.error, "no snapshot was made", [("reason", reason)])
        case .early, nil: break
        }
    }
}
