public import KuraBytes

/// What a group of scopes holds together, and how much it may.
///
/// A scope that is in an account has its items and bytes counted there as they change, whoever changes them, so that a look at
/// an account costs no sum. Scopes' own numbers are in the tables and are taken anew from there at each start: nothing more
/// has to be kept. Belongs to the loop.
public final class QuotaAccount {
    /// Most bytes, counted as `Scope.bytes`: keys and values of settings, values and attachments of documents, what is known of secrets and
    /// their values as they are sealed, entries of the model cache with what they take besides, contents of blobs, each time; nil: no bound.
    public let bytesLimit: Int?
    public let itemsLimit: Int?
    /// Most scopes, empty ones included: a scope stays when what was in it is deleted.
    public let scopesLimit: Int
    public fileprivate(set) var bytes = 0
    public fileprivate(set) var items = 0
    public fileprivate(set) var scopes = 0

    /// What a limit is about.
    public enum Measure: Sendable {
        case bytes, items, scopes
    }

    /// Scopes that those with a quota may have when nobody says.
    public static let standardScopesLimit = 1000

    public init(bytesLimit: Int?, itemsLimit: Int?, scopesLimit: Int = standardScopesLimit) {
        self.scopesLimit = scopesLimit
        self.bytesLimit = bytesLimit
        self.itemsLimit = itemsLimit
    }

    /// - Throws: `.accountFull` when growing by so much would go over a bound. What shrinks, or stays, is always let through.
    fileprivate func admit(bytes more: Int, items: Int, isNewScope: Bool) throws(EngineError) {
        if isNewScope, scopes >= scopesLimit { throw .accountFull(limit: scopesLimit, of: .scopes) }
        if items > 0, let itemsLimit, self.items + items > itemsLimit {
            throw .accountFull(limit: itemsLimit, of: .items)
        }
        if more > 0, let bytesLimit, bytes + more > bytesLimit { throw .accountFull(limit: bytesLimit, of: .bytes) }
    }

    /// Bytes that it has left; nil without a bound.
    var bytesLeft: Int? { bytesLimit.map { max($0 - bytes, 0) } }

    /// The same for items that are not in the table of scopes.
    func admitting(bytes: Int, items: Int, isNewScope: Bool = false) throws(EngineError) {
        try admit(bytes: bytes, items: items, isNewScope: isNewScope)
    }

    /// What is not in the table of scopes has changed by so much.
    func note(bytes: Int, items: Int, scopes: Int) {
        add(bytes: bytes, items: items)
        self.scopes += scopes
    }

    fileprivate func add(bytes: Int, items: Int) {
        self.bytes += bytes
        self.items += items
    }
}

extension Scope {
    /// Takes a change of the scope's numbers over into its accounts.
    func noteInAccounts(bytes: Int, items: Int) {
        for account in accounts { account.add(bytes: bytes, items: hasOnlyBytes ? 0 : items) }
    }

    /// Lists of attachments count with their contents' bytes, versions of secrets with theirs, and not as items or scopes of their own.
    private var hasOnlyBytes: Bool { store.isPart }

    /// A change of the number of items as accounts count it: a service's record is none.
    func countedItems(_ change: Int8, _ key: Bytes) -> Int {
        store == .secrets && key.equals(SecretRecords.key) ? 0 : Int(change)
    }

    /// The scope has come into the table or left it.
    func noteInAccounts(scopes: Int) {
        for account in accounts where !hasOnlyBytes { account.scopes += scopes }
    }

    /// - Throws: `.accountFull` when one of the accounts that bind the writer has no room. Others only count.
    func admit(bytes: Int, items: Int, for binding: [QuotaAccount]) throws(EngineError) {
        for account in accounts where binding.contains(where: { $0 === account }) {
            try account.admit(
                bytes: bytes, items: hasOnlyBytes ? 0 : items, isNewScope: !isInTable && !hasOnlyBytes)
        }
    }
}

extension ScopeTable {
    /// From now on `assign` says which accounts a scope is in. Looks at every scope there is, and at each new one.
    func assignAccounts(_ assign: @escaping (Scope) -> [QuotaAccount]) {
        self.assign = assign
        for scope in all {
            scope.accounts = assign(scope)
            scope.noteInAccounts(bytes: scope.bytes, items: scope.count)
            scope.noteInAccounts(scopes: 1)
        }
    }
}

extension Storage {
    /// From now on `assign` tells, of a scope of a public store by its name, which accounts it is in. The accounts are new: what
    /// the scopes hold is counted into them here.
    /// `models`, `blobs`: the same of namespaces of the caches.
    public func assignAccounts(
        _ assign: @escaping (Store, Bytes) -> [QuotaAccount], models: @escaping (Bytes) -> [QuotaAccount],
        blobs: @escaping (Bytes) -> [QuotaAccount]
    ) {
        self.models.namespaces.assignAccounts(models)
        self.blobs.namespaces.assignAccounts(blobs)
        ledger.scopes.assignAccounts { scope in
            let store = scope.store.owner
            // Services are known by hashes: whoever unlocks them tells their names.
            guard store.has(.named) else { return [] }
            return scope.withName { assign(store, $0) }
        }
        ledger.scopes.assignService = { assign(.secrets, $0) }
        secrets.keeper.assignAccounts()
    }
}
