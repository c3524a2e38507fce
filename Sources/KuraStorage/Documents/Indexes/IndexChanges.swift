import KuraBytes
import KuraJSON

/// The alterations of an index's table that a fold's documents ask for. They are made in the order of the keys when all are known, so that
/// neighbours go together.
struct IndexChanges: ~Copyable {
    struct Change: BitwiseCopyable {
        var isInsertion: Bool
        /// It must be unique in an index that is.
        var isWhole: Bool
        fileprivate var start: UInt32
        fileprivate var length: UInt32
        var row: Int64
    }
    private var changes = GrowingRow<Change>()
    private var keys = ByteBuffer()

    var count: Int { changes.count }

    /// Bytes of keys, and of changes, that are kept for the next fold.
    private static let mostKept = 1 << 20

    /// Takes note of a document that takes the place of another, as an index of this definition has them.
    /// - Returns: whether the index has something else then.
    mutating func note(
        _ row: Int64, _ old: StoredValue?, _ new: StoredValue?, _ definition: IndexDefinition
    ) -> Bool {
        if definition.isEach { return noteEach(row, old, new, definition) }
        let start = keys.count
        let before = old.flatMap { append($0, definition) }
        let middle = keys.count
        let after = new.flatMap { append($0, definition) }
        if before != nil, after != nil, keys.bytes(start..<middle).equals(keys.bytes(middle..<keys.count)) {
            keys.truncate(to: start)
            return false
        }
        if let isWhole = before { append(false, isWhole, start..<middle, row) }
        if let isWhole = after { append(true, isWhole, middle..<keys.count, row) }
        return before != nil || after != nil
    }

    /// The same for an index with an entry for each id. What both have is taken out and put in again, in this order.
    private mutating func noteEach(
        _ row: Int64, _ old: StoredValue?, _ new: StoredValue?, _ definition: IndexDefinition
    ) -> Bool {
        let field = definition.fields[0]
        let before = old.map { field.ids(in: $0) } ?? []
        let after = new.map { field.ids(in: $0) } ?? []
        if before.count == after.count, zip(before, after).allSatisfy({ $0.text.equals($1.text) }) { return false }
        for (ids, isInsertion) in [(before, false), (after, true)] {
            for id in ids {
                let start = keys.count
                IndexKey.append(id, to: &keys)
                append(isInsertion, false, start..<keys.count, row)
            }
        }
        return true
    }

    /// - Returns: whether the key has all fields; nil when the document is not in the index.
    private mutating func append(_ document: StoredValue, _ definition: IndexDefinition) -> Bool? {
        definition.covers(document) ? definition.appendKey(of: document, to: &keys) : nil
    }

    private mutating func append(_ isInsertion: Bool, _ isWhole: Bool, _ key: Range<Int>, _ row: Int64) {
        changes.append(
            Change(
                isInsertion: isInsertion, isWhole: isWhole, start: UInt32(key.lowerBound), length: UInt32(key.count),
                row: row))
    }

    /// From now on the changes are in the order in which they are made.
    mutating func sort() {
        let bytes = keys.bytes
        changes.sort(from: 0) { left, right in
            let (mine, other) = (Self.key(left, bytes), Self.key(right, bytes))
            if !mine.equals(other) { return mine.precedes(other) }
            // What goes makes room for what comes.
            if left.isInsertion != right.isInsertion { return !left.isInsertion }
            return left.row < right.row
        }
    }

    subscript(position: Int) -> Change { changes[position] }

    func key(_ change: Change) -> Bytes { Self.key(change, keys.bytes) }

    private static func key(_ change: Change, _ keys: Bytes) -> Bytes {
        keys.extracting(Int(change.start)..<Int(change.start) + Int(change.length))
    }

    mutating func removeAll() {
        changes.truncate(to: 0)
        keys.removeAll()
        if keys.capacity > Self.mostKept {
            keys.releaseMemory()
            changes.releaseMemory()
        }
    }
}
