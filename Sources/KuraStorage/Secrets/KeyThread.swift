import SQLite
import Sodium
import Synchronization

/// Runs key jobs on one thread of its own, which is begun when the first one comes: hashing a passphrase takes seconds, and all the memory
/// that it may, so never two at once.
final class KeyThread: Sendable {
    private struct State {
        var job: (job: KeyJob, opened: OpenedKeys?, sources: KeySources)?
        var thread: WorkerThread?
    }
    private let state = Guarded(State())
    private let done = Outbox<KeyJob>()
    private let pending = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called when a job is done.
    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    /// Begins a job; the last one has been taken.
    func begin(_ job: KeyJob, opened: OpenedKeys?, _ sources: KeySources) {
        state.withLock { state in
            state.job = (job, opened, sources)
            if state.thread == nil {
                state.thread = WorkerThread(name: "kura-keys", isBackground: true) { [unowned self] in run() }
            }
        }
        pending.signal()
    }

    /// The jobs that have been done; nil when none has.
    func takeDone() -> [KeyJob]? { done.take() }

    /// Ends after the job that is under way.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        pending.signal()
        let thread = state.withLock { state in
            defer { state.thread = nil }
            return state.thread
        }
        thread?.join()
    }

    private func run() {
        while true {
            pending.wait()
            if isStopping.load(ordering: .acquiring) { return }
            let next = state.withLock { state in
                defer { state.job = nil }
                return state.job
            }
            guard let next else { continue }
            next.job.run(opened: next.opened, next.sources)
            done.append(next.job)
            wake()
        }
    }
}
