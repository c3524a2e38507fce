import SQLite
import Synchronization

/// Does jobs one after the other on a background thread, which is begun when the first one comes, and keeps what each comes to until that is taken.
public final class JobThread<Job: Sendable, Outcome: Sendable>: Sendable {
    private struct State {
        var jobs: [Job] = []
        var thread: WorkerThread?
    }
    private let state = Guarded(State())
    private let pending = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let done = Outbox<Outcome>()
    private let name: String
    private let work: @Sendable (Job) -> Outcome
    private let wake: @Sendable () -> Void

    /// - Parameters:
    ///   - name: of the thread, at most 15 bytes.
    ///   - wake: called on the thread when a job is done.
    ///   - work: does a job, on the thread.
    public init(name: String, wake: @escaping @Sendable () -> Void, work: @escaping @Sendable (Job) -> Outcome) {
        self.name = name
        self.work = work
        self.wake = wake
    }

    public func submit(_ job: Job) {
        state.withLock { state in
            state.jobs.append(job)
            guard state.thread == nil else { return }
            state.thread = WorkerThread(name: name, isBackground: true) { [unowned self] in run() }
        }
        pending.signal()
    }

    /// What has been done, in the order of the jobs; nil when nothing has.
    public func takeDone() -> [Outcome]? { done.take() }

    /// Ends the thread after the job that is under way; what has not been begun is not done any more.
    public func stop() {
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
            guard let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) else { continue }
            done.append(work(job))
            wake()
        }
    }
}
