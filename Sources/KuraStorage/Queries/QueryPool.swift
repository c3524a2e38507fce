import KuraBytes
import SQLite
import Synchronization

/// A question to the tables that takes longer than the loop may be held up: made on the loop, run on a reader thread, and
/// looked at on the loop again when its ticket comes back. It has one user at any moment.
public protocol TableQuery: AnyObject, Sendable {
    /// It is run when the tables are as of this revision or a later one.
    var foldedTo: UInt64 { get }
    /// Reads, and keeps what it found. On a reader thread.
    func run(_ tables: TableReader) throws(QueryError)
    /// It may take long: one thread is kept free of such.
    var isLong: Bool { get }
    /// Has it end soon. On any thread, while it runs or waits.
    func stop()
    /// Bytes of memory that what it found takes.
    var footprint: Int { get }
    /// Forgets what it found, for want of memory: the answer is an error now.
    func discard()
}

extension TableQuery {
    public var isLong: Bool { false }
    public func stop() {}
    /// What finds a number, or is counted elsewhere, takes nothing worth counting.
    public var footprint: Int { 0 }
    public func discard() {}
}

/// A query that has been run.
public struct QueryAnswer: Sendable {
    public var ticket: UInt64
    public var query: any TableQuery
    /// Why it found nothing.
    public var error: QueryError?
}

/// Runs queries on background threads.
///
/// The threads are started when the first query comes. Two, of which one runs no long queries, so that short ones do not wait
/// for a long one's end.
final class QueryPool: Sendable {
    private struct State {
        var pending: [QueryAnswer] = []
        var running: [QueryAnswer] = []
        var threads: [WorkerThread] = []
    }
    private let state = Guarded(State())
    private let done = Outbox<QueryAnswer>()
    private let pending = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let configuration: StorageConfiguration
    private let wake: @Sendable () -> Void
    private static let threadCount = 2

    /// `wake`: called when a query is done.
    init(_ configuration: StorageConfiguration, wake: @escaping @Sendable () -> Void) {
        self.configuration = configuration
        self.wake = wake
    }

    // MARK: For the loop

    /// Has a query run. The tables are as of what it must see.
    ///
    /// It is answered `.overloaded` while there is no thread and the system makes none; one thread does the work of both.
    func submit(_ query: QueryAnswer) {
        let isTaken = state.withLock { state in
            while state.threads.count < Self.threadCount,
                let thread = try? WorkerThread(
                    name: "kura-query-\(state.threads.count + 1)", isBackground: true, { [unowned self] in run() })
            {
                state.threads.append(thread)
            }
            if !state.threads.isEmpty { state.pending.append(query) }
            return !state.threads.isEmpty
        }
        guard !isTaken else { return pending.signal() }
        var answer = query
        answer.error = .engine(.overloaded)
        done.append(answer)
        wake()
    }

    /// Ends a query whose client does not want it any more: it is answered with `.interrupted`, unless it has been answered.
    /// - Returns: whether there is such a query.
    func cancel(_ ticket: UInt64) -> Bool {
        let (isKnown, isDone) = state.withLock { state in
            if let running = state.running.first(where: { $0.ticket == ticket }) {
                running.query.stop()
                return (true, false)
            }
            guard let position = state.pending.firstIndex(where: { $0.ticket == ticket }) else { return (false, false) }
            var answer = state.pending.remove(at: position)
            answer.error = .engine(.interrupted)
            done.append(answer)
            return (true, true)
        }
        if isDone { wake() }
        return isKnown
    }

    /// What has been answered; nil when nothing has.
    func takeDone() -> [QueryAnswer]? { done.take() }

    /// Ends the threads; what has not been answered is not answered any more.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        for _ in 0..<Self.threadCount { pending.signal() }
        let threads = state.withLock { state in
            defer { state.threads = [] }
            return state.threads
        }
        for thread in threads { thread.join() }
    }

    // MARK: The threads

    private func run() {
        var tables: TableReader?
        while true {
            pending.wait()
            if isStopping.load(ordering: .acquiring) { return }
            guard var answer = take() else { continue }
            do throws(QueryError) {
                if tables == nil {
                    do throws(EngineError) {
                        tables = try TableReader(configuration) { [unowned self] in
                            isStopping.load(ordering: .acquiring)
                        }
                    } catch { throw .engine(error) }
                }
                try answer.query.run(tables!)
            } catch { answer.error = error }
            let outcome = answer
            let isWaited = state.withLock { state in
                state.running.removeAll { $0.ticket == outcome.ticket }
                done.append(outcome)
                return !state.pending.isEmpty
            }
            // A long one may have waited for this one's end.
            if isWaited { pending.signal() }
            wake()
        }
    }

    /// The next query that may be run now.
    private func take() -> QueryAnswer? {
        state.withLock { state in
            let long = state.running.count { $0.query.isLong }
            let next = state.pending.firstIndex { !$0.query.isLong || long < Self.threadCount - 1 }
            guard let next else { return nil }
            let answer = state.pending.remove(at: next)
            state.running.append(answer)
            return answer
        }
    }
}
