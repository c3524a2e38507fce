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
