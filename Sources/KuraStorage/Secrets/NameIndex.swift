import KuraBytes
import Sodium

/// Names in their order, with what each is called on the disk; in memory only while the store is unlocked.
///
/// It has every name that is there, and may have some that are not any more: who walks it looks each one up. So nothing of it has to be taken
/// back when a change is. The names themselves lie in one buffer that zeroes itself. New ones are sorted into a short list beside
/// the long one, so that adding does not move much; when that is no longer short the two are merged.
final class NameIndex {
    struct Entry {
        fileprivate var offset: UInt32
        fileprivate var firstLength: UInt16
        fileprivate var secondLength: UInt16
        var hash: NameHash
    }

    private var names = SecretBuffer()
    private var main: ContiguousArray<Entry> = []
    private var recent: ContiguousArray<Entry> = []

    private static let recentLimit = 1024

    var count: Int { main.count + recent.count }
    /// Bytes of memory that it takes, about.
    var footprint: Int { names.count + count * MemoryLayout<Entry>.stride }

    /// The two parts of an entry's name; good until the next change.
    func name(_ entry: Entry) -> (first: Bytes, second: Bytes) {
        let start = Int(entry.offset)
        let middle = start + Int(entry.firstLength)
        return (
            names.bytes.extracting(start..<middle), names.bytes.extracting(middle..<middle + Int(entry.secondLength))
        )
    }

    /// Puts a name in while all are being read, in any order; `sort` follows.
    func load(_ first: Bytes, _ second: Bytes, _ hash: NameHash) {
        main.append(make(first, second, hash))
    }

    func sort() {
        main.sort { precedes($0, $1) }
    }

    /// Puts a name in, unless it is there.
    func insert(_ first: Bytes, _ second: Bytes, _ hash: NameHash) {
        guard !contains(main, first, second), !contains(recent, first, second) else { return }
        let position = lowerBound(recent, first, second)
        recent.insert(make(first, second, hash), at: position)
        if recent.count > Self.recentLimit { merge() }
    }

    /// Where a walk stands.
    struct Position {
        fileprivate var main: Int
        fileprivate var recent: Int
    }

    /// Before the first name behind (`first`, `second`), or before all.
    func position(after name: (first: Bytes, second: Bytes)?) -> Position {
        guard let name else { return Position(main: 0, recent: 0) }
        func behind(_ list: ContiguousArray<Entry>) -> Int {
            let found = lowerBound(list, name.first, name.second)
            guard found < list.count, order(list[found], name.first, name.second) == 0 else { return found }
            return found + 1
        }
        return Position(main: behind(main), recent: behind(recent))
    }

    /// Before the first name whose first part is not before `first`.
    func position(from first: Bytes) -> Position {
        Position(main: lowerBound(main, first, Bytes()), recent: lowerBound(recent, first, Bytes()))
    }

    func next(_ position: inout Position) -> Entry? {
        let left = position.main < main.count ? main[position.main] : nil
        let right = position.recent < recent.count ? recent[position.recent] : nil
        guard let left else {
            if right != nil { position.recent += 1 }
            return right
        }
        if let right, precedes(right, left) {
            position.recent += 1
            return right
        }
        position.main += 1
        return left
    }

    /// Lets go of the names that `isThere` denies, when they have become many.
    func compact(if most: Int, isThere: (NameHash) -> Bool) {
        guard count > 64, count > most * 2 else { return }
        var kept = SecretBuffer()
        var entries: ContiguousArray<Entry> = []
        var walk = position(after: nil)
        while let entry = next(&walk) {
            guard isThere(entry.hash) else { continue }
            let (first, second) = name(entry)
            var moved = entry
            moved.offset = UInt32(kept.count)
            kept.append(first)
            kept.append(second)
            entries.append(moved)
        }
        swap(&names, &kept)
        main = entries
        recent = []
    }

    private func make(_ first: Bytes, _ second: Bytes, _ hash: NameHash) -> Entry {
        let entry = Entry(
            offset: UInt32(names.count), firstLength: UInt16(first.count), secondLength: UInt16(second.count),
            hash: hash)
        names.append(first)
        names.append(second)
        return entry
    }

    private func merge() {
        var merged: ContiguousArray<Entry> = []
        merged.reserveCapacity(count)
        var walk = position(after: nil)
        while let entry = next(&walk) { merged.append(entry) }
        main = merged
        recent.removeAll(keepingCapacity: true)
    }

    private func contains(_ list: ContiguousArray<Entry>, _ first: Bytes, _ second: Bytes) -> Bool {
        let found = lowerBound(list, first, second)
        return found < list.count && order(list[found], first, second) == 0
    }

    private func lowerBound(_ list: ContiguousArray<Entry>, _ first: Bytes, _ second: Bytes) -> Int {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if order(list[middle], first, second) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Below 0 when the entry comes before the name, 0 when it is the name's.
    private func order(_ entry: Entry, _ first: Bytes, _ second: Bytes) -> Int {
        let own = name(entry)
        if !own.first.equals(first) { return own.first.precedes(first) ? -1 : 1 }
        if !own.second.equals(second) { return own.second.precedes(second) ? -1 : 1 }
        return 0
    }

    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        let (first, second) = name(right)
        return order(left, first, second) < 0
    }
}
