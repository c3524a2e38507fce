import Testing

@testable import KuraStorage

@Suite struct SpaceWatchTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func `the space is looked at once a second, and at once when a disk was found full`() {
        var looks = 0
        let watch = SpaceWatch { looks += 1 }
        watch.hasWritten = true
        watch.lookIfDue(5)
        watch.lookIfDue(4 + Self.second)
        #expect(!watch.hasWritten && watch.wait(5) == Self.second)
        watch.hurry()
        watch.lookIfDue(6)
        #expect(!watch.hasWritten)
        #expect(looks == 2)
    }

    @Test func `what lacks is given up once, until it is off the disk`() {
        let watch = SpaceWatch {}
        watch.plan(Self.second, isLow: true, missing: 100)
        #expect(watch.purgeLeft == 100 && watch.wait(Self.second) == 0)
        let isPart = !watch.noteGiven(30)
        #expect(isPart && watch.purgeLeft == 70)
        let isAll = watch.noteGiven(90)
        #expect(isAll && watch.purgeLeft == 0 && watch.purgedBytes == 120)
        watch.plan(2 * Self.second, isLow: true, missing: 100)
        #expect(watch.purgeLeft == 0)
        watch.noteGone()
        watch.plan(2 * Self.second, isLow: true, missing: 100)
        #expect(watch.purgeLeft == 100)
        // Nobody has anything.
        let isEmpty = watch.noteGiven(0)
        #expect(isEmpty && watch.purgeLeft == 0)
    }

    @Test func `nothing is given up while space is fine`() {
        let watch = SpaceWatch {}
        watch.plan(1, isLow: false, missing: 0)
        #expect(watch.purgeLeft == 0)
        let turns = [false, true, true, false].map { watch.hasTurned(isLow: $0) }
        #expect(turns == [false, true, false, true])
    }
}
