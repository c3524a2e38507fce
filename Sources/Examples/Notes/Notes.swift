import Foundation
import KuraClient

/// An application of three processes that share everything through Kura, and know nothing of one another:
///
///     kura-notes ui         the notes on a terminal, edited there, and whatever the others do to them
///     kura-notes fetcher    keeps the headlines of a server in the model cache; its token is a secret
///     kura-notes worker     keeps a small picture of each note in the blob cache
///
/// Any of them may be started, killed and started again at any time, several times over; so may the daemon.
@main
enum Notes {
    static let usage = """
        usage: kura-notes ui | fetcher URL [SECONDS] | worker

        ui       lists the notes and follows them; reads commands: add TEXT, edit NUMBER TEXT, done NUMBER, delete NUMBER, quit
        fetcher  keeps the headlines at URL in the model cache, asking again after SECONDS (60); the server's token is the
                 secret 'token' of the service 'headlines', when there is one
        worker   keeps a picture of each note as a blob

        They connect to $KURA_SOCKET, or to where the daemon of this user listens.
        """

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch (arguments.first, arguments.count) {
            case ("ui", 1): try await UserInterface(connect("ui")).run()
            case ("worker", 1): try await Worker(connect("worker")).run()
            case ("fetcher", 2...3):
                guard let address = URL(string: arguments[1]),
                    let seconds = Int(arguments.count == 3 ? arguments[2] : "60"), seconds > 0
                else { fallthrough }
                try await Fetcher(connect("fetcher"), address, every: .seconds(seconds)).run()
            default:
                FileHandle.standardError.write(Data((usage + "\n").utf8))
                exit(2)
            }
        } catch {
            FileHandle.standardError.write(Data("kura-notes: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Each process says who it is: its name stands beside what it writes, in the change feed and in the write bill.
    private static func connect(_ part: String) async throws(KuraError) -> Kura {
        try await Kura.connect(
            options: ConnectOptions(name: "notes-\(part)", version: "1", patience: .seconds(3600), wait: .seconds(10)))
    }
}

/// Prints a line at once, also into a pipe.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// A note, as all processes know it: a plain value.
struct Note: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var text: String
    /// Other programs write notes without it.
    var isDone: Bool?
}

/// What the server has, as the cache keeps it.
struct Headlines: Codable, Sendable, Equatable {
    var headlines: [String]
}
