import KuraBytes

/// Which items the records of a file come to, by hashes of their keys: what its manifest counts is held against them, and lists of
/// attachments against their documents.
///
/// Of an item the record with the greatest revision counts, the later one of two alike, and a dropped scope takes with it whatever has a
/// smaller revision (`RestoredTables`). Of a file with more items than `most` nothing is told: what is made of it is held against
/// the same before it gets its place, with tables for which memory is no bound.
struct ItemCensus {
    /// Items that are kept, some 12 MiB of them.
    static let most = 1 << 18

    private struct Scope: Hashable {
        var store: Store
        var name: [UInt8]
    }

    private struct Item {
        var rev: UInt64
        var record: Int
        var isLive: Bool
    }

    private struct Items {
        var droppedAt: UInt64 = 0
        var items: [UInt64: Item] = [:]
        var live: Int { items.values.count { $0.isLive } }

        /// - Returns: whether there is one more.
        mutating func put(_ item: Item, _ key: UInt64) -> Bool {
            guard item.rev >= droppedAt else { return false }
            guard let known = items[key] else {
                items[key] = item
                return true
            }
            if known.rev <= item.rev { items[key] = item }
            return false
        }

        mutating func drop(_ rev: UInt64) {
            droppedAt = max(droppedAt, rev)
            items = items.filter { $0.value.rev >= rev }
        }
    }

    private let most: Int
    private var scopes: [Scope: Items] = [:]
    private var count = 0
    private let seed = UInt64.random(in: 0...UInt64.max)

    init(most: Int = ItemCensus.most) { self.most = most }

    private var isWhole: Bool { count <= most }

    mutating func note(_ judged: JudgedRecord) {
        let record = judged.record
        guard isWhole, !record.flags.contains(.isScope),
            record.store.has(.comparable)
        else { return }
        let name = Scope(store: record.store, name: Array(record.scope))
        if scopes[name] == nil { count += 1 }
        if record.flags.contains(.isDrop) {
            scopes[name, default: Items()].drop(record.rev)
        } else {
            let key = Hash.bytes(record.key, seed: seed)
            let item = Item(
                rev: record.rev, record: judged.number, isLive: !record.flags.contains(.isDeleted))
            if scopes[name, default: Items()].put(item, key) { count += 1 }
        }
        if !isWhole { scopes = [:] }
    }

    /// Everything has been read.
    /// - Throws: when a list is of no document, or the manifest counts others.
    func finish(_ manifest: BackupManifest) throws(BackupFault) {
        guard isWhole else { return }
        var stray: Int?
        var found = BackupManifest.Counts()
        for (name, scope) in scopes {
            guard name.store.isPart else {
                found.add(name.store, scope.live)
                continue
            }
            let owners = scopes[Scope(store: name.store.owner, name: name.name)]
            for (key, list) in scope.items where list.isLive && owners?.items[key]?.isLive != true {
                stray = min(stray ?? list.record, list.record)
            }
        }
        if let stray { throw .strayList(record: stray) }
        for ((name, said), (_, found)) in zip(manifest.counts.named(.named), found.named(.named)) where said != found {
            throw .miscounted(name, said: said, found: found)
        }
    }
}
