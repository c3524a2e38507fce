#if SANITIZE_THREAD
    import KuraBytes

    /// Within these tests, instead of Synchronization's, as in the client.
    final class Mutex<Value>: Sendable {
        private let mutex: TracedMutex<Value>

        init(_ value: Value) { mutex = TracedMutex(value) }

        func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result { try mutex.withLock(body) }
    }
#endif
