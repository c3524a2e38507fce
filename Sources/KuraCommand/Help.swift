import KuraBytes
import KuraProtocol

/// What `--help` and `help` print, made from the method table.
struct Help {
    let catalogue: Catalogue
    let width: Int
    let style: Style

    /// Lines longer than this are hard to read, however wide the terminal.
    private var column: Int { min(width, 100) }

    var general: String {
        let sorted = catalogue.shownNouns
        let nouns = sorted.map { ($0.word, $0.summary + ($0.shortName == nil ? "" : " (\($0.name))")) }
        let aliases = catalogue.aliases.map { ($0.word, $0.verb.method.summary) }
        let tools = Tool.all.filter { $0.noun == nil }.map { tool in
            (
                ([tool.word] + (tool.takesCommand ? ["[OPTION…]", "COMMAND"] : tool.arguments)).joined(separator: " "),
                tool.summary
            )
        }
        let commands = tools + Catalogue.commands.map { ($0.usage, $0.summary) }
        let examples = sorted.flatMap { noun in
            let verbs = catalogue.verbs(of: noun)
            let shown = ["put", "get", "list"].compactMap { word in verbs.first { $0.word == word } }
            return shown.prefix(2).map(CommandExample.line)
        }
        return """
            kura - the storage service of this host, from the command line

            usage: kura NOUN VERB [ARGUMENT…] [OPTION…]

            \(heading("nouns"))
            \(list(nouns))
            \(heading("commands"))
            \(list(aliases + commands))
            \(heading("options, anywhere"))
            \(list(Self.options))
            \(heading("examples"))
            \(examples.prefix(6).map { "  \($0)\n" }.joined())
            'kura NOUN --help' lists its verbs, 'kura NOUN VERB --help' explains one.
            'kura help values', 'conditions', 'output' and 'exit-codes' tell the rest.

            """
    }

    private static let options = GlobalOptions.all.map { option in
        let short = ["quiet", "help"].contains(option.name) ? "-\(option.name.prefix(1)), " : ""
        return ("\(short)--\(option.name)" + (option.value.map { " \($0)" } ?? ""), option.summary)
    }

    /// Help on what a command line names.
    func text(for target: Invocation.Target, _ words: [String]) throws(Failure) -> String {
        switch target {
        case .nothing: return general
        case .noun(let noun): return text(noun)
        case .verb(let verb): return VerbHelp(verb: verb, catalogue: catalogue, width: column, style: style).text
        case .tool(let tool): return text(tool)
        case .command("call"):
            if let name = words.first {
                let method = try catalogue.method(named: name)
                if let verb = catalogue.verbs.first(where: { $0.method.name == method.name }) {
                    return try text(for: .verb(verb), [])
                }
            }
            return try topic(["call"])
        case .command("help"): return try topic(words)
        case .command(let name): return try topic([name])
        }
    }

    private func text(_ noun: Catalogue.Noun) -> String {
        // One that would break at the edge is shown with the verb's own help, unless the noun had none then.
        let examples = catalogue.verbs(of: noun).map(CommandExample.line)
        let hasFitting = examples.contains { Visible.width($0) + 4 <= width }
        let verbs = catalogue.verbs(of: noun).map { verb in
            let usage = Layout.paragraph(words: verb.usageWords, width: column, indent: 6).dropLast()
            let summary = Layout.paragraph(verb.method.summary, width: column, indent: 4)
            let example = CommandExample.line(verb)
            let fits = !hasFitting || Visible.width(example) + 4 <= width
            return "  \(style.bold(String(usage)))\n    \(summary)" + (fits ? "    \(style.dim(example))\n" : "")
        }
        let tools = Tool.all.filter { $0.noun == noun.name }.map { tool in
            let usage = Layout.paragraph(words: tool.usageWords, width: column, indent: 6).dropLast()
            let summary = Layout.paragraph(tool.summary, width: column, indent: 4)
            return "  \(style.bold(String(usage)))\n    \(summary)    \(style.dim(tool.examples[0]))\n"
        }
        let name = noun.shortName.map { "\($0) (\(noun.name))" } ?? noun.name
        return
            "\(Layout.paragraph("\(name) - \(noun.summary)", width: column))\n\((verbs + tools).joined(separator: "\n"))\n"
            + "'kura \(noun.word) VERB --help' explains a verb's arguments, options and result.\n"
    }

    private func text(_ tool: Tool) -> String {
        let options = tool.options.map { ("--\($0.name)" + ($0.value.map { " \($0)" } ?? ""), $0.summary) }
        var parts = [Layout.paragraph("\(tool.path) - \(tool.summary)", width: column)]
        parts.append(Layout.paragraph(words: ["usage: kura"] + tool.usageWords, width: column, indent: 4))
        if !options.isEmpty { parts.append(heading("options, besides those of 'kura --help'") + "\n" + list(options)) }
        parts += tool.explanation.map { Layout.paragraph($0, width: column) }
        parts.append(heading("examples") + "\n" + tool.examples.map { "  \($0)\n" }.joined())
        return parts.joined(separator: "\n")
    }

    /// `kura help WORD…`
    func topic(_ words: [String]) throws(Failure) -> String {
        guard let word = words.first else { return general }
        if let noun = catalogue.noun(word) {
            guard words.count > 1 else { return text(noun) }
            if words.count > 2, let tool = Tool.following(words[1], of: noun.name, words[2]) { return text(tool) }
            if let tool = Tool.all.first(where: { $0.noun == noun.name && $0.word == words[1] }) { return text(tool) }
            return try text(for: .verb(try catalogue.verb(words[1], of: noun)), [])
        }
        if let tool = Tool.all.first(where: { $0.noun == nil && $0.word == word }) { return text(tool) }
        if let verb = catalogue.alias(word) { return try text(for: .verb(verb), []) }
        if let verb = try catalogue.verb(dotted: word) { return try text(for: .verb(verb), []) }
        if let topic = HelpTopic(rawValue: word) { return topic.text(width: column) }
        let names =
            catalogue.shownNouns.map(\.word) + catalogue.aliases.map(\.word)
            + Tool.all.filter { $0.noun == nil }.map(\.word) + HelpTopic.allCases.map(\.rawValue)
        throw .usage(
            "there is no help on '\(word)'",
            hint: Suggestion.hint(for: word, among: names) ?? "topics: \(names.joined(separator: ", "))")
    }

    private func heading(_ text: String) -> String { style.bold(text) }

    private func list(_ rows: [(String, String)]) -> String {
        Layout.definitions(rows.map { (term: $0.0, meaning: $0.1) }, width: column)
    }
}
