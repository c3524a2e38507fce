import KuraBytes
import KuraStorage
import Synchronization
import Testing

@testable import KuraServer
@testable import KuraStorage

@Suite struct BackgroundJobsTests {
    private let time = ManualTime()

    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }

    /// `counter`: counts how often the configuration has been read again.
    private func jobs(_ counter: Counter = Counter()) -> BackgroundJobs {
        let found = Reload.Found(access: AccessRules.single("/none"))
        return BackgroundJobs(
            Reload(found) {
                counter.value.add(1, ordering: .relaxed)
                return found
            }, Journal(threshold: .error))
    }

    private var configuration: StorageConfiguration {
        var configuration = StorageConfiguration(dataDirectory: "/none", profile: .small)
        configuration.clock = Clock(time)
        return configuration
    }

    @Test func `with nothing to do there is nothing to wait for`() {
        #expect(jobs().timeToNext(at: time.monotonic) == nil)
    }

    @Test func `the one that is due first is waited for`() throws {
        var jobs = jobs()
        let checks = IdleChecks(every: 3600, Boot(configuration) { _ in }, clock: Clock(time), wake: {})
        jobs.checks = checks
        let first = try #require(checks.timeToNext(at: time.monotonic))
        #expect(jobs.timeToNext(at: time.monotonic) == first)
        let backups = ScheduledBackups(every: 3600, BackupDirectory.Keep(), [], configuration, wake: {})
        jobs.backups = backups
        let second = try #require(backups.timeToNext(at: time.monotonic))
        #expect(second < first)
        #expect(jobs.timeToNext(at: time.monotonic) == second)
        time.advance(by: second + 5)
        #expect(jobs.timeToNext(at: time.monotonic) == 0)
        jobs.stop()
    }

    @Test func `to stop waits for what is being read`() {
        let counter = Counter()
        let jobs = jobs(counter)
        jobs.reload.begin {}
        jobs.stop()
        #expect(counter.value.load(ordering: .relaxed) == 1)
        #expect(jobs.reload.take().count == 1)
    }
}
