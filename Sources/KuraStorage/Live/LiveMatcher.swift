import KuraBytes
import SQLite
import Synchronization

/// Holds changes against the conditions of live queries, on a thread of its own that yields to everybody else.
///
/// What a document of 8 MiB costs under 256 operators, or a thousand conditions under a burst of writes, is not the loop's to
/// spend. The thread is started with the first job.
public final class LiveMatcher: Sendable {
    private struct Job: Sendable {
        var page: LivePage
        var shapes: [LiveShape]
    }
    /// A page that has been held against some shapes.
    public struct Outcome: Sendable {
        public var page: LivePage
        public var matches: [LiveMatches]
    }
    private struct State {
        var jobs: [Job] = []
        var thread: WorkerThread?
    }
    private let state = Guarded(State())
    private let pending = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let done = Outbox<Outcome>()
    private let wake: @Sendable () -> Void

    /// `wake`: called when a job is done.
    public init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    // MARK: For the loop

    public func submit(_ page: LivePage, _ shapes: [LiveShape]) {
        state.withLock { state in
            state.jobs.append(Job(page: page, shapes: shapes))
            guard state.thread == nil else { return }
            state.thread = WorkerThread(name: "kura-live", isBackground: true) { [unowned self] in run() }
        }
        pending.signal()
    }

    /// What has been matched; nil when nothing has.
    public func takeDone() -> [Outcome]? { done.take() }

    /// Ends the thread; what is not done is not done any more.
    public func stop() {
        isStopping.store(true, ordering: .releasing)
        pending.signal()
        let thread = state.withLock { state in
            defer { state.thread = nil }
            return state.thread
        }
        thread?.join()
    }

    // MARK: The thread

    private func run() {
        while true {
            pending.wait()
            if isStopping.load(ordering: .acquiring) { return }
            guard let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) else { continue }
            let outcome = Outcome(page: job.page, matches: job.page.match(job.shapes))
            done.append(outcome)
            wake()
        }
    }
}
