import KuraBytes
import KuraProtocol

/// Pages of `kura help` that are about no verb.
enum HelpTopic: String, CaseIterable {
    case values, conditions, output
    case exitCodes = "exit-codes"
    case call, bench, completions, help

    func text(width: Int) -> String {
        switch self {
        case .exitCodes: Self.exitCodes(width: width)
        case .values:
            Self.page(
                [
                    "Arguments stand in the order of the method's parameters, and each has an option of its name: "
                        + "'kura settings put app theme dark' is 'kura settings put --domain app --key theme --value dark'. "
                        + "What is given by name leaves its place to the next.",
                    "A value of any JSON type is taken as JSON when it is JSON, else as text: 5 is a number, true a "
                        + "boolean, '{\"a\":1}' an object, dark a string, '\"5\"' the string 5. What begins like an object, an "
                        + "array or a quoted string and is none is refused. --string takes values as text in any case.",
                    "A list takes several arguments, or its option several times (--key a --key b), or one JSON "
                        + "array. An object takes NAME=VALUE arguments, or one JSON object.",
                    "'-' is standard input, without its last line end. A list from there is a JSON array or has an "
                        + "element on each line.",
                    "Behind '--' nothing is an option. A number may be negative anywhere.",
                ], width: width,
                examples: [
                    "kura settings put app theme dark", "kura settings put app pin 0042 --string",
                    "kura settings put-many app theme=dark size=12", "kura docs put countries DE - < germany.json",
                    "kura settings increment app balance -5",
                ])
        case .conditions:
            Self.page(
                [
                    "Where a verb takes a CONDITION it takes several, all of which must hold, or one selector as a JSON object. A "
                        + "condition is FIELD, a sign and a value without spaces around the sign. Shells read < and > otherwise: quote "
                        + "such a word.",
                    SelectorWords.signs.sorted { $0.sign.count < $1.sign.count }.map { "\($0.sign) \($0.meaning)" }
                        .joined(separator: "; ") + ".",
                    "A value is JSON when it is JSON, else text, as everywhere: see 'kura help values'. FIELD may be a path: "
                        + "capital.name looks into an object, and _id is the document's id. Other words keep their places: 'kura docs "
                        + "find tasks done=false due' sorts by due, as --sort due does; --sort due:desc is the other way round. With an option of its name it is given several times: --where a=1 "
                        + "--where b=2.",
                    "What is more than that ($or, $in, $exists) is written as a selector: proto-docs/queries.md.",
                ], width: width,
                examples: [
                    "kura docs find countries continent=Asia 'area>=300000' name",
                    "kura docs find tasks done=false --sort due:desc",
                    "kura docs count tasks done=false 'due<2026-12-01'",
                    "kura docs delete-many notes --where isDone=true --dry-run",
                ])
        case .output:
            Self.page(
                [
                    "On a terminal lists are tables, cut to its width, and other results are laid out for reading. "
                        + "Elsewhere lists are NDJSON, one line of JSON for each item, and other results one line of JSON.",
                    "'get' prints the bare value, on a terminal and elsewhere: text as it is, without quotes, other "
                        + "values as JSON; 'count' prints the number.",
                    "--json prints the whole result as one line, with revisions and cursor. --ndjson prints lists "
                        + "as lines, also on a terminal. -q prints nothing. --columns id,value.name shows of a list's items only "
                        + "these, in tables and in lines.",
                    "A list may end before the end: a remark on standard error says so. --all follows the cursor.",
                    "Errors and remarks go to standard error; with --json and --ndjson the daemon's errors are one "
                        + "line of JSON. What takes over a second shows its progress there, when it is a terminal.",
                    "Colour is for terminals: --color always, --color never and $NO_COLOR change that. Control "
                        + "characters in values are shown as escapes on a terminal.",
                ], width: width,
                examples: [
                    "kura settings list app", "kura settings list app --ndjson | jq -r .key",
                    "kura docs get countries JP --json | jq .rev", "theme=$(kura settings get app theme light)",
                ])
        case .call:
            Self.page(
                [
                    "usage: kura call METHOD [NAME=TEXT…] [NAME:=JSON…]",
                    "Calls any method with parameters by name; nothing is guessed. NAME=TEXT is a string, whatever "
                        + "it looks like; NAME:=JSON any JSON value. NAME=@FILE is the file's content as a string, "
                        + "NAME:=@FILE as JSON; '-' for FILE is standard input. '-' alone: all parameters as one "
                        + "JSON object from standard input. The result is printed as JSON.",
                ], width: width,
                examples: [
                    "kura call settings.put domain=app key=theme value=dark",
                    "kura call documents.put collection=notes value:='{\"text\":\"Dear reader\"}'",
                ])
        case .bench:
            Self.page(
                [
                    "usage: kura bench [OPTION…]",
                    "Runs kura-bench, which lies beside kura or in $PATH, against this daemon. All that stands behind "
                        + "'bench' is kura-bench's: 'kura bench --help' lists it. It writes: use a daemon of its own.",
                ], width: width, examples: ["kura --socket /tmp/k.sock bench --preload --connections 8"])
        case .completions:
            Self.page(
                ["usage: kura completions bash|zsh|fish", "Prints a completion script for the shell."], width: width,
                examples: [
                    "source <(kura completions bash)                  # in ~/.bashrc",
                    "source <(kura completions zsh)                   # in ~/.zshrc, behind compinit",
                    "kura completions fish > ~/.config/fish/completions/kura.fish",
                ])
        case .help:
            Self.page(
                [
                    "usage: kura help [NOUN [VERB] | values | conditions | output | exit-codes | call | bench | completions]"
                ],
                width: width, examples: ["kura help docs put"])
        }
    }

    private static func page(_ paragraphs: [String], width: Int, examples: [String]) -> String {
        paragraphs.map { Layout.paragraph($0, width: width) }.joined(separator: "\n")
            + "\nexamples\n" + examples.map { "  \($0)\n" }.joined()
    }

    private static func exitCodes(width: Int) -> String {
        let rows = ExitCode.allCases.map { status in
            let kinds = ErrorKind.allCases.filter { ExitCode.of($0) == status }.map { "\($0.facts.name)" }
            let suffix = kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))"
            return (term: String(status.rawValue), meaning: status.meaning + suffix)
        }
        return "What the exit status says; in brackets the kinds of the daemon's errors.\n\n"
            + Layout.definitions(rows, width: width)
            + "\nexample\n  kura settings get app theme -q || kura settings put app theme dark\n"
    }
}
