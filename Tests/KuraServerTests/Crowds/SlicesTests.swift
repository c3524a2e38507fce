import KuraBytes
import KuraSocket
import KuraTransport
import Testing

@testable import KuraProtocol
@testable import KuraServer

@Suite struct SlicesTests {
    private let time = ManualTime()
    private var clock: Clock { Clock(time) }

    private func connection(_ token: UInt64) -> Connection {
        .lone(token)
    }

    @Test func `alone a connection has the whole turn, and among others a slice`() {
        var slices = Slices()
        let (first, second) = (connection(1), connection(2))
        var now = slices.noteSlice(of: first, since: clock.monotonic, answered: 9, clock)
        #expect(slices.slice(of: first, atMost: 512) == 512)
        // One that comes new may not be the only one.
        #expect(slices.slice(of: second, atMost: 512) == Slices.sharedSlice)
        now = slices.noteSlice(of: second, since: now, answered: 9, clock)
        #expect(slices.slice(of: second, atMost: 512) == Slices.sharedSlice)
        #expect(slices.slice(of: second, atMost: 7) == 7)
        time.advance(by: Slices.presence)
        _ = slices.noteSlice(of: second, since: now, answered: 9, clock)
        #expect(slices.slice(of: second, atMost: 512) == 512)
    }

    @Test func `slices and pieces are smaller while somebody waits for each reply`() {
        var slices = Slices()
        let (first, second) = (connection(1), connection(2))
        var now = slices.noteSlice(of: first, since: clock.monotonic, answered: 1, clock)
        #expect(slices.piece(alone: 1 << 20) == 1 << 20)
        now = slices.noteSlice(of: second, since: now, answered: 48, clock)
        #expect(slices.slice(of: second, atMost: 512) == Slices.attentiveSlice)
        #expect(slices.piece(alone: 1 << 20) == Slices.attentivePiece)
        time.advance(by: Slices.presence)
        // One that has more behind the request, and one that has many at once, wait for none of them.
        first.state.lines.hasMore = true
        now = slices.noteSlice(of: first, since: now, answered: 1, clock)
        _ = slices.noteSlice(of: second, since: now, answered: 2, clock)
        #expect(slices.slice(of: second, atMost: 512) == Slices.sharedSlice)
        #expect(slices.piece(alone: 1 << 20) == Slices.sharedPiece)
        #expect(slices.accepts(clock) == Slices.acceptsBusy)
        time.advance(by: Slices.presence)
        #expect(slices.accepts(clock) == Slices.acceptsBusy, "the turn in which they were served has not ended")
        slices.beginTurn()
        #expect(slices.accepts(clock) == Slices.acceptsIdle)
    }

    @Test func `who took long waits for twice as long when others are there, and not alone`() {
        var slices = Slices()
        let (first, second) = (connection(1), connection(2))
        var now = slices.noteSlice(of: first, since: clock.monotonic, answered: 9, clock)
        first.crowd.spent = 1_000_000
        slices.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == 0)

        now = slices.noteSlice(of: second, since: now, answered: 9, clock)
        first.crowd.spent = 1_000_000
        slices.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == now + 2_000_000)
        second.crowd.spent = Slices.sliceTime
        slices.judgeSlice(of: second)
        #expect(second.crowd.deferredUntil == 0)
        #expect(slices.nextDeferred == now + 2_000_000)

        #expect(slices.takeDeferred(until: now + 1_999_999).count == 0)
        #expect(slices.takeDeferred(until: now + 2_000_000).count == 1)
        #expect(first.crowd.deferredUntil == 0)
        #expect(slices.nextDeferred == .max)
    }

    @Test func `a slice ends by time when others are there`() {
        var slices = Slices()
        let (first, second) = (connection(1), connection(2))
        var now = slices.noteSlice(of: first, since: clock.monotonic, answered: 9, clock)
        var isOver: [Bool] = []
        slices.beginSlice(at: now)
        time.advance(by: Slices.sliceTime + 1)
        isOver.append(slices.isSliceOver(clock))
        now = slices.noteSlice(of: second, since: now, answered: 9, clock)
        slices.beginSlice(at: now)
        isOver.append(slices.isSliceOver(clock))
        time.advance(by: Slices.sliceTime + 1)
        isOver.append(slices.isSliceOver(clock))
        #expect(isOver == [false, false, true])
    }

    @Test func `when all is full one batch goes on at a time`() {
        var slices = Slices()
        let (first, second) = (connection(1), connection(2))
        var admitted = [slices.admits(batchOf: first), slices.admits(batchOf: second)]
        slices.endBatch(of: second)
        admitted += [slices.admits(batchOf: first), slices.admits(batchOf: second)]
        slices.endBatch(of: first)
        admitted.append(slices.admits(batchOf: second))
        #expect(admitted == [true, false, true, false, true])
    }

    @Test func `nobody waits longer than a bound`() {
        var slices = Slices()
        let (first, second) = (connection(1), connection(2))
        _ = slices.noteSlice(of: first, since: clock.monotonic, answered: 9, clock)
        let now = slices.noteSlice(of: second, since: clock.monotonic, answered: 9, clock)
        first.crowd.spent = 3_000_000_000
        slices.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == now + Slices.longestDeferral)
    }

    @Test func `requests weigh by their bytes and by what they do`() throws {
        var slices = Slices()
        let reader = RequestReader()
        func read(_ method: String) throws {
            let text = Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method)\"}".utf8)
            text.withBytes { _ = try? reader.read($0, batchLimit: 1) }
        }
        try read("storage.ping")
        #expect(slices.weight(bytes: 200, reader) == 0)
        #expect(slices.weight(bytes: 1 << 20, reader) == 4096)
        slices.beginRequest()
        slices.discard(256)
        slices.discard(256)
        #expect(slices.weight(bytes: 256, reader) == 3, "what was taken back has been written as well")
        slices.beginRequest()
        #expect(slices.weight(bytes: 256, reader) == 1)
        try read("storage.status")
        #expect(slices.weight(bytes: 200, reader) > 10)
    }
}
