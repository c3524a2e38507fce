import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Files that have become as long as no disk is, with a hole: they take neither room nor time.
@Suite struct SparseFilesTests {
    private static let bytes = 1 << 38
    private let harness: BootHarness

    init() throws {
        let harness = try BootHarness()
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
            try harness.put(recovery, 20..<30)
        }
        self.harness = harness
    }

    private var newest: String {
        get throws {
            let log = harness.configuration.logDirectory
            return Segment.path(log, try #require(try LogFiles.numbers(in: log).last))
        }
    }

    /// Makes a file long; `hasEnd`: with something at its end.
    private func extend(_ path: String, hasEnd: Bool = false) throws {
        try FileSystem.truncate(path, to: Self.bytes)
        if hasEnd { try harness.damage(path, at: Self.bytes - 4096, bytes: [UInt8](repeating: 0x5A, count: 4096)) }
    }

    /// Reading a hole of this length takes a minute and more.
    private func expectSoon(_ body: () throws -> Void) throws {
        let begin = monotonicNanoseconds()
        try body()
        #expect(monotonicNanoseconds() - begin < 20_000_000_000)
    }

    @Test(arguments: [false, true]) func `a segment that is mostly a hole is read as fast as any other`(
        hasEnd: Bool
    ) throws {
        try extend(try newest, hasEnd: hasEnd)
        try harness.die(in: .serving)
        try expectSoon {
            try harness.start { recovery, boot in
                try harness.expect(recovery, 0..<30)
                #expect(boot.recovered.isEmpty)
            }
        }
        #expect(FileSystem.size(try newest) <= Segment.mostBytes)
    }

    @Test func `what was acknowledged behind its rows is looked for where data is`() throws {
        let path = try newest
        try extend(path, hasEnd: true)
        let number = try #require(Segment.number(ofFile: path.split(separator: "/").last.map(String.init) ?? ""))
        let segment = try Segment(opening: number, in: harness.configuration.logDirectory)
        try expectSoon {
            let examination = try LogExamination([segment], above: 0, acknowledged: segment.lastRev + 3)
            #expect(examination.lost == RevisionSet(segment.lastRev + 1...segment.lastRev + 3))
        }
    }

    @Test func `tables and log are set aside although one of them has more bytes than the disk`() throws {
        try extend(try newest)
        for _ in 0..<2 { try harness.meetDamage(in: .open) }
        try expectSoon {
            try harness.start { recovery, boot in
                try harness.expect(recovery, 0..<30)
                #expect(boot.recovered.first?.origin == .tables)
            }
        }
    }

    @Test func `a file that is used again is cut to what a segment has`() throws {
        let log = harness.configuration.logDirectory
        TestFiles.write("x", to: log + "/spare")
        try extend(log + "/spare")
        let segment = try Segment(creating: 90, in: log, capacity: 1 << 16, recycled: log + "/spare")
        #expect(segment.capacity == 1 << 16 && FileSystem.size(segment.path) == 1 << 16)
        // One that was made in advance and never written is not gone on with.
        try extend(segment.path)
        try harness.start { recovery, _ in
            try harness.expect(recovery, 0..<30)
            #expect(recovery.log.active.capacity <= 1 << 20)
        }
    }

    @Test func `zeros are written where data is, and pages are read there`() throws {
        let path = harness.directory.path + "/gone"
        TestFiles.write("secret", to: path)
        try extend(path, hasEnd: true)
        try expectSoon { try LogScrub.erase(path) }
        try FileSystem.truncate(harness.tables + "-wal", to: 0)
        let pages = FileSystem.size(harness.tables) / 4096
        try extend(harness.tables)
        #expect(try TablePages(harness.tables).count <= pages)
    }
}
