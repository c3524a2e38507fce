import KuraBytes
import KuraClient
import Sodium

/// The file of `kura secrets export`: lines, of which the first says what the rest is, and each other one is a secret, sealed.
///
///     {"format":"kura-secrets","version":1,"count":2,"recipient":"…"}
///     base64 of a sealed box of {"item":{…},"secretSealed":"…"}
///
/// `item` is what `secrets.list` tells of the secret, `secretSealed` the daemon's own box (`secrets.get` with `sealTo`): whoever
/// exports never holds a secret in clear. The count tells a file that was cut off.
enum SealedExport {
    static let format = "kura-secrets"

    static func header(count: Int, recipient: String) -> [UInt8] {
        JSONParts.object([
            ("format", JSONParts.string(format)), ("version", Array("1".utf8)), ("count", Array("\(count)".utf8)),
            ("recipient", JSONParts.string(recipient)),
        ])
    }

    static func line(item: [UInt8], sealed: [UInt8], recipient: [UInt8]) throws(Failure) -> [UInt8] {
        let text = JSONParts.object([("item", item), ("secretSealed", sealed)])
        var box = ByteBuffer()
        do throws(SodiumError) {
            try text.withBytes { (text) throws(SodiumError) in
                try recipient.withBytes { (key) throws(SodiumError) in
                    try SealedBox.seal(text, for: key, to: &box)
                }
            }
        } catch {
            throw .usage("the recipient is no X25519 public key")
        }
        var line = ByteBuffer()
        Base64.encode(box.bytes, into: &line)
        return Array(line.bytes)
    }

    /// Whether `text` begins as such a file does.
    static func matches(_ text: [UInt8]) -> Bool {
        JSONObject(text.prefix { $0 != 0x0A })?.string("format") == format
    }

    /// Opens all of it.
    /// - Returns: what is known of each secret, and the object with the secret.
    /// - Throws: when it is of another version, not for this identity, altered, or cut off.
    static func open(
        _ text: [UInt8], with identity: BoxKeyPair
    ) throws(Failure) -> [(item: JSONObject, secret: JSONObject)] {
        let lines = text.split(separator: 0x0A)
        guard let header = lines.first.flatMap({ JSONObject($0) }), header.integer("version") == 1 else {
            throw .usage("the export is of a version that this kura does not know")
        }
        guard header.integer("count") == Int64(lines.count - 1) else {
            throw .usage(
                "the export is not whole: it has \(lines.count - 1) of \(header.integer("count") ?? 0) secrets")
        }
        var secrets: [(item: JSONObject, secret: JSONObject)] = []
        for (index, line) in lines.dropFirst().enumerated() {
            guard let outer = unseal(Array(line), identity), let item = outer.object("item"),
                let sealed = outer.string("secretSealed"), let secret = unseal(Array(sealed.utf8), identity),
                secret.string("account") == item.string("account"),
                secret.string("service") == item.string("service")
            else {
                throw .usage(
                    "line \(index + 2) of the export does not open: it is for another identity, or was altered")
            }
            secrets.append((item, secret))
        }
        return secrets
    }

    private static func unseal(_ text: [UInt8], _ identity: BoxKeyPair) -> JSONObject? {
        var box = ByteBuffer()
        guard text.withBytes({ Base64.decode($0, into: &box) }) else { return nil }
        var opened = SecretBuffer()
        do throws(SodiumError) {
            try SealedBox.open(box.bytes, into: &opened, with: identity)
        } catch {
            return nil
        }
        return JSONObject(Array(opened.bytes))
    }
}
