import CSyscalls
import Glibc
public import KuraSocket

/// Signals as a descriptor that the loop waits on.
public enum Signals {
    /// Blocks SIGTERM, SIGINT, SIGHUP and SIGCHLD for this thread and those it starts, ignores SIGPIPE and SIGXFSZ.
    public static func descriptor() throws(SystemError) -> Int32 {
        let descriptor = csys_signal_descriptor()
        guard descriptor >= 0 else { throw SystemError("signalfd") }
        return descriptor
    }

    /// Has other threads take the signals that are sent to the process; for a thread in a process that is not the daemon's, and those it
    /// starts. A fault of the thread itself is still told to whoever handles it.
    public static func leaveToOthers() {
        // Safety: the set is ours, and filled before it is used.
        var all = sigset_t()
        unsafe sigfillset(&all)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] { unsafe sigdelset(&all, fault) }
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    }

    /// The next signal that came; nil when there is none.
    public static func next(_ descriptor: Int32) -> Int32? {
        let number = csys_next_signal(descriptor)
        return number == 0 ? nil : number
    }
}
