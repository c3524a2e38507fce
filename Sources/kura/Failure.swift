import KuraClient

/// What the exit status says; --help documents it.
enum ExitStatus {
    static let ok: Int32 = 0
    static let refused: Int32 = 1
    static let usage: Int32 = 2
    static let noDaemon: Int32 = 3
    static let conflict: Int32 = 4
    static let retryable: Int32 = 5
    static let outcomeUnknown: Int32 = 6

    static func of(_ error: ReplyError) -> Int32 {
        switch error.kind {
        case "conflict": conflict
        case "outcomeUnknown": outcomeUnknown
        default: error.isRetryable ? retryable : refused
        }
    }
}

/// Why the command ends without having done what was asked.
struct Failure: Error {
    var status: Int32
    /// One line.
    var message: String
    var hint: String?
    /// The daemon's error as it came, which `--json` prints instead.
    var reply: [UInt8]?

    static func usage(_ message: String, hint: String? = nil) -> Failure {
        Failure(status: ExitStatus.usage, message: message, hint: hint)
    }

    init(status: Int32, message: String, hint: String? = nil, reply: [UInt8]? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
        self.reply = reply
    }

    init(_ error: ClientError) {
        self.init(
            status: error.code == .badParameters ? ExitStatus.usage : ExitStatus.noDaemon, message: error.message,
            hint: error.hint)
    }
}
