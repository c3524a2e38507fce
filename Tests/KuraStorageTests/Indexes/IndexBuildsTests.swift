import Testing

@testable import KuraStorage

@Suite struct IndexBuildsTests {
    private var builds = IndexBuilds()
    private static let second: UInt64 = 1_000_000_000

    private func index(_ number: Int64, _ state: IndexStatus.State) -> IndexStatus {
        IndexStatus(
            number: number, collection: 1, name: Array("i".utf8), text: [], state: state, done: 0, entries: 3, bytes: 0)
    }

    private func search(_ number: Int64, _ state: SearchStatus.State) -> SearchStatus {
        SearchStatus(number: number, collection: 1, tableText: [], state: state, done: 0, entries: 3)
    }

    @Test mutating func `the end of a build is told once, with its time and the longest piece`() {
        #expect(builds.note([index(1, .building)], Self.second).isEmpty)
        builds.note(piece: 7_000_000)
        builds.note(piece: 4_000_000)
        #expect(builds.note([index(1, .built)], 2 * Self.second).isEmpty)
        let lines = builds.note([index(1, .ready)], 3 * Self.second)
        #expect(lines == [.init(text: "index 1 (i) is built: 3 entries in 2000 ms, pieces of at most 7 ms")])
        #expect(builds.note([index(1, .ready)], 4 * Self.second).isEmpty)
    }

    @Test mutating func `an index that is not unique is for somebody to look at`() {
        _ = builds.note([index(1, .building), index(2, .building)], 0)
        let lines = builds.note([index(1, .failed), index(2, .dropping)], 1)
        #expect(lines.map(\.isFailure) == [true, false])
        #expect(lines.map(\.text) == ["index 1 (i) is not unique: its build ended", "index 2 (i) was given up"])
    }

    @Test mutating func `the longest piece counts until the last of several builds has ended`() {
        _ = builds.note([index(1, .building), index(2, .building)], 0)
        builds.note(piece: 9_000_000)
        #expect(builds.note([index(1, .ready)], 1)[0].text.hasSuffix("at most 9 ms"))
        #expect(builds.note([index(2, .ready)], 1)[0].text.hasSuffix("at most 9 ms"))
        _ = builds.note([index(3, .building)], 1)
        #expect(builds.note([index(3, .ready)], 1)[0].text.hasSuffix("at most 0 ms"))
    }

    @Test mutating func `a full text index is another one than the ordinary one of its number`() {
        #expect(builds.note([index(1, .building)], 0).isEmpty)
        #expect(builds.note([search(1, .ready)], 1).isEmpty)
        #expect(builds.note([search(1, .building)], Self.second).isEmpty)
        let lines = builds.note([search(1, .ready)], 2 * Self.second)
        #expect(lines == [.init(text: "search index 1 is built: 3 entries in 1000 ms, pieces of at most 0 ms")])
        #expect(builds.note([index(1, .ready)], 1)[0].text.hasPrefix("index 1 (i) is built"))
    }
}
