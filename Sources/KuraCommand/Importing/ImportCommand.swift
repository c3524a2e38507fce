import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// `kura import`: what other programs keep in files, brought in: preferences, `.env`, NDJSON, a table of SQLite, a folder.
enum ImportCommand {
    static let tool = Tool(
        noun: nil, word: "import", arguments: ["FILE"],
        options: [
            .init(
                name: "into", value: "STORE/NAME",
                summary: "Where to: settings/DOMAIN, secrets/SERVICE, documents/COLLECTION or blobs/NAMESPACE."),
            .init(
                name: "from", value: "KIND", summary: "What FILE is: \(Kind.words); found out when left out.",
                choices: Kind.allCases.map(\.rawValue)),
            .init(
                name: "table", value: "NAME", summary: "Which table of a SQLite database; the only one when left out."),
            .init(name: "id", value: "FIELD", summary: "The member or column that becomes a document's id."),
            .init(name: "dry-run", value: nil, summary: "Tell what would be stored and what not; store nothing."),
        ],
        summary: "Bring in what other programs keep in files.",
        explanation: [
            "plist: a property list, XML or binary, such as ~/Library/Preferences/com.example.app.plist: its keys become settings. Dates "
                + "become text, data base64. env: NAME=VALUE lines become settings or secrets. json: one object becomes settings, one "
                + "array documents. ndjson: each line becomes a document. sqlite: each row of a table becomes a document, under its "
                + "primary key; blobs in it become base64. folder: each file becomes a blob, under its path.",
            "Without --into settings go to a domain of the file's name, documents to a collection of the table's or file's, blobs to a namespace of "
                + "the folder's. A .env file is told where to.",
            "What is there already under the same names is replaced, the rest stays; documents of json and ndjson have no names without --id, unless "
                + "their lines are an export's, and are stored anew each time. Settings are stored all or none, the others one by one. What "
                + "cannot be taken is left out and named with the reason; the exit status is 11 then. A .env file that has a line that is "
                + "no NAME=VALUE is refused whole. FILE stays as it is; SQLite may lay FILE-shm beside a "
                + "database in WAL mode, which no reader can do without.",
        ],
        examples: [
            "kura import com.example.app.plist --dry-run", "kura import .env --into secrets/app",
            "kura import app.sqlite --table cards --into documents/cards",
            "kura import thumbnails --into blobs/thumbnails",
        ], takesFile: true)

    enum Kind: String, CaseIterable {
        case plist, env, json, ndjson, sqlite, folder

        static var words: String { allCases.map(\.rawValue).joined(separator: ", ") }
    }

    /// Those that something can become a part of.
    private static let stores = [SettingsImport.store, SecretsImport.store, DocumentsImport.store, FolderImport.store]

    /// Where to.
    struct Target {
        let store: Method.Store
        let name: String

        var text: String { "\(store.rawValue)/\(name)" }
    }

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 1, most: 1)
        let path = arguments.words[0]
        let source = try ImportSource(path, arguments.value("from"), console)
        let job = ImportJob(
            path: path, isDry: arguments.has("dry-run"), id: arguments.value("id"), options: options, console: console,
            catalogue: catalogue)
        for (option, kinds) in [("table", [Kind.sqlite]), ("id", [.sqlite, .ndjson, .json])]
        where arguments.value(option) != nil && !kinds.contains(source.kind) {
            throw .usage("--\(option) is not for what \(path) is: \(source.kind.rawValue)")
        }
        let given = try arguments.value("into").map(target)
        var report: ImportReport
        switch source.kind {
        case .plist:
            let target = try job.target(given, [SettingsImport.store], source)
            report = try SettingsImport(job, target).run(try PropertyList.read(source.bytes()))
        case .env:
            guard let given else {
                throw .usage(
                    "\(path) needs --into: secrets/SERVICE when it has passwords and keys, else settings/DOMAIN")
            }
            let target = try job.target(given, [SettingsImport.store, SecretsImport.store], source)
            if target.store == SecretsImport.store {
                var words = [(name: "format", value: "env")]
                if job.isDry { words.append(("dry-run", "")) }
                let inner = ToolArguments(tool: SecretsImport.tool, words: [target.name, path], options: words)
                return try SecretsImport.run(inner, options, console, catalogue)
            }
            report = try SettingsImport(job, target).run(try environment(source))
        case .json, .ndjson:
            let isSettings = source.kind == .json && source.beginsWithObject
            let target = try job.target(given, [isSettings ? SettingsImport.store : DocumentsImport.store], source)
            if isSettings {
                report = try SettingsImport(job, target).run(object: source.bytes())
            } else {
                report = try DocumentsImport(job, target).run(source)
            }
        case .sqlite:
            let database = try TableReader(path, table: arguments.value("table"), id: job.id)
            let target = try job.target(given, [DocumentsImport.store], source, name: database.table)
            report = try DocumentsImport(job, target).run(database)
        case .folder:
            let target = try job.target(given, [FolderImport.store], source)
            report = try FolderImport(job, target).run()
        }
        report.kind = source.kind
        return report.show(console, options)
    }

    private static func target(_ text: String) throws(Failure) -> Target {
        guard let slash = text.firstIndex(of: "/"), text.last != "/",
            let store = stores.first(where: { [$0.rawValue, $0.shortName].contains(String(text[..<slash])) })
        else {
            throw .usage(
                "--into takes settings/DOMAIN, secrets/SERVICE, documents/COLLECTION or blobs/NAMESPACE, not '\(text)'")
        }
        return Target(store: store, name: String(text[text.index(after: slash)...]))
    }

    private static func environment(_ source: ImportSource) throws(Failure) -> PropertyList {
        guard let text = String(validating: try source.bytes(), as: UTF8.self) else {
            throw .usage("\(source.path) is not UTF-8")
        }
        return .dictionary(
            try EnvironmentFile(text, source.path).entries.map {
                PropertyList.Entry(key: $0.name, value: .string($0.value))
            })
    }
}

/// What all imports need.
struct ImportJob {
    let path: String
    let isDry: Bool
    let id: String?
    let options: GlobalOptions
    let console: Console
    let catalogue: Catalogue

    func progress() -> ProgressLine { ProgressLine(console, title: "import") }

    /// Where to: as it was given, when that store can take such things; else to the first of them, by the file's name.
    func target(
        _ given: ImportCommand.Target?, _ stores: [Method.Store], _ source: ImportSource, name: String? = nil
    ) throws(Failure) -> ImportCommand.Target {
        if let given {
            guard stores.contains(given.store) else {
                throw .usage(
                    "\(path) is \(source.kind.rawValue), which becomes \(stores.words.listed("or")), not \(given.store.rawValue)"
                )
            }
            return given
        }
        guard let name = name ?? source.stem else {
            throw .usage(
                "what comes from standard input needs --into", hint: "such as --into \(stores[0].rawValue)/NAME")
        }
        return ImportCommand.Target(store: stores[0], name: name)
    }
}

/// What an import has done, and what it has not.
struct ImportReport {
    var kind = ImportCommand.Kind.json
    let target: ImportCommand.Target
    let isDry: Bool
    /// What it is counted in: `settings`, `documents`.
    let unit: String
    var stored = 0
    /// Of these: what was there with the same value.
    var unchanged = 0
    var leftOut = 0
    /// The first of those that were left out.
    private(set) var reasons: [(name: String, reason: String)] = []
    /// What else is worth knowing.
    var notes: [String] = []

    init(_ job: ImportJob, _ target: ImportCommand.Target, unit: String) {
        self.target = target
        isDry = job.isDry
        self.unit = unit
    }

    private static let shownReasons = 100

    mutating func leave(out name: String, _ reason: String) {
        leftOut += 1
        if reasons.count < Self.shownReasons { reasons.append((name, reason)) }
    }

    /// Prints it: a sentence on a terminal, elsewhere a line of JSON; what was left out besides, on standard error.
    /// - Returns: `partly` when something was left out.
    func show(_ console: Console, _ options: GlobalOptions) -> ExitCode {
        for (name, reason) in reasons { console.remark("not taken: \(name): \(reason)") }
        if leftOut > reasons.count { console.remark("not taken: \(leftOut - reasons.count) more") }
        for note in notes { console.remark(note) }
        if !console.isQuiet {
            if options.form == .standard, console.output.isTerminal {
                let verb = isDry ? "would be stored in" : "stored in"
                var text = "\(stored) \(unit) \(verb) \(Visible.line(target.text))"
                if unchanged > 0 { text += ", \(unchanged) of them as they were" }
                if leftOut > 0 { text += ", \(leftOut) not taken" }
                console.print(text + "\n")
            } else {
                console.print(line: json)
            }
        }
        return leftOut == 0 ? .done : .partly
    }

    private var json: [UInt8] {
        var members: [(name: String, value: [UInt8])] = [
            ("from", JSONParts.string(kind.rawValue)), ("into", JSONParts.string(target.text)),
            ("stored", Array(String(stored).utf8)), ("leftOut", Array(String(leftOut).utf8)),
        ]
        if unchanged > 0 { members.append(("unchanged", Array(String(unchanged).utf8))) }
        if isDry { members.append(("dryRun", Array("true".utf8))) }
        return JSONParts.object(members)
    }
}
