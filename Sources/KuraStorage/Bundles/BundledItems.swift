import KuraBytes

/// Which settings and documents are in a seed bundle, by the hashes of their names: what the tables count includes what is not in it.
struct BundledItems {
    private struct Scope: Hashable {
        var store: Store
        var name: [UInt8]
    }

    private var scopes: [Scope: Set<UInt64>] = [:]
    private let seed = UInt64.random(in: 0...UInt64.max)

    /// Takes a record in the order in which they are written.
    mutating func note(_ record: BackupRecord) {
        guard record.store.has(.named) else { return }
        let scope = Scope(store: record.store, name: Array(record.scope))
        let key = Hash.bytes(record.key, seed: seed)
        if record.flags.contains(.isDrop) {
            scopes[scope] = nil
        } else if record.flags.contains(.isDeleted) {
            scopes[scope]?.remove(key)
        } else {
            scopes[scope, default: []].insert(key)
        }
    }

    func count(_ store: Store, _ name: [UInt8]) -> Int { scopes[Scope(store: store, name: name)]?.count ?? 0 }
}
