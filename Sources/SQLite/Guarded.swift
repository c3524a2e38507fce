import Glibc

/// A pthread mutex. Unlike the library's `Mutex`, which calls the kernel past it, ThreadSanitizer sees this one, so that
/// what it guards can be checked.
public struct Lock: ~Copyable, @unchecked Sendable {
    // A mutex may be used from every thread; its address never changes.
    private let handle: UnsafeMutablePointer<pthread_mutex_t>

    public init() {
        handle = .allocate(capacity: 1)
        handle.initialize(to: pthread_mutex_t())
        pthread_mutex_init(handle, nil)
    }

    deinit {
        pthread_mutex_destroy(handle)
        handle.deallocate()
    }

    /// Runs `body` while nobody else holds the lock. Not recursive.
    public borrowing func withLock<R>(_ body: () -> R) -> R {
        pthread_mutex_lock(handle)
        defer { pthread_mutex_unlock(handle) }
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
