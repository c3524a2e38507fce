import KuraBytes
import Sodium

/// Seals and opens what the audit keeps, and links its blocks.
///
/// What is sealed is `suite (1) ‖ kind (1) ‖ AEAD`; associated data name these, the store, and the row's key. The key is a lasting one, so
/// that records of before a rotation stay readable without being sealed anew.
final class AuditSealer {
    enum Kind: UInt8 {
        case block = 8
        case head = 9
    }
    private static let prefixBytes = 2

    private let storeID: [UInt8]
    private let key: SecretKey
    private let chain: SecretKey
    private var scratch = ByteBuffer()

    /// Good as long as `ring` is of the same generation.
    /// - Throws: `.sealed` when it is.
    init(_ ring: KeyRing) throws(StoreError) {
        storeID = ring.storeID
        do throws(KeysFault) { (key, chain) = (try ring.key(.audit), try ring.key(.chain)) } catch { throw .sealed }
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
        AEAD.seal(plaintext, to: &output, key: key, associated: scratch.bytes)
    }

    /// Opens a row into `output`, which is emptied first.
    /// - Throws: `.integrity` when it is not what was sealed there.
    func open(_ sealed: Bytes, _ kind: Kind, row: Bytes, into output: inout SecretBuffer) throws(StoreError) {
        output.removeAll()
        guard sealed.count >= Self.prefixBytes + AEAD.overhead, sealed[0] == SecretSealer.suite,
            sealed[1] == kind.rawValue
        else { throw .integrity }
        begin(kind, row)
        do throws(SodiumError) {
            try AEAD.open(
                sealed.extracting(Self.prefixBytes..<sealed.count), into: &output, key: key, associated: scratch.bytes)
        } catch { throw .integrity }
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
}
