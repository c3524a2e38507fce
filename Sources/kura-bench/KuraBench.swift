import Glibc

/// Picks the subcommand and turns its outcome into an exit code.
///
/// Exit codes: 0 measured, 1 failed, 2 wrong usage, 3 the run is void.
enum KuraBench {
    static func run() {
        // A server that goes away must surface as EPIPE from write, not end the process unreported.
        signal(SIGPIPE, SIG_IGN)
        do {
            try dispatch(Array(CommandLine.arguments.dropFirst()))
        } catch let failure as BenchError {
            Output.error("kura-bench: \(failure.message)")
            exit(failure.exitCode)
        } catch {
            Output.error("kura-bench: \(error)")
            exit(1)
        }
    }

    private static func dispatch(_ words: [String]) throws {
        if words.contains("--help") || words.contains("-h") || words.first == "help" {
            Output.line(Help.text)
            return
        }
        var rest = words
        var command = "load"
        if let first = words.first, !first.hasPrefix("-") {
            command = first
            rest.removeFirst()
        }
        var arguments = try Arguments(rest)
        switch command {
        case "load", "latency": try LoadCommand.run(&arguments, needsRate: command == "latency")
        case "compare": try CompareCommand.run(&arguments)
        case "replay": try ReplayCommand.run(&arguments)
        case "connections": try ConnectionsCommand.run(&arguments)
        case "changes": try ChangesCommand.run(&arguments)
        case ChangesCommand.writerName: try ChangesCommand.runWriter(&arguments)
        case "spawn": try SpawnCommand.run(&arguments)
        case ChildProcesses.commandName: try ChildProcesses.runChild(&arguments)
        default: throw BenchError.usage("unknown subcommand `\(command)`; see --help")
        }
    }
}
