#if SANITIZE_THREAD
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Darwin)
        import Darwin
    #endif

    /// A lock of pthread's in the place of Synchronization's, which ThreadSanitizer does not see on Linux: it takes whatever that guards for a race.
    /// Each module that has a Mutex names this one so (`TracedMutexes.swift`).
    ///
    /// Safety: both have a place of their own that lasts as long as the object, and the value is used with the mutex locked.
    @safe public final class TracedMutex<Value>: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        // Not within the object: a value without a size would be watched there at the object's own first bytes.
        private let value: UnsafeMutablePointer<Value>

        public init(_ value: Value) {
            unsafe mutex = .allocate(capacity: 1)
            unsafe pthread_mutex_init(mutex, nil)
            unsafe self.value = .allocate(capacity: 1)
            unsafe self.value.initialize(to: value)
        }

        deinit {
            unsafe pthread_mutex_destroy(mutex)
            unsafe mutex.deallocate()
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
        }

        public func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            unsafe pthread_mutex_lock(mutex)
            defer { unsafe pthread_mutex_unlock(mutex) }
            return try unsafe body(&value.pointee)
        }
    }

    typealias Mutex = TracedMutex
#endif
