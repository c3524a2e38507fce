import Glibc
import KuraClient

/// Another process, for tests that need one: the tests build it beside themselves and run it.
///
///     kura-peer hammer SOCKET NUMBER TASKS ROUNDS    shares a collection with others; see `Hammer`
///     kura-peer cycles COUNT                         starts and ends daemons inside of itself, and looks what is left of them
///     kura-peer host                                 hosts one, says what has changed of the process, and ends by SIGTERM
@main struct Peer {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst().map { $0 }
        switch words.first {
        case "hammer" where words.count == 5:
            try await Hammer(
                socket: words[1], number: Int(words[2])!, tasks: Int(words[3])!, rounds: Int(words[4])!
            ).run()
        case "cycles" where words.count == 2: try await Hosting.cycles(Int(words[1])!)
        case "host" where words.count == 1: try await Hosting.host()
        default: exit(2)
        }
    }

    /// One line on standard output, at once and whole, whatever happens next.
    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        guard write(1, bytes, bytes.count) == bytes.count else { exit(3) }
    }
}
