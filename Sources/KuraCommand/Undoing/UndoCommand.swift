import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// `kura undo`: brings back what a revision changed, or what this user's last command did.
struct UndoCommand: ~Copyable {
    static let tool = Tool(
        noun: nil, word: "undo", arguments: ["[REV]"],
        options: [
            Tool.Option(name: "dry-run", value: nil, summary: "Tell what would come back, and change nothing."),
            Tool.Option(
                name: "list", value: nil, summary: "List what kura remembers of your changes, the last one first."),
        ],
        summary: "Undo your last change of settings and documents, or a revision.",
        explanation: [
            "All that the revision changed is as it was before it, in one transaction: what it had created is deleted, what it had changed or "
                + "deleted has its value of before. Nothing is undone when any of it was changed again since, or when the log does not "
                + "reach back so far.",
            "Without REV it is what your last command changed; said again, what the one before it did. An undo is a revision too: "
                + "'kura undo REV' with that one takes it back.",
            "A command that wrote several revisions, such as an import or a deletion of thousands, is not undone as a whole: its last revision is "
                + "named. Secrets, blobs, models, attachments, drops and purges are not undone; when your last command was one of them, that is said.",
            "kura notes revisions, times and methods of your own changes in $XDG_STATE_HOME/kura/undo, else ~/.local/state/kura/undo; "
                + "KURA_UNDO_FILE names another file, and an empty one none.",
        ],
        examples: ["kura undo", "kura undo --dry-run", "kura undo 417"])

    private var session: Session
    private let method: Method
    private let memory: UndoMemory?
    private let options: GlobalOptions
    private let console: Console

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 0, most: 1)
        let memory = UndoMemory(console.environment, socket: options.socket(console.environment))
        if arguments.has("list") {
            guard arguments.words.isEmpty, !arguments.has("dry-run") else { throw .usage("--list stands alone") }
            return list(memory?.entries ?? [], options, console)
        }
        let rev = try arguments.words.first.map { (word) throws(Failure) in
            guard let rev = Int64(word), rev > 0 else {
                throw .usage("'\(word)' is no revision", hint: "usage: kura \(tool.usage)")
            }
            return rev
        }
        if rev == nil, memory?.entries.isEmpty != false { throw nothing }
        var command = UndoCommand(
            session: try Session.open(options, console), method: try catalogue.method(named: "transaction.undo"),
            memory: memory, options: options, console: console)
        return try command.run(rev, isDry: arguments.has("dry-run"))
    }

    private static let nothing = Failure(
        status: .absent, message: "there is nothing to undo: kura remembers no change of yours here",
        hint: "'kura undo REV' undoes a revision; 'kura docs history' and 'kura changes list 0' tell some")

    private mutating func run(_ given: Int64?, isDry: Bool) throws(Failure) -> ExitCode {
        let rev: Int64
        if let given { rev = given } else { rev = try last() }
        let result = try ask(rev, isDry: isDry)
        if !isDry, let other = JSONObject(result)?.integer("rev") { memory?.note(undone: rev, by: other) }
        guard !console.isQuiet else { return .done }
        guard options.form == .standard, console.output.isTerminal else {
            console.print(line: result)
            return .done
        }
        console.print(try text(result, rev, isDry))
        return .done
    }

    /// How long is waited for a part of the log that cannot be read yet, in seconds.
    private static let patience = 5.0

    private mutating func ask(_ rev: Int64, isDry: Bool) throws(Failure) -> [UInt8] {
        let start = ProgressLine.seconds()
        while true {
            do throws(Failure) {
                return try session.result(method, Array("{\"rev\":\(rev)\(isDry ? ",\"dryRun\":true" : "")}".utf8))
            } catch {
                guard error.status == .tryAgain, ProgressLine.seconds() - start < Self.patience else {
                    throw Self.explained(error)
                }
                usleep(100_000)
            }
        }
    }

    private static func explained(_ error: Failure) -> Failure {
        guard error.message.hasPrefix("compacted") else { return error }
        var failure = error
        failure.hint =
            "the log does not reach back to what was there before: changes.retainBytes says how much of it is kept; "
            + "a backup may have it"
        return failure
    }

    /// The revision of the last command that changed anything. One that found everything as it was to be was answered with somebody's older
    /// revision: that is not undone.
    private mutating func last() throws(Failure) -> Int64 {
        for entry in memory?.entries ?? [] {
            let words = Self.words(entry.method)
            guard entry.rev > 0 else { throw Self.stays("your last command, \(words), cannot be undone") }
            guard !entry.hasOthers else {
                throw Self.stays(
                    "your last command, \(words), wrote more than one revision; 'kura undo \(entry.rev)' undoes the last of them"
                )
            }
            let result: [UInt8]
            do throws(Failure) { result = try ask(entry.rev, isDry: true) } catch {
                // Another history begins with smaller revisions.
                if error.status == .usage {
                    memory?.forget(entry.rev)
                    continue
                }
                guard error.status == .conflict || error.status == .refused else { throw error }
                // Nothing comes back of it, and what came before it is not what is meant.
                var failure = Self.stays("your last command, \(words) at revision \(entry.rev): \(error.message)")
                failure.status = error.status
                if let hint = error.hint { failure.hint = "\(hint); \(Self.others)" }
                throw failure
            }
            let changedAt = JSONObject(result)?.string("changedAt").flatMap { text in
                Array(text.utf8).withBytes { Timestamp.milliseconds($0) }
            }
            if let changedAt, entry.isOwn(changedAt) { return entry.rev }
            memory?.forget(entry.rev)
        }
        throw Self.nothing
    }

    private static let others = "'kura undo --list' tells your other changes, and 'kura undo REV' undoes one of them"

    private static func stays(_ message: String) -> Failure {
        Failure(status: .refused, message: message, hint: others)
    }

    private func text(_ result: [UInt8], _ rev: Int64, _ isDry: Bool) throws(Failure) -> String {
        guard let reply = JSONObject(result), let items = reply["items"].flatMap(JSONElements.read),
            let new = reply.integer("rev")
        else { throw Failure(notPromised: "what was undone", access: .write) }
        var text = ""
        for item in items.compactMap({ JSONObject($0) }) {
            let name = ["store", "scope", "key"].map { item.string($0) ?? "" }.joined(separator: "/")
            text += "\(Visible.padded(item.string("done") ?? "", to: 9)) \(Visible.line(name))\n"
        }
        return text
            + (isDry
                ? "nothing was changed: revision \(rev) would be undone\n"
                : "revision \(rev) is undone by \(new); 'kura undo \(new)' takes that back\n")
    }

    private static func list(_ entries: [UndoMemory.Entry], _ options: GlobalOptions, _ console: Console) -> ExitCode {
        guard !console.isQuiet else { return .done }
        guard options.form == .standard, console.output.isTerminal else {
            for entry in entries {
                console.print(
                    line: JSONParts.object([
                        ("rev", Array(String(entry.rev).utf8)), ("method", JSONParts.string(entry.method)),
                        ("secondsAgo", Array(String(secondsSince(entry)).utf8)),
                    ]))
            }
            return .done
        }
        var table = Table(columns: ["rev", "command", "ago"])
        for entry in entries {
            table.add([
                entry.rev > 0 ? Array(String(entry.rev).utf8) : nil, JSONParts.string(words(entry.method)),
                JSONParts.string(StatusSummary.duration(secondsSince(entry))),
            ])
        }
        console.print(table.rendered(width: console.width, style: console.style))
        return .done
    }

    private static func secondsSince(_ entry: UndoMemory.Entry) -> Int64 { max(0, UndoMemory.now() - entry.to) / 1000 }

    /// `docs put` of `documents.put`.
    private static func words(_ method: String) -> String {
        guard let method = Method.all.first(where: { $0.name == method }) else { return method }
        return "\(Method.Store(rawValue: method.noun)?.shortName ?? method.noun) \(method.verb)"
    }
}
