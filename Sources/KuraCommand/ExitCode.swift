import KuraBytes
import KuraClient
import KuraProtocol

/// What the exit status says. Scripts depend on it: numbers are never given a second meaning.
enum ExitCode: Int32, CaseIterable {
    case done = 0
    case refused, usage, noDaemon, conflict, tryAgain, outcomeUnknown, absent
    case advised, troubled, recovered
    case partly, declined, negative
    case notExecutable = 126
    case notFound

    /// One line for `kura help exit-codes`.
    var meaning: String {
        switch self {
        case .done: "Done. 'status': the daemon is ready."
        case .refused:
            "The daemon refused, for a reason that has no number of its own. Nothing was changed, but by an import, which says how far it came."
        case .usage: "Bad usage: a wrong command, option or parameter. Nothing was changed."
        case .noDaemon: "No daemon, or it went away or stayed silent before it answered a read."
        case .conflict: "The item has another revision than --if-rev said. Read it again, then decide."
        case .tryAgain: "The same request may succeed later as it is. 'status', 'storage health': alive and not ready."
        case .outcomeUnknown: "Whether the change was made is not known: read the item, then decide."
        case .absent: "What 'get', 'stat' or 'exec' was asked for is not there, and no default was given."
        case .advised: "'doctor': something should be done; the daemon works."
        case .troubled:
            "'doctor': something is wrong: the daemon does not start, refuses work, or others can read what they must not."
        case .recovered: "'doctor': a start had to set something aside, and nobody has acknowledged that."
        case .partly:
            "Done, but for what was left out, which is named: imports, damaged attachments and secrets of exports and backups, 'put-many' of caches, 'secrets clear'."
        case .declined:
            "Nothing was done, and that is no error: a cache declined, a token counts no longer, values break a schema."
        case .negative:
            "The answer is no: a signature is not valid, 'session can', a check has found something, or a backup and what is there differ."
        case .notExecutable: "'exec': the command could not be run. Else its status is the command's own."
        case .notFound: "'exec': the command was not found."
        }
    }

    static func of(_ error: ReplyError) -> ExitCode {
        guard let kind = ErrorKind.allCases.first(where: { "\($0.facts.name)" == error.kind }) else {
            return of(code: Int(error.code), name: error.kind, isRetryable: error.isRetryable)
        }
        return of(kind)
    }

    static func of(_ kind: ErrorKind) -> ExitCode {
        of(code: kind.facts.code, name: "\(kind.facts.name)", isRetryable: kind.facts.retryable)
    }

    private static func of(code: Int, name: String, isRetryable: Bool) -> ExitCode {
        switch (name, code) {
        case ("conflict", _): .conflict
        case ("outcomeUnknown", _): .outcomeUnknown
        case (_, -32700), (_, -32602...(-32600)): .usage
        default: isRetryable ? .tryAgain : .refused
        }
    }
}
