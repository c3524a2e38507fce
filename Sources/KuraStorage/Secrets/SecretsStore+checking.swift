import KuraBytes
import Sodium

/// Checking what is on the disk against its sums: a service's heads before somebody uses them, all of them by and by. In pieces, since there
/// may be many.
extension SecretsStore {
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
        if let record = rows.liveRecord(scope) { service.sorted.insert(record) }
        scope.members.keep(order: service.sorted)
        service.sorted = SortedItems([])
        defer { record.close() }
        do throws(SecretsError) {
            guard let item = rows.liveRecord(scope) else { throw .integrity }
            try scope.withName { (name) throws(SecretsError) in try record.open(item.value, scope: name, vault.sealer) }
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
            do throws(SecretsError) {
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
        keeper.follow()
        guard ring.isUnlocked else { return false }
        if let vault, vault.hasReadRecords, vault.position == vault.unread.count { return false }
        let deadline = ledger.clock.deadline(after: Self.slice)
        do throws(SecretsError) {
            let vault = try keeper.open()
            while vault.position < vault.unread.count {
                guard !deadline.isOver else { return true }
                do throws(SecretsError) {
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
