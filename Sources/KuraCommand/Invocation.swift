import KuraBytes
import KuraProtocol

/// A command line taken apart; nothing has been looked at but names.
struct Invocation {
    enum Target {
        case nothing
        case noun(Catalogue.Noun)
        case verb(Verb)
        case tool(Tool)
        /// One of `Catalogue.commands`.
        case command(String)
    }

    var options = GlobalOptions()
    var target = Target.nothing
    /// Behind what names the target, options taken out.
    var words: [String] = []
    /// A verb's parameters that were given by name, in the order given; a flag's value is nil.
    var named: [(parameter: Verb.Parameter, value: String)] = []
    var wantsAll = false
    /// Values are text, whatever they look like.
    var takesText = false
    /// A secret is an object of texts.
    var takesObject = false
    /// A secret may be empty.
    var allowsEmpty = false
    /// A FILE that is there may be replaced.
    var replaces = false
    /// Where a subscription ends.
    var bounds = Subscription.Bounds()
    /// A secret may be shown on a terminal without asking.
    var shows = false
    /// Of a list; all when empty.
    var columns: [String] = []
    /// A tool's options.
    var toolOptions: [(name: String, value: String)] = []
}

extension Invocation {
    /// What a verb means that is called without what it writes to or reads from: standard output or input, unless somebody sits there.
    /// - Throws: a usage failure when somebody does, or when options exclude each other.
    mutating func imply(_ console: Console, for verb: Verb) throws(Failure) {
        if !columns.isEmpty, options.form == .json {
            throw .usage("--json is the whole result: --columns goes with --ndjson, or with neither")
        }
        // A change is told without its value unless that is asked for.
        if columns.contains(where: { $0 == "value" || $0.hasPrefix("value.") }),
            let values = verb.parameters.first(where: { $0.field.name == "values" && $0.form == .flag }),
            !named.contains(where: { $0.parameter.field.name == "values" })
        {
            named.append((values, "true"))
        }
        if verb.isWhole, !named.contains(where: { ["limit", "cursor"].contains($0.parameter.field.name) }) {
            wantsAll = true
        }
        let open = verb.positional.filter { candidate in
            !named.contains { $0.parameter.field.name == candidate.field.name }
        }
        guard verb.impliesStandardStream, let stream = open.first(where: { $0.isFile || $0.isGreedy }) else { return }
        let others = open.filter { $0.field.isRequired && $0.field.name != stream.field.name }
        let isElsewhere = named.contains { ["path", "data", "fd"].contains($0.parameter.field.name) }
        guard words.count == others.count, !isElsewhere else { return }
        let writes = verb.writesFile
        guard !(writes ? console.output.isTerminal : console.isInputTerminal) else {
            throw .usage(
                "\(verb.path) \(writes ? "writes to" : "reads from") standard \(writes ? "output" : "input"), "
                    + "which is a terminal",
                hint: "name a FILE, or use a pipe: usage: kura \(verb.usage)")
        }
        words.append("-")
    }
}

/// Takes a command line apart: options may stand anywhere, a verb's own ones behind it; what stands behind `--` is no option.
struct InvocationReader {
    private let catalogue: Catalogue
    private var rest: ArraySlice<String>
    private(set) var invocation = Invocation()

    init(_ arguments: [String], _ catalogue: Catalogue) {
        self.catalogue = catalogue
        rest = arguments[...]
    }

    /// Reads to the end. When it throws, `invocation` has what came before.
    mutating func read() throws(Failure) {
        while let argument = rest.popFirst() {
            switch argument {
            case "--":
                while let word = rest.popFirst() { try take(word: word) }
            case "-q": _ = try invocation.options.take(flag: "quiet")
            case "-h": _ = try invocation.options.take(flag: "help")
            case _ where argument.hasPrefix("--"): try take(option: String(argument.dropFirst(2)))
            case _ where Self.isShortOption(argument): throw unknown(argument)
            default: try take(word: argument)
            }
            if hasForeignRest { takeRest() }
        }
    }

    /// What follows belongs to another program, with options of its own.
    private var hasForeignRest: Bool {
        switch invocation.target {
        case .command("bench"): true
        // A line that somebody is still writing.
        case .command("completions"): invocation.words.first == "next"
        case .tool(let tool): tool.takesCommand && !invocation.words.isEmpty
        default: false
        }
    }

    private mutating func takeRest() {
        invocation.words += rest
        rest = []
    }

    /// `-` is standard input and `-5` a number.
    private static func isShortOption(_ argument: String) -> Bool {
        let bytes = Array(argument.utf8)
        guard bytes.count > 1, bytes[0] == UInt8(ascii: "-") else { return false }
        return !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[1])
    }

    // MARK: Words

    private mutating func take(word: String) throws(Failure) {
        switch invocation.target {
        case .nothing: invocation.target = try target(word)
        case .noun(let noun):
            if let tool = Tool.all.first(where: { $0.noun == noun.name && $0.word == word }) {
                invocation.target = .tool(tool)
            } else {
                invocation.target = .verb(try catalogue.verb(word, of: noun))
            }
        case .verb(let verb):
            if invocation.words.isEmpty, let tool = Tool.following(verb.word, of: verb.method.noun, word) {
                invocation.target = .tool(tool)
            } else {
                invocation.words.append(word)
            }
        case .command, .tool: invocation.words.append(word)
        }
    }

    private func target(_ word: String) throws(Failure) -> Invocation.Target {
        if Catalogue.commands.contains(where: { $0.word == word }) { return .command(word) }
        if let tool = Tool.all.first(where: { $0.noun == nil && $0.word == word }) { return .tool(tool) }
        if let verb = catalogue.alias(word) { return .verb(verb) }
        if let noun = catalogue.noun(word) { return .noun(noun) }
        if let verb = try catalogue.verb(dotted: word) { return .verb(verb) }
        throw catalogue.unknown(word)
    }

    // MARK: Options

    private mutating func take(option text: String) throws(Failure) {
        let sign = text.firstIndex(of: "=")
        let name = String(text[..<(sign ?? text.endIndex)])
        let given = sign.map { String(text[text.index(after: $0)...]) }
        // A verb's parameter hides a global option of its name.
        if case .verb(let verb) = invocation.target, try take(name, given, of: verb) { return }
        if case .tool(let tool) = invocation.target, try take(name, given, of: tool) { return }
        if let known = GlobalOptions.all.first(where: { $0.name == name }) {
            if known.value == nil {
                guard given == nil else { throw .usage("--\(name) takes no value") }
                _ = try invocation.options.take(flag: name)
            } else {
                _ = try invocation.options.take(name, value: try value(given, of: name))
            }
            return
        }
        throw unknown("--" + name)
    }

    private mutating func take(_ name: String, _ given: String?, of verb: Verb) throws(Failure) -> Bool {
        if let parameter = verb.parameter(option: name) {
            if parameter.form == .secret {
                guard given == nil else {
                    throw .usage(
                        "--\(name) takes no value: everybody on this host can read arguments",
                        hint: "it is asked for on a terminal, and else read from standard input")
                }
                invocation.named.append((parameter, ""))
            } else if parameter.form == .flag {
                guard ["true", "false"].contains(given ?? "true") else {
                    throw .usage("--\(name) takes no value; --no-\(name) says no")
                }
                invocation.named.append((parameter, given ?? "true"))
            } else {
                invocation.named.append((parameter, try value(given, of: name)))
            }
            return true
        }
        if name.hasPrefix("no-"), given == nil, let parameter = verb.parameter(option: String(name.dropFirst(3))),
            parameter.form == .flag
        {
            invocation.named.append((parameter, "false"))
            return true
        }
        guard let option = verb.ownOptions.first(where: { $0.name == name }) else { return false }
        if option.value != nil {
            let text = try value(given, of: name)
            switch name {
            case "count":
                guard let count = Int(text), count > 0 else {
                    throw .usage("--count takes a whole number from 1, not '\(text)'")
                }
                invocation.bounds.count = count
            case "for":
                guard let seconds = Double(text), seconds > 0, seconds <= 2_000_000 else {
                    throw .usage("--for takes seconds, such as 5 or 0.5, not '\(text)'")
                }
                invocation.bounds.seconds = seconds
            default: invocation.columns += try columns(text, of: verb)
            }
            return true
        }
        guard given == nil else { throw .usage("--\(name) takes no value") }
        switch name {
        case "all": invocation.wantsAll = true
        case "object": invocation.takesObject = true
        case "show": invocation.shows = true
        case "allow-empty": invocation.allowsEmpty = true
        case "replace": invocation.replaces = true
        default: invocation.takesText = true
        }
        return true
    }

    /// `id,value.name`
    private func columns(_ text: String, of verb: Verb) throws(Failure) -> [String] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard !names.contains("") else { throw .usage("--columns takes names with commas between them, not '\(text)'") }
        let known = Listing(verb.method)?.declaredColumns ?? []
        for name in names {
            let head = String(name.prefix { $0 != "." })
            guard known.isEmpty || known.contains(head) else {
                throw .usage(
                    "\(verb.path) has no column '\(head)'",
                    hint: Suggestion.hint(for: head, among: known) ?? "its columns: \(known.joined(separator: ", "))")
            }
        }
        return names
    }

    private mutating func take(_ name: String, _ given: String?, of tool: Tool) throws(Failure) -> Bool {
        guard let option = tool.options.first(where: { $0.name == name }) else { return false }
        guard option.value != nil else {
            guard given == nil else { throw .usage("--\(name) takes no value") }
            invocation.toolOptions.append((name, ""))
            return true
        }
        guard option.repeats || !invocation.toolOptions.contains(where: { $0.name == name }) else {
            throw .usage("--\(name) is given twice")
        }
        invocation.toolOptions.append((name, try value(given, of: name)))
        return true
    }

    private mutating func value(_ given: String?, of name: String) throws(Failure) -> String {
        guard let value = given ?? rest.popFirst() else { throw .usage("--\(name) needs a value") }
        return value
    }

    private func unknown(_ option: String) -> Failure {
        var names = GlobalOptions.all.map { "--" + $0.name }
        if case .tool(let tool) = invocation.target {
            names += tool.options.map { "--" + $0.name }
            return .usage(
                "\(tool.path) has no option \(option)",
                hint: Suggestion.hint(for: option, among: names) ?? "'kura \(tool.path) --help' lists them")
        }
        guard case .verb(let verb) = invocation.target else {
            return .usage(
                "unknown option \(option)",
                hint: Suggestion.hint(for: option, among: names) ?? "a verb's own options stand behind the verb")
        }
        names =
            verb.parameters.flatMap { $0.options.map { "--" + $0 } } + verb.ownOptions.map { "--" + $0.name } + names
        return .usage(
            "\(verb.path) has no option \(option)",
            hint: Suggestion.hint(for: option, among: names) ?? "'kura \(verb.path) --help' lists them")
    }
}
