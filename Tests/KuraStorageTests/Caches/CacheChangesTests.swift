import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct CacheChangesTests {
    private let changes = CacheChanges()

    private func change(
        _ name: String, _ event: CacheChange.Event = .stored, _ extent: CacheChange.Target.Extent = .entry,
        _ source: CacheSources = .models
    ) -> CacheChange {
        CacheChange(
            target: .init(source: source, extent: extent, scope: Array("n".utf8), name: Array(name.utf8)), event: event)
    }

    private func tell(_ change: CacheChange, at clock: Int64 = 0) {
        if changes.count(change.target.source, at: clock) { changes.append(change) }
    }

    private func page(_ rev: UInt64, _ filter: ChangeFilter = ChangeFilter(caches: .models)) throws -> [String] {
        try changes.page(after: rev, filter).changes.map {
            "\(String(decoding: $0.change.target.name, as: UTF8.self))@\($0.rev)"
        }
    }

    @Test func `what nobody watches takes a number and is not kept`() throws {
        for _ in 0..<3 { tell(change("a")) }
        #expect(changes.rev == 3 && changes.oldestRev(of: .models) == 3 && changes.oldestRev(of: .blobs) == 0)
        #expect(throws: ChangesError.compacted(oldestRev: 3)) { try page(2) }
        #expect(try page(3) == [])
        changes.begin(.models)
        tell(change("b"))
        tell(change("c", .stored, .entry, .blobs))
        #expect(try page(3) == ["b@4"])
        // What another source has missed is of no concern.
        #expect(changes.oldestRev(of: .models) == 3 && changes.oldestRev(of: [.models, .blobs]) == 5)
    }

    @Test func `what follows a revision is kept for a while when the last watcher has left`() throws {
        changes.begin(.models)
        tell(change("a"), at: 1000)
        changes.watches([], at: 1000)
        tell(change("b"), at: 2000)
        #expect(try page(0) == ["a@1", "b@2"])
        // Somebody came back in between.
        changes.watches(.models, at: 3000)
        changes.watches([], at: 4000)
        tell(change("c"), at: 4000 + CacheChanges.lingering - 1)
        #expect(try page(0) == ["a@1", "b@2", "c@3"])
        tell(change("d"), at: 4000 + CacheChanges.lingering)
        #expect(throws: ChangesError.compacted(oldestRev: 4)) { try page(3) }
    }

    @Test func `the newest of a target stands for all, and what was dropped stays dropped`() throws {
        changes.begin(.models)
        tell(change("a"))
        tell(change("b"))
        tell(change("a", .deleted))
        tell(change("", .dropped, .whole))
        tell(change("", .invalidated, .whole))
        tell(change("", .invalidated, .whole))
        tell(change("a", .invalidated, .prefix))
        let page = try changes.page(after: 0, ChangeFilter(caches: .models))
        #expect(page.changes.map(\.rev) == [2, 3, 4, 6, 7] && page.rev == 7 && !page.isFull)
        #expect(page.changes.map(\.change.event) == [.stored, .deleted, .dropped, .invalidated, .invalidated])
    }

    @Test func `a filter by prefix passes on whatever may be about one of its keys`() throws {
        changes.begin(.models)
        for name in ["cart/1", "user/1", "car"] { tell(change(name)) }
        for name in ["ca", "cart/", "cart/7", "user/"] { tell(change(name, .dropped, .prefix)) }
        tell(change("sale", .dropped, .tag))
        tell(change("", .dropped, .whole))
        var filter = ChangeFilter(caches: .models)
        filter.prefix = Array("cart/".utf8)
        #expect(try page(0, filter) == ["cart/1@1", "ca@4", "cart/@5", "cart/7@6", "sale@8", "@9"])
        filter.scope = Array("other".utf8)
        #expect(try page(0, filter) == [])
    }

    @Test func `it is bounded by number and by bytes, and says from where on it is whole`() throws {
        changes.begin(.models)
        let count = CacheChanges.limits.count + 5000
        for number in 0..<count { tell(change("\(number)")) }
        let oldest = changes.oldestRev(of: .models)
        #expect(oldest >= 5000 && oldest < 8000)
        var (rev, seen) = (oldest, 0)
        while true {
            let page = try changes.page(after: rev, ChangeFilter(caches: .models))
            seen += page.changes.count
            #expect(page.changes.first?.rev == rev + 1)
            rev = page.rev
            guard page.isFull else { break }
        }
        #expect(rev == UInt64(count) && seen == count - Int(oldest))
        let long = String(repeating: "x", count: 1000)
        for number in 0..<10_000 { tell(change("\(long)\(number)")) }
        let kept = UInt64(count + 10_000) - changes.oldestRev(of: .models)
        #expect(kept * 1128 <= CacheChanges.limits.bytes && kept > 1000)
    }
}
