import CSyscalls
import KuraBytes
import KuraClient
import KuraProtocol

/// `kura secrets import`: a `.env` file, a JSON map or a sealed export becomes secrets of a service.
enum SecretsImport {
    static let store = Method.Store.secrets
    static let tool = Tool(
        noun: "secrets", word: "import", arguments: ["SERVICE", "[FILE]"],
        options: [
            .init(name: "format", value: "env|json|sealed", summary: "What FILE is; found out when left out."),
            .init(name: "identity", value: "FILE", summary: "The key pair that a sealed export opens with."),
            .init(name: "if-absent", value: nil, summary: "Refuse to replace a secret that is there."),
            .init(name: "dry-run", value: nil, summary: "Only say what would be stored: names, no values."),
        ],
        summary: "Store the secrets of a .env file, a JSON map or a sealed export.",
        explanation: [
            "Each name becomes an account of SERVICE. A .env file has NAME=VALUE lines, with quotes as shells have them; nothing "
                + "is substituted. A JSON map has a text for each name, or an object of texts. FILE is standard input when "
                + "left out, or '-'.",
            "Up to \(perTransaction) secrets are stored together or not at all; more go in pieces of so many.",
            "The file stays where it is: remove it when the secrets are in.",
        ],
        examples: [
            "kura secrets import app .env", "kura secrets import app --if-absent < secrets.json",
            "kura secrets import mail mail.sealed --identity key",
        ], takesFile: true)

    private static let perTransaction = 500
    private static let bytesPerTransaction = 4 << 20
    /// Of a file: more secrets than anybody keeps in one, each as large as a secret may be.
    private static let mostBytes = 64 * WireLimits.secretBytes

    private struct Entry {
        let account: String
        /// Parameters of `secrets.put` besides the service and the account.
        let members: [(name: String, value: [UInt8])]
    }

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 1, most: 2)
        _ = csys_set_no_dump()
        let service = arguments.words[0]
        let path = arguments.words.count > 1 ? arguments.words[1] : "-"
        let text: [UInt8]
        if path == "-" {
            text = try console.input()
        } else {
            do throws(ParameterList.Fault) {
                text = try Input.read(path, atMost: Self.mostBytes)
            } catch { throw .usage(error.description) }
        }
        let entries = try read(text, arguments, path, console)
        if arguments.has("dry-run") {
            for entry in entries { console.print(line: Array(entry.account.utf8)) }
            return .done
        }
        let apply = try catalogue.method(named: "transaction.apply")
        var session = try Session.open(options, console)
        let progress = ProgressLine(console, title: tool.path)
        defer { progress.erase() }
        var operations: [[UInt8]] = []
        var bytes = 0
        var stored = 0
        for (index, entry) in entries.enumerated() {
            let operation = operation(entry, service, ifAbsent: arguments.has("if-absent"))
            operations.append(operation)
            bytes += operation.count
            let isLast = index == entries.count - 1
            guard isLast || operations.count == perTransaction || bytes >= bytesPerTransaction else { continue }
            do throws(Failure) {
                _ = try session.insistentResult(
                    apply, JSONParts.object([("operations", JSONElements.array(operations))]), isOnce: true,
                    progress: progress, options,
                    remedy: arguments.has("if-absent")
                        ? "'kura secrets list \(CommandExample.quoted(service))' tells which are stored: leave these out, and import the rest"
                        : "the same command again stores all of them; those that are stored already get another version"
                )
            } catch {
                var failure = error
                if let index = Self.operation(of: failure), operations.indices.contains(index) {
                    failure.message += ": \(entries[stored + index].account)"
                }
                if stored > 0 { failure.message += "; the first \(stored) of \(entries.count) are stored" }
                throw failure
            }
            stored += operations.count
            progress.update(done: Int64(stored), total: Int64(entries.count))
            operations = []
            bytes = 0
        }
        progress.erase()
        console.remark("\(stored) secrets of \(service) stored")
        return .done
    }

    /// Which of the operations the daemon has refused.
    private static func operation(of failure: Failure) -> Int? {
        failure.reply.flatMap { JSONObject($0)?.object("data")?.integer("operation") }.map(Int.init)
    }

    private static func operation(_ entry: Entry, _ service: String, ifAbsent: Bool) -> [UInt8] {
        var params = [("service", JSONParts.string(service)), ("account", JSONParts.string(entry.account))]
        params += entry.members
        if ifAbsent { params.append(("ifRev", Array("0".utf8))) }
        return JSONParts.object([
            ("method", JSONParts.string("secrets.put")), ("params", JSONParts.object(params)),
        ])
    }

    // MARK: What the file says

    private static func read(
        _ text: [UInt8], _ arguments: ToolArguments, _ path: String, _ console: Console
    ) throws(Failure) -> [Entry] {
        let format = try format(text, arguments)
        switch format {
        case "sealed":
            guard let identity = arguments.value("identity") else {
                throw .usage(
                    "a sealed export needs the key pair that it was sealed to: --identity FILE is missing")
            }
            return try SealedExport.open(text, with: try SecretsIdentity.read(identity)).map(entry)
        case "json": return try json(text)
        default:
            guard let text = String(validating: text, as: UTF8.self) else {
                throw .usage("\(path == "-" ? "standard input" : path) is not UTF-8")
            }
            let file = try EnvironmentFile(text, path)
            for name in file.repeated { console.remark("\(name) stands there more than once: the last one counts") }
            return file.entries.map { Entry(account: $0.name, members: [("secret", JSONParts.string($0.value))]) }
        }
    }

    private static func format(_ text: [UInt8], _ arguments: ToolArguments) throws(Failure) -> String {
        if let format = arguments.value("format") {
            let known = ["env", "json", "sealed"]
            guard known.contains(format) else {
                throw .usage(
                    "--format is one of \(known.joined(separator: ", ")), not '\(format)'",
                    hint: Suggestion.hint(for: format, among: known))
            }
            return format
        }
        if SealedExport.matches(text) { return "sealed" }
        return text.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "{") ? "json" : "env"
    }

    private static func json(_ text: [UInt8]) throws(Failure) -> [Entry] {
        let compact: [UInt8]
        do throws(JSONFault) {
            compact = try JSONDocument.compact(text)
        } catch {
            throw .usage("the map is not JSON: \(error.explanation)")
        }
        guard let object = JSONObject(compact) else { throw .usage("the map is no JSON object") }
        var entries: [Entry] = []
        for (name, value) in object.entries {
            let isText = value.first == UInt8(ascii: "\"")
            let texts = isText ? nil : JSONObject(value)?.entries
            guard isText || texts.map({ $0.allSatisfy { $0.value.first == UInt8(ascii: "\"") } && !$0.isEmpty }) == true
            else { throw .usage("'\(name)' is neither a text nor an object of texts") }
            entries.append(Entry(account: name, members: [("secret", value)]))
        }
        return entries
    }

    private static func entry(_ opened: (item: JSONObject, secret: JSONObject)) -> Entry {
        let kept = [
            "label", "attributes", "accessibility", "deviceOnly", "accessGroup", "backup", "expiresAt", "maxVersions",
        ]
        var members = ["secret", "secretBase64"].compactMap { name in opened.secret[name].map { (name, $0) } }
        members += kept.compactMap { name in opened.item[name].map { (name, $0) } }
        return Entry(account: opened.item.string("account") ?? "", members: members)
    }
}
