import KuraBytes
import Sodium

/// What stays readable when the secrets are locked: the newest versions of secrets that are `afterFirstUnlock` or `always`.
///
/// `lock` keeps their data keys and nothing else: no key that leads to others, and no name. Who asks is found by a hash of the name under a key that is
/// made for this lock and goes with it. Before the first unlocking after a start there is none: nothing on the disk opens without a slot's key, so
/// `always` means no more than `afterFirstUnlock`. While it is sealed nothing changes, so it holds until somebody unlocks.
final class SecretsSurvivors {
    struct Entry {
        var scope: [UInt8]
        var row: [UInt8]
        var found: FoundSecret
        var size: Int
        var isDeviceOnly: Bool
        /// Reads of it wait until they are in the audit: its service's record is sealed until somebody unlocks.
        var auditsEachRead: Bool
        var dataKey: SecretKey
    }
    private let key: SecretKey
    private var entries: [NameHash: Entry] = [:]

    init() throws(SodiumError) { key = try SecretKey() }

    var isEmpty: Bool { entries.isEmpty }

    func insert(_ entry: Entry, _ name: SecretName, _ scratch: inout ByteBuffer) {
        entries[NameHash(name, key: key, &scratch)] = entry
    }

    func find(_ name: SecretName, _ scratch: inout ByteBuffer) -> Entry? {
        entries[NameHash(name, key: key, &scratch)]
    }
}

/// An item, by the hashes of its service and itself.
struct ItemHash: Hashable {
    var service: NameHash
    var item: NameHash
}

extension SecretsStore {
    /// Notes whether the item survives a lock. `head` is its.
    func noteAccessibility(of key: Bytes, _ service: OpenService, _ vault: Vault) {
        guard let item = NameHash(text: key) else { return }
        let hash = ItemHash(service: service.hash, item: item)
        if head.accessibility == .whenUnlocked {
            if !vault.lasting.isEmpty { vault.lasting.remove(hash) }
        } else {
            vault.lasting.insert(hash)
        }
    }

    /// The secrets are about to be locked: what is to stay readable keeps its keys.
    func keepSurvivors() {
        guard ring.isUnlocked else { return }
        keeper.survivors = nil
        var opened: Vault?
        while opened == nil {
            do throws(SecretsError) { opened = try keeper.open() } catch {
                guard error == .preparing else { return }
            }
        }
        guard let vault = opened else { return }
        // What nobody has looked at yet may have such.
        while vault.position < vault.unread.count {
            do throws(SecretsError) {
                _ = try find(vault.unread[vault.position], vault)
            } catch {
                if error == .preparing { continue }
            }
            vault.position += 1
        }
        guard !vault.lasting.isEmpty, let kept = try? SecretsSurvivors() else { return }
        for hash in vault.lasting { try? keep(hash, vault, kept) }
        memory.close()
        if !kept.isEmpty { keeper.survivors = kept }
    }

    private func keep(_ hash: ItemHash, _ vault: Vault, _ kept: SecretsSurvivors) throws(SecretsError) {
        guard let place = try find(hash.service, vault) else { return }
        memory.rowKey.removeAll()
        hash.item.append(to: &memory.rowKey)
        guard let item = ledger.find(place.scope, memory.rowKey.bytes), !item.isTombstone else { return }
        try open(item, place)
        guard head.accessibility != .whenUnlocked, let version = head.current(at: ledger.steadyNow),
            !version.isDestroyed
        else { return }
        let dataKey = try vault.sealer.open(dataKey: version.sealedKey, try sealing(version, place))
        kept.insert(
            SecretsSurvivors.Entry(
                scope: place.scope.name, row: Array(item.key),
                found: FoundSecret(
                    rev: item.pointee.rev, version: version.number, kind: version.kind, createdAt: version.createdAt,
                    expiresAt: version.expiresAt),
                size: Int(version.size), isDeviceOnly: version.isDeviceOnly,
                auditsEachRead: place.service.auditsEachRead ?? false, dataKey: dataKey), head.name, &memory.names)
    }

    /// Lends a secret that has survived the lock to `body`.
    /// - Throws: `.sealed` for all others, whether they are there or not.
    func getSurvivor(_ name: SecretName, version: UInt32?, _ body: (FoundSecret, Bytes) -> Void) throws(SecretsError)
        -> UInt64
    {
        guard let entry = keeper.survivors?.find(name, &memory.names), version == nil || version == entry.found.version,
            entry.found.expiresAt == 0 || entry.found.expiresAt > ledger.steadyNow,
            let scope = entry.scope.withBytes({ ledger.scopes.find(.secretVersions, $0) })
        else { throw .sealed }
        audit.auditsEachRead = entry.auditsEachRead
        entry.row.withBytes { rows.makeKey(of: $0, version: entry.found.version) }
        guard let row = try rows.find(scope), !row.isTombstone else { throw .integrity }
        ledger.markRead(row)
        defer { memory.plaintext.removeAll() }
        try SecretSealer.open(
            value: row.value, name, version: entry.found.version, kind: entry.found.kind.rawValue,
            isDeviceOnly: entry.isDeviceOnly, storeID: ring.storeID, dataKey: entry.dataKey, into: &memory.plaintext)
        guard memory.plaintext.count == entry.size else { throw .integrity }
        body(entry.found, memory.plaintext.bytes)
        return entry.found.rev
    }
}
