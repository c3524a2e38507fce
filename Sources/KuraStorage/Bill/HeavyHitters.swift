import KuraBytes

/// The names that are written most, of any number of names, in bounded memory: the "space saving" sketch (Metwally, Agrawal, El Abbadi 2005).
///
/// A name that is not among those it keeps takes the place of the one that was counted least, with its count: what it tells is never less
/// than what was counted, and at most by the smallest count more. Nothing is allocated after the start: names have places of their own.
public struct HeavyHitters: Sendable {
    public struct Entry: Sendable {
        public var store: BilledStore
        public var scope: [UInt8]
        /// Empty when scopes are counted.
        public var key: [UInt8]
        public var tally: WriteTally
        /// What was counted since the last interval was taken; never more than that.
        public var latest: WriteTally
        /// Who has written it last, by the number on the bill.
        var writer: UInt16
    }

    private struct Cell {
        var tally: WriteTally
        var latest: WriteTally
        var store: BilledStore
        var scopeBytes: UInt16
        var keyBytes: UInt16
        var writer: UInt16
    }

    private static let limit = 64
    /// Longer names are cut.
    private static let nameBytes = 256
    private var cells: ContiguousArray<Cell> = []
    /// Of the cells, in their order: what is looked for.
    private var hashes: ContiguousArray<UInt64> = []
    /// Two names a cell.
    private var names = ContiguousArray<UInt8>(repeating: 0, count: limit * 2 * nameBytes)
    private let seed = UInt64.random(in: 0...UInt64.max)

    init() {
        cells.reserveCapacity(Self.limit)
        hashes.reserveCapacity(Self.limit)
    }

    mutating func note(_ store: BilledStore, _ scope: Bytes, _ key: Bytes, _ weight: WriteTally, by writer: UInt16 = 0)
    {
        let hash = hash(store, scope, key)
        for place in hashes.indices where hashes[place] == hash {
            cells[place].tally += weight
            cells[place].latest += weight
            cells[place].writer = writer
            return
        }
        var cell = Cell(
            tally: weight, latest: weight, store: store, scopeBytes: UInt16(min(scope.count, Self.nameBytes)),
            keyBytes: UInt16(min(key.count, Self.nameBytes)), writer: writer)
        var place = cells.count
        if place < Self.limit {
            cells.append(cell)
            hashes.append(hash)
        } else {
            place = 0
            for other in cells.indices where cells[other].tally.changes < cells[place].tally.changes { place = other }
            cell.tally += cells[place].tally
            cells[place] = cell
            hashes[place] = hash
        }
        let start = place * 2 * Self.nameBytes
        for offset in 0..<Int(cell.scopeBytes) { names[start + offset] = scope[offset] }
        for offset in 0..<Int(cell.keyBytes) { names[start + Self.nameBytes + offset] = key[offset] }
    }

    private func hash(_ store: BilledStore, _ scope: Bytes, _ key: Bytes) -> UInt64 {
        Hash.bytes(key, seed: Hash.bytes(scope, seed: seed &+ UInt64(store.rawValue)))
    }

    /// What is counted from now on is the next interval's.
    mutating func beginInterval() {
        for place in cells.indices { cells[place].latest = WriteTally() }
    }

    mutating func fade() {
        var kept = 0
        for place in cells.indices {
            var cell = cells[place]
            cell.tally.changes /= 2
            cell.tally.bytes /= 2
            guard cell.tally.changes > 0 else { continue }
            if kept < place {
                let (from, to) = (place * 2 * Self.nameBytes, kept * 2 * Self.nameBytes)
                for offset in 0..<2 * Self.nameBytes { names[to + offset] = names[from + offset] }
            }
            cells[kept] = cell
            hashes[kept] = hashes[place]
            kept += 1
        }
        cells.removeLast(cells.count - kept)
        hashes.removeLast(hashes.count - kept)
    }

    /// All of them, in no order.
    var entries: [Entry] {
        cells.indices.map { place in
            let cell = cells[place]
            let start = place * 2 * Self.nameBytes
            return Entry(
                store: cell.store, scope: Array(names[start..<start + Int(cell.scopeBytes)]),
                key: Array(names[start + Self.nameBytes..<start + Self.nameBytes + Int(cell.keyBytes)]),
                tally: cell.tally, latest: cell.latest, writer: cell.writer)
        }
    }

    /// Those that are written most first.
    public func top(_ count: Int) -> [Entry] {
        Array(entries.sorted { ($0.tally.bytes, $0.tally.changes) > ($1.tally.bytes, $1.tally.changes) }.prefix(count))
    }
}
