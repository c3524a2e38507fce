import CSyscalls
import Glibc
public import KuraBytes
public import KuraSocket
import Synchronization

/// A thread that waits on descriptors with epoll(7) and runs an actor.
///
/// It is the `SerialExecutor` of the storage actor: jobs enqueued from anywhere run on it between turns, and
/// `assumeIsolated` holds inside a turn. What runs here must not block. Level-triggered: a descriptor that was not read
/// to its end comes up again.
public final class EventLoop: SerialExecutor, @unchecked Sendable {
    // The epoll descriptor may be used from any thread; the event arrays only from `wait`, on the loop's own thread; jobs
    // are behind a lock.

    public struct Interest: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let read = Interest(rawValue: UInt32(CSYS_EPOLL_IN))
        public static let write = Interest(rawValue: UInt32(CSYS_EPOLL_OUT))
    }

    /// What epoll said of one registration.
    public struct Event {
        public var token: UInt64
        public var isReadable: Bool
        public var isWritable: Bool
        /// The other side is gone, or the descriptor is in error.
        public var isClosed: Bool
    }

    /// Most events of one turn.
    public static let capacity = 512
    private static let wakeToken = UInt64.max

    /// What its timeouts go by.
    private let clock: Clock
    private let epoll: Int32
    private let wakeDescriptor: Int32
    private let isWakePending = Atomic<Bool>(false)
    private let jobs = Mutex<[UnownedJob]>([])
    private let jobsWait = Atomic<Bool>(false)
    private let thread = Atomic<UInt>(0)
    private let tokens = CellRow<UInt64>(repeating: 0, count: EventLoop.capacity)
    private var polling: BusyPolling
    private let masks = CellRow<UInt32>(repeating: 0, count: EventLoop.capacity)

    /// `busyPollMicroseconds`: how long `wait` may look before it sleeps, while that pays; 0 to 1,000, 0 for not at all.
    public init(busyPollMicroseconds: Int = 0, clock: Clock = .system) throws(SystemError) {
        self.clock = clock
        // While the time stands still no look would be the last.
        polling = BusyPolling(microseconds: clock.isSystem ? busyPollMicroseconds : 0)
        epoll = csys_epoll_create()
        guard epoll >= 0 else { throw SystemError("epoll_create1") }
        wakeDescriptor = csys_eventfd()
        guard wakeDescriptor >= 0 else { throw SystemError("eventfd") }
        try add(wakeDescriptor, token: Self.wakeToken, .read)
        clock.onAdvance { [weak self] in self?.wake() }
    }

    deinit {
        close(epoll)
        close(wakeDescriptor)
    }

    // MARK: Descriptors

    public func add(_ descriptor: Int32, token: UInt64, _ interest: Interest) throws(SystemError) {
        guard csys_epoll_ctl(epoll, Int32(CSYS_EPOLL_ADD), descriptor, interest.rawValue, token) == 0 else {
            throw SystemError("epoll_ctl")
        }
    }

    public func modify(_ descriptor: Int32, token: UInt64, _ interest: Interest) {
        // It can only fail for a descriptor that is not registered, which is a fault of ours.
        let result = csys_epoll_ctl(epoll, Int32(CSYS_EPOLL_MODIFY), descriptor, interest.rawValue, token)
        precondition(result == 0, "epoll_ctl: \(errno)")
    }

    public func remove(_ descriptor: Int32) {
        _ = csys_epoll_ctl(epoll, Int32(CSYS_EPOLL_DELETE), descriptor, 0, 0)
    }

    // MARK: Turns

    /// Takes the calling thread as the loop's own; `wait` and every isolated call happen on it.
    public func adoptThread() {
        thread.store(UInt(pthread_self()), ordering: .releasing)
    }

    /// Waits for events and calls `body` for each.
    /// `timeout`: milliseconds of its clock; 0 looks without waiting, -1 waits for ever.
    public func wait(timeout: Int32, _ body: (Event) -> Void) {
        let count = timeout == 0 ? look(waiting: 0) : lookOrSleep(clock.sleep(timeout))
        guard count > 0 else { return }
        for position in 0..<Int(count) {
            let mask = masks[position]
            guard tokens[position] != Self.wakeToken else {
                // In this order: a wake that comes between the two is not counted, but what it announces is seen in this
                // turn. The other way round its count could be read away while the flag stays up, and every later wake
                // would be swallowed.
                var value: UInt64 = 0
                // Safety: an eventfd is read and written as the eight bytes of one number.
                _ = unsafe read(wakeDescriptor, &value, 8)
                _ = isWakePending.exchange(false, ordering: .sequentiallyConsistent)
                continue
            }
            let ended = UInt32(CSYS_EPOLL_ERROR | CSYS_EPOLL_HANGUP)
            body(
                Event(
                    token: tokens[position], isReadable: mask & UInt32(CSYS_EPOLL_IN) != 0,
                    isWritable: mask & UInt32(CSYS_EPOLL_OUT) != 0, isClosed: mask & ended != 0))
        }
    }

    private func lookOrSleep(_ timeout: Int32) -> Int32 {
        guard polling.span > 0 else { return look(waiting: timeout) }
        let start = clock.monotonic
        guard polling.isWorthwhile else {
            let count = look(waiting: timeout)
            polling.note(slept: clock.monotonic - start)
            return count
        }
        repeat {
            let count = look(waiting: 0)
            if count != 0 {
                polling.note(found: true)
                return count
            }
            // Whoever else wants this processor goes first: it may be the client that is waited for.
            sched_yield()
        } while clock.monotonic - start < polling.span
        polling.note(found: false)
        return look(waiting: timeout)
    }

    private func look(waiting timeout: Int32) -> Int32 {
        // Safety: both rows have room for `capacity` events, and epoll writes no more.
        unsafe csys_epoll_wait(epoll, tokens.baseAddress, masks.baseAddress, Int32(Self.capacity), timeout)
    }

    /// Makes `wait` return soon. From any thread; calls between two turns cost one system call together.
    public func wake() {
        guard !isWakePending.exchange(true, ordering: .sequentiallyConsistent) else { return }
        var one: UInt64 = 1
        // Safety: as in `wait`.
        _ = unsafe write(wakeDescriptor, &one, 8)
    }

    // MARK: SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        jobsWait.store(true, ordering: .releasing)
        wake()
    }

    /// Something is enqueued for the actor.
    public var hasJobs: Bool { jobsWait.load(ordering: .acquiring) }

    /// Runs what was enqueued for the actor.
    public func runJobs() {
        // Before they are taken: what comes meanwhile may find nothing, but never goes unseen.
        jobsWait.store(false, ordering: .relaxed)
        let ready = jobs.withLock { jobs in
            defer { jobs.removeAll(keepingCapacity: true) }
            return jobs
        }
        // Safety: each job is taken out of the queue once, and the loop lives while it runs them.
        for job in ready { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    public func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the event loop")
    }

    public func isIsolatingCurrentContext() -> Bool? {
        thread.load(ordering: .relaxed) == UInt(pthread_self())
    }
}
