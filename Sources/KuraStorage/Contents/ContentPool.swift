import Glibc
import KuraBytes
import SQLite
import Synchronization

/// Runs what takes contents in and gives them out, on background threads that are started when there is work.
///
/// Users have their turns: each has a lane, and the next thread takes from the lane whose turn it is. Copies are done in pieces, and
/// wait for others in between. In a lane what is new and what has begun go by turns, so that a short one waits for one piece. One thread
/// is kept free of what takes long.
///
/// A copy may hang in a call on what a client has passed (`ForeignCalls`). After `patience` its thread is set aside: it does not count any
/// more, and another one takes its place. After `limit` its request is answered. Threads that are set aside are bounded for each user;
/// a user who has so many that were given up gets no other.
final class ContentPool: Sendable {
    struct Times {
        /// Nanoseconds of one call until its thread is set aside.
        var patience: UInt64 = 500_000_000
        /// Nanoseconds of one call until its request is answered with an error.
        var limit: UInt64 = 10_000_000_000
        /// Nanoseconds that the end of all waits for threads.
        var stop: UInt64 = 1_000_000_000
    }

    fileprivate struct Job {
        var answer: QueryAnswer
        let user: UInt32
        let copy: (any PiecewiseCopy)?
        /// It was refused, and is only to give back what it has.
        var isRefused = false

        init(_ answer: QueryAnswer, of user: UInt32) {
            self.answer = answer
            self.user = user
            copy = answer.query as? any PiecewiseCopy
        }

        var isForeign: Bool { !isRefused && copy?.foreign != nil }
        var isLong: Bool { isForeign || answer.query.isLong }
    }

    fileprivate struct Running {
        let job: Job
        var isSetAside = false
        var isGivenUp = false
    }

    fileprivate struct Lane {
        var fresh: [Job] = []
        var begun: [Job] = []
        var isBegunNext = false
        var isEmpty: Bool { fresh.isEmpty && begun.isEmpty }
    }

    fileprivate struct State {
        var lanes: [UInt32: Lane] = [:]
        /// Users with work, whose turn it is first.
        var order: [UInt32] = []
        var running: [UInt64: Running] = [:]
        /// Threads that count, and all that there are.
        var threads = 0
        var alive = 0
        var isHurried = false
    }

    static let threadCount = 3
    /// Threads of one user that may be set aside, and of all.
    static let asideLimit = 2
    static let asideLimitOfAll = 64

    private let state = Guarded(State())
    private let foreignRunning = Atomic<Int>(0)
    private let done = Outbox<QueryAnswer>()
    private let pending = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let configuration: StorageConfiguration
    private let times: Times
    private let wake: @Sendable () -> Void
    private let report: @Sendable (String) -> Void

    /// `wake`: called when something is done. `report`: takes a line for the log; called by whoever calls `tend`.
    init(
        _ configuration: StorageConfiguration, times: Times = Times(), wake: @escaping @Sendable () -> Void,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.times = times
        self.wake = wake
        self.report = report
    }

    // MARK: For the loop

    /// `user`: whose request it is, by uid.
    func submit(_ query: any TableQuery, ticket: UInt64, of user: UInt32) {
        let job = Job(QueryAnswer(ticket: ticket, query: query), of: user)
        let isRefused = state.withLock { state in
            guard !(job.isForeign && state.isCutOff(user)) else {
                refuse(job, .hanging)
                return true
            }
            state.append(job, isFresh: true)
            // A long one alone leaves room for a short one.
            if state.threads < Self.threadCount, state.threads < state.running.count + state.waiting,
                !start(&state), state.threads == 0
            {
                refuse(state.removeNewest(of: user), .engine(.overloaded))
                return true
            }
            return false
        }
        if isRefused { wake() } else { pending.signal() }
    }

    /// Cancels a request. One that no thread has begun is answered with `.interrupted`; a running copy stops after its piece.
    /// - Returns: whether it was there to be ended.
    func cancel(_ ticket: UInt64) -> Bool {
        let (isFound, isDone) = state.withLock { state in
            if let running = state.running[ticket] {
                running.job.answer.query.stop()
                return (true, false)
            }
            for (user, lane) in state.lanes {
                if let job = lane.begun.first(where: { $0.answer.ticket == ticket }) {
                    job.answer.query.stop()
                    return (true, false)
                }
                guard let place = lane.fresh.firstIndex(where: { $0.answer.ticket == ticket }) else { continue }
                refuse(state.lanes[user]!.fresh.remove(at: place), .engine(.interrupted))
                return (true, true)
            }
            return (false, false)
        }
        if isDone { wake() }
        return isFound
    }

    /// Takes the answers of finished requests; nil when there are none.
    func takeDone() -> [QueryAnswer]? { done.take() }

    /// From now on a call that hangs is given up as soon as its thread is set aside: the daemon is to end.
    func hurry() { state.withLock { $0.isHurried = true } }

    /// Sets threads aside that hang, and answers the requests of those that have for too long.
    /// - Returns: nanoseconds until it wants to be called again; nil while nobody reads what a client has passed.
    func tend(at time: UInt64) -> UInt64? {
        guard foreignRunning.load(ordering: .relaxed) > 0 else { return nil }
        var lines: [String] = []
        var next: UInt64?
        let isAnswered = state.withLock { state in
            let limit = state.isHurried ? times.patience : times.limit
            var isAnswered = false
            for (ticket, running) in state.running {
                guard let foreign = running.job.copy?.foreign else { continue }
                let since = foreign.since
                let age = since == 0 || since > time ? 0 : time - since
                // Without another thread in its place it goes on counting, and is looked at again.
                if age >= times.patience, !running.isSetAside, state.asides < Self.asideLimitOfAll,
                    state.waiting == 0 || start(&state)
                {
                    state.running[ticket]?.isSetAside = true
                    state.threads -= 1
                    if state.waiting > 0 { pending.signal() }
                }
                if age >= limit, !running.isGivenUp {
                    state.running[ticket]?.isGivenUp = true
                    refuse(running.job, state.isHurried ? .engine(.cancelled) : .unresponsive)
                    isAnswered = true
                    lines.append(
                        "a file that user \(running.job.user) has passed does not answer: its request was given up")
                }
                guard state.running[ticket]?.isGivenUp == false else { continue }
                let due = age < times.patience ? times.patience - age : limit > age ? limit - age : 0
                next = min(next ?? .max, due)
            }
            for user in state.order where state.isCutOff(user) {
                isAnswered = refuseForeign(of: user, &state) || isAnswered
            }
            return isAnswered
        }
        for line in lines { report(line) }
        if isAnswered { wake() }
        return next
    }

    /// Ends the threads; what has not been answered is not answered any more. A thread that hangs is left behind.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        let deadline = configuration.clock.deadline(after: times.stop)
        var pause = Pause()
        while true {
            let (alive, hanging) = state.withLock { state in
                (state.alive, state.running.values.count { $0.job.copy.map { $0.foreign?.since ?? 0 > 0 } ?? false })
            }
            guard alive > 0 else { return }
            if alive == hanging, deadline.isOver { return }
            for _ in 0..<alive { pending.signal() }
            pause.rest()
        }
    }

    // MARK: The threads

    /// To be called under the lock.
    /// - Returns: false when the system makes no thread.
    private func start(_ state: inout State) -> Bool {
        // It keeps the pool, which may be gone otherwise when a call returns that hung.
        let thread = try? WorkerThread(name: "kura-content", isBackground: true) { [self] in
            run()
            self.state.withLock { $0.alive -= 1 }
        }
        guard let thread else { return false }
        thread.detach()
        state.threads += 1
        state.alive += 1
        return true
    }

    private func run() {
        var tables: TableReader?
        while true {
            pending.wait()
            if isStopping.load(ordering: .acquiring) { return }
            guard var job = state.withLock({ $0.take() }) else { continue }
            if job.isForeign { foreignRunning.add(1, ordering: .relaxed) }
            // The loop plans its next look.
            if job.isForeign { wake() }
            var isMore = false
            if let copy = job.copy {
                isMore = copy.advance { isStopping.load(ordering: .acquiring) }
            } else {
                do throws(QueryError) {
                    if tables == nil {
                        do throws(EngineError) {
                            tables = try TableReader(configuration) { [self] in isStopping.load(ordering: .acquiring) }
                        } catch { throw .engine(error) }
                    }
                    try job.answer.query.run(tables!)
                } catch { job.answer.error = error }
            }
            if job.isForeign { foreignRunning.subtract(1, ordering: .relaxed) }
            guard finish(job, isMore: isMore) else { return }
        }
    }

    /// - Returns: whether the thread goes on.
    private func finish(_ job: Job, isMore: Bool) -> Bool {
        let (running, goesOn, isWaited) = state.withLock { state in
            let running = state.running.removeValue(forKey: job.answer.ticket)!
            if !running.isGivenUp, !job.isRefused {
                if isMore { state.append(job, isFresh: false) } else { done.append(job.answer) }
            }
            let goesOn = !running.isSetAside || state.threads < Self.threadCount
            if running.isSetAside, goesOn { state.threads += 1 }
            return (running, goesOn, state.waiting > 0)
        }
        if running.isGivenUp, isMore, let copy = job.copy {
            copy.stop()
            _ = copy.advance { true }
        }
        // A long one may have waited for this one's end.
        if isWaited { pending.signal() }
        if !isMore, !running.isGivenUp { wake() }
        return goesOn
    }

    // MARK: Refusing

    /// To be called under the lock.
    private func refuse(_ job: Job, _ error: QueryError) {
        var answer = job.answer
        answer.error = error
        done.append(answer)
    }

    /// - Returns: whether there were any.
    private func refuseForeign(of user: UInt32, _ state: inout State) -> Bool {
        guard var lane = state.lanes[user] else { return false }
        let jobs = (lane.fresh + lane.begun).filter(\.isForeign)
        for job in jobs {
            refuse(job, .hanging)
            job.answer.query.stop()
        }
        lane.fresh.removeAll(where: \.isForeign)
        for place in lane.begun.indices where lane.begun[place].isForeign { lane.begun[place].isRefused = true }
        state.lanes[user] = lane
        if !jobs.isEmpty { pending.signal() }
        return !jobs.isEmpty
    }
}

fileprivate extension ContentPool.State {
    /// Jobs that no thread has.
    var waiting: Int { lanes.values.reduce(0) { $0 + $1.fresh.count + $1.begun.count } }
    var asides: Int { running.values.count { $0.isSetAside } }

    /// So many reads of the user's were given up, or of all that hang, that no other is begun.
    func isCutOff(_ user: UInt32) -> Bool {
        let lost = running.values.count { $0.isGivenUp && $0.job.user == user }
        return lost >= ContentPool.asideLimit || asides >= ContentPool.asideLimitOfAll
    }

    mutating func append(_ job: ContentPool.Job, isFresh: Bool) {
        if lanes[job.user] == nil {
            lanes[job.user] = ContentPool.Lane()
            order.append(job.user)
        }
        if isFresh { lanes[job.user]!.fresh.append(job) } else { lanes[job.user]!.begun.append(job) }
    }

    /// Takes out what was appended last for a user.
    mutating func removeNewest(of user: UInt32) -> ContentPool.Job {
        let job = lanes[user]!.fresh.removeLast()
        if lanes[user]!.isEmpty {
            lanes[user] = nil
            order.removeAll { $0 == user }
        }
        return job
    }

    /// The next job that may be run now, of a user who has none running before those who have; it counts as running.
    mutating func take() -> ContentPool.Job? {
        let busy = running.values.filter { !$0.isSetAside }
        let mayBeLong = busy.count { $0.job.isLong } < ContentPool.threadCount - 1
        for isSecond in [false, true] {
            for (place, user) in order.enumerated() where isSecond == busy.contains(where: { $0.job.user == user }) {
                let foreign = running.values.count { $0.job.user == user && $0.job.isForeign }
                let mayBeForeign = mayBeLong && foreign < ContentPool.asideLimit
                guard
                    let job = lanes[user]!.take(where: {
                        $0.isForeign ? mayBeForeign : !$0.isLong || mayBeLong
                    })
                else { continue }
                order.remove(at: place)
                if lanes[user]!.isEmpty { lanes[user] = nil } else { order.append(user) }
                running[job.answer.ticket] = ContentPool.Running(job: job)
                return job
            }
        }
        return nil
    }
}

fileprivate extension ContentPool.Lane {
    mutating func take(where mayRun: (ContentPool.Job) -> Bool) -> ContentPool.Job? {
        let freshPlace = fresh.firstIndex(where: mayRun)
        let begunPlace = begun.firstIndex(where: mayRun)
        if let begunPlace, isBegunNext || freshPlace == nil {
            isBegunNext = false
            return begun.remove(at: begunPlace)
        }
        guard let freshPlace else { return nil }
        isBegunNext = true
        return fresh.remove(at: freshPlace)
    }
}
