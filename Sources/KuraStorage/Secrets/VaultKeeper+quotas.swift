import KuraBytes

/// Which quotas count a service. Patterns are about its name, which is sealed: so it is in its accounts from when the secrets are unlocked,
/// before anything of them can be changed, and stays there when they are locked.
extension VaultKeeper {
    /// Puts all services into the accounts that they belong to now, when their names can be opened; else that is done at the unlocking.
    func assignAccounts() {
        follow()
        guard ledger.scopes.assignService != nil, ring.isUnlocked, let sealer = try? sealer() else { return }
        for scope in ledger.scopes.all where scope.store == .secrets {
            if let item = rows.liveRecord(scope) { assignAccounts(scope, item, sealer) }
        }
    }

    /// `item`: the service's memory.record.
    func assignAccounts(_ scope: Scope, _ item: ItemRef, _ sealer: SecretSealer) {
        guard ledger.scopes.assignService != nil, scope.accounts.isEmpty else { return }
        defer { memory.record.close() }
        let isOpen: Void? = try? scope.withName { (name) throws(SecretsError) in
            try memory.record.open(item.value, scope: name, sealer)
        }
        // What does not open is damaged, and nobody writes there; the store's own record is none of a service.
        if isOpen != nil { assignAccounts(scope, named: memory.record.name) }
    }

    func assignAccounts(_ scope: Scope, named name: Bytes) {
        guard let assign = ledger.scopes.assignService, scope.accounts.isEmpty else { return }
        scope.accounts = assign(name)
        // What is still to come counts when it does.
        guard scope.isInTable else { return }
        scope.noteInAccounts(bytes: scope.bytes, items: scope.count - (rows.liveRecord(scope) == nil ? 0 : 1))
        scope.noteInAccounts(scopes: 1)
        guard let values = rows.values(of: scope) else { return }
        values.accounts = scope.accounts
        values.noteInAccounts(bytes: values.bytes, items: 0)
    }
}
