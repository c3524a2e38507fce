import KuraBytes
import Sodium

/// The store's record as it lies there, by which slots are seen to be the store's: for the thread of the keys, and for starts.
///
/// Nothing in keys/slots.json tells that it is the newest one, nor that it is of the secrets it lies beside. The record tells half of that: the
/// epoch of its root key stands in it in clear, and only keys of this store open it.
struct StoreSeal: Sendable {
    private let row: [UInt8]
    /// Of the root key that it is sealed with, as it says in clear; 0 when there is none.
    let epoch: UInt32

    /// There is no record: nothing was ever sealed.
    init() { (row, epoch) = ([], 0) }

    init(row: [UInt8]) {
        self.row = row
        epoch = row.withBytes { SecretSealer.epoch(in: $0, .store) } ?? 0
    }

    init(_ ledger: Ledger) {
        guard let scope = ledger.scopes.find(.secrets, Bytes(SecretRecords.storeScope)),
            let item = ledger.find(scope, Bytes(SecretRecords.key)), !item.isTombstone
        else {
            self.init()
            return
        }
        self.init(row: Array(item.value))
    }

    static let older: KeysFault.StaticText =
        "it is older than the secrets, which are sealed with a later root key: bring back the slots.json and the root.key of after the rotation"
    static let newer: KeysFault.StaticText =
        "it is newer than the secrets, which are sealed with a root key that it has let go: bring back the slots.json and the root.key of their time, or the newer data"

    /// Why slots cannot be those that the record was sealed with; nil when they can. With such slots nothing is read, and what is written with them
    /// fits nothing. Beyond what rotations there can have been the epoch is damage, which is found elsewhere.
    func misfit(_ slots: KeySlots) -> KeysFault.StaticText? {
        guard epoch > 0, epoch != slots.epoch else { return nil }
        if epoch > slots.epoch { return epoch - slots.epoch <= KeySlots.mostRecent ? Self.older : nil }
        guard slots.epoch - epoch <= KeySlots.mostRecent else { return nil }
        return slots.retired.contains { $0.epoch == epoch } ? nil : Self.newer
    }

    /// Whether the record was sealed with these keys: the slots that led to them are this store's, neither older than what is sealed nor newer. Without a
    /// record nothing shows that.
    func opens(with keys: OpenedKeys) -> Bool {
        guard !row.isEmpty, misfit(keys.slots) == nil,
            let sealer = try? SecretSealer(KeyRing(hostKey: nil, .success(keys), slots: keys.slots))
        else { return false }
        return row.withBytes { row in
            var plaintext = SecretBuffer()
            let opened: Void? = try? sealer.open(
                row: row, .store, scope: Bytes(SecretRecords.storeScope), key: Bytes(SecretRecords.key),
                into: &plaintext)
            return opened != nil
        }
    }
}
