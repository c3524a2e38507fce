import Glibc
import KuraBytes
import KuraCheck
import KuraProtocol
import KuraStorage
import KuraTransport
import SQLite
import Synchronization

/// Looks through everything by itself, once so often: what `storage.check` does, slowly, while little is asked of the daemon. Belongs to the loop;
/// the work is a thread's.
///
/// A piece is followed by a rest four times as long, and none is begun while more is asked than a quiet daemon is. Secrets are left out: their seals are held
/// against their sums by and by anyway (`SecretsCheckup`).
final class IdleChecks {
    /// What has come of one.
    enum Outcome: Sendable {
        case done(problems: [DamageBook.Problem], count: Int)
        case failed
    }

    private let every: UInt64
    private let boot: Boot
    private var dueAt: UInt64
    private var thread: WorkerThread?
    private let outcome = Guarded<Outcome?>(nil)
    private let pace: Pace
    private let wake: @Sendable () -> Void

    /// Nanoseconds between the daemon's start and the first, at least.
    private static let startPause: UInt64 = 600_000_000_000
    /// Nanoseconds after one that could not look.
    private static let failurePause: UInt64 = 3_600_000_000_000

    /// `every`: seconds.
    init(every: Int, _ boot: Boot, clock: Clock, wake: @escaping @Sendable () -> Void) {
        self.every = .nanoseconds(seconds: every)
        self.boot = boot
        self.wake = wake
        pace = Pace(clock)
        dueAt = clock.monotonic + min(self.every, Self.startPause)
    }

    /// Nanoseconds until the last one, whoever asked for it, is as old as it may become; 0 when it is, or there was none.
    private var timeLeft: UInt64 {
        guard let last = boot.lastCheck else { return 0 }
        let age = pace.clock.wall.since(last.at)
        let most = Int64(every / 1_000_000)
        // A clock that was set back is no reason to wait for years.
        return age >= 0 && age < most ? .nanoseconds(milliseconds: most - age) : 0
    }

    var isRunning: Bool { thread != nil }

    /// Nanoseconds until it wants to be asked again; nil while it looks.
    func timeToNext(at time: UInt64) -> UInt64? { thread == nil ? (dueAt > time ? dueAt - time : 0) : nil }

    /// Whether a check is under way, or is to begin.
    func isToTend(at time: UInt64) -> Bool { thread != nil || time >= dueAt }

    /// Begins when it is time.
    /// `requests`: all that were answered since the start.
    /// - Returns: what has come of a check.
    func tend(at time: UInt64, requests: UInt64, _ storage: isolated Storage) -> Outcome? {
        if thread != nil {
            pace.note(requests)
            guard let done = outcome.withLock({ $0 }) else { return nil }
            outcome.withLock { $0 = nil }
            thread?.join()
            thread = nil
            switch done {
            case .done(_, let count):
                boot.checked(problems: count)
                dueAt = time
            case .failed: dueAt = time + min(every, Self.failurePause)
            }
            return done
        }
        guard time >= dueAt else { return nil }
        let left = timeLeft
        guard left == 0 else {
            dueAt = time + left
            return nil
        }
        let check = storage.makeCheck()
        pace.note(requests)
        let (outcome, pace, wake) = (outcome, pace, wake)
        thread = try? WorkerThread(name: "kura-check", isBackground: true) {
            let done: Outcome
            do throws(EngineError) {
                try check.run(isCancelled: { pace.isStopping }, pause: { pace.rest() }, report: { _, _ in })
                done = .done(problems: check.problems, count: check.problemCount)
            } catch { done = .failed }
            outcome.withLock { $0 = done }
            wake()
        }
        guard thread == nil else { return nil }
        dueAt = time + min(every, Self.failurePause)
        return .failed
    }

    func stop() {
        pace.stop()
        thread?.join()
        thread = nil
    }

    /// How fast it may go on.
    final class Pace: Sendable {
        let clock: Clock
        private let requests = Atomic<UInt64>(0)
        private let stopping = Atomic<Bool>(false)
        private let stopped = Semaphore()
        private let lastRest = Atomic<UInt64>(0)

        /// Requests a second of a daemon that counts as idle.
        private static let quiet: UInt64 = 100
        private static let rests: UInt64 = 4
        /// Nanoseconds that may pass without a rest.
        private static let piece: UInt64 = 5_000_000

        /// Whether so many requests in so many milliseconds are what a quiet daemon is asked.
        static func isQuiet(_ requests: UInt64, milliseconds: UInt64) -> Bool {
            requests * 1000 <= quiet * milliseconds
        }

        init(_ clock: Clock) { self.clock = clock }

        var isStopping: Bool { stopping.load(ordering: .relaxed) }

        func note(_ count: UInt64) { requests.store(count, ordering: .relaxed) }

        func stop() {
            stopping.store(true, ordering: .relaxed)
            stopped.signal()
        }

        /// On the check's thread, between two pieces.
        func rest() {
            let time = clock.monotonic
            let last = lastRest.load(ordering: .relaxed)
            guard last > 0 else { return lastRest.store(time, ordering: .relaxed) }
            guard time - last >= Self.piece, !isStopping else { return }
            sleep(milliseconds: Int(min((time - last) * Self.rests / 1_000_000, 2000)))
            while !isStopping {
                let before = requests.load(ordering: .relaxed)
                sleep(milliseconds: 100)
                // One that waits is taken out again.
                let after = max(requests.load(ordering: .relaxed), before)
                if Self.isQuiet(after - before, milliseconds: 100) { break }
            }
            lastRest.store(clock.monotonic, ordering: .relaxed)
        }

        private func sleep(milliseconds: Int) {
            if !isStopping { _ = stopped.wait(until: clock.deadline(milliseconds: milliseconds)) }
        }
    }
}

extension Server {
    /// Has the next check begin when it is time, and tells what came of the last. Once a turn.
    func tendChecks(_ storage: isolated Storage) {
        guard let checks = jobs.checks, !drain.hasBegun else { return }
        let time = clock.monotonic
        guard checks.isToTend(at: time) else { return }
        switch checks.tend(at: time, requests: facts.traffic.requests, storage) {
        case .done(let problems, let count):
            if count == 0 { journal.log(.info, "everything looked through", [("problems", "0")]) }
            storage.start.damage.note(problems, count: count)
        case .failed: journal.log(.warning, "a check could not look through everything")
        case nil: break
        }
    }
}
