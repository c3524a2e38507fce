import KuraBytes
import KuraClient
import KuraProtocol

/// Pages of the manual in the macros of man(7), made from the method table: nothing in them is written twice.
struct ManPages {
    let catalogue: Catalogue
    /// Of the pages' date, since 1970.
    let seconds: Int64

    /// What there are pages on: `kura`, nouns, and commands that stand by themselves.
    var names: [String] {
        ["kura"] + catalogue.nouns.map(\.word) + Tool.all.filter { $0.noun == nil }.map(\.word)
    }

    /// - Parameter name: one of `names`, also with `kura-` in front, and a noun's long name.
    /// - Returns: nil when there is no such page.
    func page(named name: String) -> String? {
        let name = name.hasPrefix("kura-") ? String(name.dropFirst(5)) : name
        if name == "kura" { return general }
        if let noun = catalogue.noun(name) { return page(noun) }
        return Tool.all.first { $0.noun == nil && $0.word == name }.map(page)
    }

    // MARK: Pages

    private var general: String {
        var roff = head("kura", 1, "the storage service of this host, from the command line")
        roff.section("SYNOPSIS")
        roff.usage(["kura", "NOUN", "VERB", "[ARGUMENT…]", "[OPTION…]"])
        roff.section("DESCRIPTION")
        roff.paragraph(
            "kura has every method of the storage service kurad(8) as a verb, and some commands besides. It is made from the method table, so "
                + "what holds for the protocol holds here: names, limits, errors, revisions.")
        roff.section("NOUNS")
        for noun in catalogue.shownNouns { roff.item("kura-\(noun.word)(1)", noun.summary) }
        roff.section("COMMANDS")
        for tool in Tool.all where tool.noun == nil { roff.item("kura-\(tool.word)(1)", tool.summary) }
        for (word, verb) in catalogue.aliases { roff.item(word, "As \(verb.path): \(verb.method.summary)") }
        for command in Catalogue.commands { roff.item(command.usage, command.summary) }
        roff.section("OPTIONS")
        for option in GlobalOptions.all {
            roff.item("--\(option.name)" + (option.value.map { " \($0)" } ?? ""), option.summary)
        }
        for (title, topic) in [("VALUES", HelpTopic.values), ("CONDITIONS", .conditions), ("OUTPUT", .output)] {
            roff.section(title)
            roff.laidOut(topic.text(width: 72))
        }
        roff.section("EXIT STATUS")
        for code in ExitCode.allCases {
            let kinds = ErrorKind.allCases.filter { ExitCode.of($0) == code }.map { "\($0.facts.name)" }
            roff.item(
                String(code.rawValue), code.meaning + (kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))"))
        }
        roff.section("ENVIRONMENT")
        for (name, meaning) in [
            ("KURA_SOCKET", "The daemon's socket, where --socket does not say it."),
            (
                "KURA_PEER_UID",
                "Numbers of the users of whom one has to listen at the socket, with commas between them, where --peer-uid does not say it."
            ),
            (
                "XDG_RUNTIME_DIR",
                "Where the socket is when neither says it: kura/kura.sock in there; root's is /run/kura/kura.sock."
            ),
            ("NO_COLOR", "When it is not empty, no colour on terminals."),
            ("VISUAL, EDITOR", "What 'edit' opens a value with; vi when neither is set."),
            ("TMPDIR", "Where files lie for a while; /tmp when it is not set."),
        ] { roff.item(name, meaning) }
        return end(roff, but: "kura")
    }

    private func page(_ noun: Catalogue.Noun) -> String {
        var roff = head("kura-\(noun.word)", 1, Self.phrase(noun.summary))
        let verbs = catalogue.verbs(of: noun)
        let tools = Tool.all.filter { $0.noun == noun.name }
        roff.section("SYNOPSIS")
        for verb in verbs { roff.usage(["kura"] + verb.usageWords) }
        for tool in tools { roff.usage(["kura"] + tool.usageWords) }
        roff.section("DESCRIPTION")
        roff.paragraph(noun.summary + (noun.shortName == nil ? "" : " '\(noun.name)' is the same noun."))
        roff.section("VERBS")
        for verb in verbs { describe(verb, &roff) }
        for tool in tools {
            roff.subsection(tool.usage)
            describe(tool, &roff)
        }
        return end(roff, but: "kura-\(noun.word)")
    }

    private func page(_ tool: Tool) -> String {
        var roff = head("kura-\(tool.word)", 1, Self.phrase(tool.summary))
        roff.section("SYNOPSIS")
        roff.usage(["kura"] + tool.usageWords)
        roff.section("DESCRIPTION")
        describe(tool, &roff)
        return end(roff, but: "kura-\(tool.word)")
    }

    /// The daemon's page, of what it says of itself.
    func daemon(_ helps: [(title: String, text: String)]) -> String {
        var roff = head("kurad", 8, "the storage service of one host")
        for (title, text) in helps {
            roff.section(title.isEmpty ? "DESCRIPTION" : title.uppercased())
            roff.help(text)
        }
        roff.section("SEE ALSO")
        roff.references(["kura(1)", "kura-doctor(1)", "kura-restore(1)"])
        return roff.text
    }

    // MARK: Parts

    private func describe(_ verb: Verb, _ roff: inout Roff) {
        let help = VerbHelp(verb: verb, catalogue: catalogue, width: 72, style: Style(isOn: false))
        roff.subsection(verb.usage)
        roff.paragraph(verb.method.summary)
        if let alias = catalogue.aliases.first(where: { $0.verb.method.name == verb.method.name }) {
            roff.paragraph("'kura \(alias.word)' is the same.")
        }
        for (term, meaning) in help.arguments + help.options { roff.item(term, meaning) }
        if !help.result.isEmpty {
            roff.paragraph("Result:")
            for (term, meaning) in help.result { roff.item(term, meaning) }
        }
        if !help.errors.isEmpty { roff.paragraph("Errors besides the usual: \(help.errors).") }
        roff.example([CommandExample.line(verb)])
    }

    private func describe(_ tool: Tool, _ roff: inout Roff) {
        roff.paragraph(tool.summary)
        for text in tool.explanation { roff.paragraph(text) }
        for option in tool.options {
            roff.item("--\(option.name)" + (option.value.map { " \($0)" } ?? ""), option.summary)
        }
        roff.example(tool.examples)
    }

    private func head(_ name: String, _ section: Int, _ summary: String) -> Roff {
        var roff = Roff(name, section, date: date, program: "kura \(Kura.version)")
        roff.section("NAME")
        roff.name(name, summary)
        return roff
    }

    private func end(_ roff: Roff, but name: String) -> String {
        var roff = roff
        roff.section("SEE ALSO")
        roff.references(
            (["kura(1)"] + catalogue.shownNouns.map { "kura-\($0.word)(1)" } + ["kurad(8)"]).filter {
                $0 != "\(name)(1)"
            })
        return roff.text
    }

    private var date: String {
        var output = ByteBuffer()
        output.append(timestamp: seconds * 1000)
        return String((JSONObject.string(Array(output.bytes)) ?? "").prefix(10))
    }

    /// As the line of a page's name has it: without a capital and a full stop.
    private static func phrase(_ summary: String) -> String {
        let text = summary.hasSuffix(".") ? String(summary.dropLast()) : summary
        // A name that is written in capitals stays: JSON.
        guard let second = text.dropFirst().first, second.isLowercase || second == " " else { return text }
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

/// A page in the macros of man(7). Source: man(7), groff_man(7), mandoc's `man.7`.
struct Roff {
    private(set) var text: String
    /// Something stands below the newest heading: paragraphs part from each other and not from headings.
    private var hasText = false

    init(_ name: String, _ section: Int, date: String, program: String) {
        // Options are not hyphenated, and lines of usage not stretched.
        text = ".TH \(Self.escaped(name.uppercased())) \(section) \(date) \"\(program)\"\n.nh\n.ad l\n"
    }

    mutating func section(_ title: String) {
        text += ".SH \"\(Self.argument(title))\"\n"
        hasText = false
    }

    mutating func subsection(_ title: String) {
        text += ".SS \"\(Self.argument(title))\"\n"
        hasText = false
    }

    mutating func name(_ name: String, _ summary: String) {
        text += "\(Self.escaped(name)) \\- \(Self.escaped(summary))\n"
    }

    mutating func paragraph(_ words: String) {
        if hasText { text += ".PP\n" }
        line(words)
    }

    private mutating func line(_ words: String) {
        for line in Layout.wrapped(Self.escaped(words), width: 78) { text += Self.guarded(line) + "\n" }
        hasText = true
    }

    mutating func item(_ term: String, _ meaning: String) {
        text += ".TP\n\\fB\(Self.escaped(term))\\fR\n"
        line(meaning)
    }

    mutating func usage(_ words: [String]) {
        if hasText { text += ".br\n" }
        line(words.joined(separator: " "))
    }

    /// Lines as they are.
    mutating func example(_ lines: [String]) {
        paragraph(lines.count == 1 ? "Example:" : "Examples:")
        text += ".PP\n.nf\n"
        for line in lines { text += "    " + Self.escaped(line) + "\n" }
        text += ".fi\n"
        hasText = true
    }

    /// Text that is laid out already.
    mutating func laidOut(_ given: String) {
        text += ".nf\n"
        for line in given.split(separator: "\n", omittingEmptySubsequences: false).dropLast(
            given.hasSuffix("\n") ? 1 : 0)
        {
            // An empty line is a paragraph's end to some readers.
            text += line.isEmpty ? ".sp\n" : Self.guarded(Self.escaped(String(line))) + "\n"
        }
        text += ".fi\n"
        hasText = true
    }

    /// What a program prints of itself: options become items, paragraphs are filled, the rest stays as it is.
    mutating func help(_ given: String) {
        var filled: [Substring] = []
        var fixed: [Substring] = []
        /// An option with the lines that its text goes on in.
        var option: [Substring] = []
        func isOption(_ line: Substring) -> Bool { line.hasPrefix("  --") }
        // The first line is the page's name.
        for line in given.split(separator: "\n", omittingEmptySubsequences: false).dropFirst() + [""] {
            if !option.isEmpty {
                if line.hasPrefix("            ") {
                    option.append(line)
                    continue
                }
                let words = option.flatMap { $0.split(separator: " ") }
                let hasValue = words.count > 1 && words[1].allSatisfy { $0.isUppercase || $0 == "-" }
                item(
                    words.prefix(hasValue ? 2 : 1).joined(separator: " "),
                    words.dropFirst(hasValue ? 2 : 1).joined(separator: " "))
                option = []
            }
            let stays = line.hasPrefix(" ") || line.hasPrefix("usage:")
            if !filled.isEmpty, line.isEmpty || stays {
                paragraph(filled.joined(separator: " "))
                filled = []
            }
            if !fixed.isEmpty, line.isEmpty || !stays || isOption(line) {
                if hasText { text += ".PP\n" }
                laidOut(fixed.joined(separator: "\n"))
                fixed = []
            }
            if isOption(line) {
                option = [line]
            } else if stays {
                fixed.append(line)
            } else if !line.isEmpty {
                filled.append(line)
            }
        }
    }

    mutating func references(_ pages: [String]) {
        for (index, page) in pages.enumerated() {
            guard let sign = page.firstIndex(of: "(") else { continue }
            let comma = index + 1 < pages.count ? "," : ""
            text += ".BR \(Self.escaped(String(page[..<sign]))) \(page[sign...])\(comma)\n"
        }
    }

    /// What roff would take for its own: backslashes, and signs that it may set as others.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "…": result += "..."
            default: result.append(character)
            }
        }
        return result
    }

    /// Within the quotes of a macro's argument.
    private static func argument(_ text: String) -> String { escaped(text).replacing("\"", with: "\\(dq") }

    /// At a line's beginning a full stop begins a request.
    private static func guarded(_ text: String) -> String { text.hasPrefix(".") ? "\\&" + text : text }
}
