import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

// Safety: Swift lends paths as C strings for the call; the text of `strerror` is copied at once by the only thread.

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
        ],
        summary: "Write one consistent backup into a file, while the daemon goes on.",
        explanation: [
            "Settings, secrets, documents and their attachments, as of one revision, which is printed. Caches are never in it, nor what was "
                + "configured with 'backup: false', nor secrets that are bound to this host; what was left out is printed as well. FILE must "
                + "not be there yet: it gets its name when it is whole, synced and read back.",
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
        let path = arguments.words[0]
        let result = try write(
            path, "storage.backup", try parameters(arguments), tool.path, options, console, catalogue)
        show(result, path, options, console)
        return .done
    }

    /// Has the daemon write a file, which gets its name when it is whole.
    /// - Returns: what it says of it.
    static func write(
        _ path: String, _ method: String, _ parameters: [UInt8], _ title: String, _ options: GlobalOptions,
        _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> [UInt8] {
        guard unsafe access(path, F_OK) != 0 else {
            throw .usage("\(path) is there already", hint: "it takes no other file's place: name a new one")
        }
        var session = try Session.open(options, console)
        let draft = path + ".\(getpid()).part"
        let descriptor = unsafe open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer {
            close(descriptor)
            // Gone when the backup has its name.
            unsafe unlink(draft)
        }
        let progress = ProgressLine(console, title: title)
        let result = try session.result(
            try catalogue.method(named: method), parameters, passing: descriptor, progress: progress)
        progress.erase()
        guard fsync(descriptor) == 0, unsafe link(draft, path) == 0 else { throw failure(path) }
        try syncDirectory(of: path)
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
        do throws(ParameterList.Fault) { text = try Input.read(file) } catch { throw .usage(error.description) }
        guard let line = String(validating: text.prefix { $0 != 0x0A }, as: UTF8.self), !line.isEmpty else {
            throw .usage("\(file) has no passphrase in its first line")
        }
        return line
    }

    private static func syncDirectory(of path: String) throws(Failure) {
        let directory = path.contains("/") ? String(path[...path.lastIndex(of: "/")!]) : "."
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path) }
    }

    private static func failure(_ path: String) -> Failure {
        .usage(unsafe "cannot write \(path): \(String(cString: strerror(errno)))")
    }

    private static func show(_ result: [UInt8], _ path: String, _ options: GlobalOptions, _ console: Console) {
        show(result, path, options, console, isEncryptable: true) { count in
            "\(count("settings")), \(count("secrets")), \(count("documents")), \(count("attachments"))"
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
        guard options.form == .standard, let object = JSONObject(result) else {
            console.print(line: result)
            return
        }
        let counts = object.object("counts")
        let cipher = isEncryptable ? (object.boolean("encrypted") == true ? "encrypted, " : "not encrypted, ") : ""
        console.print(
            "\(Visible.line(path)): revision \(object.integer("rev") ?? 0), \(object.integer("bytes") ?? 0) bytes, "
                + cipher + (object.boolean("verified") == true ? "verified\n" : "not read back\n"))
        console.print("  " + contents { "\(counts?.integer($0) ?? 0) \($0)" } + "\n")
        showEnd(object, console)
    }

    /// What was left out, and the digest.
    private static func showEnd(_ object: JSONObject, _ console: Console) {
        for item in object["leftOut"].flatMap({ JSONElements.read($0) }) ?? [] {
            guard let left = JSONObject(item) else { continue }
            let place = ["store", "scope", "name"].compactMap { left.string($0) }.joined(separator: "/")
            console.print(
                "  left out: \(Visible.line(place)), \(left.integer("count") ?? 0) (\(left.string("reason") ?? ""))\n")
        }
        console.print("  BLAKE2b-256 \(object.string("digest") ?? "")\n")
    }
}
