import KuraBytes
import Sodium

/// Checking what is on the disk against its sums: records when the store is unlocked, a service's heads before somebody uses them, all of
/// them by and by. In pieces, since there may be many.
extension SecretsStore {
    private static let storeScope: StaticString = SecretRecords.storeScope

    /// The store's record; nil when nothing was ever put.
    func storeRecord(_ sealer: SecretSealer) throws(StoreError) -> (record: VaultRecord, item: ItemRef, scope: Scope)? {
        guard let scope = ledger.scopes.find(.secrets, Bytes(Self.storeScope)), let item = rows.liveRecord(scope) else {
            return nil
        }
        defer { memory.plaintext.removeAll() }
        try sealer.open(
            row: item.value, .store, scope: Bytes(Self.storeScope), key: Bytes(SecretRecords.key),
            into: &memory.plaintext)
        guard let record = VaultRecord(memory.plaintext.bytes) else { throw .integrity }
        return (record, item, scope)
    }

    /// Looks at some services' records, and at the end compares their sum with the store's.
    func checkRecords(_ vault: Vault, until deadline: Deadline) {
        while vault.position < vault.unread.count {
            if vault.position % 16 == 15, deadline.isOver { return }
            let hash = vault.unread[vault.position]
            vault.position += 1
            guard let scope = rows.scope(hash) else { continue }
            // One that does not open, or is missing, shows in the sum; if that fits all the same, it is its service's own matter.
            guard let item = rows.liveRecord(scope) else { continue }
            vault.checkedCount += 1
            scope.withName { name in
                vault.checkedSum += vault.sealer.element(
                    scope: name, key: item.key, rev: item.pointee.rev, row: item.value)
            }
            assignAccounts(scope, item, vault.sealer)
        }
        vault.hasReadRecords = true
        vault.position = 0
        do throws(StoreError) {
            let known = try storeRecord(vault.sealer)?.record ?? VaultRecord()
            if known.services != vault.checkedCount || known.sum != vault.checkedSum { vault.isDamaged = true }
        } catch { vault.isDamaged = true }
        if vault.isDamaged { report("secrets: records have been altered, removed or set back on the disk") }
    }

    /// Opens some of the service's heads, and at the end compares their sum with its record's.
    func check(_ service: OpenService, _ scope: Scope, _ vault: Vault, until deadline: Deadline) {
        if !service.isBegun {
            service.isBegun = true
            service.next = scope.members.oldest
        }
        var looked = 0
        while let item = service.next {
            if item.isTombstone || item.key.equals(SecretRecords.key) {
                service.next = item.pointee.newer
                continue
            }
            looked += 1
            // Where it stands is a head that is there: tombstones leave the list when they are folded.
            if looked % 16 == 0, deadline.isOver { return }
            take(item, service, scope, vault)
            service.next = item.pointee.newer
        }
        head.close()
        service.isChecked = true
        if scope.sorted == nil {
            if let record = rows.liveRecord(scope) { service.sorted.insert(record) }
            scope.sorted = service.sorted
        }
        service.sorted = SortedItems([])
        defer { record.close() }
        do throws(StoreError) {
            guard let item = rows.liveRecord(scope) else { throw .integrity }
            try scope.withName { (name) throws(StoreError) in try record.open(item.value, scope: name, vault.sealer) }
            guard record.count == service.count, record.sum == service.sum else { throw .integrity }
        } catch { service.isDamaged = true }
        if service.isDamaged {
            report("secrets: items of a service have been altered, removed or set back on the disk")
        }
    }

    private func take(_ item: ItemRef, _ service: OpenService, _ scope: Scope, _ vault: Vault) {
        scope.withName { name in
            service.sum += vault.sealer.element(scope: name, key: item.key, rev: item.pointee.rev, row: item.value)
            service.count += 1
            service.sorted.insert(item)
            do throws(StoreError) {
                try head.open(item.value, scope: name, key: item.key, vault.sealer)
                noteExpiry(of: item.key, item.pointee.rev, service, vault)
                noteAccessibility(of: item.key, service, vault)
            } catch { service.isDamaged = true }
        }
    }

    /// `head` is that of the item.
    func noteExpiry(of key: Bytes, _ rev: UInt64, _ service: OpenService, _ vault: Vault) {
        let at = head.nextExpiry
        guard at > 0, let item = NameHash(text: key) else { return }
        vault.expiries.insert(ExpiryQueue.Entry(at: at, service: service.hash, item: item, rev: rev))
    }

    /// Goes on with what nobody has asked for yet. Called between turns.
    /// - Returns: whether there is more.
    func checkSome() -> Bool {
        follow()
        guard ring.isUnlocked else { return false }
        if let vault, vault.hasReadRecords, vault.position == vault.unread.count { return false }
        let deadline = ledger.clock.deadline(after: Self.slice)
        do throws(StoreError) {
            let vault = try open()
            while vault.position < vault.unread.count {
                guard !deadline.isOver else { return true }
                do throws(StoreError) {
                    _ = try find(vault.unread[vault.position], vault)
                } catch {
                    if error == .preparing { return true }
                }
                vault.position += 1
            }
            return false
        } catch { return error == .preparing }
    }
}
