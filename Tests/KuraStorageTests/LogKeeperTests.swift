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
