import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct TicketDeskTests {
    private let directory = TemporaryDirectory()
    private let parts: PartsHarness

    init() throws { parts = try PartsHarness(.tiny(directory.path + "/data")) }

    @Test func `a ticket is given once, and comes back when there is nothing to read for it`() throws {
        let desk = parts.desk
        let (first, second) = (desk.warm(), desk.warm())
        #expect(first != second && desk.takeTicket() > second)
        var warmed: [UInt64] = []
        let deadline = monotonicNanoseconds() + 60_000_000_000
        while warmed.count < 2 {
            try #require(monotonicNanoseconds() < deadline, "the tickets do not come back")
            warmed += desk.takeWarmed()
            usleep(1000)
        }
        #expect(warmed == [first, second])
    }

    @Test func `a query that waits for the tables is not run at once, and not answered when it is forgotten`() throws {
        let desk = parts.desk
        let query = TablesReached(7)
        #expect(throws: QueryError.engine(.cold)) { try desk.runAtOnce(query, tablesRev: 6) }
        let ticket = desk.submit(query, tablesRev: 6)
        #expect(desk.waits.wantedRev == 7)
        desk.forget(ticket)
        desk.noteFolded(to: 7)
        #expect(desk.waits.isEmpty && desk.takeAnswers().isEmpty && !desk.cancel(ticket))
    }
}
