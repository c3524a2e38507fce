import KuraBytes
import Sodium

/// What has been opened with the keys at hand, and goes with them: the vault, with all records checked, and the audit's sealer. It alone reads and
/// stages the store's record.
final class VaultKeeper {
    let ledger: Ledger
    let ring: KeyRing
    let rows: SecretRows
    let memory: SecretsMemory
    /// Takes lines for the operator.
    let report: (String) -> Void
    /// nil while it is sealed, and until somebody asks.
    private(set) var vault: Vault?
    /// While it is locked: what can be read all the same.
    var survivors: SecretsSurvivors?
    /// Seals the audit; nil while it is sealed, and until something is.
    private var auditing: (generation: UInt64, sealer: AuditSealer)?
    let met = MetDamage()
    /// The store's record has been staged since a mark was made.
    var isMarkDue = false
    /// What is being changed nobody has asked for: it leaves no record in the audit.
    var isChangingUnasked = false

    init(
        _ ledger: Ledger, _ ring: KeyRing, _ rows: SecretRows, _ memory: SecretsMemory,
        report: @escaping (String) -> Void
    ) {
        (self.ledger, self.ring, self.rows, self.memory, self.report) = (ledger, ring, rows, memory, report)
    }

    /// Something follows from the keys, or from their absence.
    var hasOpened: Bool { vault != nil || auditing != nil || survivors != nil }

    /// Lets go of everything that followed from keys which are not at hand any more.
    func follow() {
        if survivors != nil, ring.isUnlocked { survivors = nil }
        if let auditing, auditing.generation != ring.generation { self.auditing = nil }
        guard let vault, vault.generation != ring.generation else { return }
        self.vault = nil
        met.forget()
        memory.close()
    }

    /// Has everything looked at again.
    func forgetVault() {
        vault = nil
        memory.close()
    }

    /// - Throws: `.sealed`, `.preparing` while records are checked, `.integrity`.
    func open() throws(StoreError) -> Vault {
        follow()
        guard ring.isUnlocked else { throw .sealed }
        let vault: Vault
        if let known = self.vault {
            vault = known
        } else {
            vault = try Vault(ring, ledger)
            self.vault = vault
        }
        if !vault.hasReadRecords {
            checkRecords(vault, until: ledger.clock.deadline(after: SecretsStore.slice))
            guard vault.hasReadRecords else { throw .preparing }
        }
        guard !vault.isDamaged else { throw .integrity }
        return vault
    }

    /// The vault, whatever is wrong with it.
    func openDamaged() throws(StoreError) -> Vault {
        do throws(StoreError) { return try open() } catch {
            guard error == .integrity, let vault else { throw error }
            return vault
        }
    }

    /// What opens rows, whether what is there has been checked or not.
    func sealer() throws(StoreError) -> SecretSealer {
        if let vault { return vault.sealer }
        let opened = try Vault(ring, ledger)
        vault = opened
        return opened.sealer
    }

    func auditSealer() throws(StoreError) -> AuditSealer {
        follow()
        if let auditing { return auditing.sealer }
        let made = try AuditSealer(ring)
        auditing = (ring.generation, made)
        return made
    }

    // MARK: Records

    /// The store's record is missing, does not open, or does not fit the services': nothing here can be relied on, and it vouches for nothing.
    var isUnfit: Bool {
        guard let vault else { return false }
        return vault.generation == ring.generation && vault.isDamaged
    }

    /// Looks at some services' records, and at the end compares their sum with the store's.
    private func checkRecords(_ vault: Vault, until deadline: Deadline) {
        while vault.position < vault.unread.count {
            if vault.position % 16 == 15, deadline.isOver { return }
            let hash = vault.unread[vault.position]
            vault.position += 1
            guard let scope = rows.scope(hash) else { continue }
            // One that does not open, or is missing, shows in the sum; if that fits all the same, it is its service's own matter.
            guard let item = rows.liveRecord(scope) else { continue }
            vault.checkedCount += 1
            vault.checkedSum += vault.sealer.element(scope, item)
            assignAccounts(scope, item, vault.sealer)
        }
        vault.hasReadRecords = true
        vault.position = 0
        if !agrees(vault, vault.checkedSum, vault.checkedCount) { vault.isDamaged = true }
        if vault.isDamaged { report("secrets: records have been altered, removed or set back on the disk") }
    }

    /// Whether the store's record agrees with what the services' come to.
    func agrees(_ vault: Vault, _ sum: SetSum, _ count: UInt64) -> Bool {
        guard let known = try? storeRecord(vault.sealer) ?? VaultRecord() else { return false }
        return known.services == count && known.sum == sum
    }

    func sumOfRecords(_ vault: Vault) -> (SetSum, UInt64) {
        var sum = SetSum()
        var count: UInt64 = 0
        for scope in ledger.scopes.list(.secrets) {
            guard scope.withName({ NameHash(text: $0) }) != nil, let item = rows.liveRecord(scope) else { continue }
            count += 1
            sum += vault.sealer.element(scope, item)
        }
        return (sum, count)
    }

    // MARK: The store's record

    /// The store's record; nil when nothing was ever put.
    func storeRecord(_ sealer: SecretSealer) throws(StoreError) -> VaultRecord? {
        guard let item = rows.beside(SecretRecords.key) else { return nil }
        defer { memory.plaintext.removeAll() }
        try sealer.open(
            row: item.value, .store, scope: Bytes(SecretRecords.storeScope), key: Bytes(SecretRecords.key),
            into: &memory.plaintext)
        guard let record = VaultRecord(memory.plaintext.bytes) else { throw .integrity }
        return record
    }

    /// The store's record before its first change. Where the audit has begun already, with refusals, it is bound with its next block.
    var firstStoreRecord: VaultRecord {
        var record = VaultRecord()
        record.knowsAudit = rows.beside(SecretRecords.auditKey) == nil
        return record
    }

    /// Stages the store's record, a link of the chain further. `element`: what the change has made of its service's record.
    func stage(_ known: VaultRecord, _ element: SetSum, _ sealer: SecretSealer) throws(StoreError) {
        var store = known
        store.changes += 1
        store.chain = sealer.link(store.chain, store.changes, element)
        // The change's record is to follow. Sweeping and sealing anew leave none.
        if store.knowsAudit, !isChangingUnasked { store.owesAudit = true }
        try stage(store: store)
    }

    func stage(store: VaultRecord) throws(StoreError) {
        isMarkDue = true
        let name = Bytes(SecretRecords.storeScope)
        memory.plaintext.removeAll()
        store.encode(to: &memory.plaintext)
        memory.row.removeAll()
        try sealer().seal(
            row: memory.plaintext.bytes, .store, scope: name, key: Bytes(SecretRecords.key), to: &memory.row)
        memory.plaintext.removeAll()
        try rows.stage(record: memory.row.bytes, ledger.scopes.findOrPrepare(.secrets, name))
        memory.row.removeAll()
    }
}

extension SecretSealer {
    /// What the row adds to its set's sum.
    func element(_ scope: Scope, _ item: ItemRef) -> SetSum {
        scope.withName { element(scope: $0, key: item.key, rev: item.pointee.rev, row: item.value) }
    }
}
