import Testing

@testable import KuraStorage

@Suite struct ModelSweepTests {
    private static let minute: UInt64 = 60_000_000_000

    private static func finish(_ sweep: inout ModelSweep, of end: UInt32) {
        while sweep.next < end { sweep.pass() }
    }

    @Test func `one of all is due a minute after the last`() {
        var sweep = ModelSweep()
        #expect(sweep.wait(7) == 0)
        sweep.begin(of: 4, sequence: 9)
        #expect(sweep.isUnderWay && sweep.began == 9 && sweep.progress.total == 3 && sweep.concerns(5))
        Self.finish(&sweep, of: 4)
        sweep.noteRemoved(bytes: 12)
        sweep.clearedBytes = 5
        let isAgain = sweep.end(10)
        #expect(!isAgain && !sweep.isUnderWay && sweep.clearedBytes == 0)
        #expect(sweep.progress.done == 3 && sweep.progress.removed == 1 && sweep.progress.bytes == 12)
        #expect(sweep.wait(10) == Self.minute && sweep.wait(10 + Self.minute) == 0)
    }

    @Test func `one of some namespaces leaves the next of all where it was`() {
        var sweep = ModelSweep()
        sweep.nextAt = 100
        sweep.begin(of: 4, sequence: 0, only: [])
        #expect(!sweep.isUnderWay)
        sweep.begin(of: 4, sequence: 0, only: [2])
        #expect(sweep.concerns(2) && !sweep.concerns(3))
        // Whoever asks meanwhile gets another one.
        sweep.begin(of: 4, sequence: 0)
        Self.finish(&sweep, of: 4)
        let isAgain = sweep.end(10)
        #expect(isAgain && !sweep.isAgainWanted && sweep.nextAt == 100 && sweep.concerns(3))
    }

    @Test func `marks are gone through by namespaces and tags`() {
        var sweep = ModelSweep()
        sweep.passMarks(until: nil)
        sweep.passMarks(until: 4096)
        #expect(sweep.namespace == 1 && sweep.tag == 4096)
        sweep.passMarks(until: nil)
        #expect(sweep.namespace == 2 && sweep.tag == 0)
    }
}
