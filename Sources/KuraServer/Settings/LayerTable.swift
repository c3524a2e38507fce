import KuraBytes
import KuraStorage

/// Values by key in the order of the keys' bytes, never changed once made: one layer around a domain's settings.
///
/// A look-up allocates nothing. What it lends is good as long as the table lives.
final class LayerTable: @unchecked Sendable {
    // Safe to share: everything is written in `init` and only read afterwards.

    struct Item {
        var key: [UInt8]
        /// JSON text.
        var value: [UInt8]
        /// Why the value is what it is; in words, for locks only.
        var reason: [UInt8] = []
    }

    /// Key, value and reason stand one behind the other.
    private struct Entry {
        var start: Int
        var keyEnd: Int
        var valueEnd: Int
        var reasonEnd: Int
    }
    private let entries: ContiguousArray<Entry>
    private let text: ByteBuffer
    /// Bytes of keys, values and reasons.
    var bytes: Int { text.count }

    /// `items`: in any order, no key twice.
    init(_ items: [Item]) {
        var text = ByteBuffer(capacity: items.reduce(0) { $0 + $1.key.count + $1.value.count + $1.reason.count })
        var entries: ContiguousArray<Entry> = []
        entries.reserveCapacity(items.count)
        for item in items.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            var entry = Entry(start: text.count, keyEnd: 0, valueEnd: 0, reasonEnd: 0)
            text.append(item.key)
            entry.keyEnd = text.count
            text.append(item.value)
            entry.valueEnd = text.count
            text.append(item.reason)
            entry.reasonEnd = text.count
            entries.append(entry)
        }
        self.entries = entries
        self.text = text
    }

    var count: Int { entries.count }

    func key(_ index: Int) -> Bytes { slice(entries[index].start, entries[index].keyEnd) }
    func value(_ index: Int) -> Bytes { slice(entries[index].keyEnd, entries[index].valueEnd) }
    func reason(_ index: Int) -> Bytes { slice(entries[index].valueEnd, entries[index].reasonEnd) }

    private func slice(_ start: Int, _ end: Int) -> Bytes { text.bytes(start..<end) }

    /// Where the key stands; nil when it is not there.
    func index(of key: Bytes) -> Int? {
        let index = lowerBound(of: key)
        return index < entries.count && self.key(index).equals(key) ? index : nil
    }

    subscript(key: Bytes) -> Bytes? { index(of: key).map(value) }

    /// Position of the first key that does not precede `key`.
    func lowerBound(of key: Bytes) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if self.key(middle).precedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The items, for making another table.
    var items: [Item] {
        entries.indices.map { Item(key: Array(key($0)), value: Array(value($0)), reason: Array(reason($0))) }
    }
}
