import KuraBytes
import Sodium

/// What a stored key has sealed for a client, who keeps it: it says by itself which version of the key opens it.
///
///     0  u8   suite (`SecretSealer.suite`): XChaCha20-Poly1305-IETF
///     1  u8   1: what is inside is text; 0: bytes
///     2  u32  number of the key's version, little endian
///     6       nonce (24), ciphertext, tag (16)
///
/// Associated data are these six bytes, the key's service, account and group, and what the client says, each behind its length. The store
/// is not among them: a key that was brought to another host opens there what it has sealed here.
struct SecretCiphertext {
    static let prefixBytes = 6
    /// Bytes that sealing adds.
    static let overhead = prefixBytes + AEAD.overhead

    var isText: Bool
    var version: UInt32

    init(isText: Bool, version: UInt32) {
        self.isText = isText
        self.version = version
    }

    /// What the beginning of a ciphertext says; nil when it is none of ours.
    init?(_ ciphertext: Bytes) {
        guard ciphertext.count >= Self.overhead, ciphertext[0] == SecretSealer.suite, ciphertext[1] <= 1 else {
            return nil
        }
        isText = ciphertext[1] == 1
        version = UInt32(littleEndian: ciphertext.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
    }

    private func appendPrefix(to output: inout ByteBuffer) {
        output.append(SecretSealer.suite)
        output.append(isText ? 1 : 0)
        output.append(littleEndian: version)
    }

    private func appendAssociated(_ name: SecretName, _ associated: Bytes, to output: inout ByteBuffer) {
        output.removeAll()
        output.append("kura.ciphertext")
        appendPrefix(to: &output)
        output.append(prefixed: name.service)
        output.append(prefixed: name.account)
        output.append(prefixed: name.group)
        output.append(prefixed: associated)
    }

    /// Appends `data` sealed to `output`. `scratch` zeroes what leaves it.
    func seal(
        _ data: Bytes, _ name: SecretName, _ associated: Bytes, key: SecretKey, to output: inout ByteBuffer,
        _ scratch: inout ByteBuffer
    ) {
        appendAssociated(name, associated, to: &scratch)
        appendPrefix(to: &output)
        AEAD.seal(data, to: &output, key: key, associated: scratch.bytes)
        scratch.removeAll()
    }

    /// Opens the ciphertext that this is the beginning of.
    /// - Throws: `.forged`; then nothing is in `output` but what was there.
    func open(
        _ ciphertext: Bytes, _ name: SecretName, _ associated: Bytes, key: SecretKey, into output: inout SecretBuffer,
        _ scratch: inout ByteBuffer
    ) throws(SecretsError) {
        appendAssociated(name, associated, to: &scratch)
        defer { scratch.removeAll() }
        do throws(SodiumError) {
            try AEAD.open(
                ciphertext.extracting(Self.prefixBytes..<ciphertext.count), into: &output, key: key,
                associated: scratch.bytes)
        } catch { throw .forged }
    }
}
