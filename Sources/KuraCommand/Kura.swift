import CSyscalls
import Glibc
import KuraBytes
import KuraProtocol

/// The program `kura`: nouns and verbs made from the method table, and what is printed of the answers.
public enum Kura {
    static let version = Release.version

    /// Runs the process's command line.
    /// - Returns: the exit status.
    public static func main() -> Int32 {
        // Else what is printed may get into a file that is being written.
        csys_hold_standard_descriptors()
        let console = Console.standard()
        do throws(Failure) {
            return run(try commandLine(), console).rawValue
        } catch {
            console.fail(error, isJSON: false)
            return error.status.rawValue
        }
    }

    /// The arguments as they came: one that is not UTF-8 is refused, not mended.
    private static func commandLine() throws(Failure) -> [String] {
        var words: [String] = []
        // Safety: nil ends them, and none is looked at behind it.
        while let word = unsafe ProgramArguments.vector[words.count + 1] {
            guard let text = unsafe String(validatingCString: word) else {
                throw .usage(
                    "argument \(words.count + 1) is not UTF-8", hint: "JSON is text: encode other bytes, as base64")
            }
            words.append(text)
        }
        return words
    }

    /// Runs one command to its end.
    /// - Parameters:
    ///   - arguments: without the program's name.
    ///   - console: where it prints.
    ///   - catalogue: the methods that there are.
    /// - Returns: how it ended.
    static func run(_ arguments: [String], _ console: Console, _ catalogue: Catalogue = .standard) -> ExitCode {
        var reader = InvocationReader(arguments, catalogue)
        do throws(Failure) {
            try reader.read()
            console.color = reader.invocation.options.color
            console.isQuiet = reader.invocation.options.isQuiet
            return try run(reader.invocation, console, catalogue)
        } catch {
            let options = reader.invocation.options
            console.color = options.color
            console.fail(error, isJSON: options.form != .standard)
            return error.status
        }
    }

    private static func run(
        _ invocation: Invocation, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        let options = invocation.options
        let help = Help(catalogue: catalogue, width: console.width, style: console.style)
        if options.wantsVersion {
            console.print("kura \(version)\n")
            return .done
        }
        if options.wantsHelp {
            console.print(try help.text(for: invocation.target, invocation.words))
            return .done
        }
        switch invocation.target {
        case .nothing:
            console.print(help.general)
            return .usage
        case .noun(let noun):
            let verbs = catalogue.verbs(of: noun).map(\.word)
            throw .usage(
                "\(noun.word) needs a verb: \(verbs.joined(separator: ", "))",
                hint: "'kura \(noun.word) --help' tells more")
        case .verb(let verb):
            let secrets = SecretReader(
                asks: console.isInputTerminal, takesObject: invocation.takesObject,
                allowsEmpty: invocation.allowsEmpty, input: console.input, ask: console.ask)
            var invocation = invocation
            try invocation.imply(console, for: verb)
            let parameters = try Parameters(invocation, of: verb, input: console.input, secrets: secrets)
            // What it prints is what was asked for, as with an export into a file.
            if verb.method.name == "settings.export" { console.isQuiet = false }
            if verb.method.name == "storage.status" {
                return try StatusCommand(catalogue: catalogue, options: options, console: console).run(verb.method)
            }
            return try VerbCommand(
                verb: verb, parameters: parameters, wantsAll: invocation.wantsAll, shows: invocation.shows,
                replaces: invocation.replaces, columns: invocation.columns, bounds: invocation.bounds, options: options,
                console: console
            ).run()
        case .tool(let tool):
            let arguments = ToolArguments(tool: tool, words: invocation.words, options: invocation.toolOptions)
            switch tool.path {
            case "exec": try ExecCommand(arguments).run(options, console)
            case "undo": return try UndoCommand.run(arguments, options, console, catalogue)
            case "metrics": return try MetricsCommand.run(arguments, options, console, catalogue)
            case "doctor": return try DoctorCommand.run(arguments, options, console, catalogue)
            case "top": return try TopCommand.run(arguments, options, console, catalogue)
            case "disk-writes": return try DiskWrites.run(arguments, options, console, catalogue)
            case "secrets import": return try SecretsImport.run(arguments, options, console, catalogue)
            case "secrets audit verify": return try SecretsAuditVerify.run(arguments, options, console, catalogue)
            case "backup": return try BackupCommand.run(arguments, options, console, catalogue)
            case "bundle": return try BundleCommand.run(arguments, options, console, catalogue)
            case "record": return try RecordCommand.run(arguments, options, console, catalogue)
            case "replay": return try ReplayCommand.run(arguments, options, console)
            case "restore": try RestoreCommand.run(arguments, options, console, catalogue)
            case "paths": return try PathsCommand.run(arguments, options, console)
            case "secrets export": return try SecretsExport.run(arguments, options, console, catalogue)
            case "docs edit", "settings edit":
                return try EditCommand.run(arguments, options, console, catalogue)
            case "docs diff": return try DiffCommand.run(arguments, options, console, catalogue)
            case "docs add-index", "docs drop-index":
                return try IndexCommand.run(arguments, options, console, catalogue)
            case "import": return try ImportCommand.run(arguments, options, console, catalogue)
            case "man": return try ManCommand.run(arguments, console, catalogue)
            default: return try SecretsIdentity.run(arguments, console)
            }
        case .command("call"): return try CallCommand(invocation.words, catalogue).run(options, console)
        case .command("bench"):
            try BenchCommand.run(invocation.words, options, console)
        case .command("completions"):
            guard invocation.words.first == "next" else {
                console.print(try Completions.script(invocation.words))
                return .done
            }
            let next = NextWord(Array(invocation.words.dropFirst()), catalogue) { wanted, prefix, given in
                var options = options
                for (name, value) in given where (try? options.take(name, value: value)) != true { return [] }
                return wanted.read(prefix, options, console)
            }
            console.print(next.answer.text)
            return .done
        case .command:
            console.print(try help.topic(invocation.words))
            return .done
        }
    }
}
