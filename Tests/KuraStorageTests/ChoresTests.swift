import Testing

@testable import KuraStorage

@Suite struct ChoresTests {
    private let directory = TemporaryDirectory()
    private let parts: PartsHarness

    init() throws { parts = try PartsHarness(.tiny(directory.path + "/data")) }

    @Test func `what was looked at rests for a millisecond, unless it is due or an application starts`() throws {
        let chores = parts.chores
        chores.noteTended(10_000_000, due: .max)
        #expect(chores.rest(10_000_100) == 11_000_000)
        #expect(chores.rest(11_000_000) == nil)
        chores.noteTended(20_000_000, due: 20_000_500)
        #expect(chores.rest(20_000_100) == 20_000_500)
        #expect(chores.rest(20_000_500) == nil)
        chores.noteTended(30_000_000, due: .max)
        chores.launched(Array("app".utf8))
        #expect(chores.rest(30_000_100) == nil && !chores.launches.isIdle)
    }
}
