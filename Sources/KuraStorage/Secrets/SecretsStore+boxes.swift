public import KuraBytes
import Sodium

/// Secrets on their way: sealed to whoever asked, or to this daemon. And new ones, made here.
extension SecretsStore {
    /// Appends `plaintext` sealed to a public key (X25519, `crypto_box_seal`).
    /// - Throws: `.unusableKey`.
    public func seal(_ plaintext: Bytes, for recipient: Bytes, to output: inout ByteBuffer) throws(SecretsError) {
        do throws(SodiumError) {
            try SealedBox.seal(plaintext, for: recipient, to: &output)
        } catch { throw .unusableKey }
    }

    /// Appends what was sealed to this daemon's public key, of whichever epoch.
    /// `output` zeroes what leaves it.
    /// - Throws: `.sealed`; `.unusableKey` when it was not sealed to it, or has changed.
    public func open(sealed: Bytes, into output: inout ByteBuffer) throws(SecretsError) {
        guard ring.isUnlocked else { throw .sealed }
        var opened = SecretBuffer()
        for epoch in ring.epochs.reversed() {
            guard let pair = try? ring.boxKeyPair(epoch: epoch) else { continue }
            guard (try? SealedBox.open(sealed, into: &opened, with: pair)) != nil else { continue }
            output.append(opened.bytes)
            return
        }
        throw .unusableKey
    }

    /// Appends `count` characters of an alphabet, each as likely as the others.
    public static func generate(password count: Int, from alphabet: Bytes, into output: inout ByteBuffer) {
        output.reserve(count)
        for _ in 0..<count { output.append(alphabet[Randomness.number(below: alphabet.count)]) }
    }

    /// Appends random bytes.
    public static func generate(key count: Int, into output: inout ByteBuffer) {
        output.reserve(count)
        Randomness.append(count, to: &output)
    }

    /// Appends a random UUID (RFC 9562, version 4), 36 characters.
    public static func generateUUID(into output: inout ByteBuffer) {
        var random = SecretBuffer()
        Randomness.append(16, to: &random)
        output.reserve(36)
        let digits = Bytes("0123456789abcdef")
        for position in 0..<16 {
            if position == 4 || position == 6 || position == 8 || position == 10 { output.append(UInt8(ascii: "-")) }
            var byte = random.bytes[position]
            if position == 6 { byte = byte & 0x0F | 0x40 }
            if position == 8 { byte = byte & 0x3F | 0x80 }
            output.append(digits[Int(byte >> 4)])
            output.append(digits[Int(byte & 15)])
        }
    }
}
