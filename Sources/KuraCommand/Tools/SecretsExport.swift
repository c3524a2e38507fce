import KuraBytes
import KuraClient
import KuraProtocol

/// `kura secrets export`: a service's secrets, sealed to somebody's public key.
enum SecretsExport {
    static let tool = Tool(
        noun: "secrets", word: "export", arguments: ["SERVICE"],
        options: [
            .init(
                name: "recipient", value: "KEY", summary: "Public key of who may open it, as base64; it must be given."),
            .init(name: "output", value: "FILE", summary: "Where to; standard output when left out, or '-'."),
            .replace("The output's FILE"),
        ],
        summary: "Write a service's secrets into a file that only a recipient's key opens.",
        explanation: [
            "The newest version of each secret, with what is known of it. The daemon seals every value before it leaves it: "
                + "this command never holds one in clear, and there is no export that is not sealed.",
            "FILE is readable by its owner alone, and gets its name when it is whole.",
            "'kura secrets identity' makes a recipient's key pair, 'kura secrets import --identity' reads the file.",
        ],
        examples: [
            "kura secrets export mail --recipient \"$(kura secrets identity key)\" --output mail.sealed"
        ])

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 1, most: 1)
        guard let recipient = arguments.value("recipient") else {
            throw .usage(
                "an export is sealed to somebody: --recipient KEY is missing",
                hint: "'kura secrets identity FILE' makes a key pair and prints its public key")
        }
        var key = ByteBuffer()
        guard Array(recipient.utf8).withBytes({ Base64.decode($0, into: &key) }), key.count == 32 else {
            throw .usage("--recipient takes an X25519 public key: 32 bytes as base64, 44 characters")
        }
        let output = arguments.value("output")
        if arguments.has("replace"), output == nil { throw .usage("--replace is for the FILE of --output") }
        // Before anything is asked: a file that is there is not written.
        let draft = try DraftFile(output ?? "-", replaces: arguments.has("replace"))
        var session = try Session.open(options, console)
        let items = try list(arguments.words[0], &session, console, catalogue)
        let get = try catalogue.method(named: "secrets.get")
        let progress = ProgressLine(console, title: tool.path)
        defer { progress.erase() }
        var text: [UInt8] = []
        var count = 0
        for item in items {
            guard let object = JSONObject(item) else { continue }
            var params = [("sealTo", JSONParts.string(recipient))]
            for name in ["service", "account", "accessGroup"] {
                if let value = object[name] { params.append((name, value)) }
            }
            let result = JSONObject(try session.result(get, JSONParts.object(params), progress: progress))
            progress.update(done: Int64(count), total: Int64(items.count))
            // It was deleted, or has expired, since it was listed.
            guard let sealed = result?["secretSealed"] else { continue }
            text += try SealedExport.line(item: item, sealed: sealed, recipient: Array(key.bytes)) + [0x0A]
            count += 1
        }
        progress.erase()
        let header = SealedExport.header(count: count, recipient: recipient) + [0x0A]
        try console.write(header + text, to: draft)
        console.remark("\(count) secrets of \(arguments.words[0]), sealed")
        return .done
    }

    private static func list(
        _ service: String, _ session: inout Session, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> [[UInt8]] {
        let method = try catalogue.method(named: "secrets.list")
        var items: [[UInt8]] = []
        var cursor: [UInt8]?
        repeat {
            var params = [("service", JSONParts.string(service)), ("limit", Array("1000".utf8))]
            if let cursor { params.append(("cursor", cursor)) }
            let page = JSONObject(try session.result(method, JSONParts.object(params)))
            items += page?["items"].flatMap { JSONElements.read($0) } ?? []
            cursor = try page?.cursor(after: cursor)
        } while cursor != nil
        return items
    }
}
