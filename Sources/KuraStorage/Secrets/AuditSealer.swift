import KuraBytes
import Sodium

/// Seals and opens what the audit keeps, and links its blocks.
///
/// What is sealed is `suite (1) ‖ kind (1) ‖ AEAD`; associated data name these, the store, and the row's key. A rotation renews the key for what is
/// new; what is there stays as it is, and opens with the one of its time. Nobody can put something of an earlier key in its place: the head, in the
/// store's record, is that of all links.
final class AuditSealer {
    enum Kind: UInt8 {
        case block = 8
        case head = 9
        /// How far the secrets have come, outside of their rows.
        case mark = 10
    }
    private static let prefixBytes = 2

    private let storeID: [UInt8]
    /// The newest first.
    private let keys: [SecretKey]
    private let chain: SecretKey
    private var scratch = ByteBuffer()

    /// Good as long as `ring` is of the same generation.
    /// - Throws: `.sealed` when it is.
    init(_ ring: KeyRing) throws(SecretsError) {
        storeID = ring.storeID
        do throws(KeysFault) { (keys, chain) = (try ring.keys(.audit), try ring.key(.chain)) } catch { throw .sealed }
        scratch.wipes = true
    }

    private func begin(_ kind: Kind, _ row: Bytes) {
        scratch.removeAll()
        scratch.append("kura.audit")
        scratch.append(SecretSealer.suite)
        scratch.append(kind.rawValue)
        storeID.withBytes { scratch.append(prefixed: $0) }
        scratch.append(prefixed: row)
    }

    func seal(_ plaintext: Bytes, _ kind: Kind, row: Bytes, to output: inout ByteBuffer) {
        begin(kind, row)
        output.append(SecretSealer.suite)
        output.append(kind.rawValue)
        AEAD.seal(plaintext, to: &output, key: keys[0], associated: scratch.bytes)
    }

    /// Opens a row into `output`, which is emptied first.
    /// - Throws: `.integrity` when it is not what was sealed there.
    func open(_ sealed: Bytes, _ kind: Kind, row: Bytes, into output: inout SecretBuffer) throws(SecretsError) {
        output.removeAll()
        guard sealed.count >= Self.prefixBytes + AEAD.overhead, sealed[0] == SecretSealer.suite,
            sealed[1] == kind.rawValue
        else { throw .integrity }
        begin(kind, row)
        for key in keys {
            do throws(SodiumError) {
                return try AEAD.open(
                    sealed.extracting(Self.prefixBytes..<sealed.count), into: &output, key: key,
                    associated: scratch.bytes)
            } catch { output.removeAll() }
        }
        throw .integrity
    }

    /// The link of a block: the keyed hash of the link before it, its number, and its sealed row.
    func link(_ previous: SetSum, _ number: UInt64, _ row: Bytes) -> SetSum {
        scratch.removeAll()
        scratch.append("audit")
        previous.append(to: &scratch)
        scratch.append(littleEndian: number)
        scratch.append(row)
        var digest = ByteBuffer(capacity: KeyedHash.digestBytes)
        KeyedHash.append(scratch.bytes, key: chain, to: &digest)
        return SetSum(digest.bytes)
    }

    private static let lockContext = KeyContext("auditlck")

    /// What seals the audit of a lock that finds this end of the audit; then what sealed it in locks that were before a rotation.
    func locks(at head: AuditHead) throws(SecretsError) -> [AuditLock] {
        do throws(SodiumError) {
            return try keys.map { (key) throws(SodiumError) in
                AuditLock(key: try key.derive(Self.lockContext, id: head.newest), storeID: storeID, link: head.link)
            }
        } catch { throw .engine(.overloaded) }
    }
}

/// Seals what is done while the secrets are locked, with a key that the lock leaves in memory: it opens nothing else. Nobody without keys can make it, and
/// after the lock it is never made again, since the audit has gone on.
///
/// `suite (1) ‖ AEAD`; associated data name it, the store, the link of the audit's newest block at the lock, and the row's key.
struct AuditLock {
    fileprivate let key: SecretKey
    fileprivate let storeID: [UInt8]
    fileprivate let link: SetSum

    private func associated(_ row: Bytes) -> [UInt8] {
        var data = ByteBuffer()
        data.append("kura.audit.lock")
        data.append(SecretSealer.suite)
        storeID.withBytes { data.append(prefixed: $0) }
        link.append(to: &data)
        data.append(prefixed: row)
        return [UInt8](data.bytes)
    }

    func seal(_ plaintext: Bytes, row: Bytes, to output: inout ByteBuffer) {
        output.append(SecretSealer.suite)
        associated(row).withBytes { AEAD.seal(plaintext, to: &output, key: key, associated: $0) }
    }

    /// Opens a row into `output`, which is emptied first.
    /// - Returns: false when it is not what was sealed there in that lock.
    func open(_ sealed: Bytes, row: Bytes, into output: inout SecretBuffer) -> Bool {
        output.removeAll()
        guard sealed.count > 1 + AEAD.overhead, sealed[0] == SecretSealer.suite else { return false }
        do throws(SodiumError) {
            try associated(row).withBytes { (associated) throws(SodiumError) in
                try AEAD.open(sealed.extracting(1..<sealed.count), into: &output, key: key, associated: associated)
            }
            return true
        } catch { return false }
    }
}
