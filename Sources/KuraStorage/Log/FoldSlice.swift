import KuraBytes

/// The changes that the fold thread writes in one transaction: all up to a revision.
final class FoldSlice: @unchecked Sendable {
    // Made on the loop, read by the fold thread, taken apart on the loop again when the thread has handed it back. The items
    // are retained by it, and their fields that are read on the thread never change.

    struct NewScope {
        var id: UInt32
        var store: Store
        var name: [UInt8]
    }
    /// What else the changes mean for the tables, in the order of revisions.
    struct Event {
        enum Kind {
            /// This is what is configured for the scope under a key that its store's tables go by; empty for nothing.
            case configured(key: [UInt8], text: [UInt8])
            /// The scope is gone; what has its name from now on is another.
            case drop
        }
        var rev: UInt64
        var store: Store
        var scope: UInt32
        var kind: Kind
    }
    /// The tables are as of this revision when the slice is in; 0 when it has no changes.
    var rev: UInt64 = 0
    /// In the order of revisions; a key may come several times.
    var items: ContiguousArray<ItemRef> = []
    var newScopes: [NewScope] = []
    var events: [Event] = []
    /// Numbers of indexes that are unique if nothing in the slice says otherwise.
    var confirmed: [Int64] = []
    var closed: [Log.Closed] = []
    var retired: [Int] = []
    /// With `retired`: the greatest revision that the log no longer has.
    var compactedRev: UInt64 = 0
    /// Contents that were removed: the tables may forget them.
    var forgotten: [ContentDigest] = []
    /// Contents that nobody uses any more, as of the slice.
    var unused: [ContentDigest] = []
    /// How many items the loop has let go of since the slice came back.
    var settled = 0

    /// Takes its beginning off: changes of so many bytes, and of one revision at least.
    /// - Returns: nil when that is all of it.
    func cut(bytes limit: Int) -> FoldSlice? {
        var end = 0
        var bytes = 0
        while end < items.count {
            var next = end
            var size = 0
            repeat {
                size += items[next].footprint + RoomRule.pages
                next += 1
            } while next < items.count && items[next].pointee.rev == items[end].pointee.rev
            // Secrets go apart: what they leave is zeroed, which the deletions beside them would pay for.
            let isOfAnotherKind = end > 0 && items[end].pointee.store.isSealed != items[end - 1].pointee.store.isSealed
            if end > 0, bytes + size > limit || isOfAnotherKind { break }
            bytes += size
            end = next
        }
        guard end < items.count else { return nil }
        let head = FoldSlice()
        head.rev = items[end - 1].pointee.rev
        head.items = ContiguousArray(items[..<end])
        items.removeFirst(end)
        head.events = Array(events.prefix { $0.rev <= head.rev })
        events.removeFirst(head.events.count)
        // A scope comes with its first change: the name may be that of one which is dropped before.
        var scopes = Set(head.items.map(\.pointee.scope))
        scopes.formUnion(head.events.map(\.scope))
        head.newScopes = newScopes.filter { scopes.contains($0.id) }
        newScopes.removeAll { scopes.contains($0.id) }
        return head
    }
}

extension FoldSlice {
    /// Hot keys fold once: sorted as the trees have them, and only the newest change of each key.
    var newest: ContiguousArray<ItemRef> {
        var sorted = items
        sorted.sort(by: Self.precedes)
        var kept = 0
        for position in sorted.indices {
            let item = sorted[position]
            if kept > 0, sorted[kept - 1].pointee.scope == item.pointee.scope,
                sorted[kept - 1].pointee.row == item.pointee.row, sorted[kept - 1].key.equals(item.key)
            {
                sorted[kept - 1] = item
            } else {
                sorted[kept] = item
                kept += 1
            }
        }
        sorted.removeLast(sorted.count - kept)
        // The change that supersedes a hollow item is in a later part of the slice.
        sorted.removeAll(where: \.pointee.isHollow)
        return sorted
    }

    /// Documents in the order of their rows, settings in that of their keys, changes of one key in that of revisions.
    private static func precedes(_ left: ItemRef, _ right: ItemRef) -> Bool {
        if left.pointee.scope != right.pointee.scope { return left.pointee.scope < right.pointee.scope }
        if left.pointee.row != right.pointee.row { return left.pointee.row < right.pointee.row }
        if left.pointee.row == 0, !left.key.equals(right.key) { return left.key.precedes(right.key) }
        if left.pointee.rev != right.pointee.rev { return left.pointee.rev < right.pointee.rev }
        // Lists of attachments may change several times in a transaction.
        return left.pointee.version < right.pointee.version
    }
}
