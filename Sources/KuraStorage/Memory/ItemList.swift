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

/// Which clean documents stay in memory: SIEVE (Zhang et al., NSDI 2024). One bit a read, no moves; a hand walks from the
/// oldest to the newest, spares what was read since it last passed, and drops the first that was not.
///
/// It holds only what the tables hold too, so anything in it may go at any time.
struct DocumentCache {
    private var list = ItemList()
    private var hand: ItemRef?
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
        if hand == item { hand = item.pointee.newer }
        list.remove(item)
        bytes -= item.footprint
    }

    /// Drops items until the cache is within its limit, at most `budget` steps of the hand.
    mutating func trim(budget: Int, drop: (ItemRef) -> Void) {
        var steps = 0
        while bytes > limit, steps < budget, let item = hand ?? list.oldest {
            steps += 1
            if item.pointee.flags.contains(.visited) {
                item.pointee.flags.remove(.visited)
                hand = item.pointee.newer
            } else {
                remove(item)
                drop(item)
            }
        }
    }
}
