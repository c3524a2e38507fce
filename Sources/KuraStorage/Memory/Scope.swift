import KuraBytes

/// A settings domain or a document collection: its name, its numbers, and for settings its members.
///
/// Belongs to the loop. `count`, `bytes` and `lastRev` are as of the newest change.
final class Scope {
    let id: UInt32
    let store: Store
    let name: [UInt8]
    var count = 0
    /// Bytes of keys and values (settings) or of values (documents).
    var bytes = 0
    var lastRev: UInt64 = 0
    /// Row of the next new document; rows of a collection are `id << 40 | n`, so that they lie side by side.
    var nextRow: Int64
    /// A slice has been cut since the scope came to be: the tables may have rows of it.
    var mayHaveRows = false
    /// The settings of a domain, tombstones included while they are not folded.
    var members = ItemList()
    /// What is configured for the scope, as its readers have made it out; nil when nothing is.
    var annex: ScopeAnnex?
    /// Seconds after which changes are synced at the latest; 0 when they are durable before they are acknowledged.
    var flushSeconds: Int32 = 0
    /// Revision that made it so.
    var relaxedSince: UInt64 = 0
    /// The quotas that its items and bytes count into; mostly none.
    var accounts: [QuotaAccount] = []
    /// The members in the order of their keys; nil when a key came or went since.
    var sorted: [ItemRef]?

    init(id: UInt32, store: Store, name: [UInt8]) {
        self.id = id
        self.store = store
        self.name = name
        nextRow = Int64(id) << 40 | 1
    }

    func withName<R>(_ body: (Bytes) -> R) -> R {
        name.withBytes(body)
    }
}

/// All scopes by store and name.
final class ScopeTable {
    private(set) var all: [Scope] = []
    private var index: [Key: Int] = [:]
    private var nextID: UInt32 = 1
    private var new: [Scope] = []
    /// The scope asked for last in each store: clients mostly stay in one.
    private var recent: [Scope?] = [nil, nil, nil, nil, nil, nil, nil, nil]
    private var byID: [UInt32: Scope] = [:]
    /// Tells which accounts a new scope is in.
    var assign: ((Scope) -> [QuotaAccount])?

    /// Most scopes in all stores.
    static let limit = 65_536

    private struct Key: Hashable {
        var store: UInt8
        var name: [UInt8]
    }

    func find(_ store: Store, _ name: Bytes) -> Scope? {
        if let scope = recent[Int(store.rawValue)], scope.name.withBytes({ $0.equals(name) }) { return scope }
        guard let position = index[Key(store: store.rawValue, name: Array(name))] else { return nil }
        recent[Int(store.rawValue)] = all[position]
        return all[position]
    }

    subscript(id: UInt32) -> Scope {
        byID[id]!
    }

    /// The scope, made when there is none; nil when there are too many already.
    func findOrMake(_ store: Store, _ name: Bytes) -> Scope? {
        if let scope = find(store, name) { return scope }
        guard all.count < Self.limit else { return nil }
        let scope = add(Scope(id: nextID, store: store, name: Array(name)))
        if let assign { scope.accounts = assign(scope) }
        new.append(scope)
        return scope
    }

    /// Scopes that the tables have not been told of.
    func takeNew() -> [Scope] {
        defer { new = [] }
        return new
    }

    @discardableResult
    func add(_ scope: Scope) -> Scope {
        index[Key(store: scope.store.rawValue, name: scope.name)] = all.count
        byID[scope.id] = scope
        all.append(scope)
        nextID = max(nextID, scope.id + 1)
        return scope
    }

    /// Scopes of a store that hold or held something, in the order of their names.
    func list(_ store: Store) -> [Scope] {
        all.filter { $0.store == store && $0.lastRev > 0 }
            .sorted { left, right in left.name.withBytes { l in right.name.withBytes { l.precedes($0) } } }
    }
}

extension Scope {
    /// Keeps `sorted` true when a member's item is replaced; gives it up when a key comes or goes.
    func replaceSorted(_ old: ItemRef?, with new: ItemRef?) {
        guard sorted != nil else { return }
        guard let old, let new, !old.isTombstone, !new.isTombstone else {
            sorted = nil
            return
        }
        let position = lowerBound(of: old.key)
        sorted![position] = new
    }

    /// Members that are not deleted, in the order of their keys; made when it is asked for and kept while keys stay.
    func sortedMembers() -> [ItemRef] {
        if let sorted { return sorted }
        var list: [ItemRef] = []
        list.reserveCapacity(count)
        var next = members.oldest
        while let item = next {
            if !item.isTombstone { list.append(item) }
            next = item.pointee.newer
        }
        list.sort { $0.key.precedes($1.key) }
        sorted = list
        return list
    }

    /// Position of the first sorted member whose key does not precede `key`.
    func lowerBound(of key: Bytes) -> Int {
        let list = sortedMembers()
        var low = 0
        var high = list.count
        while low < high {
            let middle = (low + high) / 2
            if list[middle].key.precedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
