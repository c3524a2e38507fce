import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

@Suite final class RoomKeeperTests {
    private let directory = TemporaryDirectory()
    private let storage: IndexHarness
    private let housekeeper = try! Housekeeper()
    private let pace = FoldPace(checkpointBytes: 0)
    private let space = FreeSpace(directory: "/tmp", minimum: 1)
    private let free = Guarded(1 << 40)
    private let lines = Guarded<[String]>([])
    private var ledger: Ledger { storage.ledger }
    private static let second: UInt64 = 1_000_000_000

    init() throws { storage = try IndexHarness(.tiny(directory.path)) }

    deinit { housekeeper.stop() }

    private func make(wasFull: Bool = false) -> RoomKeeper {
        let keeper = RoomKeeper(
            ledger, pace: pace, space: space, housekeeper: housekeeper, wake: {},
            report: { [lines] line in lines.withLock { $0.append(line) } }, look: { [free] in free.withLock { $0 } })
        keeper.begin(wasFull: wasFull, wal: 0)
        return keeper
    }

    /// One that has its whole reserve.
    private func makeWhole() throws -> RoomKeeper {
        let keeper = make()
        _ = keep(keeper, 0)
        try waitForReserve(keeper, 1)
        return keeper
    }

    private func waitForReserve(_ keeper: RoomKeeper, _ bytes: Int) throws {
        let deadline = monotonicNanoseconds() + 10 * Self.second
        while keeper.reserve.heldBytes < bytes {
            try #require(monotonicNanoseconds() < deadline)
        }
    }

    private func keep(
        _ keeper: RoomKeeper, _ time: UInt64, appended: UInt64 = 0, wal: Int = 0, mayCheckpoint: Bool = true
    ) -> RoomKeeper.Wishes {
        keeper.keep(time, (appended, wal), isFolding: false, mayCheckpoint: mayCheckpoint)
    }

    private func takeLines() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    @Test func `far from full the reserve is made, and then only what is written or time is a reason to look`() throws {
        let keeper = make()
        #expect(keeper.mustKeep(0, appended: 0))
        #expect(keep(keeper, 0) == [] && !ledger.room.isBounded)
        try waitForReserve(keeper, keeper.reserve.bytes)
        #expect(!keeper.mustKeep(1, appended: 0) && keeper.mustKeep(1, appended: 1))
        #expect(!keeper.mustKeep(99_999_999, appended: 0) && keeper.mustKeep(100_000_000, appended: 0))
        #expect(keeper.keptBytes == storage.configuration.log.retentionBytes && keeper.nextCapacity == nil)
        #expect(
            keeper.slice == nil && !pace.isShort && pace.checkpointBytes == storage.configuration.fold.checkpointBytes)
    }

    @Test func `little room bounds what changes take, slices, the log and the WAL`() throws {
        let keeper = try makeWhole()
        free.withLock { $0 = 4 << 20 }
        #expect(keep(keeper, Self.second) == [])
        #expect(
            ledger.room.isBounded && ledger.room.overlayLimit < 2 << 20
                && keeper.foldBytes == ledger.room.overlayLimit / 2)
        #expect(keeper.slice == keeper.rule.slice(ledger.room.overlayLimit))
        #expect(pace.isShort && !pace.isFull && pace.checkpointBytes == (4 << 20) / 8)
        #expect(keeper.nextCapacity == storage.configuration.log.segmentBytes)
        #expect(keeper.awaitedBytes == storage.configuration.log.segmentBytes)
        free.withLock { $0 = 1 << 20 }
        _ = keep(keeper, 2 * Self.second)
        #expect(keeper.nextCapacity == (1 << 20) / 8 && keeper.awaitedBytes == (1 << 20) / 4)
        // Between two looks what was appended is taken off.
        let limit = ledger.room.overlayLimit
        _ = keep(keeper, 2 * Self.second, appended: 60 << 10)
        #expect(ledger.room.overlayLimit == limit - (60 << 10) / 3)
    }

    @Test func `with no room and everything in the WAL a checkpoint is wished for, and later caches give way`() throws {
        let keeper = try makeWhole()
        free.withLock { $0 = 0 }
        #expect(keep(keeper, Self.second, wal: 1) == .checkpoint)
        #expect(keep(keeper, 2 * Self.second, wal: 1, mayCheckpoint: false) == [])
        var wishes: RoomKeeper.Wishes = []
        for look in 3..<6 as Range<UInt64> { wishes = keep(keeper, look * Self.second) }
        #expect(wishes == [.shrunkenCaches, .hastenedFold] && keeper.isFull && !ledger.room.isRefusingForReserve)
        #expect(keeper.keptBytes == 0 && keeper.awaitedBytes == 0)
        for look in 6..<103 as Range<UInt64> { _ = keep(keeper, look * Self.second) }
        #expect(ledger.room.isRefusingForReserve && takeLines().count == 1)
    }

    @Test func `a fold without room gets the reserve in pieces, then pauses; changes are refused, which is told once`()
        throws
    {
        let keeper = try makeWhole()
        try waitForReserve(keeper, keeper.reserve.bytes)
        free.withLock { $0 = 0 }
        var (pause, wishes) = keeper.noteFullTables(0)
        #expect(pause == 0 && wishes == [.shrunkenCaches, .hastenedFold] && ledger.room.isRefusingForReserve)
        #expect(keeper.reserve.heldBytes == keeper.reserve.bytes / 4 * 3 && keeper.isFull)
        let slice = try #require(keeper.slice)
        for _ in 0..<3 { (pause, _) = keeper.noteFullTables(1) }
        #expect(pause == 0 && keeper.reserve.heldBytes == 0 && keeper.slice! < slice)
        (pause, wishes) = keeper.noteFullTables(2)
        #expect(pause == 50_000_000 && wishes == [.shrunkenCaches, .hastenedFold])
        _ = keeper.noteFullTables(3)
        #expect(keeper.slice == RoomRule.leastSlice)
        let told = takeLines()
        #expect(told.count == 2 && told[0].hasPrefix("disk full") && told[1].hasPrefix("no space to fold"))
        _ = keeper.noteFullTables(10 * Self.second + 2)
        #expect(takeLines().count == 1)
    }

    @Test func `a commit without room is a moment's where there is some, and else has changes refused`() throws {
        let keeper = try makeWhole()
        try waitForReserve(keeper, keeper.reserve.bytes)
        #expect(keeper.noteFullLog((0, 0)) == [.shrunkenCaches, .hastenedFold])
        #expect(keeper.isFull && !ledger.room.isRefusingForReserve && keeper.reserve.isThere)
        free.withLock { $0 = 0 }
        _ = keeper.noteFullLog((0, 0))
        #expect(
            ledger.room.isRefusingForReserve && keeper.reserve.heldBytes == keeper.reserve.bytes - keeper.rule.deletions
        )
    }

    @Test func `changes are admitted again when the reserve is whole and there is room beside it`() throws {
        let keeper = make(wasFull: true)
        #expect(ledger.room.isRefusingForReserve && keeper.isFull)
        free.withLock { $0 = 100 }
        #expect(keep(keeper, Self.second) == .shrunkenCaches)
        #expect(space.threshold == keeper.rule.missing(100, held: 0) + 100)
        #expect(keeper.status().missing == keeper.rule.missing(100, held: 0) && keeper.status().isFull)
        free.withLock { $0 = 1 << 40 }
        #expect(keep(keeper, 2 * Self.second) == .shrunkenCaches)
        try waitForReserve(keeper, keeper.reserve.bytes)
        #expect(keep(keeper, 3 * Self.second) == [])
        #expect(!ledger.room.isRefusingForReserve && !keeper.isFull && space.threshold == 1 && keeper.slice == nil)
        #expect(takeLines() == ["space is back: \(1 << 40) bytes are free, changes are accepted again"])
        #expect(keeper.status().missing == 0)
    }

    @Test func `a start that finds little room for the rest of the reserve refuses changes`() {
        free.withLock { $0 = 100 << 10 }
        #expect(make().isFull && ledger.room.isRefusingForReserve && ledger.room.isBounded)
    }
}
