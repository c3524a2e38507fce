import KuraBytes
import KuraClient
import KuraProtocol

/// `kura docs add-index` and `kura docs drop-index`: one index of a collection, whatever others it has.
///
/// The daemon takes all indexes of a collection at once. They are read, changed and written on condition that nobody has configured the collection
/// meanwhile; else it is begun again with those that are there now. An attempt that is in vain is somebody else's success, so that it ends.
struct IndexCommand {
    static let add = Tool(
        noun: "documents", word: "add-index", arguments: ["COLLECTION", "FIELD…"],
        options: [
            Tool.Option(
                name: "name", value: "NAME", summary: "What it is called; else its fields with '-' between them."),
            Tool.Option(name: "unique", value: nil, summary: "No two documents may have the same values there."),
            Tool.Option(
                name: "where", value: "CONDITION",
                summary: "Only the documents for which this holds; may be given several times.", repeats: true),
            Tool.Option(name: "no-wait", value: nil, summary: "Do not wait until it is built."),
        ],
        summary: "Add an index to a collection; others stay.",
        explanation: [
            "FIELD is a path such as capital.name; with several, the first counts first. It is built in the background while documents are read "
                + "and written. What is printed is how it stands.",
            "One that is there as it is to be stays as it is; one that has failed is built anew. Another one of the same name is not replaced: "
                + "take it away first, or choose a name.",
            "Two of these commands at once do not undo each other.",
        ],
        examples: [
            "kura docs add-index people mail --unique",
            "kura docs add-index jobs due --where state=todo --name todoByDue",
        ])

    static let drop = Tool(
        noun: "documents", word: "drop-index", arguments: ["COLLECTION", "NAME"], options: [],
        summary: "Take an index of a collection away; others stay.",
        explanation: ["'kura docs describe COLLECTION' names them. Documents stay as they are."],
        examples: ["kura docs drop-index people mail"])

    /// An index as `documents.describe` tells of it.
    struct Index {
        let name: String
        let fields: [String]
        let isUnique: Bool
        /// A reference's own: it goes with that.
        let isOfReference: Bool
        let state: String
        /// As `documents.configure` takes it.
        let definition: [UInt8]
        let status: JSONObject
        /// The same as it came.
        let text: [UInt8]

        init?(_ text: [UInt8]) {
            guard let status = JSONObject(text), let name = status.string("name"),
                let fields = status["fields"].flatMap(JSONElements.read)
            else { return nil }
            self.name = name
            self.fields = fields.compactMap { JSONObject.string($0) }
            isUnique = status.boolean("unique") ?? false
            isOfReference = status.boolean("each") ?? false
            state = status.string("state") ?? ""
            definition = Self.definition(name, self.fields, isUnique, status["where"])
            self.status = status
            self.text = text
        }

        static func definition(_ name: String, _ fields: [String], _ isUnique: Bool, _ filter: [UInt8]?) -> [UInt8] {
            var members = [
                (name: "name", value: JSONParts.string(name)),
                (name: "fields", value: JSONElements.array(fields.map { JSONParts.string($0) })),
            ]
            if isUnique { members.append(("unique", Array("true".utf8))) }
            if let filter { members.append(("where", filter)) }
            return JSONParts.object(members)
        }

        /// `byMail (unique)`
        var title: String { isUnique ? "\(name) (unique)" : name }
    }

    private let arguments: ToolArguments
    private let collection: String
    private let console: Console
    private let catalogue: Catalogue

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        let isAdding = arguments.tool.word == add.word
        try arguments.check(least: 2, most: isAdding ? 17 : 2)
        let command = IndexCommand(
            arguments: arguments, collection: arguments.words[0], console: console, catalogue: catalogue)
        if isAdding { return try command.add(options) }
        return try command.drop(options)
    }

    // MARK: One more

    private func add(_ options: GlobalOptions) throws(Failure) -> ExitCode {
        let fields = Array(arguments.words.dropFirst())
        try MisplacedWords.refuseCommas(fields, "")
        if let word = fields.first(where: SelectorWords.matches) {
            throw .usage("'\(word)' is no field", hint: "did you mean --where \(CommandExample.quoted(word))?")
        }
        let name = arguments.value("name") ?? fields.joined(separator: "-")
        let wanted = Index.definition(name, fields, arguments.has("unique"), try filter())
        var session = try Session.open(options, console)
        let refused = Failure(
            status: .refused, message: "there is another index '\(name)' in '\(collection)'",
            hint: "--name gives this one another name; 'kura docs drop-index \(CommandExample.quoted(collection)) "
                + "\(CommandExample.quoted(name))' takes that one away")
        try Self.change(&session, collection, catalogue) { (present) throws(Failure) in
            if let other = present.first(where: { $0.name == name }) {
                guard other.definition == wanted, !other.isOfReference else { throw refused }
                if other.state != "failed" { return nil }
            }
            return present.filter { !$0.isOfReference && $0.name != name }.map(\.definition) + [wanted]
        }
        let index = try built(name, &session)
        if !console.isQuiet { console.print(line: index.text) }
        guard index.state == "failed" else { return .done }
        let ids = index.status["conflict"].flatMap(JSONElements.read)?.compactMap { JSONObject.string($0) } ?? []
        throw Failure(
            status: .refused,
            message: "index '\(name)' cannot be unique: \(ids.joined(separator: " and ")) have the same values",
            hint: "change or delete one of them, then give the same command again; until then it is not used")
    }

    /// What `--where` says, as JSON.
    private func filter() throws(Failure) -> [UInt8]? {
        let words = arguments.values("where")
        let parameter = catalogue.verbs.first { $0.method.name == "documents.find" }?.parameters.first(
            where: \.isSelector)
        guard !words.isEmpty, let parameter else { return nil }
        var reader = ValueReader(takesText: false, input: console.input)
        return try reader.json(words, of: parameter)
    }

    /// Waits until it is built, unless nobody wants that.
    private func built(_ name: String, _ session: inout Session) throws(Failure) -> Index {
        let progress = ProgressLine(console, title: arguments.tool.path)
        defer { progress.erase() }
        var waits = false
        while true {
            let (all, _) = try Self.indexes(of: collection, &session, catalogue, waits: waits, progress)
            guard let index = all.first(where: { $0.name == name }) else {
                throw Failure(
                    status: .refused, message: "somebody has taken index '\(name)' of '\(collection)' away meanwhile")
            }
            guard index.state == "building", !arguments.has("no-wait") else { return index }
            waits = true
            progress.update(done: index.status.integer("done"), total: index.status.integer("total"))
        }
    }

    // MARK: One less

    private func drop(_ options: GlobalOptions) throws(Failure) -> ExitCode {
        let name = arguments.words[1]
        var session = try Session.open(options, console)
        var names: [String] = []
        var isThere = false
        try Self.change(&session, collection, catalogue) { (present) throws(Failure) in
            if present.contains(where: { $0.name == name && $0.isOfReference }) {
                throw Failure(
                    status: .refused, message: "index '\(name)' of '\(collection)' belongs to a reference",
                    hint: "it goes with that: 'kura docs configure --help'")
            }
            names = present.map(\.name)
            isThere = names.contains(name)
            return isThere ? present.filter { !$0.isOfReference && $0.name != name }.map(\.definition) : nil
        }
        if !console.isQuiet {
            console.print(line: Array(isThere ? "{\"dropped\":true}".utf8 : "{\"dropped\":false}".utf8))
        }
        if !isThere {
            let known = names.isEmpty ? "it has none" : "its indexes: \(names.joined(separator: ", "))"
            console.remark(
                "'\(collection)' has no index '\(name)'; \(Suggestion.hint(for: name, among: names) ?? known)")
        }
        return .done
    }

    // MARK: Configuring

    /// `edit`: the indexes that there are to be, made of those that there are, references' own among these; nil: they are as they should be.
    private static func change(
        _ session: inout Session, _ collection: String, _ catalogue: Catalogue,
        _ edit: ([Index]) throws(Failure) -> [[UInt8]]?
    ) throws(Failure) {
        let configure = try catalogue.method(named: "documents.configure")
        while true {
            let (present, rev) = try indexes(of: collection, &session, catalogue)
            guard let definitions = try edit(present) else { return }
            let parameters = [
                (name: "collection", value: JSONParts.string(collection)),
                (name: "indexes", value: JSONElements.array(definitions)), (name: "ifRev", value: Array("\(rev)".utf8)),
            ]
            do throws(Failure) {
                _ = try session.result(configure, JSONParts.object(parameters))
                return
            } catch {
                guard error.status == .conflict else { throw error }
            }
        }
    }

    /// How long one look at an index that is being built may wait, so that the progress is seen.
    private static let lookMilliseconds = 500

    /// The indexes of a collection, and the revision of its configuration. With `waits`, for a moment, while one is being built.
    static func indexes(
        of collection: String, _ session: inout Session, _ catalogue: Catalogue = .standard, waits: Bool = false,
        _ progress: ProgressLine? = nil
    ) throws(Failure) -> (indexes: [Index], rev: Int64) {
        let describe = try catalogue.method(named: "documents.describe")
        var parameters = [(name: "collection", value: JSONParts.string(collection))]
        if waits { parameters.append(("waitMs", Array("\(lookMilliseconds)".utf8))) }
        let result = try session.result(describe, JSONParts.object(parameters), progress: progress)
        guard let object = JSONObject(result), let rev = object.integer("rev"),
            let texts = object["indexes"].flatMap(JSONElements.read)
        else { throw Failure(status: .noDaemon, message: "the answer is none of documents.describe") }
        return (texts.compactMap { Index($0) }, rev)
    }

    // MARK: All of them

    /// Indexes that `documents.configure` is about to take away, since its list of all of them does not name them.
    static func dropped(by parameters: Parameters, _ session: inout Session) throws(Failure) -> [Index] {
        guard let indexes = parameters["indexes"], let collection = parameters["collection"].flatMap(JSONObject.string),
            parameters["dryRun"] != Array("true".utf8)
        else { return [] }
        let kept = JSONElements.read(indexes)?.compactMap { JSONObject($0)?.string("name") } ?? []
        return try Self.indexes(of: collection, &session).indexes.filter {
            !$0.isOfReference && !kept.contains($0.name)
        }
    }
}
