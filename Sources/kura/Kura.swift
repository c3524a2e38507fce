import Glibc
import KuraClient
import KuraProtocol

/// Argument parsing and printing only: talking to a daemon is `KuraClient`'s.
@main
struct Kura {
    static let version = "0.1.0"

    static func main() {
        do throws(Failure) {
            let options = try Options(words: try commandLine())
            try run(options)
        } catch {
            Output.fail(error)
        }
        exit(ExitStatus.ok)
    }

    /// The arguments as they came: one that is not UTF-8 is refused, not mended.
    private static func commandLine() throws(Failure) -> [String] {
        var words: [String] = []
        for position in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = CommandLine.unsafeArgv[position] else { break }
            guard let text = String(validatingCString: word) else {
                throw .usage("argument \(position) is not UTF-8", hint: "JSON is text: encode other bytes, as base64")
            }
            words.append(text)
        }
        return words
    }

    private static func run(_ options: Options) throws(Failure) {
        if options.wantsVersion { return Output.write("kura \(version)\n") }
        let command = options.words.first
        let rest = Array(options.words.dropFirst())
        switch command {
        case nil:
            guard options.wantsHelp else {
                throw .usage("what is to be done?", hint: "'kura --help' lists commands and methods")
            }
            Output.write(Help.general())
        case "help":
            try Help.show(rest)
        case "call":
            if options.wantsHelp { return try Help.show(Array(rest.prefix(1))) }
            try CallCommand(rest).run(options)
        case "status":
            if options.wantsHelp { return Output.write(Help.general()) }
            guard rest.isEmpty else { throw .usage("status takes no '\(rest[0])'") }
            try StatusCommand.run(options)
        case let other?:
            if options.wantsHelp { return Output.write(Help.general()) }
            throw unknown(command: other)
        }
    }

    private static func unknown(command: String) -> Failure {
        let message = "unknown command '\(command)'"
        if Method.all.contains(where: { $0.name == command }) {
            return .usage(message, hint: "a method is called with 'kura call \(command)'")
        }
        guard let nearest = Spelling.nearest(to: command, among: ["call", "status", "help"]) else {
            return .usage(message, hint: "'kura --help' lists commands and methods")
        }
        return .usage(message, hint: "did you mean 'kura \(nearest)'?")
    }
}
