import Synchronization

/// How long a query may take, and whether somebody still wants it. Shared by the loop and the thread that runs it.
public final class QueryControl: Sendable {
    private let deadline: UInt64
    private let milliseconds: Int
    private let isStopped = Atomic<Bool>(false)

    /// `milliseconds`: counted from now on.
    public init(milliseconds: Int) {
        self.milliseconds = milliseconds
        deadline = monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
    }

    /// Ends the query soon, with `.interrupted`.
    public func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Why the query should end; nil when it may go on.
    var fault: StoreError? {
        if isStopped.load(ordering: .relaxed) { return .interrupted }
        return monotonicNanoseconds() > deadline ? .timeout(milliseconds: milliseconds) : nil
    }
}
