import Testing

@testable import KuraStorage

@Suite struct ClosedSegmentsTests {
    private var segments = ClosedSegments(
        [
            Log.Closed(number: 1, firstRev: 1, lastRev: 4, bytes: 10),
            Log.Closed(number: 2, firstRev: 5, lastRev: 9, bytes: 20),
        ],
        retired: RetiredSegments(untold: [7]))

    @Test mutating func `what is closed, changed and retired is told once`() {
        #expect(segments.takeUnrecorded().isEmpty && segments.hasNews)
        #expect(segments.retired.takeUntold() == [7] && !segments.hasNews)
        segments.append(Log.Closed(number: 3, firstRev: 10, lastRev: 10, bytes: 5))
        segments.note(sizes: [1: 10, 2: 12, 9: 1])
        segments.retireOldest()
        #expect(segments.hasNews)
        #expect(segments.takeUnrecorded().map(\.number) == [3, 2] && segments.retired.takeUntold() == [1])
        #expect(!segments.hasNews && segments.all.map(\.number) == [2, 3] && segments.bytes == 17)
    }

    @Test mutating func `they say what may be read from them, and what a checkpoint lets go of`() {
        #expect(segments.lastRev == 9 && segments.numbers(after: 4) == [2] && segments.numbers(after: 9) == [])
        #expect(segments.bytesAwaitingCheckpoint(foldedRev: 9, durableRev: 4) == 20)
        #expect(segments.bytesAwaitingCheckpoint(foldedRev: 8, durableRev: 0) == 10)
        segments.date { Int64($0) }
        segments.date { _ in 99 }
        #expect(segments.all.map(\.lastAt) == [1, 2])
    }
}
