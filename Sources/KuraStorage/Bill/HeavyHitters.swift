import KuraBytes

/// The names that are written most, of any number of names, in bounded memory: the "space saving" sketch (Metwally, Agrawal, El Abbadi 2005).
///
/// A name that is not among those it keeps takes the place of the one that was counted least, with its count: what it tells is never less
/// than what was counted, and at most by the smallest count more.
public struct HeavyHitters: Sendable {
    public struct Entry: Sendable {
        public var store: BilledStore
        public var scope: [UInt8]
        /// Empty when scopes are counted.
        public var key: [UInt8]
        public var tally: WriteTally
        fileprivate var hash: UInt64
    }

    private static let limit = 64
    /// Longer names are cut.
    private static let nameBytes = 256
    private var entries: [Entry] = []
    private let seed = UInt64.random(in: 0...UInt64.max)

    mutating func note(_ store: BilledStore, _ scope: Bytes, _ key: Bytes, _ weight: WriteTally) {
        let hash = Hash.bytes(key, seed: Hash.bytes(scope, seed: seed &+ UInt64(store.rawValue)))
        if let place = entries.firstIndex(where: { $0.hash == hash }) {
            entries[place].tally += weight
            return
        }
        var entry = Entry(
            store: store, scope: Array(scope.prefix(Self.nameBytes)), key: Array(key.prefix(Self.nameBytes)),
            tally: weight, hash: hash)
        guard entries.count >= Self.limit else {
            entries.append(entry)
            return
        }
        let least = entries.indices.min { entries[$0].tally.changes < entries[$1].tally.changes }!
        entry.tally += entries[least].tally
        entries[least] = entry
    }

    mutating func fade() {
        for place in entries.indices {
            entries[place].tally.changes /= 2
            entries[place].tally.bytes /= 2
        }
        entries.removeAll { $0.tally.changes == 0 }
    }

    /// Those that are written most first.
    public func top(_ count: Int) -> [Entry] {
        Array(entries.sorted { ($0.tally.bytes, $0.tally.changes) > ($1.tally.bytes, $1.tally.changes) }.prefix(count))
    }
}
