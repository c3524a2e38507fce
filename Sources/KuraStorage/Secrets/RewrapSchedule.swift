/// When secrets are sealed anew with newer keys, and the job that lets an older root key go. Times are of the monotonic clock, in nanoseconds.
struct RewrapSchedule {
    /// Something is sealed with older keys, as the end of the last turn found.
    var isWanted = false
    /// When the next slice is due.
    private var nextAt: UInt64 = 0
    private var retirement: KeyJob?

    /// Between two slices, which others have for themselves, and after one that could not be stored.
    static let interval: UInt64 = 1_000_000
    static let pause: UInt64 = 50_000_000

    func isDue(_ time: UInt64) -> Bool { time >= nextAt }

    /// A slice is being stored. `hasFailed`: it could not be.
    mutating func noteSlice(_ time: UInt64, hasFailed: Bool = false) {
        nextAt = time + (hasFailed ? Self.pause : Self.interval)
    }

    /// When the next turn is due for it.
    func next(_ time: UInt64, admitsBulk: Bool) -> UInt64 { admitsBulk ? max(nextAt, time) : time + Self.interval }

    /// A job lets a root key go that nothing needs.
    mutating func retire(with job: KeyJob) { retirement = job }

    enum Retirement: Equatable {
        /// There is none; another may begin.
        case idle
        case running
        case failed(KeysFault)
    }

    /// Lets go of the job when it is done.
    mutating func takeRetirement() -> Retirement {
        guard let job = retirement else { return .idle }
        guard job.isDone else { return .running }
        retirement = nil
        return job.fault.map { .failed($0) } ?? .idle
    }
}
