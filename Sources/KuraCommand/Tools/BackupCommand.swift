import KuraBytes
import KuraClient
import KuraProtocol

/// `kura backup`: one consistent backup into a local file.
enum BackupCommand {
    static let tool = Tool(
        noun: nil, word: "backup", arguments: ["FILE"],
        options: [
            .init(
                name: "recipient", value: "KEY",
                summary: "Encrypt it: the secret key of this public key opens it. May be given several times.",
                repeats: true),
            .passphraseFile("Encrypt it: the passphrase in this file opens it; - reads standard input."),
            .parts("include"),
            .replace(),
        ],
        summary: "Write one consistent backup into a file, while the daemon goes on.",
        explanation: [
            "Settings, secrets, documents and their attachments, as of one revision, which is printed. Caches are never in it, nor what was "
                + "configured with 'backup: false', nor secrets that are bound to this host; what was left out is printed as well. FILE gets "
                + "its name when it is whole, synced and read back, and takes another's place only with --replace; '-' is standard output, "
                + "which cannot be read back.",
            "Without --recipient and --passphrase-file the backup is not encrypted, but for its secrets: they stay sealed under this "
                + "daemon's root key, which is not in it. Keep DATA/keys/root.key, or a passphrase of the secrets, elsewhere. "
                + "With a recipient or a passphrase the whole file is encrypted, and opens the secrets too.",
            "'kura secrets identity FILE' makes a key pair; keep its file where the daemon is not. 'kura restore FILE' brings a backup back, "
                + "'kura restore FILE --dry-run' checks it. 'kura backups list' shows those in the data directory.",
        ],
        examples: [
            "kura backup monday.kurabackup",
            "kura backup monday.kurabackup --recipient \"$(kura secrets identity ~/backup.identity)\"",
        ], takesFile: true)

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 1, most: 1)
        let result = try write(
            arguments.words[0], arguments, "storage.backup", try parameters(arguments), tool.path, options, console,
            catalogue)
        show(result, arguments.words[0], options, console)
        return try status(of: result, "storage.backup", options, console, catalogue)
    }

    /// Tells what is not in a file that the daemon has written, though it should be.
    static func status(
        of result: [UInt8], _ name: String, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        let method = try catalogue.method(named: name)
        let shortfall = JSONObject(result).flatMap { Shortfall(method, $0, asked: Parameters()) }
        if options.form == .standard, let shortfall { console.tell(shortfall) }
        return shortfall?.status ?? .done
    }

    /// Has the daemon write a file, which gets its name when it is whole.
    /// - Returns: what it says of it.
    static func write(
        _ path: String, _ arguments: ToolArguments, _ method: String, _ parameters: [UInt8], _ title: String,
        _ options: GlobalOptions,
        _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> [UInt8] {
        let draft = try DraftFile(path, replaces: arguments.has("replace"))
        var session = try Session.open(options, console)
        let progress = ProgressLine(console, title: title)
        let result: [UInt8]
        do throws(Failure) {
            result = try session.result(
                try catalogue.method(named: method), parameters, passing: draft.descriptor, progress: progress)
        } catch {
            // The daemon's write has failed, and not one of ours: what reads our output has had enough.
            if draft.isStandardOutput { Console.endUnlessRead() }
            throw error
        }
        progress.erase()
        try draft.expect(JSONObject(result)?.integer("bytes"), .bytes)
        try draft.finish()
        return result
    }

    private static func parameters(_ arguments: ToolArguments) throws(Failure) -> [UInt8] {
        var members = [("fd", Array("true".utf8))]
        let recipients = arguments.values("recipient")
        if !recipients.isEmpty { members.append(("recipients", list(recipients))) }
        if let file = arguments.value("passphrase-file") {
            members.append(("passphrase", JSONParts.string(try Self.passphrase(file))))
        }
        let include = arguments.values("include")
        if !include.isEmpty { members.append(("include", list(include))) }
        return JSONParts.object(members)
    }

    static func list(_ texts: [String]) -> [UInt8] {
        [UInt8(ascii: "[")] + texts.map { JSONParts.string($0) }.joined(separator: [UInt8(ascii: ",")])
            + [UInt8(ascii: "]")]
    }

    /// A file's first line.
    static func passphrase(_ file: String) throws(Failure) -> String {
        let text: [UInt8]
        do throws(ParameterList.Fault) {
            text = try Input.firstLine(file, atMost: WireLimits.passphraseBytes)
        } catch { throw .usage(error.description) }
        guard let line = String(validating: text, as: UTF8.self), !line.isEmpty else {
            throw .usage("\(file) has no passphrase in its first line")
        }
        return line
    }

    private static func show(_ result: [UInt8], _ path: String, _ options: GlobalOptions, _ console: Console) {
        show(result, path, options, console, isEncryptable: true) { count in
            (Method.Store.durable.words + ["attachments"]).map(count).joinedByCommas
        }
    }

    /// What the daemon says of a file that it has written: for people on a terminal and in a pipe, as it is where that is asked for.
    /// - Parameters:
    ///   - result: what the daemon has answered.
    ///   - path: the file's.
    ///   - options: the form.
    ///   - console: where it is printed.
    ///   - isEncryptable: whether it says so.
    ///   - contents: puts the counts together that `count` makes of their names.
    static func show(
        _ result: [UInt8], _ path: String, _ options: GlobalOptions, _ console: Console, isEncryptable: Bool,
        contents: ((_ name: String) -> String) -> String
    ) {
        guard !console.isQuiet else { return }
        // What is said of the file must not become a part of it.
        let place = DraftFile.namesStandardOutput(path) ? console.errors : console.output
        guard options.form == .standard, let object = JSONObject(result) else { return place.show(result + [0x0A]) }
        let counts = object.object("counts")
        let cipher = isEncryptable ? (object.boolean("encrypted") == true ? "encrypted, " : "not encrypted, ") : ""
        let text =
            "\(Visible.line(path)): revision \(object.integer("rev") ?? 0), \(object.integer("bytes") ?? 0) bytes, "
            + cipher + (object.boolean("verified") == true ? "verified\n" : "not read back\n")
            + "  " + contents { "\(counts?.integer($0) ?? 0) \($0)" } + "\n" + end(object)
        place.show(Array(text.utf8))
    }

    /// What was left out, and the digest.
    private static func end(_ object: JSONObject) -> String {
        let leftOut = (object["leftOut"].flatMap { JSONElements.read($0) } ?? []).compactMap { JSONObject($0) }
        return leftOut.map { left in
            let place = ["store", "scope", "name"].compactMap { left.string($0) }.joined(separator: "/")
            let reason = left.string("reason") ?? ""
            // Damaged secrets may be in it as they are.
            let label = reason == "damaged" && left.string("store") == "secrets" ? "damaged" : "left out"
            return "  \(label): \(Visible.line(place)), \(left.integer("count") ?? 0) (\(reason))\n"
        }.joined() + "  BLAKE2b-256 \(object.string("digest") ?? "")\n"
    }
}
