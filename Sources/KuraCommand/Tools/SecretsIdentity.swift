import CSyscalls
import Glibc
import KuraBytes
import KuraClient
import Sodium

// Safety: Swift lends paths as C strings for the call.

/// `kura secrets identity`: the key pair of one who receives sealed secrets.
enum SecretsIdentity {
    static let tool = Tool(
        noun: "secrets", word: "identity", arguments: ["FILE"], options: [],
        summary: "Make a key pair to receive sealed secrets with, or show its public key.",
        explanation: [
            "FILE is made (0600) when it is not there, and holds the secret key: whoever has it opens what is sealed to the "
                + "public key, which is printed and may be given to anybody.",
            "The public key is for 'kura secrets export --recipient' and 'kura secrets get --seal-to'.",
        ],
        examples: ["kura secrets identity ~/.config/kura/identity"], takesFile: true)

    private static let mark = "kura-identity-1 "

    static func run(_ arguments: ToolArguments, _ console: Console) throws(Failure) -> ExitCode {
        try arguments.check(least: 1, most: 1)
        _ = csys_set_no_dump()
        let path = arguments.words[0]
        guard path != "-" else {
            throw .usage("a key pair is kept in a file: standard output is for its public key")
        }
        let pair = try unsafe access(path, F_OK) == 0 ? read(path) : make(path)
        var text = ByteBuffer()
        pair.publicKey.withBytes { Base64.encode($0, into: &text) }
        if !console.isQuiet { console.print(line: Array(text.bytes)) }
        return .done
    }

    /// Bytes of such a file, and of whatever is taken for one.
    private static let mostBytes = 64 << 10

    /// - Throws: when the file cannot be read, is none of these, or is not one's own alone: whoever could write to it would choose the key.
    static func read(_ path: String) throws(Failure) -> BoxKeyPair {
        let file = try OpenFile(regular: path)
        try file.expectTrust(path)
        guard let descriptor = file.descriptor else { throw .usage("cannot read \(path)") }
        let text: [UInt8]
        do throws(ParameterList.Fault) {
            text = try Input.read(descriptor, path, atMost: mostBytes)
        } catch { throw .usage(error.description) }
        var seed = ByteBuffer(capacity: 64)
        seed.wipes = true
        let encoded = text.drop { $0 != 0x20 }.dropFirst().prefix { $0 != 0x0A }
        guard text.starts(with: mark.utf8), Array(encoded).withBytes({ Base64.decode($0, into: &seed) }),
            seed.count == 32
        else { throw .usage("\(path) is no identity", hint: "'kura secrets identity FILE' makes one") }
        return try pair(seed.bytes)
    }

    private static func make(_ path: String) throws(Failure) -> BoxKeyPair {
        var text = ByteBuffer(capacity: 128)
        text.wipes = true
        let pair: BoxKeyPair
        do throws(SodiumError) {
            let key = try SecretKey()
            pair = try BoxKeyPair(seed: key)
            text.append(text: mark)
            key.withBytes { Base64.encode($0, into: &text) }
            text.append(0x0A)
        } catch {
            throw Failure(status: .refused, message: "cannot make a key: \(error)")
        }
        let file = try DraftFile(path, replaces: nil)
        try file.write(text.bytes)
        try file.finish()
        return pair
    }

    private static func pair(_ seed: Bytes) throws(Failure) -> BoxKeyPair {
        do throws(SodiumError) {
            return try BoxKeyPair(seed: try SecretKey(copying: seed))
        } catch {
            throw Failure(status: .refused, message: "cannot use the key: \(error)")
        }
    }
}
