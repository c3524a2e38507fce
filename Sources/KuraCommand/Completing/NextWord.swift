import KuraBytes
import KuraProtocol

/// What may stand in a command line's last word: what `kura completions next` prints, for the shells to show.
///
/// It reads what stands before as the command line itself is read, but forgives: whoever is still writing has made no mistake yet.
struct NextWord {
    /// A candidate and what it is; the latter may be empty.
    typealias Word = (word: String, summary: String)

    enum Answer {
        case words([Word])
        case files, directories
        /// Another program's words, from the word with this number on; `kura` is 0.
        case command(Int)
    }

    /// What an option's value, or an argument, is.
    private enum Kind {
        case words([Word])
        /// Several with commas between them.
        case list([String])
        case files, directories
        /// What the daemon has, under these names.
        case names(StoredNames)
    }

    private let catalogue: Catalogue
    private let current: String
    private let stored: StoredNames.Reader
    private var target = Invocation.Target.nothing
    /// Arguments behind what names the target.
    private var words: [String] = []
    private var given: [(name: String, value: String)] = []
    /// The last word is an option that wants a value.
    private var pending: String?
    private var isBehindDashes = false
    private var commandStart: Int?

    /// - Parameters:
    ///   - line: the words behind `kura`; the last one is to be completed, and may be empty.
    ///   - catalogue: the methods that there are.
    ///   - stored: asks the daemon.
    init(_ line: [String], _ catalogue: Catalogue, stored: @escaping StoredNames.Reader) {
        self.catalogue = catalogue
        self.stored = stored
        current = line.last ?? ""
        for (index, word) in line.dropLast().enumerated() where commandStart == nil { take(word, at: index + 1) }
        // Whatever the last word looks like, the command's words have begun.
        if case .tool(let tool) = target, tool.takesCommand, commandStart == nil, pending == nil,
            isBehindDashes || !current.hasPrefix("-")
        {
            commandStart = max(1, line.count)
        }
    }

    // MARK: What stands before

    private mutating func take(_ word: String, at index: Int) {
        if let option = pending {
            given.append((option, word))
            pending = nil
        } else if word == "--", !isBehindDashes {
            isBehindDashes = true
        } else if !isBehindDashes, Self.isOption(word) {
            take(option: word)
        } else {
            take(argument: word, at: index)
        }
    }

    /// `-` is standard input and `-5` a number.
    private static func isOption(_ word: String) -> Bool {
        word.hasPrefix("-") && word.count > 1 && word.dropFirst().first?.isNumber != true
    }

    private mutating func take(option word: String) {
        let name = String(word.drop { $0 == "-" }.prefix { $0 != "=" })
        if let sign = word.firstIndex(of: "=") {
            given.append((name, String(word[word.index(after: sign)...])))
        } else if takesValue(name) {
            pending = name
        } else {
            given.append((name, ""))
        }
    }

    private mutating func take(argument word: String, at index: Int) {
        switch target {
        case .nothing:
            if Catalogue.commands.contains(where: { $0.word == word }) {
                target = .command(word)
            } else if let tool = Tool.all.first(where: { $0.noun == nil && $0.word == word }) {
                target = .tool(tool)
            } else if let verb = catalogue.alias(word) ?? (try? catalogue.verb(dotted: word)) {
                target = .verb(verb)
            } else if let noun = catalogue.noun(word) {
                target = .noun(noun)
            } else {
                target = .command("")
            }
        case .noun(let noun):
            if let tool = Tool.all.first(where: { $0.noun == noun.name && $0.word == word }) {
                target = .tool(tool)
            } else {
                target = (try? catalogue.verb(word, of: noun)).map { .verb($0) } ?? .command("")
            }
        case .verb(let verb):
            if words.isEmpty, let tool = Tool.following(verb.word, of: verb.method.noun, word) {
                target = .tool(tool)
            } else {
                words.append(word)
            }
        case .tool(let tool):
            if tool.takesCommand { commandStart = index } else { words.append(word) }
        case .command: words.append(word)
        }
    }

    private func takesValue(_ name: String) -> Bool {
        switch target {
        case .verb(let verb):
            if let parameter = verb.parameter(option: name) { return !parameter.isBare }
            if let option = verb.ownOptions.first(where: { $0.name == name }) { return option.value != nil }
        case .tool(let tool):
            if let option = tool.options.first(where: { $0.name == name }) { return option.value != nil }
        default: break
        }
        return GlobalOptions.all.contains { $0.name == name && $0.value != nil }
    }

    // MARK: What may come

    var answer: Answer {
        if let commandStart { return .command(commandStart) }
        if let pending { return answer(kind(ofOption: pending), behind: "") }
        if !isBehindDashes, current.hasPrefix("--"), let sign = current.firstIndex(of: "=") {
            let head = String(current[...sign])
            return answer(kind(ofOption: String(head.dropFirst(2).dropLast())), behind: head)
        }
        if !isBehindDashes, current.hasPrefix("-") { return .words(chosen(options)) }
        return answer(argument, behind: "")
    }

    /// `head`: what of the current word stands before the value.
    private func answer(_ kind: Kind?, behind head: String) -> Answer {
        let value = String(current.dropFirst(head.count))
        switch kind {
        case nil: return .words([])
        case .files: return .files
        case .directories: return .directories
        case .words(let words): return .words(chosen(words.map { (head + $0.word, $0.summary) }))
        case .list(let names):
            let before = value.lastIndex(of: ",").map { String(value[...$0]) } ?? ""
            let used = before.split(separator: ",").map(String.init)
            return .words(chosen(names.filter { !used.contains($0) }.map { (head + before + $0, "") }))
        case .names(let wanted):
            var names = stored(wanted, value, given.filter { ["socket", "peer-uid"].contains($0.name) })
            // Where options may stand, a name that looks like one would be taken for it; behind `--` it is none.
            if head.isEmpty, pending == nil, !isBehindDashes { names.removeAll(where: Self.isOption) }
            return .words(chosen(names.map { (head + $0, "") }))
        }
    }

    private func chosen(_ words: [Word]) -> [Word] { words.filter { $0.word.hasPrefix(current) } }

    /// Those that are not given yet, or may be given again.
    private var options: [Word] {
        var options: [Word] = []
        switch target {
        case .verb(let verb):
            let open = verb.parameters.filter { parameter in
                !parameter.isFile && (parameter.isRepeatable || !given.contains { parameter.options.contains($0.name) })
            }
            options = open.map { ("--\($0.options[0])", $0.field.summary) }
            if current.hasPrefix("--no") {
                options += open.filter { $0.form == .flag }.map { ("--no-\($0.options[0])", $0.field.summary) }
            }
            options += unused(verb.ownOptions.map { ($0.name, $0.summary, false) })
        case .tool(let tool): options = unused(tool.options.map { ($0.name, $0.summary, $0.repeats) })
        default: break
        }
        return options
            + unused(
                GlobalOptions.all.map { ($0.name, $0.summary, false) }.filter { name, _, _ in
                    !options.contains { $0.word == "--\(name)" }
                })
    }

    private func unused(_ options: [(name: String, summary: String, repeats: Bool)]) -> [Word] {
        options.filter { option in option.repeats || !given.contains { $0.name == option.name } }.map {
            ("--\($0.name)", $0.summary)
        }
    }

    private func kind(ofOption name: String) -> Kind? {
        switch target {
        case .verb(let verb):
            if let parameter = verb.parameter(option: name) { return kind(of: parameter, verb) }
            if name == "columns" { return .list(Listing(verb.method)?.declaredColumns ?? []) }
        case .tool(let tool):
            if let option = tool.options.first(where: { $0.name == name }) { return Self.kind(ofValue: option) }
        default: break
        }
        return switch name {
        case "socket": .files
        case "color": .words(GlobalOptions.Color.allCases.map { ($0.rawValue, "") })
        default: nil
        }
    }

    private static func kind(ofValue option: Tool.Option) -> Kind? {
        let words =
            option.choices.isEmpty ? (option.value ?? "").split(separator: "|").map(String.init) : option.choices
        if words.count > 1 { return .words(words.map { ($0, "") }) }
        return switch option.value {
        case "FILE": .files
        case "DIR": .directories
        default: nil
        }
    }

    private func kind(of parameter: Verb.Parameter, _ verb: Verb) -> Kind? {
        if parameter.isFile { return .files }
        switch parameter.field.type {
        case .word(let words), .list(of: .word(let words), maxItems: _): return .words(words.map { ($0, "") })
        default:
            let scope = verb.positional.first { $0.field.name == StoredNames.scopes[verb.method.noun] }
            return names(parameter.field.name, of: verb.method.noun, scope: scope.flatMap { value(of: $0, verb) })
        }
    }

    /// What has been given for a parameter, by name or in its place.
    private func value(of parameter: Verb.Parameter, _ verb: Verb) -> String? {
        if let value = given.last(where: { parameter.options.contains($0.name) })?.value { return value }
        let places = open(verb)
        return places.firstIndex { $0.field.name == parameter.field.name }.flatMap {
            words.indices.contains($0) ? words[$0] : nil
        }
    }

    /// Parameters that take their words from the line, in their order.
    private func open(_ verb: Verb) -> [Verb.Parameter] {
        verb.positional.filter { parameter in !given.contains { parameter.options.contains($0.name) } }
    }

    private func names(_ field: String, of noun: String, scope: String?) -> Kind? {
        StoredNames(field, of: noun, scope: scope, catalogue).map { .names($0) }
    }

    // MARK: Arguments

    private var argument: Kind? {
        switch target {
        case .nothing: .words(heads)
        case .noun(let noun): .words(verbs(of: noun))
        case .verb(let verb): argument(of: verb)
        case .tool(let tool): argument(of: tool)
        case .command(let command): argument(of: command)
        }
    }

    private func argument(of verb: Verb) -> Kind? {
        let places = open(verb)
        let parameter =
            words.count < places.count ? places[words.count] : places.last { $0.isRepeatable }
        let found = parameter.flatMap { kind(of: $0, verb) }
        // A word that goes on with the verb's.
        let following = Tool.all.filter { $0.noun == verb.method.noun && $0.word.hasPrefix(verb.word + " ") }
            .map { (word: String($0.word.dropFirst(verb.word.count + 1)), summary: $0.summary) }
        let isMeant = !current.isEmpty && following.contains { $0.word.hasPrefix(current) }
        return words.isEmpty && (isMeant || found == nil && !following.isEmpty) ? .words(following) : found
    }

    private func argument(of tool: Tool) -> Kind? {
        guard words.count < tool.arguments.count else { return nil }
        let placeholder = tool.arguments[words.count].filter { $0 != "[" && $0 != "]" }
        switch placeholder {
        case "FILE": return .files
        case "PAGE": return .words(ManPages(catalogue: catalogue, seconds: 0).names.map { ($0, "") } + [("kurad", "")])
        case _ where placeholder == placeholder.lowercased(): return .words([(placeholder, "")])
        default:
            guard let noun = tool.noun else { return nil }
            return names(placeholder.lowercased(), of: noun, scope: words.first)
        }
    }

    private func argument(of command: String) -> Kind? {
        switch (command, words.count) {
        case ("completions", 0):
            return .words(Completions.Shell.allCases.map { ($0.rawValue, "A completion script for \($0.rawValue).") })
        case ("call", 0): return .words(catalogue.verbs.map { ($0.method.name, $0.method.summary) })
        case ("call", _):
            guard let method = try? catalogue.method(named: words[0]) else { return nil }
            let used = words.dropFirst().map { $0.prefix { $0 != "=" && $0 != ":" } }
            let free = method.parameters.filter { field in !field.isSecret && !used.contains { $0 == field.name } }
            return .words(free.map { ($0.name + ($0.type.acceptsText ? "=" : ":="), $0.summary) })
        case ("help", 0):
            return .words(heads + HelpTopic.allCases.prefix(4).map { ($0.rawValue, "Help on \($0.rawValue).") })
        case ("help", 1): return catalogue.noun(words[0]).map { .words(verbs(of: $0)) }
        default: return nil
        }
    }

    /// What a command line may begin with.
    private var heads: [Word] {
        catalogue.nouns.map { ($0.word, $0.summary) }
            + catalogue.nouns.filter { $0.shortName != nil }.map { ($0.name, $0.summary) }
            + catalogue.aliases.map { ($0.word, $0.verb.method.summary) }
            + Tool.all.filter { $0.noun == nil }.map { ($0.word, $0.summary) }
            + Catalogue.commands.map { ($0.word, $0.summary) }
    }

    private func verbs(of noun: Catalogue.Noun) -> [Word] {
        catalogue.verbs(of: noun).map { ($0.word, $0.method.summary) }
            + Tool.verbs(of: noun.name).map { ($0.word, $0.summary) }
    }
}

extension NextWord.Answer {
    /// What it is in the first line, then a candidate a line, with its description behind a tab.
    var text: String {
        switch self {
        case .files: "files\n"
        case .directories: "directories\n"
        case .command(let start): "command \(start)\n"
        case .words(let words):
            "words\n"
                + words.map { word, summary in
                    summary.isEmpty ? "\(word)\n" : "\(word)\t\(Visible.line(summary))\n"
                }.joined()
        }
    }
}
