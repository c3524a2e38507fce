/// The changes that are in memory and not in the tables.
struct Overlay {
    /// Those that no slice has taken yet, in the order of their revisions.
    private(set) var queue: ContiguousArray<ItemRef> = []
    /// What they mean for the tables beside their rows, in the same order.
    private(set) var events: ContiguousArray<Event> = []
    /// Of all, in slices or not.
    private(set) var bytes = 0
    private(set) var items = 0
    /// Most bytes that there ever were.
    private(set) var peak = 0
    /// Unfolded changes that a newer change supersedes, in the order of the newer ones. Their values are freed once the newer change is synced.
    private var superseded: ContiguousArray<Superseded> = []

    private struct Superseded {
        /// Neither item is retained: addresses are compared with those of the queue.
        var item: ItemRef
        var rev: UInt64
        var newer: ItemRef
        var newerRev: UInt64
    }
    /// Items of fewer bytes keep their values.
    private static let leastHollowed = 4096

    struct Event {
        /// The change that it came with.
        var item: ItemRef
        var event: FoldSlice.Event
        /// It is the first such of its scope (`ScopeNews`).
        var isFirst: Bool
    }

    mutating func append(_ item: ItemRef) {
        queue.append(item)
        items += 1
        bytes += item.footprint
        peak = max(peak, bytes)
    }

    mutating func append(_ event: FoldSlice.Event, with item: ItemRef, isFirst: Bool = false) {
        events.append(Event(item: item, event: event, isFirst: isFirst))
    }

    /// Takes the last change back.
    mutating func takeBack(_ item: ItemRef) {
        precondition(queue.last == item, "changes are taken back in reverse order")
        queue.removeLast()
        leave(item)
    }

    /// Takes back what it meant beside its row.
    mutating func takeBackEvent(of item: ItemRef) -> Event? {
        events.last?.item == item ? events.removeLast() : nil
    }

    /// A change is in the tables, or was taken back.
    mutating func leave(_ item: ItemRef) {
        bytes -= item.footprint
        items -= 1
    }

    /// The bytes that a fold of all changes would write, about.
    var valueBytes: Int { bytes - items * MemoryLayout<Item>.stride }

    /// Notes that a committed change supersedes this one.
    /// `isKept`: the tables are to have its value all the same.
    mutating func supersede(_ item: ItemRef, by newer: ItemRef, isKept: @autoclosure () -> Bool) {
        guard item.pointee.store == .documents, item.isDirty, item.footprint >= Self.leastHollowed,
            !item.pointee.flags.contains(.claiming), !isKept()
        else { return }
        superseded.append(
            Superseded(item: item, rev: item.pointee.rev, newer: newer, newerRev: newer.pointee.rev))
    }

    /// Frees the values of changes whose superseding changes are synced. Changes in a slice keep theirs.
    mutating func hollow(synced: SyncedRev) {
        guard let first = superseded.first, synced.has(first.newerRev) else { return }
        var end = 0
        while end < superseded.count, synced.has(superseded[end].newerRev) {
            hollow(superseded[end])
            end += 1
        }
        superseded.removeFirst(end)
    }

    private mutating func hollow(_ one: Superseded) {
        guard let position = position(of: one.item, rev: one.rev),
            self.position(of: one.newer, rev: one.newerRev) != nil
        else { return }
        // The newer change accounts for both: a slice may end between them, and the tables get nothing of this one.
        one.item.moveDeltas(to: one.newer)
        let hollow = ItemRef.make(hollow: one.item)
        bytes += hollow.footprint - one.item.footprint
        queue[position] = hollow
        one.item.release()
    }

    /// Where a change is in the queue; nil if a slice has it.
    private func position(of item: ItemRef, rev: UInt64) -> Int? {
        var position = firstPosition(of: rev)
        while position < queue.count, queue[position].pointee.rev == rev {
            if queue[position] == item { return position }
            position += 1
        }
        return nil
    }

    private func firstPosition(of rev: UInt64) -> Int {
        var (low, high) = (0, queue.count)
        while low < high {
            let middle = (low + high) / 2
            if queue[middle].pointee.rev < rev { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// How many changes of the queue are on the disk: they come first.
    func count(synced: SyncedRev) -> Int {
        var end = queue.count
        while end > 0, !synced.has(queue[end - 1].pointee.rev) { end -= 1 }
        return end
    }

    /// Moves the first so many changes into a slice, with what they mean.
    mutating func move(_ count: Int, to slice: FoldSlice) {
        if count > 0 {
            slice.rev = queue[count - 1].pointee.rev
            let rest = ContiguousArray(queue[count...])
            queue.removeLast(queue.count - count)
            slice.items = queue
            queue = rest
        }
        while let first = events.first, first.event.rev <= slice.rev { slice.events.append(events.removeFirst().event) }
    }
}
