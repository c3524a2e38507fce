import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ScopePartsTests {
    @Test func `rows of a scope are given out one by one, side by side, and none twice`() {
        var rows = ScopeRows(of: 3)
        #expect(rows.given == 0)
        #expect(rows.take() == 3 << 40 | 1)
        #expect(rows.take() == 3 << 40 | 2)
        #expect(rows.given == 2)
        rows.reserve(below: 3 << 40 | 10)
        rows.reserve(below: 3 << 40 | 5)
        #expect(rows.take() == 3 << 40 | 10)
        #expect(ScopeRows(of: 0).given == 0)
    }

    @Test func `what was purged stays so when an earlier purge is told later`() {
        var rows = ScopeRows(of: 1)
        rows.purge(before: 20)
        rows.purge(before: 10)
        #expect(rows.purgedBefore == 20)
    }

    @Test func `the tables are told of a scope with its first change or the first thing that is configured for it`() {
        var news = ScopeNews()
        #expect(!news.isDue(upTo: .max))
        news.noteChange(5)
        news.noteChange(6)
        #expect(!news.isDue(upTo: 4))
        #expect(news.isDue(upTo: 5))
        news.takeBackChange()
        #expect(!news.isDue(upTo: .max))
        let (isFirst, isSecond) = (news.noteDefinition(7), news.noteDefinition(8))
        #expect(isFirst && !isSecond)
        #expect(news.isDue(upTo: 7))
        news.takeBackDefinition()
        #expect(!news.isDue(upTo: .max))
        let isFirstAgain = news.noteDefinition(9)
        #expect(isFirstAgain)
    }

    @Test func `changes are relaxed once what makes them so is on the disk`() {
        var durability = ScopeDurability()
        #expect(!durability.isRelaxed(SyncedRev(9)))
        durability.relax(flushSeconds: 5, since: 10)
        #expect(!durability.isRelaxed(SyncedRev(9)))
        #expect(durability.isRelaxed(SyncedRev(10)))
        durability.tighten()
        #expect(!durability.isRelaxed(SyncedRev(10)))
    }

    private func item(_ key: String, isDeleted: Bool = false) -> ItemRef {
        let item = with(key, "") { ItemRef.make(key: $0, value: $1) }
        item.pointee.isDeleted = isDeleted
        return item
    }

    private func keys(_ members: inout ScopeMembers) -> [String] {
        let sorted = members.inOrder(0)
        var position = sorted.lowerBound(of: Bytes())
        var keys: [String] = []
        while let item = sorted[position] {
            keys.append(item.key.text)
            sorted.advance(&position)
        }
        return keys
    }

    @Test func `members are in the order of their keys while they are replaced, deleted and taken back`() {
        var members = ScopeMembers()
        let (b, a, c) = (item("b"), item("a"), item("c"))
        for item in [b, a] { members.append(item) }
        #expect(keys(&members) == ["a", "b"])
        members.replace(nil, with: c)
        #expect(keys(&members) == ["a", "b", "c"])
        let gone = item("a", isDeleted: true)
        members.replace(a, with: gone)
        #expect(keys(&members) == ["b", "c"])
        #expect(members.oldest == b)
        // Taken back: it comes to the end of those in the order of their coming.
        members.replace(gone, with: a)
        #expect(keys(&members) == ["a", "b", "c"])
        members.replace(a, with: gone)
        members.forget(tombstone: gone)
        members.replace(b, with: nil)
        #expect(keys(&members) == ["c"])
        #expect(members.oldest == c)
        #expect(c.pointee.newer == nil && c.pointee.older == nil)
        for item in [a, b, c, gone] { item.release() }
    }

    @Test func `an order that somebody has made is kept where there is none`() {
        var members = ScopeMembers()
        let (a, b) = (item("a"), item("b"))
        members.append(b)
        members.append(a)
        members.keep(order: SortedItems([a, b]))
        members.keep(order: SortedItems([]))
        #expect(keys(&members) == ["a", "b"])
        for item in [a, b] { item.release() }
    }

    // Hundreds of thousands of items lie in memory, and tens of thousands of scopes.
    @Test func `an item's head and the parts of a scope take as little as they did`() {
        #expect(MemoryLayout<Item>.stride == 112)
        #expect(MemoryLayout<ScopeRows>.size == 17)
        #expect(MemoryLayout<ScopeNews>.size == 16)
        #expect(MemoryLayout<ScopeDurability>.size == 12)
        #expect(MemoryLayout<ScopeMembers>.size == 32)
    }
}
