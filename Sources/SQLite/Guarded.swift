import Glibc

/// A pthread mutex. Unlike the library's `Mutex`, which calls the kernel past it, ThreadSanitizer sees this one, so that
/// what it guards can be checked.
///
/// Safety: the mutex is the lock's from `init` to `deinit`.
@safe
public struct Lock: ~Copyable, @unchecked Sendable {
    // A mutex may be used from every thread; its address never changes.
    private let handle: UnsafeMutablePointer<pthread_mutex_t>

    public init() {
        unsafe handle = .allocate(capacity: 1)
        unsafe handle.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(handle, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(handle)
        unsafe handle.deallocate()
    }

    /// Runs `body` while nobody else holds the lock. Not recursive.
    public borrowing func withLock<R>(_ body: () -> R) -> R {
        unsafe pthread_mutex_lock(handle)
        defer { unsafe pthread_mutex_unlock(handle) }
        return body()
    }
}

/// A value that is only touched under its lock.
public final class Guarded<Value>: @unchecked Sendable {
    // `value` is reached through `withLock` alone.
    private let lock = Lock()
    private var value: Value

    public init(_ value: sending Value) {
        self.value = value
    }

    /// Runs `body` on the value while nobody else does. Not recursive.
    public func withLock<R>(_ body: (inout Value) -> R) -> R {
        lock.withLock { body(&value) }
    }
}
