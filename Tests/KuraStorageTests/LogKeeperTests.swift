import Testing

@testable import KuraStorage

@Suite struct LogKeeperTests {
    private let directory = TemporaryDirectory()
    private let parts: PartsHarness

    init() throws { parts = try PartsHarness(.tiny(directory.path + "/data")) }

    @Test func `what is committed waits for a sync, which covers it`() throws {
        #expect(!parts.log.needsSync(foldBytes: 0, wantedRev: .max))
        let rev = try parts.commit("a")
        #expect(parts.log.needsSync(foldBytes: .max, wantedRev: 0) && !parts.log.syncedRev.has(rev))
        parts.log.sync(inline: true)
        #expect(parts.log.syncedRev.has(rev) && !parts.log.needsSync(foldBytes: 0, wantedRev: .max))
        #expect(parts.log.syncs == 1)
        parts.log.sync(inline: true)
        #expect(parts.log.syncs == 1)
    }

    @Test func `a power cut takes what is not synced out of the log, and what is synced stays`() throws {
        let synced = try parts.commit("a")
        parts.log.sync(inline: true)
        try parts.commit("b")
        let path = parts.log.segments.active.path
        try parts.log.cut()
        #expect(parts.log.syncedRev.has(synced) && parts.log.failure != nil)
        let number = try #require(Segment.number(ofFile: String(path.split(separator: "/").last ?? "")))
        let left = try Segment(opening: number, in: parts.log.segments.configuration.logDirectory)
        #expect(left.lastRev == synced && left.damages.isEmpty)
    }

    @Test func `a failure stands from then on`() throws {
        #expect(parts.log.failure == nil)
        parts.log.fail(.damagedLog)
        try parts.commit("a")
        parts.log.sync(inline: true)
        guard case .damagedLog? = parts.log.failure else {
            Issue.record("the storage goes on")
            return
        }
    }
}
