import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

// Safety: Swift lends texts as C strings for the call; the template of `mkstemps` is ours and ends with a zero; the text of `strerror`
// is copied at once by the only thread.

/// `kura docs edit` and `kura settings edit`: the value in an editor, and back on condition that nobody has changed it meanwhile.
///
/// What somebody has typed is never thrown away: when it cannot be stored, it stays in its file, and the message says where.
struct EditCommand {
    static let documents = Tool(
        noun: "documents", word: "edit", arguments: ["COLLECTION", "ID"], options: [],
        summary: "Change a document in an editor.",
        explanation: shared + [
            "A document that is not there begins as {}, and is made unless somebody else makes it first."
        ],
        examples: ["kura docs edit notes today", "EDITOR='code --wait' kura docs edit notes today"])

    static let settings = Tool(
        noun: "settings", word: "edit", arguments: ["DOMAIN", "[KEY]"], options: [],
        summary: "Change a setting, or all of a domain, in an editor.",
        explanation: shared + [
            "Without KEY it is one JSON object of all that is stored in the domain: names that are gone from it are removed, and all changes "
                + "are made together, or none."
        ],
        examples: ["kura settings edit app", "kura settings edit app theme"])

    private static let shared = [
        "The value is written to a file as indented JSON and opened with $VISUAL, $EDITOR or vi. What is stored afterwards is what differs: "
            + "nothing when the text means the same, or is empty, or the editor fails.",
        "It is stored only when nobody else has changed it since it was read. If somebody has, if it is not JSON, or if the daemon refuses it, "
            + "nothing is stored, and the text stays in its file, which is named.",
    ]

    private let console: Console
    private let catalogue: Catalogue
    private let target: Target

    private enum Target {
        case document(collection: String, id: String)
        case setting(domain: String, key: String)
        case domain(String)

        var name: String {
            switch self {
            case .document(let collection, let id): "\(collection)/\(id)"
            case .setting(let domain, let key): "\(domain)/\(key)"
            case .domain(let domain): domain
            }
        }
    }

    /// What there was.
    private struct State {
        let text: [UInt8]
        let rev: Int64
    }

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        let target: Target
        if arguments.tool.noun == "documents" {
            try arguments.check(least: 2, most: 2)
            target = .document(collection: arguments.words[0], id: arguments.words[1])
        } else {
            try arguments.check(least: 1, most: 2)
            target =
                arguments.words.count == 1
                ? .domain(arguments.words[0]) : .setting(domain: arguments.words[0], key: arguments.words[1])
        }
        return try EditCommand(console: console, catalogue: catalogue, target: target).run(options)
    }

    private func run(_ options: GlobalOptions) throws(Failure) -> ExitCode {
        guard editor != nil || console.isInputTerminal && console.output.isTerminal else {
            throw .usage(
                "\(target.name) cannot be edited: there is no terminal, and neither $VISUAL nor $EDITOR names an editor",
                hint: "'kura docs put', 'kura docs patch' and 'kura settings put' change values without one")
        }
        var session = try Session.open(options, console)
        let old = try read(&session)
        let path = try write(JSONDocument.indented(old.text) + [0x0A])
        while true {
            try edit(path)
            do throws(Failure) {
                guard let new = try changed(path, from: old) else {
                    unsafe unlink(path)
                    console.remark("nothing was changed")
                    return .done
                }
                // An editor may be open for hours, longer than the daemon.
                session = try Session.open(options, console)
                let result = try store(new, over: old, &session)
                unsafe unlink(path)
                if !console.isQuiet { console.print(line: result) }
                return .done
            } catch {
                // A text that was refused can be put right; after a conflict it is about something that is no longer there.
                let canBeMended = error.status == .usage || error.status == .refused
                if canBeMended, console.isInputTerminal {
                    console.fail(error, isJSON: false)
                    if console.confirm("edit it again?") { continue }
                }
                var failure = error
                failure.message += "; what you wrote is in \(path)"
                if failure.status == .conflict {
                    failure.hint =
                        "somebody else has changed \(target.name): edit it again, and take what you need from \(path)"
                    failure.reply = nil
                }
                throw failure
            }
        }
    }

    /// The one that is named; nil when none is.
    private var editor: String? {
        ["VISUAL", "EDITOR"].compactMap(console.environment).first { !$0.isEmpty }
    }

    // MARK: The file

    private func write(_ text: [UInt8]) throws(Failure) -> String {
        let directory = console.environment("TMPDIR") ?? "/tmp"
        var template = Array((directory + "/kura-edit-XXXXXX.json").utf8CString)
        let descriptor = unsafe mkstemps(&template, 5)
        guard descriptor >= 0 else {
            throw .usage(unsafe "cannot make a file in \(directory): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        do throws(Failure) { try NamelessFile.append(text, to: descriptor) } catch {
            unsafe unlink(path)
            throw error
        }
        return path
    }

    /// - Throws: when the editor cannot be run, or says that it has failed; the file stays when it was written.
    private func edit(_ path: String) throws(Failure) {
        let editor = editor ?? "vi"
        // A shell, since the variable may have arguments; it leaves ^C to the editor.
        let status = unsafe system("\(editor) \(ShellWord.literal(path))")
        guard status == 0 else {
            let code = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
            throw Failure(
                status: .usage,
                message: "'\(editor)' ended with status \(code), and nothing was stored; the text is in \(path)",
                hint: "$VISUAL or $EDITOR names the editor")
        }
    }

    /// The file's JSON, compact; nil when it says what there was, or nothing.
    private func changed(_ path: String, from old: State) throws(Failure) -> [UInt8]? {
        let text: [UInt8]
        do throws(ParameterList.Fault) { text = try Input.read(path) } catch { throw .usage(error.description) }
        guard text.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else { return nil }
        do throws(JSONFault) {
            let compact = try JSONDocument.compact(text)
            return compact == old.text ? nil : compact
        } catch {
            let line = text.prefix(Int(error.offset)).count { $0 == 0x0A } + 1
            throw .usage("it is not JSON: \(error.explanation), in line \(line)")
        }
    }

    // MARK: The daemon

    private func read(_ session: inout Session) throws(Failure) -> State {
        switch target {
        case .document(let collection, let id):
            return try value(
                "documents.get", [("collection", collection), ("id", id)], absent: "{}", &session)
        case .setting(let domain, let key):
            return try value("settings.get", [("domain", domain), ("key", key)], absent: "null", &session)
        case .domain(let domain): return try all(of: domain, &session)
        }
    }

    private func value(
        _ method: String, _ names: [(String, String)], absent: String, _ session: inout Session
    ) throws(Failure) -> State {
        let result = JSONObject(
            try session.result(
                try catalogue.method(named: method), JSONParts.object(names.map { ($0.0, JSONParts.string($0.1)) })))
        guard let result, let rev = result.integer("rev") else {
            throw Failure(status: .noDaemon, message: "the answer has no revision")
        }
        return State(text: result["value"] ?? Array(absent.utf8), rev: rev)
    }

    /// All that is stored in a domain, page after page, as of the first one's revision: what comes later is a conflict.
    private func all(of domain: String, _ session: inout Session) throws(Failure) -> State {
        var entries: [(name: String, value: [UInt8])] = []
        var cursor: [UInt8]?
        var rev: Int64?
        repeat {
            var params = [("domain", JSONParts.string(domain)), ("layers", JSONParts.string("app"))]
            if let cursor { params.append(("cursor", cursor)) }
            let page = JSONObject(
                try session.result(try catalogue.method(named: "settings.list"), JSONParts.object(params)))
            guard let page, let newest = page.integer("rev") else {
                throw Failure(status: .noDaemon, message: "the answer has no revision")
            }
            rev = min(rev ?? newest, newest)
            entries += page.object("values")?.entries ?? []
            cursor = try page.cursor(after: cursor)
        } while cursor != nil
        return State(text: JSONParts.object(entries), rev: rev ?? 0)
    }

    private func store(_ new: [UInt8], over old: State, _ session: inout Session) throws(Failure) -> [UInt8] {
        var params: [(name: String, value: [UInt8])]
        let method: String
        switch target {
        case .document(let collection, let id):
            method = "documents.put"
            params = [("collection", JSONParts.string(collection)), ("id", JSONParts.string(id)), ("value", new)]
        case .setting(let domain, let key):
            method = "settings.put"
            params = [("domain", JSONParts.string(domain)), ("key", JSONParts.string(key)), ("value", new)]
        case .domain(let domain):
            method = "settings.putMany"
            guard let object = JSONObject(new) else {
                throw .usage("all settings of a domain are one JSON object, and this is none")
            }
            let before = JSONObject(old.text)?.entries ?? []
            var known: [String: [UInt8]] = [:]
            for (name, value) in before { known[name] = value }
            let names = Set(object.names)
            let gone = before.map(\.name).filter { !names.contains($0) }
            params = [
                ("domain", JSONParts.string(domain)),
                ("values", JSONParts.object(object.entries.filter { known[$0.name] != $0.value })),
            ]
            if !gone.isEmpty { params.append(("delete", JSONElements.array(gone.map { JSONParts.string($0) }))) }
        }
        params.append(("ifRev", Array(String(old.rev).utf8)))
        return try session.result(try catalogue.method(named: method), JSONParts.object(params))
    }
}
