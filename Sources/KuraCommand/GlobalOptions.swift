import KuraClient
import KuraProtocol

/// The options that every command takes, wherever they stand.
struct GlobalOptions {
    enum Color: String, CaseIterable { case auto, always, never }

    /// How results are printed; `standard` depends on where they go.
    enum Form { case standard, json, ndjson }

    private var givenSocket: String?
    /// The users of whom one has to listen; nil: as `$KURA_PEER_UID` says.
    private(set) var peerUIDs: [UInt32]?
    private(set) var form = Form.standard
    private(set) var isQuiet = false
    private(set) var color = Color.auto
    /// Longest silence of the daemon; nil waits for ever.
    private(set) var timeoutMilliseconds: Int32?
    private(set) var wantsHelp = false
    private(set) var wantsVersion = false

    /// Their places on the command line, values in capitals, and what they do.
    static let all: [(name: String, value: String?, summary: String)] = [
        ("socket", "PATH", "The daemon's socket, else $KURA_SOCKET."),
        ("peer-uid", "UID", "Whose daemon it has to be, else $KURA_PEER_UID."),
        ("json", nil, "The whole result as one line of JSON."),
        ("ndjson", nil, "Lists as a line of JSON an item, as into pipes."),
        ("quiet", nil, "Print no result and no remarks."),
        ("color", "WHEN", "auto, always or never; auto minds $NO_COLOR."),
        ("timeout", "SECONDS", "Give up when no answer, and no progress of it, has come for so long."),
        ("help", nil, "Help on what the command names."),
        ("version", nil, "The version of kura."),
    ]

    /// Seconds that the next daemon is waited for when one has gone in the midst of something.
    var patience: Double { timeoutMilliseconds.map { Double($0) / 1000 } ?? Session.patience }

    /// The command line itself says which daemon is meant.
    var namesSocket: Bool { givenSocket != nil }

    func socket(_ environment: (String) -> String?) -> String {
        givenSocket ?? SocketPath.standard(environment)
    }

    /// Takes an option without a value.
    /// - Returns: false when none is called so.
    mutating func take(flag name: String) throws(Failure) -> Bool {
        switch name {
        case "json": try choose(.json)
        case "ndjson": try choose(.ndjson)
        case "quiet": isQuiet = true
        case "help": wantsHelp = true
        case "version": wantsVersion = true
        default: return false
        }
        return true
    }

    private mutating func choose(_ wanted: Form) throws(Failure) {
        guard form == .standard || form == wanted else { throw .usage("--json and --ndjson exclude each other") }
        form = wanted
    }

    /// Takes an option that has a value.
    /// - Returns: false when none is called so.
    mutating func take(_ name: String, value: String) throws(Failure) -> Bool {
        switch name {
        case "socket":
            guard !value.isEmpty else { throw .usage("--socket needs a path") }
            givenSocket = value
        case "peer-uid":
            guard let users = Client.users(value) else {
                throw .usage("--peer-uid takes user numbers, such as 10001 or 0,10001, not '\(value)'")
            }
            peerUIDs = users
        case "color":
            guard let color = Color(rawValue: value) else {
                throw .usage("--color takes auto, always or never, not '\(value)'")
            }
            self.color = color
        case "timeout":
            guard let seconds = Double(value), seconds > 0, seconds <= 2_000_000 else {
                throw .usage("--timeout takes seconds, such as 5 or 0.5, not '\(value)'")
            }
            timeoutMilliseconds = max(1, Int32(seconds * 1000))
        default: return false
        }
        return true
    }
}
