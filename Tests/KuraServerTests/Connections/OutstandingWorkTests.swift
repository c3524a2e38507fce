import KuraProtocol
import Testing

@testable import KuraServer

@Suite struct OutstandingWorkTests {
    private final class Work: TransferWork {
        let isCancellable: Bool
        init(isCancellable: Bool) { self.isCancellable = isCancellable }
        func run(_ channel: TransferChannel) -> TransferOutcome { TransferOutcome(answer: .result([])) }
        var need: (verbs: Verbs, collection: [UInt8]) { (.read, []) }
        func cancel() {}
    }

    private func transfer(ticket: UInt64? = nil, isCancellable: Bool = false) throws -> Transfer {
        Transfer(
            token: 1, id: [], hasID: true, ticket: ticket, work: Work(isCancellable: isCancellable),
            channel: try TransferChannel {}, use: UserUse(uid: 0), method: 0, since: 0)
    }

    @Test func `a connection has nothing outstanding when each transfer and each request that was parked has ended`()
        throws
    {
        var work = OutstandingWork()
        #expect(work.isEmpty)
        let (first, second) = (try transfer(), try transfer(isCancellable: true))
        work.begin(first)
        work.begin(second)
        work.park()
        work.end(first)
        work.end(second)
        #expect(!work.isEmpty && work.holdsCaches)
        work.unpark()
        #expect(work.isEmpty)
        // The end of a wait may be told once more, of a client that has gone.
        work.park()
        work.unparkAll()
        work.unpark()
        #expect(work.isEmpty)
    }

    @Test func `the next request waits for a transfer in its place until that has ended`() throws {
        var work = OutstandingWork()
        let (aside, inPlace) = (try transfer(), try transfer(ticket: 7))
        work.begin(inPlace)
        work.begin(aside)
        work.end(aside)
        #expect(work.inPlace === inPlace)
        work.end(inPlace)
        #expect(work.inPlace == nil)
    }

    @Test func `only what can be called off and goes on is offered for that`() throws {
        var work = OutstandingWork()
        let (fixed, first, second) = (
            try transfer(), try transfer(isCancellable: true), try transfer(isCancellable: true)
        )
        for transfer in [fixed, first, second] { work.begin(transfer) }
        #expect(work.cancellable.map(ObjectIdentifier.init) == [first, second].map(ObjectIdentifier.init))
        work.end(first)
        #expect(work.cancellable.map(ObjectIdentifier.init) == [ObjectIdentifier(second)])
    }
}
