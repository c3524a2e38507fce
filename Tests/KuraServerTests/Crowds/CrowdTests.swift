import Glibc
import KuraBytes
import KuraSocket
import KuraTransport
import Testing

@testable import KuraProtocol
@testable import KuraServer

@Suite struct CrowdTests {
    private func connection(_ token: UInt64) -> Connection {
        Connection(socket: .init(owning: -1), token: token, lineLimit: 100, peer: nil, admission: .init(role: "admin"))
    }

    @Test func `alone a connection has the whole turn, and among others a slice`() {
        var crowd = Crowd()
        let (first, second) = (connection(1), connection(2))
        var time = crowd.noteSlice(of: first, since: monotonicNanoseconds(), answered: 9)
        #expect(crowd.slice(of: first, atMost: 512) == 512)
        // One that comes new may not be the only one.
        #expect(crowd.slice(of: second, atMost: 512) == Crowd.sharedSlice)
        time = crowd.noteSlice(of: second, since: time, answered: 9)
        #expect(crowd.slice(of: second, atMost: 512) == Crowd.sharedSlice)
        #expect(crowd.slice(of: second, atMost: 7) == 7)
        usleep(UInt32(Crowd.presence / 1000) + 1000)
        _ = crowd.noteSlice(of: second, since: time, answered: 9)
        #expect(crowd.slice(of: second, atMost: 512) == 512)
    }

    @Test func `slices and pieces are smaller while somebody waits for each reply`() {
        var crowd = Crowd()
        let (first, second) = (connection(1), connection(2))
        let began = crowd.noteSlice(of: first, since: monotonicNanoseconds(), answered: 1)
        #expect(crowd.piece(alone: 1 << 20) == 1 << 20)
        var time = crowd.noteSlice(of: second, since: began, answered: 48)
        // Where others have the processor the first may be forgotten by now.
        let isLate = time - began >= Crowd.presence
        #expect(crowd.slice(of: second, atMost: 512) == Crowd.attentiveSlice || isLate)
        #expect(crowd.piece(alone: 1 << 20) == Crowd.attentivePiece || isLate)
        usleep(UInt32(Crowd.presence / 1000) + 1000)
        // One that has more behind the request, and one that has many at once, wait for none of them.
        first.hasMore = true
        time = crowd.noteSlice(of: first, since: time, answered: 1)
        time = crowd.noteSlice(of: second, since: time, answered: 2)
        #expect(crowd.slice(of: second, atMost: 512) == Crowd.sharedSlice)
        #expect(crowd.piece(alone: 1 << 20) == Crowd.sharedPiece)
        #expect(crowd.accepts == Crowd.acceptsBusy)
        usleep(UInt32(Crowd.presence / 1000) + 1000)
        #expect(crowd.accepts == Crowd.acceptsBusy, "the turn in which they were served has not ended")
        crowd.beginTurn()
        #expect(crowd.accepts == Crowd.acceptsIdle)
    }

    @Test func `who took long waits for twice as long when others are there, and not alone`() {
        var crowd = Crowd()
        let (first, second) = (connection(1), connection(2))
        var time = crowd.noteSlice(of: first, since: monotonicNanoseconds(), answered: 9)
        first.crowd.spent = 1_000_000
        crowd.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == 0)

        time = crowd.noteSlice(of: second, since: time, answered: 9)
        first.crowd.spent = 1_000_000
        crowd.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == time + 2_000_000)
        second.crowd.spent = Crowd.sliceTime
        crowd.judgeSlice(of: second)
        #expect(second.crowd.deferredUntil == 0)
        #expect(crowd.timeToNext(at: time) == 2_000_000)

        #expect(crowd.takeDeferred(until: time + 1_999_999).count == 0)
        #expect(crowd.takeDeferred(until: time + 2_000_000).count == 1)
        #expect(first.crowd.deferredUntil == 0)
        #expect(crowd.timeToNext(at: time) == nil)
    }

    @Test func `a slice ends by time when others are there`() {
        var crowd = Crowd()
        let (first, second) = (connection(1), connection(2))
        var time = crowd.noteSlice(of: first, since: monotonicNanoseconds(), answered: 9)
        var isOver: [Bool] = []
        crowd.beginSlice(at: time)
        usleep(UInt32(Crowd.sliceTime / 1000) + 100)
        isOver.append(crowd.isSliceOver())
        time = crowd.noteSlice(of: second, since: time, answered: 9)
        let begun = monotonicNanoseconds()
        crowd.beginSlice(at: begun)
        isOver.append(crowd.isSliceOver())
        let isLate = monotonicNanoseconds() - begun > Crowd.sliceTime
        usleep(UInt32(Crowd.sliceTime / 1000) + 100)
        isOver.append(crowd.isSliceOver())
        // Where others have the processor it may have been over at the first look.
        #expect(isOver == [false, false, true] || isLate, "\(isOver)")
    }

    @Test func `when all is full one batch goes on at a time`() {
        var crowd = Crowd()
        let (first, second) = (connection(1), connection(2))
        var admitted = [crowd.admits(batchOf: first), crowd.admits(batchOf: second)]
        crowd.endBatch(of: second)
        admitted += [crowd.admits(batchOf: first), crowd.admits(batchOf: second)]
        crowd.endBatch(of: first)
        admitted.append(crowd.admits(batchOf: second))
        #expect(admitted == [true, false, true, false, true])
    }

    @Test func `nobody waits longer than a bound`() {
        var crowd = Crowd()
        let (first, second) = (connection(1), connection(2))
        _ = crowd.noteSlice(of: first, since: monotonicNanoseconds(), answered: 9)
        let time = crowd.noteSlice(of: second, since: monotonicNanoseconds(), answered: 9)
        first.crowd.spent = 3_000_000_000
        crowd.judgeSlice(of: first)
        #expect(first.crowd.deferredUntil == time + Crowd.longestDeferral)
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
