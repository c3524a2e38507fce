import KuraBytes
import SQLite
import Synchronization

/// A question to the tables that takes longer than the loop may be held up: made on the loop, run on a reader thread, and
/// looked at on the loop again when its ticket comes back. It has one user at any moment.
public protocol TableQuery: AnyObject, Sendable {
    /// It is run when the tables are as of this revision or a later one.
    var foldedTo: UInt64 { get }
    /// Reads, and keeps what it found. On a reader thread.
    func run(_ tables: TableReader) throws(StoreError)
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
    public var error: StoreError?
}

/// Runs queries on background threads, once what they must see is folded.
///
/// The threads are started when the first query comes. Two, of which one runs no long queries, so that short ones do not wait
/// for a long one's end.
final class QueryPool: Sendable {
    private struct State {
        /// Not folded yet.
        var parked: [QueryAnswer] = []
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

    /// `tablesRev`: the tables are as of this revision now.
    func submit(_ query: any TableQuery, ticket: UInt64, tablesRev: UInt64) {
        let answer = QueryAnswer(ticket: ticket, query: query)
        let isReady = query.foldedTo <= tablesRev
        state.withLock { state in
            if isReady { state.pending.append(answer) } else { state.parked.append(answer) }
            guard isReady, state.threads.isEmpty else { return }
            for number in 1...Self.threadCount {
                state.threads.append(
                    WorkerThread(name: "kura-query-\(number)", isBackground: true) { [unowned self] in run() })
            }
        }
        if isReady { pending.signal() }
    }

    /// The revision up to which parked queries want the tables; 0 when there are none.
    var wantedRev: UInt64 { state.withLock { $0.parked.reduce(0) { max($0, $1.query.foldedTo) } } }

    /// Lets go of the queries that waited for this revision.
    func release(tablesRev: UInt64) {
        let ready = state.withLock { state in
            let ready = state.parked.filter { $0.query.foldedTo <= tablesRev }
            state.parked.removeAll { $0.query.foldedTo <= tablesRev }
            return ready
        }
        for answer in ready { submit(answer.query, ticket: answer.ticket, tablesRev: tablesRev) }
    }

    /// Answers the parked queries with an error: what they wait for does not come.
    func refuseParked(_ error: StoreError) {
        state.withLock { state in
            for answer in state.parked {
                done.append(QueryAnswer(ticket: answer.ticket, query: answer.query, error: error))
            }
            state.parked = []
        }
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
            guard
                var answer = state.parked.first(where: { $0.ticket == ticket })
                    ?? state.pending.first(where: { $0.ticket == ticket })
            else { return (false, false) }
            state.parked.removeAll { $0.ticket == ticket }
            state.pending.removeAll { $0.ticket == ticket }
            answer.error = .interrupted
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
            do throws(StoreError) {
                if tables == nil {
                    tables = try TableReader(configuration) { [unowned self] in
                        isStopping.load(ordering: .acquiring)
                    }
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
