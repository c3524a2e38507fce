import KuraBytes
import KuraProtocol

/// A method as the command line calls it.
struct Verb {
    let method: Method
    /// The noun as help writes it: `docs`.
    let noun: String
    let parameters: [Parameter]

    /// `put-many`
    var word: String { method.verb }
    /// `docs put-many`
    var path: String { "\(noun) \(word)" }

    struct Parameter {
        enum Form {
            /// Has a place among the arguments.
            case positional
            case option
            /// An option without a value.
            case flag
            /// A file that is opened here and whose descriptor goes along.
            case file
            /// A file that is written here, from the descriptor that comes with the reply.
            case reply
            /// Asked for, or read from standard input; its option only says that it is to be.
            case secret
        }
        let field: KuraProtocol.Field
        let form: Form
        /// Long options that set it, without the dashes; the first is the one that help shows.
        let options: [String]

        /// As usage lines write it: `DOMAIN`.
        var placeholder: String {
            isFile ? "FILE" : (field.name == "idField" ? "FIELD" : field.name.kebabCase.uppercased())
        }

        /// Its word is a file's path.
        var isFile: Bool { form == .file || form == .reply }

        /// What the verb is there to store: read when nothing that takes its place is given.
        var isImplied: Bool { form == .secret && field.name == "secret" && !field.isRequired }

        /// It says which documents are meant: JSON, or conditions.
        var isSelector: Bool {
            if case .json = field.type { return field.name == "where" }
            return false
        }

        /// What to sort by: fields, each with a direction or without.
        var isSort: Bool {
            if case .list = field.type { return field.name == "sort" }
            return false
        }

        /// Paths within documents.
        var isFieldList: Bool {
            if case .list(of: .text(maxBytes: WireLimits.pathBytes), maxItems: _) = field.type { return true }
            return false
        }

        /// Names, each of which may have an option to itself: `--name a --name b`.
        var isNameList: Bool {
            guard case .list(let element, maxItems: _) = field.type, options.count > 1 else { return false }
            return switch element {
            case .name, .text: true
            default: false
            }
        }

        /// It says what is to become of a document: JSON, or members.
        var isPatch: Bool { field.name == "mergePatch" }

        /// Its option stands alone.
        var isBare: Bool { form == .flag || form == .secret }

        /// One word or several.
        var isRepeatable: Bool { isGreedy || isSelector }

        /// Takes any number of words.
        var isGreedy: Bool {
            switch field.type {
            case .list, .map: true
            default: isPatch
            }
        }
    }

    init(_ method: Method, noun: String) {
        self.method = method
        self.noun = noun
        let names = Set(method.parameters.map(\.optionName))
        // A secret that somebody writes as an argument after all must not become a label.
        let isStoring = method.parameters.contains { $0.isSecret && !$0.isRequired && $0.name == "secret" }
        parameters = method.parameters.map { field in
            var options = [field.optionName]
            // `--key a --key b` for `keys`.
            if case .list = field.type, field.optionName.hasSuffix("s") {
                let singular = String(field.optionName.dropLast())
                if !names.contains(singular) { options.append(singular) }
            }
            let form = Self.form(of: field)
            let isMoved = isStoring && form == .positional && !field.isRequired
            return Parameter(field: field, form: isMoved ? .option : form, options: options)
        }
    }

    private static func form(of field: KuraProtocol.Field) -> Parameter.Form {
        if field.isSecret { return .secret }
        if field.name == "fd" { return .file }
        if field.name == "as", case .word(let words) = field.type, words.contains("fd") { return .reply }
        if case .boolean = field.type { return .flag }
        return field.isOptionOnly ? .option : .positional
    }

    /// Those that have a place among the arguments, in their order. Behind a list only what must be there has a place, since the
    /// list takes every word that is left.
    var positional: [Parameter] {
        let placed = parameters.filter { $0.form == .positional || $0.isFile }
        guard let greedy = placed.firstIndex(where: \.isGreedy) else { return placed }
        return placed.enumerated().filter { $0.offset <= greedy || $0.element.field.isRequired }.map(\.element)
    }

    func parameter(option: String) -> Parameter? {
        parameters.first { !$0.isFile && $0.options.contains(option) }
            ?? parameters.first { $0.isFile && option == "file" }
    }

    /// What it reads has a size of its own: a pipe is copied to a file first.
    var wantsRegularFile: Bool { ["documents.attach", "blobs.put"].contains(method.name) }

    /// Its FILE is what it answers; of others FILE is what they read.
    var writesFile: Bool {
        let takesFile = parameters.contains { $0.form == .file }
        return parameters.contains { $0.form == .reply }
            || takesFile && method.access == .read && method.name != "backups.compare"
    }

    /// `--all` follows the cursor to the end.
    var isPaged: Bool {
        method.parameters.contains { $0.name == "cursor" } && method.result.contains { $0.name == "cursor" }
    }

    /// Items that a page has at most; nil when nobody says.
    var largestPage: Int64? {
        guard let limit = method.parameters.first(where: { $0.name == "limit" }), case .integer(let range) = limit.type
        else { return nil }
        return Int64(range.upperBound)
    }

    /// Its notifications go on after the reply.
    var opensSubscription: Bool { method.result.contains { $0.name == "subscription" } }

    /// Its result is a secret above all.
    var showsSecret: Bool { method.result.first.map { $0.name == "secret" && $0.isSecret } ?? false }

    /// The same of several.
    var showsSecrets: Bool { method.result.first.map { $0.name == "secrets" && $0.isSecret } ?? false }

    /// `--string` takes such values as text.
    var takesJSON: Bool {
        parameters.contains { parameter in
            switch parameter.field.type {
            case .json, .map(of: .json), .list(of: .json, _): parameter.form != .secret
            default: false
            }
        }
    }

    /// An option that is the command line's own.
    struct OwnOption {
        let name: String
        /// As usage lines write its value; nil for a flag.
        let value: String?
        let summary: String

        var usage: String { "--\(name)" + (value.map { " \($0)" } ?? "") }
    }

    var ownOptions: [OwnOption] {
        var options: [OwnOption] = []
        func add(_ name: String, value: String? = nil, _ summary: String) {
            options.append(OwnOption(name: name, value: value, summary: summary))
        }
        if isPaged { add("all", "Follow the cursor to the end.") }
        if opensSubscription {
            add("count", value: "N", "End when so many lines have been printed.")
            add("for", value: "SECONDS", "End when so much time is over, whatever has come.")
        }
        if Listing(method) != nil || opensSubscription {
            add(
                "columns", value: "A,B",
                "Only these, in this order, on a terminal and in lines of JSON; A.C looks into A.")
        }
        if writesFile { add("replace", "FILE may be there: it is replaced when all has come.") }
        if takesJSON { add("string", "Take values as text, also when they are JSON.") }
        if parameters.contains(where: \.isImplied) {
            add("object", "The secret is a JSON object of texts, from standard input.")
            add("allow-empty", "The secret may be empty.")
        }
        if showsSecret || showsSecrets { add("show", "Show the secret on a terminal without asking.") }
        return options.filter { parameter(option: $0.name) == nil }
    }

    /// What it writes or reads without a FILE: standard output or input, so that one can be piped into the other.
    var impliesStandardStream: Bool {
        [
            "documents.export", "documents.import", "settings.import", "blobs.put", "documents.attach",
        ].contains(method.name)
    }

    /// All of it is wanted, however many pages that takes.
    var isWhole: Bool { method.name == "settings.export" }

    /// `docs put COLLECTION [ID] VALUE [--if-rev N]`
    var usage: String { usageWords.joined(separator: " ") }

    /// The same in pieces that stay together.
    var usageWords: [String] {
        let placed = positional
        let arguments = placed.map { parameter in
            let word =
                parameter.isRepeatable ? parameter.elementPlaceholder + "…" : parameter.placeholder
            return parameter.field.isRequired ? word : "[\(word)]"
        }
        // A secret that must be there is asked for without being told to.
        let options = parameters.filter { parameter in
            !placed.contains { $0.field.name == parameter.field.name }
                && !(parameter.form == .secret && parameter.field.isRequired)
        }.map { parameter in
            let word = parameter.optionUsage
            return parameter.field.isRequired ? word : "[\(word)]"
        }
        return [path] + arguments + options + ownOptions.map { "[\($0.usage)]" }
    }
}

extension Verb.Parameter {
    /// One of a list's items: `KEY` of `KEYS`; `NAME=VALUE` of an object's members.
    var elementPlaceholder: String {
        if case .map = field.type { return "NAME=VALUE" }
        if isSelector { return "CONDITION" }
        if isPatch { return "NAME=VALUE" }
        if isSort || isFieldList { return "FIELD" }
        guard case .list(let element, _) = field.type else { return placeholder }
        if options.count > 1 { return options[1].uppercased() }
        return switch element {
        case .name: "NAME"
        case .text, .word, .timestamp: "TEXT"
        default: "JSON"
        }
    }

    /// `--if-rev N`
    var optionUsage: String {
        guard !isBare else { return "--\(options[0])" }
        switch field.type {
        case .integer: return "--\(options[0]) N"
        case .json: return isSelector ? "--\(options[0]) CONDITION" : "--\(options[0]) VALUE"
        case .word(let words): return "--\(options[0]) \(words.joined(separator: "|"))"
        case .list: return "--\(options.last ?? "") \(elementPlaceholder)"
        default: return "--\(options[0]) \(isGreedy ? elementPlaceholder : placeholder)"
        }
    }
}
