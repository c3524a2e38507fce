import KuraBytes

/// Items in the order of their keys' bytes, kept so while single ones come and go: a row of short runs, so that a change moves little
/// however many there are. Holds no references: whoever takes an item out of the table takes it out here.
struct SortedItems {
    /// Not empty, but for the only one; each run's keys are below those of the next.
    private var runs: [[ItemRef]] = [[]]
    private static let longest = 512

    struct Position {
        fileprivate var run: Int
        fileprivate var offset: Int
    }

    /// - Parameter items: in any order, each key once.
    init(_ items: [ItemRef]) {
        let sorted = items.sorted { $0.key.precedes($1.key) }
        guard !sorted.isEmpty else { return }
        let length = Self.longest / 2
        runs = stride(from: 0, to: sorted.count, by: length).map { Array(sorted[$0..<min($0 + length, sorted.count)]) }
    }

    subscript(position: Position) -> ItemRef? {
        position.offset < runs[position.run].count ? runs[position.run][position.offset] : nil
    }

    func advance(_ position: inout Position) {
        position.offset += 1
        if position.offset >= runs[position.run].count, position.run + 1 < runs.count {
            position = Position(run: position.run + 1, offset: 0)
        }
    }

    /// Of the first item whose key does not precede `key`; behind the last when there is none.
    func lowerBound(of key: Bytes) -> Position {
        // The last run that begins at or before the key, or else the first.
        var (low, high) = (0, runs.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if key.precedes(runs[middle][0].key) { high = middle - 1 } else { low = middle }
        }
        var position = Position(run: low, offset: 0)
        var end = runs[low].count
        while position.offset < end {
            let middle = (position.offset + end) / 2
            if runs[low][middle].key.precedes(key) { position.offset = middle + 1 } else { end = middle }
        }
        if position.offset == runs[low].count, low + 1 < runs.count { position = Position(run: low + 1, offset: 0) }
        return position
    }

    /// Puts an item in whose key is not there.
    mutating func insert(_ item: ItemRef) {
        var position = lowerBound(of: item.key)
        // Rather at a run's end than before the next one's beginning, which says where that begins.
        if position.offset == 0, position.run > 0 {
            position = Position(run: position.run - 1, offset: runs[position.run - 1].count)
        }
        runs[position.run].insert(item, at: position.offset)
        guard runs[position.run].count > Self.longest else { return }
        let half = Array(runs[position.run][(Self.longest / 2)...])
        runs[position.run].removeLast(half.count)
        runs.insert(half, at: position.run + 1)
    }

    /// Puts `new` in the place of the item of the same key.
    mutating func replace(with new: ItemRef) {
        let position = lowerBound(of: new.key)
        runs[position.run][position.offset] = new
    }

    mutating func remove(_ key: Bytes) {
        let position = lowerBound(of: key)
        runs[position.run].remove(at: position.offset)
        if runs[position.run].isEmpty, runs.count > 1 { runs.remove(at: position.run) }
    }
}
