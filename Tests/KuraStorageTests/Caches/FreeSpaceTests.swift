import Testing

@testable import KuraStorage

/// When space counts as low.
@Suite struct FreeSpaceTests {
    @Test func `what cannot be learnt counts as low`() {
        let space = FreeSpace(directory: "/nonexistent/cache", minimum: 0)
        #expect(space.isLow && space.free == 0 && space.timesLow == 1)
        #expect(space.look() && space.timesLow == 1)
        #expect(!FreeSpace(directory: "/tmp", minimum: 0).isLow)
        #expect(FreeSpace(directory: "/tmp", minimum: 1 << 60).isLow)
    }

    @Test func `of a disk a twentieth is to be free, and of a large one 400 MiB`() {
        let space = FreeSpace(directory: "/tmp", minimum: nil)
        #expect(space.threshold == min(400 << 20, space.total / 20) && space.total > 0)
        #expect(FreeSpace(directory: "/tmp", minimum: 1 << 20).threshold == 1 << 20)
    }

    @Test func `what must last has space low while it waits, whatever is configured`() {
        let space = FreeSpace(directory: "/tmp", minimum: 1)
        #expect(!space.isLow)
        space.need(1 << 60)
        #expect(space.threshold == 1 << 60 && space.look() && space.missing > 0)
        space.need(0)
        #expect(space.threshold == 1 && !space.look() && space.missing == 0)
    }

    @Test(.enabled(if: SmallDisk.isAvailable)) func `on a small disk that is less`() throws {
        let disk = try SmallDisk(mebibytes: 8)
        let space = FreeSpace(directory: disk.data, minimum: nil)
        #expect(
            !space.isLow && space.threshold == (8 << 20) / 20 && space.ample == space.threshold + space.threshold / 4)
        disk.fill()
        #expect(space.look() && space.isLow && space.missing == space.ample - space.free)
        disk.release()
        #expect(!space.look() && space.missing == 0 && space.timesLow == 1)
    }
}
