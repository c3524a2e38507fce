import KuraBytes
import KuraClient
import KuraProtocol

/// Help on one verb, made from its method's declaration.
struct VerbHelp {
    let verb: Verb
    let catalogue: Catalogue
    let width: Int
    let style: Style

    var text: String {
        let method = verb.method
        var parts = [Layout.paragraph("\(verb.path) - \(method.summary)", width: width)]
        parts.append(Layout.paragraph(words: ["usage: kura"] + verb.usageWords, width: width, indent: 4))
        parts.append(section("arguments", arguments))
        parts.append(section("options, besides those of 'kura --help'", options))
        parts.append(section("result", result))
        if !errors.isEmpty { parts.append(Layout.paragraph("errors besides the usual: \(errors)", width: width)) }
        if let alias = catalogue.aliases.first(where: { $0.verb.method.name == method.name }) {
            parts.append("'kura \(alias.word)' is the same.\n")
        }
        parts.append("\(style.bold("example"))\n  \(CommandExample.line(verb))\n")
        return parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// Kinds that the method adds to those that any request can meet.
    var errors: String { verb.method.errors.map { "\($0.facts.name)" }.joined(separator: ", ") }

    var result: [(term: String, meaning: String)] { verb.method.result.flatMap { rows($0, path: $0.name) } }

    private func section(_ title: String, _ rows: [(term: String, meaning: String)]) -> String {
        rows.isEmpty ? "" : "\(style.bold(title))\n\(Layout.definitions(rows, width: width))"
    }

    var arguments: [(term: String, meaning: String)] {
        verb.positional.map { parameter in
            (parameter.isRepeatable ? parameter.elementPlaceholder + "…" : parameter.placeholder, meaning(parameter))
        }
    }

    var options: [(term: String, meaning: String)] {
        let placed = verb.positional.map(\.field.name)
        return verb.parameters.filter { !placed.contains($0.field.name) }.map { ($0.optionUsage, meaning($0)) }
            + verb.ownOptions.map { ($0.usage, $0.summary) }
    }

    private func meaning(_ parameter: Verb.Parameter) -> String {
        if parameter.form == .file {
            return !verb.writesFile
                ? "The file to read; '-' is standard input." : "The file to write; '-' is standard output."
        }
        if parameter.form == .reply {
            return "The file to write the content to; '-' is standard output. Without it the reply has it as base64."
        }
        if parameter.form == .secret {
            return parameter.field.summary
                + " Asked for on a terminal, else read from standard input; never an argument."
        }
        if parameter.isSelector {
            return parameter.field.summary
                + " A JSON object, or conditions such as 'area>=1000': see 'kura help conditions'."
        }
        if parameter.isSort { return described(parameter.field) + " As an option, FIELD:desc is one of the latter." }
        return described(parameter.field)
    }

    private func described(_ field: KuraProtocol.Field) -> String {
        if case .boolean = field.type { return field.summary }
        return "\(field.summary) [\(field.type.words)]"
    }

    /// One row for the field and one for each field of the objects in it.
    private func rows(_ field: KuraProtocol.Field, path: String) -> [(term: String, meaning: String)] {
        [(path, field.summary)] + inner(field.type, path: path).flatMap { rows($0.field, path: $0.path) }
    }

    private func inner(_ type: ValueType, path: String) -> [(field: KuraProtocol.Field, path: String)] {
        switch type {
        case .object(let fields): fields.map { ($0, "\(path).\($0.name)") }
        case .list(let element, _): inner(element, path: path + "[]")
        default: []
        }
    }
}
