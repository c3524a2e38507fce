import KuraBytes
import KuraProtocol

/// Completion scripts, made from the method table.
struct Completions {
    enum Shell: String, CaseIterable { case bash, zsh, fish }

    /// A candidate and what it is.
    typealias Word = (word: String, summary: String)

    let catalogue: Catalogue

    init(_ catalogue: Catalogue) {
        self.catalogue = catalogue
    }

    /// The script for the shell that is the only one of `words`.
    func script(_ words: [String]) throws(Failure) -> String {
        let names = Shell.allCases.map(\.rawValue)
        guard words.count == 1, let shell = Shell(rawValue: words[0]) else {
            throw .usage(
                "completions needs the name of a shell: \(names.joined(separator: ", "))",
                hint: words.first.flatMap { Suggestion.hint(for: $0, among: names) })
        }
        return switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    // MARK: What there is to complete

    /// What a command line may begin with.
    var heads: [Word] {
        catalogue.nouns.map { ($0.word, $0.summary) }
            + catalogue.nouns.filter { $0.shortName != nil }.map { ($0.name, $0.summary) }
            + catalogue.aliases.map { ($0.word, $0.verb.method.summary) }
            + Tool.all.filter { $0.noun == nil }.map { ($0.word, $0.summary) }
            + Catalogue.commands.map { ($0.word, $0.summary) }
    }

    /// What follows heads that are no verbs by themselves.
    var seconds: [(head: String, words: [Word])] {
        catalogue.nouns.flatMap { noun in
            let tools = Tool.verbs(of: noun.name).map { ($0.word, $0.summary) }
            let verbs = catalogue.verbs(of: noun).map { ($0.word, $0.method.summary) } + tools
            return [noun.shortName, noun.name].compactMap(\.self).map { ($0, verbs) }
        } + [
            ("completions", Shell.allCases.map { ($0.rawValue, "A completion script for \($0.rawValue).") }),
            ("call", catalogue.verbs.map { ($0.method.name, $0.method.summary) }),
            ("help", heads + HelpTopic.allCases.prefix(4).map { ($0.rawValue, "Help on \($0.rawValue).") }),
        ]
    }

    /// The ways to write each verb: `docs put`, `documents put`, `status`.
    var paths: [(path: String, verb: Verb)] {
        catalogue.verbs.flatMap { verb in
            let noun = catalogue.nouns.first { $0.name == verb.method.noun }
            return [noun?.shortName, noun?.name].compactMap(\.self).map { ("\($0) \(verb.word)", verb) }
        } + catalogue.aliases.map { ($0.word, $0.verb) }
    }

    /// Words that are a whole command by themselves: what follows is an argument.
    var singles: [String] { catalogue.aliases.map(\.word) + Tool.all.filter { $0.noun == nil }.map(\.word) }

    func options(_ verb: Verb) -> [Word] {
        verb.parameters.filter { !$0.isFile }.map { ("--\($0.options[0])", $0.field.summary) }
            + verb.ownOptions.map { ("--\($0.name)", $0.summary) }
    }

    static func options(_ tool: Tool) -> [Word] { tool.options.map { ("--\($0.name)", $0.summary) } }

    static let globalOptions: [Word] = GlobalOptions.all.map { ("--\($0.name)", $0.summary) }

    /// A verb's parameters that are one of some words: their options and the words.
    func choices(_ verb: Verb) -> [(option: String, words: [String])] {
        verb.parameters.compactMap { parameter in
            guard let words = Self.words(parameter.field.type) else { return nil }
            return ("--\(parameter.options[0])", words)
        } + (columns(verb).map { [("--columns", $0)] } ?? [])
    }

    private func columns(_ verb: Verb) -> [String]? {
        guard verb.ownOptions.contains(where: { $0.name == "columns" }),
            let names = Listing(verb.method)?.declaredColumns, !names.isEmpty
        else { return nil }
        return names
    }

    private static func words(_ type: ValueType) -> [String]? {
        switch type {
        case .word(let words): words
        case .list(let element, _): words(element)
        default: nil
        }
    }

    static func takesFile(_ verb: Verb) -> Bool { verb.parameters.contains(where: \.isFile) }

    // MARK: Spelling

    static func pattern(_ text: String) -> String { text.contains(" ") ? quoted(text) : text }

    static func joined(_ words: [Word]) -> String { quoted(words.map(\.word).joined(separator: " ")) }

    /// Between single quotes, for all three shells; fish alone takes a backslash there for an escape, and none comes.
    static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "").replacing("'", with: "’") + "'"
    }
}
