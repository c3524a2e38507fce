import Testing

@testable import KuraStorage

@Suite struct BlobOutboxTests {
    @Test func `many changes are handed over at once, and few while no two writes are under way`() {
        var outbox = BlobOutbox()
        #expect(!outbox.isDue && outbox.isEmpty)
        let isFull = (0..<256).map { outbox.append(.remove(id: $0)) }
        #expect(isFull.dropLast().allSatisfy { !$0 } && isFull.last == true)
        #expect(outbox.isDue && outbox.bytes == 256 * 64)
        let taken = outbox.take()
        #expect(taken.changes.count == 256 && taken.bytes == 256 * 64 && outbox.isEmpty && outbox.bytes == 0)
        _ = outbox.append(.remove(id: 1))
        _ = outbox.take()
        _ = outbox.append(.remove(id: 2))
        #expect(outbox.underWay == 2 && !outbox.isDue)
        outbox.noteDone()
        #expect(outbox.isDue)
        outbox.forget()
        #expect(outbox.isEmpty && outbox.bytes == 0 && outbox.underWay == 1)
        let numbers = [outbox.number(), outbox.number()]
        #expect(numbers == [1, 2])
    }
}

@Suite struct BlobSweepTests {
    private static let minute: UInt64 = 60_000_000_000

    @Test func `one of some namespaces leaves the next of all where it was`() {
        var sweep = BlobSweep()
        #expect(sweep.end(7) == Self.minute)
        sweep.begin(isReady: true, of: 5, only: [])
        #expect(!sweep.progress.isRunning)
        sweep.begin(isReady: true, of: 5, only: [3])
        #expect(sweep.progress.isRunning && sweep.progress.total == 5 && sweep.at == 0)
        #expect(sweep.concerns(3) && !sweep.concerns(4))
        sweep.noteRemoved(2, bytes: 30)
        #expect(sweep.end(8) == Self.minute - 1)
        #expect(sweep.concerns(4) && sweep.progress.removed == 2 && sweep.progress.bytes == 30)
    }

    @Test func `one of all that is under way is begun anew for whoever asks`() {
        var sweep = BlobSweep()
        sweep.begin(isReady: true, of: 5)
        sweep.pass()
        sweep.begin(isReady: true, of: 5, only: [3])
        #expect(sweep.place == 0 && sweep.concerns(4) && sweep.sliceEnd(5000) == 4000 && sweep.sliceEnd(7) == 7)
    }
}
