import KuraBytes
import KuraProtocol

/// A command that is no method of the table: several calls with something done to what they answer.
struct Tool {
    /// The noun that it is a verb of; nil for one that stands by itself.
    let noun: String?
    /// One word, or two: a verb's and one behind it.
    let word: String
    /// As usage lines write them: `SERVICE`, `[FILE]`.
    let arguments: [String]
    let options: [Option]
    let summary: String
    /// What its help says besides, a paragraph each.
    let explanation: [String]
    let examples: [String]
    /// From the first word on, everything is a command of somebody else's: its options are not ours.
    var takesCommand = false
    /// Its arguments are files.
    var takesFile = false

    struct Option {
        /// Without the dashes.
        let name: String
        /// As usage lines write its value; nil for a flag.
        let value: String?
        let summary: String
        /// It may be given several times.
        var repeats = false
        /// What its value may be; those of `value` when that names them with bars between.
        var choices: [String] = []

        /// Which parts of a backup, or of a bundle, are meant.
        static func parts(
            _ name: String, of whole: String = "", _ stores: [String] = Method.Store.durable.words,
            such scope: String = "documents/notes"
        ) -> Option {
            Option(
                name: name, value: "WHAT",
                summary: "Only this\(whole): \(stores.joinedByCommas), or a scope such as \(scope). "
                    + "May be given several times.", repeats: true, choices: stores)
        }

        /// A file that is there may be replaced.
        static func replace(_ what: String = "FILE") -> Option {
            Option(name: "replace", value: nil, summary: "\(what) may be there: it is replaced when all has come.")
        }

        static func passphraseFile(_ summary: String) -> Option {
            Option(name: "passphrase-file", value: "FILE", summary: summary)
        }
    }

    /// `secrets import`, `docs edit`
    var path: String {
        noun.map { "\(Method.Store(rawValue: $0)?.shortName ?? $0) \(word)" } ?? word
    }

    /// All ways to write it: `docs edit`, `documents edit`.
    var paths: [String] { noun.map { path == "\($0) \(word)" ? [path] : [path, "\($0) \(word)"] } ?? [word] }

    var usageWords: [String] {
        let options = options.map { option in
            "[--\(option.name)" + (option.value.map { " \($0)" } ?? "") + "]" + (option.repeats ? "…" : "")
        }
        return takesCommand ? [path] + options + arguments : [path] + arguments + options
    }

    var usage: String { usageWords.joined(separator: " ") }

    static let all = [
        ExecCommand.tool, UndoCommand.tool, DiskWrites.tool,
        SecretsImport.tool, SecretsExport.tool, SecretsIdentity.tool,
        SecretsAuditVerify.tool, BackupCommand.tool, RestoreCommand.tool, BundleCommand.tool, PathsCommand.tool,
        TopCommand.tool, RecordCommand.tool, ReplayCommand.tool,
        MetricsCommand.tool, DoctorCommand.tool,
        EditCommand.documents, DiffCommand.tool, IndexCommand.add, IndexCommand.drop,
        EditCommand.settings,
        ImportCommand.tool,
        ManCommand.tool,
    ]

    /// Tools of a noun that stand beside its verbs.
    static func verbs(of noun: String) -> [Tool] { all.filter { $0.noun == noun && !$0.word.contains(" ") } }

    /// The tool that goes on with a verb's word: `verify` behind `secrets audit`.
    static func following(_ verb: String, of noun: String, _ word: String) -> Tool? {
        all.first { $0.noun == noun && $0.word == "\(verb) \(word)" }
    }
}

/// What a tool was called with.
struct ToolArguments {
    let tool: Tool
    var words: [String]
    var options: [(name: String, value: String)] = []

    func value(_ option: String) -> String? { options.last { $0.name == option }?.value }

    func values(_ option: String) -> [String] { options.filter { $0.name == option }.map(\.value) }

    func has(_ flag: String) -> Bool { options.contains { $0.name == flag } }

    /// - Throws: a usage failure when there are fewer than `least` words, or more than `most`.
    func check(least: Int, most: Int) throws(Failure) {
        if words.count < least {
            throw .usage("\(tool.path) needs \(tool.arguments[words.count])", hint: "usage: kura \(tool.usage)")
        }
        if words.count > most {
            throw .usage(
                "\(tool.path) does not know what to do with '\(words[most])'", hint: "usage: kura \(tool.usage)")
        }
    }
}
