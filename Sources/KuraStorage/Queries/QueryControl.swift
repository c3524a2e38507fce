import KuraBytes
import Synchronization

/// How long a query may take, and whether somebody still wants it. Shared by the loop and the thread that runs it.
public final class QueryControl: Sendable {
    private let deadline: UInt64
    private let milliseconds: Int
    private let isStopped = Atomic<Bool>(false)

    /// `milliseconds`: counted from now on.
    public convenience init(milliseconds: Int) {
        self.init(milliseconds: milliseconds, nanoseconds: .nanoseconds(milliseconds: milliseconds))
    }

    /// `milliseconds`: what was asked for, which the error says. `nanoseconds`: what is left of them.
    public init(milliseconds: Int, nanoseconds: UInt64) {
        self.milliseconds = milliseconds
        deadline = monotonicNanoseconds().later(by: nanoseconds)
    }

    /// Ends the query soon, with `.interrupted`.
    public func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Why the query should end; nil when it may go on.
    var fault: StoreError? {
        if isStopped.load(ordering: .relaxed) { return .interrupted }
        return monotonicNanoseconds() > deadline ? .timeout(milliseconds: milliseconds) : nil
    }
}
