import SQLite
import Synchronization

/// Does jobs one after the other on a background thread, and keeps what each comes to until that is taken.
public final class JobThread<Job: Sendable, Outcome: Sendable>: Sendable {
    private let jobs = Guarded<[Job]>([])
    private let pending = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let done = Outbox<Outcome>()
    private let thread: OwnedThread
    private let work: @Sendable (Job) -> Outcome
    private let wake: @Sendable () -> Void

    /// - Parameters:
    ///   - name: of the thread, at most 15 bytes.
    ///   - wake: called on the thread when a job is done.
    ///   - work: does a job, on the thread.
    public init(name: String, wake: @escaping @Sendable () -> Void, work: @escaping @Sendable (Job) -> Outcome) {
        thread = OwnedThread(name: name, isBackground: true)
        self.work = work
        self.wake = wake
    }

    /// Starts the thread, unless it runs. Jobs that were submitted earlier run now.
    public func begin() throws(StorageFault) { try thread.begin { [unowned self] in run() } }

    public func submit(_ job: Job) {
        jobs.withLock { $0.append(job) }
        pending.signal()
    }

    /// What has been done, in the order of the jobs; nil when nothing has.
    public func takeDone() -> [Outcome]? { done.take() }

    /// Ends the thread after the job that is under way; what has not been begun is not done any more.
    public func stop() {
        isStopping.store(true, ordering: .releasing)
        pending.signal()
        thread.join()
    }

    private func run() {
        while true {
            pending.wait()
            if isStopping.load(ordering: .acquiring) { return }
            guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { continue }
            done.append(work(job))
            wake()
        }
    }
}
