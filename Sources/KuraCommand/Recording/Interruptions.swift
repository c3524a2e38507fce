import Glibc
import Synchronization

/// Signals that ask a command to end what it does in its own way.
enum Interruptions {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]
    /// The first signal's number; 0: none has come.
    private static let seen = Atomic<Int32>(0)

    /// From now on a signal is noted and does not end the process. A second one does.
    ///
    /// Safety: the set is ours, and filled before it is used.
    static func watch() {
        // The parent process may have left these signals blocked.
        var watched = sigset_t()
        unsafe sigemptyset(&watched)
        for number in signals { unsafe sigaddset(&watched, number) }
        unsafe pthread_sigmask(SIG_UNBLOCK, &watched, nil)
        for number in signals {
            signal(number) { number in
                Interruptions.seen.store(number, ordering: .relaxed)
                signal(number, SIG_DFL)
            }
        }
    }

    static func unwatch() {
        for number in signals { signal(number, SIG_DFL) }
    }

    static var haveCome: Bool { seen.load(ordering: .relaxed) != 0 }

    /// Ends the process by the signal that has come, so that a shell sees that it was interrupted.
    static func passOn() {
        unwatch()
        raise(seen.load(ordering: .relaxed))
    }
}
