import KuraBytes

/// A domain, a collection, a service: its name, its numbers, and its members where those are in memory whole.
///
/// Belongs to the loop. `count`, `bytes` and `lastRev` are as of the newest change.
package final class Scope {
    /// 0 until the scope is in the table: nothing is found under it.
    package fileprivate(set) var id: UInt32
    package let store: Store
    /// It was dropped: its name leads to another, if to any.
    fileprivate(set) var isDropped = false
    /// The annex is for what is configured outside of the storage: the scope stays.
    var isPinned = false
    package let name: [UInt8]
    package var count = 0
    /// Bytes of keys and values (settings) or of values (documents).
    package var bytes = 0
    package var lastRev: UInt64 = 0
    var news = ScopeNews()
    var rows: ScopeRows
    /// What its store keeps with it; nil for a store that keeps nothing.
    let state: ScopeState?
    /// Bytes of the pages that a change of an item touches, about.
    var pagesOfChange: Int { RoomRule.pages + (state?.pagesOfChange ?? 0) }
    /// The items of a resident store's scope.
    var members = ScopeMembers()
    /// What is configured for the scope, as its readers have made it out; nil when nothing is.
    var annex: ScopeAnnex?
    var durability = ScopeDurability()
    /// The quotas that its items and bytes count into; mostly none.
    var accounts: [QuotaAccount] = []

    init(id: UInt32, store: Store, name: [UInt8]) {
        self.id = id
        self.store = store
        self.name = name
        state = store.parts.makeState?()
        rows = ScopeRows(of: id)
    }

    var isInTable: Bool { id > 0 }
    /// Nothing was ever in it, and nothing hangs on it.
    var isVacant: Bool { lastRev == 0 && !rows.mayExist && annex == nil }

    func withName<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        try name.withBytes(body)
    }

    /// Its members that are not deleted, in the order of their keys.
    func sortedMembers() -> SortedItems { members.inOrder(count) }
}

/// All scopes by store and name.
package final class ScopeTable {
    package private(set) var all: [Scope] = []
    private var index: [Key: Int] = [:]
    private var nextID: UInt32 = 1
    private var new: [Scope] = []
    /// The scope asked for last in each store: clients mostly stay in one.
    private var recent: [Scope?] = Array(repeating: nil, count: 16)
    private var byID: [UInt32: Scope] = [:]
    /// How many scopes have come to be, by the numbers of their stores.
    private var made = ContiguousArray<UInt32>(repeating: 0, count: Store.numbers)
    /// Revision of the newest drop of one: that something is absent may give it away.
    private(set) var dropRev: UInt64 = 0
    /// Tells which accounts a new scope is in.
    var assign: ((Scope) -> [QuotaAccount])?
    /// The same of a service by its name; nil when there are no quotas.
    var assignService: ((Bytes) -> [QuotaAccount])?

    /// Most scopes in all stores.
    static let limit = 65_536
    /// The numbers of rows have so much room for that of their scope.
    static let idLimit: UInt32 = 1 << 23

    private struct Key: Hashable {
        var store: UInt8
        var name: [UInt8]
    }

    /// One that something is or was in. Of another, which is only configured, the tables may know nothing: whoever looks for it there finds
    /// that it is gone, again and again.
    func used(_ store: Store, _ name: Bytes) -> Scope? {
        find(store, name).flatMap { $0.lastRev > 0 ? $0 : nil }
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

    /// Revision of the newest change of the scope; of a scope that never had one, a drop may have taken away what had its name before.
    func newestRev(_ scope: Scope) -> UInt64 { scope.lastRev > 0 ? scope.lastRev : dropRev }

    /// The scope of that number, unless it is gone.
    func known(_ id: UInt32) -> Scope? { byID[id] }

    /// The scope, or an empty one outside of the table, which the first change that is staged in it puts there. So a write
    /// that is refused leaves nothing.
    func findOrPrepare(_ store: Store, _ name: Bytes) -> Scope {
        if let scope = find(store, name) { return scope }
        let scope = Scope(id: 0, store: store, name: Array(name))
        if let assign { scope.accounts = assign(scope) }
        return scope
    }

    /// The scope, made when there is none; nil when there are too many already.
    func findOrMake(_ store: Store, _ name: Bytes) -> Scope? {
        let scope = findOrPrepare(store, name)
        return enter(scope) ? scope : nil
    }

    func hasRoom(for count: Int) -> Bool {
        all.count + count <= Self.limit && Int(nextID) + count <= Int(Self.idLimit)
    }

    /// Puts a prepared scope into the table, unless it is there.
    /// - Returns: false when there are too many already.
    func enter(_ scope: Scope) -> Bool {
        if scope.isInTable { return true }
        precondition(
            index[Key(store: scope.store.rawValue, name: scope.name)] == nil, "a scope was prepared twice at a time")
        guard hasRoom(for: 1) else { return false }
        scope.id = nextID
        scope.rows = ScopeRows(of: scope.id)
        add(scope)
        scope.noteInAccounts(scopes: 1)
        new.append(scope)
        return true
    }

    /// Takes a vacant scope out of the table, when its first change was taken back.
    /// `reusingID`: nobody can have seen its number; otherwise a reader that has would meet another's rows under it.
    func remove(vacant scope: Scope, reusingID: Bool) {
        guard scope.isInTable, scope.isVacant else { return }
        let key = Key(store: scope.store.rawValue, name: scope.name)
        guard let position = index.removeValue(forKey: key) else { return }
        takeOut(position)
        byID[scope.id] = nil
        if let position = new.lastIndex(where: { $0 === scope }) { new.remove(at: position) }
        if recent[Int(scope.store.rawValue)] === scope { recent[Int(scope.store.rawValue)] = nil }
        if reusingID, scope.id == nextID - 1 { nextID -= 1 }
        scope.noteInAccounts(scopes: -1)
        scope.id = 0
    }

    /// Takes a dropped scope's name out; by its number it is still known.
    func drop(_ scope: Scope, rev: UInt64) {
        scope.isDropped = true
        dropRev = rev
        let key = Key(store: scope.store.rawValue, name: scope.name)
        if let position = index.removeValue(forKey: key) { takeOut(position) }
        if recent[Int(scope.store.rawValue)] === scope { recent[Int(scope.store.rawValue)] = nil }
        scope.noteInAccounts(bytes: -scope.bytes, items: -scope.count)
        scope.noteInAccounts(scopes: -1)
    }

    /// Puts it back.
    /// `rev`: of the drop before.
    func undrop(_ scope: Scope, rev: UInt64) {
        scope.isDropped = false
        dropRev = rev
        // What had the name meanwhile has been taken back but for what is configured.
        if let position = index[Key(store: scope.store.rawValue, name: scope.name)] {
            let other = all[position]
            takeOut(position)
            byID[other.id] = nil
            new.removeAll { $0 === other }
        }
        recent[Int(scope.store.rawValue)] = nil
        add(scope)
        scope.noteInAccounts(bytes: scope.bytes, items: scope.count)
        scope.noteInAccounts(scopes: 1)
    }

    /// The tables know that it is dropped: nothing asks for its number any more.
    func forget(dropped scope: Scope) {
        byID[scope.id] = nil
        new.removeAll { $0 === scope }
    }

    private func takeOut(_ position: Int) {
        let last = all.removeLast()
        guard position < all.count else { return }
        all[position] = last
        index[Key(store: last.store.rawValue, name: last.name)] = position
    }

    /// Scopes that the tables have not been told of, and that had a change up to `rev`.
    func takeNew(upTo rev: UInt64) -> [Scope] {
        let isDue: (Scope) -> Bool = { $0.news.isDue(upTo: rev) }
        defer { new.removeAll(where: isDue) }
        return new.filter(isDue)
    }

    /// Numbers up to this one are not given out.
    func reserve(_ id: UInt32) { nextID = max(nextID, id + 1) }

    @discardableResult
    func add(_ scope: Scope) -> Scope {
        index[Key(store: scope.store.rawValue, name: scope.name)] = all.count
        byID[scope.id] = scope
        made[Int(scope.store.rawValue)] += 1
        all.append(scope)
        nextID = max(nextID, scope.id + 1)
        return scope
    }

    /// How many scopes of a store have come to be.
    func made(_ store: Store) -> UInt32 { made[Int(store.rawValue)] }

    /// Scopes of a store that hold or held something, in the order of their names.
    func list(_ store: Store) -> [Scope] {
        all.filter { $0.store == store && $0.lastRev > 0 }
            .sorted { left, right in left.name.withBytes { l in right.name.withBytes { l.precedes($0) } } }
    }
}
