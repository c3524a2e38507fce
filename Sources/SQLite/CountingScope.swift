import Glibc

/// Whom files are counted for: a daemon that is one of several in a process has its own counts, its own faults and its own limit of the disk.
///
/// It holds for the threads that say so, and for the files that they open. Every other thread's counts are the process's.
///
/// Safety: what a thread keeps is a pointer to a scope that whoever called `run` holds until that returns.
public final class CountingScope: Sendable {
    let counters = Counter.makeAll()
    let faults = ArmedFaults()
    let disk = Guarded(DiskLimit.State())

    public init() {}

    deinit { DiskLimit.end(disk) }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let result = unsafe pthread_key_create(&key, nil)
        precondition(result == 0, "no thread-specific key: \(result)")
        return key
    }()

    /// The calling thread's; nil: the process as a whole.
    public static var current: CountingScope? {
        guard let pointer = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<CountingScope>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Has the calling thread count for `scope` until `body` returns; nil: as it does.
    public static func run<Result, Failure: Error>(
        _ scope: CountingScope?, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let scope else { return try body() }
        let before = unsafe pthread_getspecific(key)
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(scope).toOpaque())
        defer {
            unsafe pthread_setspecific(key, before)
            withExtendedLifetime(scope) {}
        }
        return try body()
    }
}
