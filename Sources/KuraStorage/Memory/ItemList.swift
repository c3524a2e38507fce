import KuraBytes

/// A doubly linked list through items' own links; an item is in one list at most. Belongs to the loop.
struct ItemList {
    private(set) var newest: ItemRef?
    private(set) var oldest: ItemRef?
    private(set) var count = 0

    mutating func append(_ item: ItemRef) {
        item.pointee.flags.insert(.linked)
        item.pointee.newer = nil
        item.pointee.older = newest
        newest?.pointee.newer = item
        newest = item
        if oldest == nil { oldest = item }
        count += 1
    }

    mutating func remove(_ item: ItemRef) {
        item.pointee.flags.remove(.linked)
        if let newer = item.pointee.newer {
            newer.pointee.older = item.pointee.older
        } else {
            newest = item.pointee.older
        }
        if let older = item.pointee.older {
            older.pointee.newer = item.pointee.newer
        } else {
            oldest = item.pointee.newer
        }
        item.pointee.newer = nil
        item.pointee.older = nil
        count -= 1
    }
}

/// Which clean documents stay in memory: SIEVE (`SieveHand`). One bit a read, no moves.
///
/// It holds only what the tables hold too, so anything in it may go at any time.
struct DocumentCache {
    private var list = ItemList()
    private var hand = SieveHand<ItemRef>()
    private(set) var bytes = 0
    var count: Int { list.count }
    /// Most bytes to hold; `trim` brings the cache back under it.
    let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    mutating func add(_ item: ItemRef) {
        list.append(item)
        bytes += item.footprint
    }

    mutating func remove(_ item: ItemRef) {
        hand.leaves(item, newer: item.pointee.newer)
        list.remove(item)
        bytes -= item.footprint
    }

    /// Drops items until the cache is within its limit, at most `budget` steps of the hand.
    mutating func trim(budget: Int, drop: (ItemRef) -> Void) {
        var left = budget
        while bytes > limit, left > 0 {
            let next = hand.pass(from: list.oldest, looks: &left, takeVisit: Self.takeVisit) { $0.pointee.newer }
            guard left > 0, let next else { return }
            left -= 1
            remove(next)
            drop(next)
        }
    }

    private static func takeVisit(_ item: ItemRef) -> Bool {
        guard item.pointee.flags.contains(.visited) else { return false }
        item.pointee.flags.remove(.visited)
        return true
    }
}
