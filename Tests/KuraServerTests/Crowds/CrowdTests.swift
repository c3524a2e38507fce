import KuraBytes
import KuraSocket
import KuraTransport
import Testing

@testable import KuraProtocol
@testable import KuraServer

@Suite struct CrowdTests {
    private let time = ManualTime()
    private var clock: Clock { Clock(time) }

    @Test func `alone a connection has the whole turn, and among others a slice`() {
        var crowd = Crowd()
        let (first, second) = (Connection.lone(1), Connection.lone(2))
        var now = crowd.noteSlice(of: first, since: clock.monotonic, answered: 9, clock)
        #expect(crowd.slice(of: first, atMost: 512) == 512)
        // One that comes new may not be the only one.
        #expect(crowd.slice(of: second, atMost: 512) == Crowd.sharedSlice)
        now = crowd.noteSlice(of: second, since: now, answered: 9, clock)
        #expect(crowd.slice(of: second, atMost: 512) == Crowd.sharedSlice)
        #expect(crowd.slice(of: second, atMost: 7) == 7)
        time.advance(by: Crowd.presence)
        _ = crowd.noteSlice(of: second, since: now, answered: 9, clock)
        #expect(crowd.slice(of: second, atMost: 512) == 512)
    }

    @Test func `slices and pieces are smaller while somebody waits for each reply`() {
        var crowd = Crowd()
        let (first, second) = (Connection.lone(1), Connection.lone(2))
        var now = crowd.noteSlice(of: first, since: clock.monotonic, answered: 1, clock)
        #expect(crowd.piece(alone: 1 << 20) == 1 << 20)
        now = crowd.noteSlice(of: second, since: now, answered: 48, clock)
        #expect(crowd.slice(of: second, atMost: 512) == Crowd.attentiveSlice)
        #expect(crowd.piece(alone: 1 << 20) == Crowd.attentivePiece)
        time.advance(by: Crowd.presence)
        // One that has more behind the request, and one that has many at once, wait for none of them.
        first.state.lines.hasMore = true
        now = crowd.noteSlice(of: first, since: now, answered: 1, clock)
        _ = crowd.noteSlice(of: second, since: now, answered: 2, clock)
        #expect(crowd.slice(of: second, atMost: 512) == Crowd.sharedSlice)
        #expect(crowd.piece(alone: 1 << 20) == Crowd.sharedPiece)
        #expect(crowd.accepts(clock) == Crowd.acceptsBusy)
        time.advance(by: Crowd.presence)
        #expect(crowd.accepts(clock) == Crowd.acceptsBusy, "the turn in which they were served has not ended")
        crowd.beginTurn()
        #expect(crowd.accepts(clock) == Crowd.acceptsIdle)
    }

    @Test func `who took long waits for twice as long when others are there, and not alone`() {
        var crowd = Crowd()
        let (first, second) = (Connection.lone(1), Connection.lone(2))
        var now = crowd.noteSlice(of: first, since: clock.monotonic, answered: 9, clock)
        first.crowd.spent = 1_000_000
        crowd.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == 0)

        now = crowd.noteSlice(of: second, since: now, answered: 9, clock)
        first.crowd.spent = 1_000_000
        crowd.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == now + 2_000_000)
        second.crowd.spent = Crowd.sliceTime
        crowd.judgeSlice(of: second)
        #expect(second.crowd.deferredUntil == 0)
        #expect(crowd.timeToNext(at: now) == 2_000_000)

        #expect(crowd.takeDeferred(until: now + 1_999_999).count == 0)
        #expect(crowd.takeDeferred(until: now + 2_000_000).count == 1)
        #expect(first.crowd.deferredUntil == 0)
        #expect(crowd.timeToNext(at: now) == nil)
    }

    @Test func `a slice ends by time when others are there`() {
        var crowd = Crowd()
        let (first, second) = (Connection.lone(1), Connection.lone(2))
        var now = crowd.noteSlice(of: first, since: clock.monotonic, answered: 9, clock)
        var isOver: [Bool] = []
        crowd.beginSlice(at: now)
        time.advance(by: Crowd.sliceTime + 1)
        isOver.append(crowd.isSliceOver(clock))
        now = crowd.noteSlice(of: second, since: now, answered: 9, clock)
        crowd.beginSlice(at: now)
        isOver.append(crowd.isSliceOver(clock))
        time.advance(by: Crowd.sliceTime + 1)
        isOver.append(crowd.isSliceOver(clock))
        #expect(isOver == [false, false, true])
    }

    @Test func `when all is full one batch goes on at a time`() {
        var crowd = Crowd()
        let (first, second) = (Connection.lone(1), Connection.lone(2))
        var admitted = [crowd.admits(batchOf: first), crowd.admits(batchOf: second)]
        crowd.endBatch(of: second)
        admitted += [crowd.admits(batchOf: first), crowd.admits(batchOf: second)]
        crowd.endBatch(of: first)
        admitted.append(crowd.admits(batchOf: second))
        #expect(admitted == [true, false, true, false, true])
    }

    @Test func `nobody waits longer than a bound`() {
        var crowd = Crowd()
        let (first, second) = (Connection.lone(1), Connection.lone(2))
        _ = crowd.noteSlice(of: first, since: clock.monotonic, answered: 9, clock)
        let now = crowd.noteSlice(of: second, since: clock.monotonic, answered: 9, clock)
        first.crowd.spent = 3_000_000_000
        crowd.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == now + Crowd.longestDeferral)
    }

    @Test func `requests weigh by their bytes and by what they do`() throws {
        let crowd = Crowd()
        let reader = RequestReader()
        func read(_ method: String) throws {
            let text = Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method)\"}".utf8)
            text.withBytes { _ = try? reader.read($0, batchLimit: 1) }
        }
        try read("storage.ping")
        #expect(crowd.weight(bytes: 200, reader) == 0)
        #expect(crowd.weight(bytes: 1 << 20, reader) == 4096)
        try read("storage.status")
        #expect(crowd.weight(bytes: 200, reader) > 10)
    }
}
