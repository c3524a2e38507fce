public import KuraBytes
import Synchronization

/// How long a query may take, and whether somebody still wants it. Shared by the loop and the thread that runs it.
public final class QueryControl: Sendable {
    private let deadline: Deadline
    private let milliseconds: Int
    private let isStopped = Atomic<Bool>(false)

    /// `milliseconds`: counted from now on.
    public convenience init(milliseconds: Int, _ clock: Clock) {
        self.init(milliseconds: milliseconds, until: clock.deadline(milliseconds: milliseconds))
    }

    /// `milliseconds`: what was asked for, which the error says. `deadline`: when they are over.
    public init(milliseconds: Int, until deadline: Deadline) {
        self.milliseconds = milliseconds
        self.deadline = deadline
    }

    /// Ends the query soon, with `.interrupted`.
    public func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Why the query should end; nil when it may go on.
    var fault: QueryError? {
        if isStopped.load(ordering: .relaxed) { return .engine(.interrupted) }
        return deadline.isOver ? .timeout(milliseconds: milliseconds) : nil
    }
}
