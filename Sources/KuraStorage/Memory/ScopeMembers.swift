import KuraBytes

/// The items of a scope that is in memory whole: in the order in which they came, and once somebody has asked for it, in that of their keys, too.
struct ScopeMembers {
    /// Tombstones included while they are not folded.
    private var list = ItemList()
    /// Those that are not deleted, by their keys; nil until somebody asks for it.
    private var sorted: SortedItems?

    var oldest: ItemRef? { list.oldest }

    /// Puts in one that the tables have, at a start.
    mutating func append(_ item: ItemRef) { list.append(item) }

    /// An item takes the place of another: nil where there is none.
    mutating func replace(_ old: ItemRef?, with new: ItemRef?) {
        if let old, old.pointee.flags.contains(.linked) { list.remove(old) }
        if let new { list.append(new) }
        guard sorted != nil else { return }
        let before = old.flatMap { $0.isTombstone ? nil : $0 }
        let after = new.flatMap { $0.isTombstone ? nil : $0 }
        switch (before, after) {
        case (nil, nil): break
        case (nil, let after?): sorted!.insert(after)
        case (let before?, nil): sorted!.remove(before.key)
        case (_?, let after?): sorted!.replace(with: after)
        }
    }

    /// A tombstone is in the tables: nothing is left of it.
    mutating func forget(tombstone item: ItemRef) { list.remove(item) }

    /// Those that are not deleted, in the order of their keys; made when it is asked for first, and kept in order from then on:
    /// making it anew after each change took a second with a million keys.
    /// `count`: how many they are.
    mutating func inOrder(_ count: Int) -> SortedItems {
        if let sorted { return sorted }
        var live: [ItemRef] = []
        live.reserveCapacity(count)
        var next = list.oldest
        while let item = next {
            if !item.isTombstone { live.append(item) }
            next = item.pointee.newer
        }
        let made = SortedItems(live)
        sorted = made
        return made
    }

    /// Takes the order of somebody who has gone through all that are not deleted, unless there is one.
    mutating func keep(order: @autoclosure () -> SortedItems) { if sorted == nil { sorted = order() } }
}
