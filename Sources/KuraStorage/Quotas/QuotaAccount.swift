public import KuraBytes

/// What a group of scopes holds together, and how much it may.
///
/// A scope that is in an account has its items and bytes counted there as they change, whoever changes them, so that a look at
/// an account costs no sum. Scopes' own numbers are in the tables and are taken anew from there at each start: nothing more
/// has to be kept. Belongs to the loop.
public final class QuotaAccount {
    /// Most bytes, counted as `Scope.bytes`: keys and values of settings, values and attachments of documents; nil: no bound.
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
    fileprivate func admit(bytes more: Int, items: Int, isNewScope: Bool) throws(StoreError) {
        if isNewScope, scopes >= scopesLimit { throw .accountFull(limit: scopesLimit, of: .scopes) }
        if items > 0, let itemsLimit, self.items + items > itemsLimit {
            throw .accountFull(limit: itemsLimit, of: .items)
        }
        if more > 0, let bytesLimit, bytes + more > bytesLimit { throw .accountFull(limit: bytesLimit, of: .bytes) }
    }

    fileprivate func add(bytes: Int, items: Int) {
        self.bytes += bytes
        self.items += items
    }
}

extension Scope {
    /// Takes a change of the scope's numbers over into its accounts.
    func noteInAccounts(bytes: Int, items: Int) {
        for account in accounts { account.add(bytes: bytes, items: isOfAttachments ? 0 : items) }
    }

    /// Lists of attachments count with their contents' bytes, and not as items or scopes of their own.
    private var isOfAttachments: Bool { store == .attachments }

    /// The scope has come into the table or left it.
    func noteInAccounts(scopes: Int) {
        for account in accounts where !isOfAttachments { account.scopes += scopes }
    }

    /// - Throws: `.accountFull` when one of the accounts that bind the writer has no room. Others only count.
    func admit(bytes: Int, items: Int, for binding: [QuotaAccount]) throws(StoreError) {
        for account in accounts where binding.contains(where: { $0 === account }) {
            try account.admit(
                bytes: bytes, items: isOfAttachments ? 0 : items, isNewScope: !isInTable && !isOfAttachments)
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
    /// Says which quotas bind the client whose requests follow.
    public func setWriterAccounts(_ accounts: [QuotaAccount]) {
        if !ledger.writerAccounts.isEmpty || !accounts.isEmpty { ledger.writerAccounts = accounts }
    }

    /// From now on `assign` tells, of a scope of a public store by its name, which accounts it is in. The accounts are new: what
    /// the scopes hold is counted into them here.
    public func assignAccounts(_ assign: @escaping (Store, Bytes) -> [QuotaAccount]) {
        ledger.scopes.assignAccounts { scope in
            let store = scope.store == .attachments ? .documents : scope.store
            // Services are known by hashes: no pattern could be about them.
            guard Store.published.contains(store), store != .secrets else { return [] }
            return scope.withName { assign(store, $0) }
        }
    }
}
