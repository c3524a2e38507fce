import SQLite
import CSyscalls
import Glibc
public import KuraBytes
import Synchronization

/// A counting semaphore (sem_overview(7)): one futex call to wake, none when nobody waits.
///
/// Safety: the semaphore is the object's from `init` to `deinit`.
@safe
public final class Semaphore: @unchecked Sendable {
    // sem_t may be used from every thread; its address never changes.
    private let handle: UnsafeMutablePointer<sem_t>

    public init() {
        unsafe handle = .allocate(capacity: 1)
        unsafe handle.initialize(to: sem_t())
        unsafe sem_init(handle, 0, 0)
    }

    deinit {
        unsafe sem_destroy(handle)
        unsafe handle.deallocate()
    }

    public func signal() { unsafe sem_post(handle) }

    public func wait() {
        while unsafe sem_wait(handle) != 0 {}
    }

    /// Waits until then at most; not at all when that is over.
    /// - Returns: whether the semaphore was signalled.
    public func wait(until deadline: Deadline) -> Bool {
        while true {
            var left = deadline.left
            guard left > 0 else { return unsafe sem_trywait(handle) == 0 }
            // Who moves another time than the system's wakes nobody here: it is looked at again and again.
            if !deadline.clock.isSystem { left = min(left, .nanoseconds(milliseconds: ManualTime.interval)) }
            var end = timespec()
            // Safety: the kernel fills one `timespec`, which is ours.
            unsafe clock_gettime(CLOCK_REALTIME, &end)
            let nanoseconds = end.tv_nsec + Int(left % 1_000_000_000)
            end.tv_sec += Int(left / 1_000_000_000) + nanoseconds / 1_000_000_000
            end.tv_nsec = nanoseconds % 1_000_000_000
            if unsafe sem_timedwait(handle, &end) == 0 { return true }
        }
    }
}

/// A thread of our own: named, with signals blocked, joined before the process ends unless it was detached. What it writes is counted as its maker's is.
public final class WorkerThread: @unchecked Sendable {
    // Written once in `init`, joined once by the owner.
    private var handle = pthread_t()

    private final class Start {
        let name: String
        let isBackground: Bool
        /// Of the thread that starts it.
        let scope = CountingScope.current
        let body: @Sendable () -> Void
        init(name: String, isBackground: Bool, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.isBackground = isBackground
            self.body = body
        }
    }

    /// `name`: at most 15 bytes, as top and gdb show it.
    /// `isBackground`: yields to everybody else (SCHED_BATCH, nice 10).
    /// - Throws: when the system makes no thread (EAGAIN: memory, or processes of the user are at their limit); `body` is not run then.
    ///
    /// Safety: the thread takes over the one reference to `start` that is passed to it; the name is lent for the call.
    public init(
        name: String, isBackground: Bool, _ body: @escaping @Sendable () -> Void
    ) throws(StorageFault) {
        if FaultPoints.hit(.threadBegin) != nil { throw Self.failure(EAGAIN, name) }
        let start = unsafe Unmanaged.passRetained(Start(name: name, isBackground: isBackground, body: body))
        let result = unsafe pthread_create(
            &handle, nil,
            { argument in
                let start = unsafe Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                _ = unsafe csys_set_thread_name(start.name)
                if start.isBackground {
                    _ = csys_schedule_batch()
                    _ = csys_set_thread_nice(10)
                }
                CountingScope.run(start.scope) { start.body() }
                return nil
            }, unsafe start.toOpaque())
        guard result == 0 else {
            unsafe start.release()
            throw Self.failure(result, name)
        }
    }

    private static func failure(_ errno: Int32, _ name: String) -> StorageFault {
        .system(errno: errno, call: "make the thread", path: name)
    }

    public func join() {
        pthread_join(handle, nil)
    }

    /// Instead of `join`: what the thread has of the system goes with its end.
    func detach() {
        pthread_detach(handle)
    }
}

/// An owner's one thread, which may begin long after the owner is there.
final class OwnedThread: Sendable {
    private let name: String
    private let isBackground: Bool
    private let thread = Guarded<WorkerThread?>(nil)

    /// As `WorkerThread` takes them.
    init(name: String, isBackground: Bool) {
        self.name = name
        self.isBackground = isBackground
    }

    /// Begins the thread unless it runs.
    /// - Throws: when the system makes none; the next call tries again.
    func begin(_ body: @escaping @Sendable () -> Void) throws(StorageFault) {
        let fault = thread.withLock { thread -> StorageFault? in
            guard thread == nil else { return nil }
            do throws(StorageFault) {
                thread = try WorkerThread(name: name, isBackground: isBackground, body)
                return nil
            } catch { return error }
        }
        if let fault { throw fault }
    }

    /// Waits for its end; does nothing where it has never begun.
    func join() {
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}

/// Runs jobs one after the other on a background thread: what may take long and nobody waits for.
final class Housekeeper: Sendable {
    private let jobs = Guarded<[@Sendable () -> Void]>([])
    private let pending = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let thread = OwnedThread(name: "kura-keeper", isBackground: true)

    init() throws(StorageFault) {
        try thread.begin { [unowned self] in run() }
    }

    func submit(_ job: @escaping @Sendable () -> Void) {
        jobs.withLock { $0.append(job) }
        pending.signal()
    }

    /// Ends after the jobs that have been submitted.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        pending.signal()
        thread.join()
    }

    private func run() {
        while true {
            pending.wait()
            let batch = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            for job in batch { job() }
            if isStopping.load(ordering: .acquiring), jobs.withLock({ $0.isEmpty }) { return }
        }
    }
}
