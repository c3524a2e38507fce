import KuraBytes
import KuraProtocol

/// The method table as nouns and verbs.
struct Catalogue {
    let verbs: [Verb]
    /// The nouns in the order of the table, each once.
    let nouns: [Noun]
    /// Words that stand for a verb by themselves; only those whose method is in the table.
    let aliases: [(word: String, verb: Verb)]

    struct Noun {
        let name: String
        let shortName: String?
        let summary: String

        /// What help and examples call it.
        var word: String { shortName ?? name }
    }

    static let standard = Catalogue(Method.all)

    /// What is no verb of the table.
    static let commands: [(word: String, usage: String, summary: String)] = [
        ("call", "call METHOD [NAME=TEXT…]", "Call any method with parameters by name."),
        ("bench", "bench [OPTION…]", "Measure the daemon (kura-bench)."),
        ("completions", "completions bash|zsh|fish", "Print a completion script."),
        ("help", "help [TOPIC]", "Help on a noun, a verb, a topic."),
    ]

    init(_ methods: [Method]) {
        var nouns: [Noun] = []
        for method in methods where !nouns.contains(where: { $0.name == method.noun }) {
            let store = Method.Store(rawValue: method.noun)
            nouns.append(
                Noun(name: method.noun, shortName: store?.shortName, summary: store?.facts.summary ?? method.summary))
        }
        self.nouns = nouns
        let verbs = methods.map { method in
            Verb(method, noun: nouns.first { $0.name == method.noun }?.word ?? method.noun)
        }
        self.verbs = verbs
        aliases = Method.commandAliases.compactMap { word, name in
            verbs.first { $0.method.name == name }.map { (word, $0) }
        }
    }

    /// As help lists them: what keeps data comes first, the plumbing last.
    var shownNouns: [Noun] {
        let last = ["transaction", "changes", "backups", "storage", "session", "fault", "rpc"]
        let behind = last.compactMap { name in nouns.first { $0.name == name } }
        return nouns.filter { !last.contains($0.name) } + behind
    }

    func noun(_ word: String) -> Noun? {
        nouns.first { $0.name == word || $0.shortName == word }
    }

    func verbs(of noun: Noun) -> [Verb] {
        verbs.filter { $0.method.noun == noun.name }
    }

    /// By the verb's own word or the method's: `get-many`, `getMany`.
    func verb(_ word: String, of noun: Noun) throws(Failure) -> Verb {
        let candidates = verbs(of: noun)
        if let verb = candidates.first(where: { $0.word == word || $0.method.name == "\(noun.name).\(word)" }) {
            return verb
        }
        let words = candidates.map(\.word) + Tool.verbs(of: noun.name).map(\.word)
        throw .usage(
            "\(noun.word) has no verb '\(word)'",
            hint: Suggestion.hint(for: word, among: words) ?? "its verbs: \(words.joined(separator: ", "))")
    }

    /// By the method's name, with the noun's short name too: `documents.getMany`, `docs.get-many`; nil when there is no dot.
    func verb(dotted word: String) throws(Failure) -> Verb? {
        let parts = word.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let noun = noun(String(parts[0])) else { return nil }
        return try verb(String(parts[1]), of: noun)
    }

    func alias(_ word: String) -> Verb? {
        aliases.first { $0.word == word }?.verb
    }

    func method(named name: String) throws(Failure) -> Method {
        if let verb = verbs.first(where: { $0.method.name == name }) { return verb.method }
        let hint = Suggestion.hint(for: name, among: verbs.map(\.method.name))
        throw .usage("no method is called '\(name)'", hint: hint ?? "'kura --help' lists the nouns")
    }

    /// The first word of a command that nobody knows.
    func unknown(_ word: String) -> Failure {
        let message = "unknown command '\(word)'"
        let owners = verbs.filter { $0.word == word }.map { "'kura \($0.path)'" }
        if !owners.isEmpty {
            return .usage(message, hint: "a noun comes first: \(owners.joined(separator: ", "))")
        }
        let words =
            nouns.flatMap { [$0.name, $0.shortName].compactMap(\.self) } + aliases.map(\.word)
            + Tool.all.filter { $0.noun == nil }.map(\.word) + Self.commands.map(\.word)
        // Verbs and options are not what is meant where only the letters are alike.
        let others = verbs.map(\.word) + GlobalOptions.all.map { "--" + $0.name }
        if let verb = Suggestion.synonym(of: word, among: others) {
            let owners = verbs.filter { $0.word == verb }.map { "'kura \($0.path)'" }
            return .usage(
                message,
                hint: owners.isEmpty ? "did you mean \(verb)?" : "a noun comes first: \(owners.joined(separator: ", "))"
            )
        }
        return .usage(message, hint: Suggestion.hint(for: word, among: words) ?? "'kura --help' lists the commands")
    }
}
