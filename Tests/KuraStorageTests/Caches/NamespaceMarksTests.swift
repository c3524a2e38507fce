import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct NamespaceMarksTests {
    private let marks = NamespaceMarks()

    private func stale(_ sequence: UInt64) -> ModelMarks { ModelMarks(staleBefore: sequence) }

    private func about(_ key: String, tags: [UInt32] = [], since: UInt64 = 0) -> UInt64 {
        let numbers = tags.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
        return with(key) { key in numbers.withBytes { marks.about(key, tags: $0, since: since).newest } }
    }

    @Test func `an entry is held against marks of all, of its tags and of its prefixes`() throws {
        let (one, other) = (
            try #require(with("one") { marks.tag($0) }), try #require(with("other") { marks.tag($0) })
        )
        #expect(about("key", tags: [one]) == 0)
        marks.mark(tag: one, stale(5))
        marks.mark(prefix: Array("ke".utf8), stale(7))
        #expect(about("other", tags: [other]) == 0 && about("other", tags: [other, one]) == 5)
        #expect(about("key", tags: [one]) == 7 && about("k") == 0)
        // Neither is looked at for an entry that is younger.
        #expect(about("key", tags: [one], since: 7) == 0)
        marks.whole.set(.stale, 9)
        #expect(about("k", since: 9) == 9)
    }

    @Test func `what is forgotten is told, and its newest mark is kept`() throws {
        let one = try #require(with("one") { marks.tag($0) })
        let used = try #require(with("used") { marks.tag($0) })
        marks.use(tag: used, by: 1)
        marks.mark(tag: one, stale(3))
        marks.mark(tag: used, stale(4))
        marks.mark(prefix: [1], stale(2))
        marks.mark(prefix: [1, 2], stale(6))
        var told: [Int64] = []
        let next = marks.forget(before: 5, from: 0, atMost: 1) { kind, _ in told.append(kind) }
        #expect(next == 1 && told == [2, 1] && marks.forgotten == 3)
        let end = marks.forget(before: 5, from: 1, atMost: 9) { kind, _ in told.append(kind) }
        #expect(end == nil)
        // A tag that an entry has stays, and so does a mark that is newer.
        #expect(told.count == 2 && marks.prefixes.lengths == [2])
        with("used") { #expect(marks.tags.known($0) == used) }
        // The number of one that is gone is given out again.
        with("new") { #expect(marks.tag($0) == one) }
        var left: [Int64] = []
        marks.forEach { kind, _, _ in left.append(kind) }
        #expect(left == [1, 2])
    }
}
