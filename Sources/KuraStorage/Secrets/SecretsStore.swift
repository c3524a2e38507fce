import KuraBytes
import Sodium

/// Secrets: values that nobody reads without the key, by service and account.
///
/// Two stores of the log: heads (`Store.secrets`), in memory like settings, and values (`Store.secretVersions`), read like documents. What
/// names, attributes and times an item has is in its head, sealed; rows are called by keyed hashes. A value is sealed with a key of its
/// own, which lies in the head, sealed with the service's, which lies in the service's record, sealed with one that follows from the
/// root key.
///
/// A change writes the head, the service's record with the sum of its heads, and the store's record with the sum of the services' and
/// the chain, in one transaction. What was altered, removed or set back on the disk so shows when it is read first after unlocking.
///
/// Nothing here outlives the call in clear but in buffers that are zeroed. Belongs to the loop.
public final class SecretsStore {
    let ledger: Ledger
    let rows: SecretRows
    public let ring: KeyRing
    let keeper: VaultKeeper
    let scrubNote: ScrubNote
    var vault: Vault? { keeper.vault }
    /// Takes lines for the operator.
    let report: (String) -> Void

    /// Used by one call at a time.
    let memory = SecretsMemory()
    var head: SecretHead { memory.head }
    var record: ServiceRecord { memory.record }
    /// What the turn has removed because it had expired.
    var swept: [ExpiryQueue.Entry] = []
    public let audit: Audit
    /// A service is being repaired: a row may say that it is of a revision which there has not been.
    var isRepairing = false
    /// When the operator was told of a token that was presented again, nanoseconds.
    var spentTokensToldAt: UInt64 = 0

    /// Bytes of a value.
    public static let valueLimit = 1 << 20
    /// Bytes of all heads and their keys: they are in memory.
    public static let headsLimit = 256 << 20
    /// Nanoseconds that a request spends on checking before others have their turn.
    static let slice: UInt64 = 500_000

    init(
        ledger: Ledger, ring: KeyRing, look: @escaping (UInt32, Bytes) throws(EngineError) -> ItemRef?,
        lookBehind: @escaping (UInt32, Bytes) throws(EngineError) -> [UInt8]? = { (_, _) throws(EngineError) in nil },
        report: @escaping (String) -> Void
    ) {
        self.ledger = ledger
        rows = SecretRows(ledger, look: look, lookBehind: lookBehind)
        keeper = VaultKeeper(ledger, ring, rows, memory, report: report)
        audit = Audit(ledger, keeper, rows, memory)
        scrubNote = ScrubNote(ledger)
        self.ring = ring
        self.report = report
    }

    /// What of an item expires next; nil when nothing is known to.
    var nextExpiry: ExpiryQueue.Entry? { vault?.expiries.first }

    // MARK: Opening

    public var isStoreUnfit: Bool { keeper.isUnfit }

    /// A service, and where its heads are. The scope is not in the table when it has none.
    struct Place {
        var vault: Vault
        var service: OpenService
        var scope: Scope
    }

    /// - Throws: what `open` throws; `.preparing` while its heads are checked, `.integrity` when they are not what they were.
    func find(service name: Bytes) throws(SecretsError) -> Place? {
        let vault = try keeper.open()
        return try find(memory.hash(service: name, vault), vault)
    }

    func find(_ hash: NameHash, _ vault: Vault) throws(SecretsError) -> Place? {
        guard let scope = rows.scope(hash), scope.isInTable else { return nil }
        guard rows.liveRecord(scope) != nil else {
            // Heads without the record that they belong to. What the scope counts may have been altered as well.
            guard rows.hasHeads(scope) else { return nil }
            let broken = OpenService(hash)
            (broken.isChecked, broken.isDamaged) = (true, true)
            vault.services[hash] = broken
            throw .integrity
        }
        let service: OpenService
        if let known = vault.services[hash] {
            service = known
        } else {
            service = OpenService(hash)
            vault.services[hash] = service
        }
        if !service.isChecked {
            check(service, scope, vault, until: ledger.clock.deadline(after: Self.slice))
            guard service.isChecked else { throw .preparing }
        }
        guard !service.isDamaged else { throw .integrity }
        let place = Place(vault: vault, service: service, scope: scope)
        if service.auditsEachRead == nil, let item = rows.liveRecord(scope) {
            try open(record: item, place)
            service.auditsEachRead = record.auditsEachRead
            record.close()
        }
        audit.auditsEachRead = service.auditsEachRead ?? false
        return place
    }

    /// The same; a service that is not there is made when something is staged in it.
    func findOrPrepare(service name: Bytes) throws(SecretsError) -> Place {
        if let place = try find(service: name) { return place }
        let vault = try keeper.open()
        let hash = memory.hash(service: name, vault)
        // One that was there and has been taken back with its turn had other keys.
        let service = OpenService(hash)
        service.isChecked = true
        vault.services[hash] = service
        let scope = rows.findOrPrepareScope(hash)
        keeper.assignAccounts(scope, named: name)
        return Place(vault: vault, service: service, scope: scope)
    }

    /// One of the service's keys. The record is opened when it was not at hand.
    func key(_ number: UInt32, _ place: Place) throws(SecretsError) -> SecretKey {
        if let key = place.service.keys[number] { return key }
        guard let item = rows.liveRecord(place.scope) else { throw .integrity }
        defer { record.close() }
        try place.scope.withName { (name) throws(SecretsError) in
            try record.open(item.value, scope: name, place.vault.sealer)
        }
        guard let found = record.keys.first(where: { $0.number == number }) else { throw .integrity }
        let key = try place.vault.sealer.open(serviceKey: found.sealed, number: number, of: record.name)
        place.service.keys[number] = key
        return key
    }

    // MARK: Rows

    /// Opens an item's head, and leaves it in `head`.
    /// - Throws: `.integrity` when it is another's.
    func open(_ item: ItemRef, _ place: Place) throws(SecretsError) {
        try place.scope.withName { (scope) throws(SecretsError) in
            try head.open(item.value, scope: scope, key: item.key, place.vault.sealer)
        }
    }
}
