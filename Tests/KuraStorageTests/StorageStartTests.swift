import Testing

@testable import KuraStorage

@Suite struct StorageStartTests {
    private let directory = TemporaryDirectory()

    @Test func `the directory is a start's until that lets go of it, and the next one goes on where it ended`() throws {
        let configuration = StorageConfiguration.tiny(directory.path + "/data")
        var parts: PartsHarness? = try PartsHarness(configuration)
        let rev = try parts?.commit("a")
        parts?.sync()
        let epoch = parts?.start.epoch
        #expect(throws: StorageFault.self) { _ = try PartsHarness(configuration) }
        parts?.stop()
        parts = nil
        let next = try PartsHarness(configuration)
        #expect(next.ledger.rev == rev && next.start.replayedChanges > 0)
        #expect(next.start.epoch == epoch && !next.start.hasRaisedRevision)
    }
}
