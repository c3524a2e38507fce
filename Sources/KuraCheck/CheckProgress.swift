import KuraBytes

/// How far a check has come, and whether it goes on. One thread's.
final class CheckProgress {
    private let clock: Clock
    private let isCancelled: () -> Bool
    private let pause: () -> Void
    private let report: (_ done: Int, _ total: Int) -> Void
    private var done = 0
    /// Bytes in all, about.
    var total = 0
    private var reportAt: UInt64

    private static let reportInterval: UInt64 = 500_000_000

    /// As `StorageCheck.run` has them.
    init(
        _ clock: Clock, isCancelled: @escaping () -> Bool = { false }, pause: @escaping () -> Void = {},
        report: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) {
        (self.clock, self.isCancelled, self.pause, self.report) = (clock, isCancelled, pause, report)
        reportAt = clock.monotonic + Self.reportInterval
    }

    var goesOn: Bool { !isCancelled() }

    /// The same between two snapshots.
    var goesOnLater: Bool {
        pause()
        return goesOn
    }

    /// So many bytes have been looked at.
    func advance(_ bytes: Int) {
        done += bytes
        pause()
        let time = clock.monotonic
        guard time >= reportAt else { return }
        reportAt = time + Self.reportInterval
        report(min(done, total), total)
    }
}
