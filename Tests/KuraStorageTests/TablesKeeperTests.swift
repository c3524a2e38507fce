import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct TablesKeeperTests {
    private let directory = TemporaryDirectory()
    private let parts: PartsHarness

    init() throws { parts = try PartsHarness(.tiny(directory.path + "/data")) }

    @Test func `what is synced is folded when its time has come`() throws {
        let rev = try parts.commit("a")
        let time = later
        _ = parts.tables.keepUp(time, parts.scrub)
        #expect(!parts.tables.schedule.hasSlice)
        parts.sync()
        _ = parts.tables.keepUp(time, parts.scrub)
        #expect(parts.tables.schedule.hasSlice)
        let deadline = monotonicNanoseconds() + 60_000_000_000
        while parts.tables.schedule.tablesRev < rev || parts.ledger.overlay.items > 0 {
            try #require(monotonicNanoseconds() < deadline, "it is not folded")
            _ = parts.tables.keepUp(time, parts.scrub)
            usleep(1000)
        }
        #expect(parts.ledger.foldedRev == rev && !parts.tables.schedule.hasUnfolded)
    }

    /// Later than anything waits to be folded.
    private var later: UInt64 { parts.configuration.clock.monotonic + 10_000_000_000 }

    @Test func `a query that must see a change is answered when the tables have it`() throws {
        let rev = try parts.commit("a")
        parts.sync()
        let ticket = parts.tables.submit(TablesReached(rev))
        #expect(parts.tables.wantedRev(parts.scrub) == rev)
        #expect(parts.desk.takeAnswers().isEmpty)
        parts.tables.drain(parts.scrub)
        #expect(parts.tables.wantedRev(parts.scrub) == 0 && parts.ledger.overlay.items == 0)
        var answers: [QueryAnswer] = []
        let deadline = monotonicNanoseconds() + 60_000_000_000
        while answers.isEmpty {
            try #require(monotonicNanoseconds() < deadline, "it is not answered")
            answers = parts.desk.takeAnswers()
            usleep(1000)
        }
        #expect(answers.map(\.ticket) == [ticket] && answers[0].error == nil)
    }

    @Test func `a storage that has failed folds nothing more`() throws {
        try parts.commit("a")
        parts.sync()
        parts.log.fail(.damagedLog)
        parts.tables.drain(parts.scrub)
        #expect(parts.ledger.overlay.items == 1)
    }
}
