import KuraBytes
import KuraJSON
import SQLite

/// The build of one index under way: what has been read and not written yet.
///
/// Documents are read in the order of their rows, as many as memory is given for; their keys are sorted, and then written in
/// that order, so that neighbours in the index go together: written in the order of rows each key would touch a page of its own.
/// Each slice of reading is sorted by itself, and what is written is merged from these runs, so that no step is long.
///
/// A document that changes after it has been read is the fold's, which puts its new key into the table: what was read of it is
/// passed over (`touched`). After a kill, reading begins again behind `builtTo`; what had been written is there and is
/// written again.
final class IndexBuild {
    private struct Entry: BitwiseCopyable {
        var row: Int64
        var start: UInt32
        var length: UInt32
        /// It must be unique in an index that is.
        var isWhole: Bool
    }

    private let table: IndexTable
    /// Bytes of keys, and entries, to gather before they are written.
    private let keyLimit: Int
    private let entryLimit: Int
    private var keys = ByteBuffer()
    private var entries = GrowingRow<Entry>()
    /// Sorted parts of `entries`: where each begins, less what is written, and ends.
    private var runs: [Range<Int>] = []
    /// Rows above `builtTo` that have changed since they were read.
    var touched: Set<Int64> = []
    /// Where reading has come to.
    private(set) var position: Int64
    private var isGathered = false
    private var previous: (key: [UInt8], row: Int64)?
    /// Rows between `builtTo` and `position` that are written, about.
    private(set) var written: Int64 = 0

    /// The greatest row that the collection can have.
    static func end(of collection: UInt32) -> Int64 { (Int64(collection) + 1) << 40 - 1 }

    init(_ table: IndexTable, memory: Int) {
        self.table = table
        keyLimit = memory / 2
        entryLimit = max(64, memory / 2 / MemoryLayout<Entry>.stride)
        position = table.builtTo
    }

    /// Everything that was gathered is to be written before more is read.
    var isWriting: Bool { isGathered }

    // MARK: Reading

    /// Reads documents until it is time to stop, or enough are gathered.
    func read(_ documents: DocumentSource, until deadline: Deadline) throws(SQLiteError) {
        let first = entries.count
        let end = Self.end(of: table.collection)
        var work = 0
        let isThrough = try documents.walk(above: position, upTo: end) { (row, body) throws(SQLiteError) in
            if let body {
                gather(row, StoredValue(body))
                work += body.count
            }
            position = row
            isGathered = keys.count >= keyLimit || entries.count >= entryLimit
            if isGathered { return false }
            work += 512
            guard work >= 16_384 else { return true }
            work = 0
            return !deadline.isOver
        }
        if isThrough { (position, isGathered) = (end, true) }
        let bytes = keys.bytes
        entries.sort(from: first) { left, right in Self.precedes(left, right, bytes) }
        if entries.count > first { runs.append(first..<entries.count) }
        table.reached = max(table.reached, position)
        table.isChanged = true
    }

    private func gather(_ row: Int64, _ document: StoredValue) {
        guard !table.definition.isEach else {
            for id in table.definition.fields[0].ids(in: document) {
                let start = keys.count
                IndexKey.append(id, to: &keys)
                entries.append(
                    Entry(row: row, start: UInt32(start), length: UInt32(keys.count - start), isWhole: false))
            }
            return
        }
        guard table.definition.covers(document) else { return }
        let start = keys.count
        let isWhole = table.definition.appendKey(of: document, to: &keys)
        entries.append(
            Entry(row: row, start: UInt32(start), length: UInt32(keys.count - start), isWhole: isWhole))
    }

    private static func precedes(_ left: Entry, _ right: Entry, _ keys: Bytes) -> Bool {
        let (mine, other) = (key(left, keys), key(right, keys))
        if mine.precedes(other) { return true }
        return left.row < right.row && mine.equals(other)
    }

    private static func key(_ entry: Entry, _ keys: Bytes) -> Bytes {
        keys.extracting(Int(entry.start)..<Int(entry.start) + Int(entry.length))
    }

    // MARK: Writing

    /// Writes entries until it is time to stop, or all are written: then the table has every row up to `position`.
    /// - Returns: two rows with the same key where that must not be.
    func write(until deadline: Deadline) throws(SQLiteError) -> (Int64, Int64)? {
        var count = 0
        let bytes = keys.bytes
        while let entry = next(bytes) {
            if !touched.contains(entry.row) {
                let key = Self.key(entry, bytes)
                if table.definition.isUnique, entry.isWhole,
                    let other = try table.otherRow(key, than: entry.row)
                {
                    return (other, entry.row)
                }
                try table.insert(key, entry.row)
            }
            count += 1
            if count % 32 == 0, deadline.isOver {
                note(count)
                return nil
            }
        }
        table.builtTo = position
        table.isChanged = true
        written = 0
        touched.removeAll()
        runs = []
        isGathered = position == Self.end(of: table.collection)
        keys.removeAll()
        entries.truncate(to: 0)
        return nil
    }

    /// The table has everything.
    var isDone: Bool { table.builtTo == Self.end(of: table.collection) }

    private func note(_ count: Int) {
        let rows = position == Self.end(of: table.collection) ? Int64(entries.count) : position - table.builtTo
        let share = Double(count) / Double(max(entries.count, 1))
        written = min(rows, written + Int64(Double(rows) * share))
    }

    /// The smallest entry of all runs, taken out of its run.
    private func next(_ keys: Bytes) -> Entry? {
        var best: Int?
        for run in runs.indices where !runs[run].isEmpty {
            if let known = best,
                !Self.precedes(entries[runs[run].lowerBound], entries[runs[known].lowerBound], keys)
            {
                continue
            }
            best = run
        }
        guard let best else { return nil }
        defer { runs[best] = runs[best].lowerBound + 1..<runs[best].upperBound }
        return entries[runs[best].lowerBound]
    }
}
