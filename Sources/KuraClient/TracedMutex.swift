#if SANITIZE_THREAD
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Darwin)
        import Darwin
    #endif

    /// A lock of pthread's in the place of Synchronization's, which ThreadSanitizer does not see on Linux: it takes whatever that guards for a race.
    ///
    /// Safety: the mutex has a place of its own that lasts as long as the object, and `value` is used with it locked.
    @safe package final class TracedMutex<Value>: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private var value: Value

        package init(_ value: Value) {
            unsafe mutex = .allocate(capacity: 1)
            unsafe pthread_mutex_init(mutex, nil)
            self.value = value
        }

        deinit {
            unsafe pthread_mutex_destroy(mutex)
            unsafe mutex.deallocate()
        }

        package func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            unsafe pthread_mutex_lock(mutex)
            defer { unsafe pthread_mutex_unlock(mutex) }
            return try body(&value)
        }
    }

    /// Within this module, instead of the one that is imported.
    typealias Mutex = TracedMutex
#endif
