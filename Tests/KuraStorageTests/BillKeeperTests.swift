import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct BillKeeperTests {
    private let directory = TemporaryDirectory()
    private let parts: PartsHarness

    init() throws { parts = try PartsHarness(.tiny(directory.path + "/data")) }

    @Test func `the history is written at a stop, and is there for the next start`() throws {
        let path = parts.configuration.billPath
        let now = parts.configuration.clock.monotonic
        #expect(parts.bill.tend(now) > now && !FileSystem.exists(path))
        parts.bill.close()
        #expect(FileSystem.exists(path))
        let next = BillKeeper(
            parts.configuration, parts.ledger, parts.caches, parts.start.housekeeper, report: { _ in })
        #expect(next.reports.isEmpty && !next.isThrottling && next.resolveReports(nil) == 0)
    }
}
