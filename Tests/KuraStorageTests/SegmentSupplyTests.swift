import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

@Suite final class SegmentSupplyTests {
    private let directory = TemporaryDirectory()
    private let housekeeper = try! Housekeeper()
    private let configuration: StorageConfiguration
    private var supply: SegmentSupply

    init() {
        configuration = .tiny(directory.path)
        supply = SegmentSupply(first: 3, history: nil, configuration, housekeeper)
    }

    deinit { housekeeper.stop() }

    private func wait(_ isReached: () -> Bool) throws {
        let deadline = monotonicNanoseconds() + 60_000_000_000
        while !isReached() {
            try #require(monotonicNanoseconds() < deadline)
            usleep(1000)
        }
    }

    @Test func `one segment at a time is made in advance, each with a number of its own`() throws {
        try FileSystem.makeDirectory(configuration.logDirectory)
        #expect(supply.take() == nil)
        for number in 3...4 {
            for _ in 0..<2 { supply.prepare(now: 0, capacity: 1 << 16, synced: 0) }
            try wait { supply.isReady }
            let taken = supply.take()
            let segment = try #require(taken)
            #expect(segment.number == number && segment.capacity == 1 << 16 && !supply.isReady)
        }
    }

    @Test func `what cannot be made is tried again a second later`() throws {
        supply.prepare(now: 0, capacity: nil, synced: 0)
        try wait { supply.noticeFailures(now: 5) }
        #expect(supply.failure == .overloaded && !supply.noticeFailures(now: 6))
        try FileSystem.makeDirectory(configuration.logDirectory)
        supply.prepare(now: 6, capacity: nil, synced: 0)
        supply.prepare(now: 1_000_000_005, capacity: nil, synced: 0)
        try wait { supply.isReady }
        // The one that came too early has used no number up.
        #expect(supply.take()?.number == 4 && supply.failure == nil)
    }

    @Test func `while secrets are scrubbed segments are small, and what was a spare is erased`() throws {
        try FileSystem.makeDirectory(configuration.logDirectory)
        close(creat(configuration.sparePath, 0o600))
        #expect(!supply.beginScrub() && supply.isScrubbing)
        supply.prepare(now: 0, capacity: nil, synced: 0)
        try wait { supply.isReady }
        #expect(supply.beginScrub() && !FileSystem.exists(configuration.sparePath))
        #expect(supply.take()?.isRecycled == false)
        supply.endScrub()
        #expect(!supply.isScrubbing)
    }
}
