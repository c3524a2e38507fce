#if SANITIZE_THREAD
    import KuraBytes

    /// Within this module, instead of Synchronization's.
    typealias Mutex = TracedMutex
#endif
