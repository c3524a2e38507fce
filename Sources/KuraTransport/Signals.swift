import CSyscalls
public import KuraSocket

/// Signals as a descriptor that the loop waits on.
public enum Signals {
    /// Blocks SIGTERM, SIGINT, SIGHUP and SIGCHLD for this thread and those it starts, ignores SIGPIPE.
    public static func descriptor() throws(SystemError) -> Int32 {
        let descriptor = csys_signal_descriptor()
        guard descriptor >= 0 else { throw SystemError("signalfd") }
        return descriptor
    }

    /// The next signal that came; nil when there is none.
    public static func next(_ descriptor: Int32) -> Int32? {
        let number = csys_next_signal(descriptor)
        return number == 0 ? nil : number
    }
}
