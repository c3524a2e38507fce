import CSyscalls
import Glibc

/// The heap of the process.
public enum Heap {
    /// Gives back to the system what is not used. Takes milliseconds when that is much.
    public static func trim() { csys_trim_heap() }
    /// Has blocks of so many bytes and more given back as soon as they are freed, however often there have been some.
    public static func givesBack(blocksOf bytes: Int32) { csys_give_back_blocks(bytes) }
}

/// Limits of the process.
public enum ProcessLimits {
    /// Keeps what is written to standard output and error out of files that would get their numbers, when the program was started without them.
    public static func holdStandardDescriptors() { csys_hold_standard_descriptors() }

    /// Raises the number of descriptors to what is allowed, and returns it.
    public static func raiseDescriptors() -> Int {
        var limit: UInt64 = 1024
        // Safety: the limit is of the type that the function writes.
        _ = unsafe csys_raise_descriptor_limit(&limit)
        return Int(clamping: limit)
    }

    /// Makes the kernel's table of descriptors as large as it may become. In a process of several threads each doubling waits for all
    /// processors (`synchronize_rcu`), which takes ten milliseconds at least, and whoever accepts or receives a descriptor waits with it.
    /// Called before the first thread starts; the kernel keeps eight bytes for each.
    public static func makeRoom(forDescriptors count: Int) {
        let last = csys_fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, count - 1)
        if last >= 0 { _ = csys_close(last) }
    }

    /// Descriptors that the process may have, as it is.
    public static var descriptors: Int {
        var limit = rlimit()
        // Safety: the kernel fills one `rlimit`, which is ours.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// No core dumps, and no reports of a crash that show registers and the memory they point at; and, unless `isTraceable`, nobody but root
    /// reads this process's memory or traces it.
    /// - Parameters:
    ///   - isTraceable: leaves the memory to other processes of the user.
    ///   - reportsCrashes: leaves the reports as they are.
    /// - Returns: whether the kernel has agreed.
    public static func protectMemory(isTraceable: Bool, reportsCrashes: Bool) -> Bool {
        if !reportsCrashes { leaveCrashesUntold() }
        return csys_set_no_core() == 0 && (isTraceable || csys_set_no_dump() == 0)
    }

    /// The signals of a crash end the process as the kernel does it, and not through Swift's own handlers, which write a report to standard error.
    /// What has trapped says so there still.
    private static func leaveCrashesUntold() {
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { signal(number, SIG_DFL) }
    }
}
