import KuraBytes
import Sodium

/// What one call on secrets opens and seals, and the one place that zeroes it. It is used again and again; nothing in it outlives its call.
final class SecretsMemory {
    let head = SecretHead()
    let record = ServiceRecord()
    /// What is about to be sealed, or was opened.
    var plaintext = SecretBuffer()
    /// A row as it is sealed.
    var row = ByteBuffer()
    /// Data keys of versions, and a service's key, as they are sealed.
    var sealedKey = ByteBuffer()
    var serviceKey = ByteBuffer()
    /// The text of an item's hash.
    var rowKey = ByteBuffer()
    /// Names, on their way to their hashes.
    var names = ByteBuffer()

    init() { names.wipes = true }

    /// Zeroes what a call has opened.
    func close() {
        head.close()
        record.close()
        plaintext.removeAll()
    }

    /// Leaves the text of the item's hash in `rowKey`.
    func hash(_ name: SecretName, _ vault: Vault) {
        rowKey.removeAll()
        NameHash(name, key: vault.sealer.names, &names).append(to: &rowKey)
    }

    func hash(service: Bytes, _ vault: Vault) -> NameHash {
        NameHash(service: service, key: vault.sealer.names, &names)
    }
}
