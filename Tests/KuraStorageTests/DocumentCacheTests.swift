import Testing

@testable import KuraStorage

@Suite struct DocumentCacheTests {
    private func item(_ bytes: Int) -> ItemRef {
        with(String(repeating: "x", count: bytes)) { ItemRef.make(key: $0, value: $0) }
    }

    @Test(arguments: 0..<10) func `the cache comes back under its limit and counts what it holds`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var cache = DocumentCache(limit: 20_000)
        var held: Set<ItemRef> = []
        for _ in 0..<5000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let new = item(.random(in: 1...300, using: &random))
                cache.add(new)
                held.insert(new)
            case 5..<8:
                held.randomElement(using: &random)?.pointee.flags.insert(.visited)
            case 8:
                if let gone = held.randomElement(using: &random) {
                    cache.remove(gone)
                    held.remove(gone)
                    gone.release()
                }
            default:
                cache.trim(budget: .max) { gone in
                    #expect(held.remove(gone) != nil, "seed \(seed)")
                    gone.release()
                }
                #expect(cache.bytes <= cache.limit)
            }
            #expect(cache.count == held.count)
        }
        #expect(cache.bytes == held.reduce(0) { $0 + $1.footprint })
        for left in held { left.release() }
    }

    @Test func `what was read since the hand passed is spared once`() {
        let items = (0..<4).map { _ in item(10) }
        var cache = DocumentCache(limit: items[0].footprint * 3)
        for item in items { cache.add(item) }
        items[0].pointee.flags.insert(.visited)
        var dropped: [ItemRef] = []
        cache.trim(budget: 64) { dropped.append($0) }
        #expect(dropped == [items[1]])
        let more = item(10)
        cache.add(more)
        cache.trim(budget: 64) { dropped.append($0) }
        // The hand goes on from where it stood.
        #expect(dropped == [items[1], items[2]])
        for item in items + [more] { item.release() }
    }

    @Test func `a budget bounds the steps of one trim`() {
        var cache = DocumentCache(limit: 0)
        let items = (0..<10).map { _ in item(10) }
        for item in items { cache.add(item) }
        var count = 0
        cache.trim(budget: 3) { _ in count += 1 }
        #expect(count == 3 && cache.count == 7)
        for item in items { item.release() }
    }

    @Test func `removing the item under the hand moves the hand on`() {
        let items = (0..<4).map { _ in item(10) }
        var cache = DocumentCache(limit: 0)
        for item in items { cache.add(item) }
        items[0].pointee.flags.insert(.visited)
        cache.trim(budget: 1) { _ in Issue.record("spared") }
        cache.remove(items[1])
        var dropped: [ItemRef] = []
        cache.trim(budget: 2) { dropped.append($0) }
        #expect(dropped == [items[2], items[3]])
        for item in items { item.release() }
    }
}
