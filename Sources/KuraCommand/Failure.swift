import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// Why the command ends without having done what was asked.
struct Failure: Error {
    var status: ExitCode
    /// One line.
    var message: String
    var hint: String?
    /// The daemon's error as it came, which `--json` prints instead.
    var reply: [UInt8]?
    /// Why there is no answer; nil when there is one, or nothing was asked.
    var cause: ClientError.Code?

    /// The connection was good, and has ended.
    var isConnectionLost: Bool { cause == .connectionLost }

    /// The daemon went while it was being asked, or said that it is about to.
    var isInterruption: Bool {
        isConnectionLost || reply.flatMap { JSONObject($0)?.object("data")?.string("kind") } == "shuttingDown"
    }

    /// Another attempt may go better: nobody listens yet, or the daemon is about to begin or to end.
    var mayPass: Bool { cause.map { [.noDaemon, .connectionLost].contains($0) } ?? (reply != nil) }

    static func usage(_ message: String, hint: String? = nil) -> Failure {
        Failure(status: .usage, message: message, hint: hint)
    }

    /// A file that cannot be used, and why: what the system call that has just failed says.
    static func file(_ what: String) -> Failure {
        // Safety: the text of `strerror` is copied at once by the only thread.
        .usage(unsafe "\(what): \(String(cString: strerror(errno)))")
    }

    /// A reply without what each of its kind has: it is no Kura daemon's, or a broken one's.
    init(notPromised what: String, access: Method.Access = .read) {
        self.init(
            status: access == .write ? .outcomeUnknown : .noDaemon,
            message: "the reply does not say \(what): is this a Kura daemon's socket?",
            hint: access == .write
                ? "whether the change was made is not known: read the item before sending it again" : nil)
        cause = .badReply
    }

    init(status: ExitCode, message: String, hint: String? = nil, reply: [UInt8]? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
        self.reply = reply
    }

    /// `access` is what was asked for: a write that got no answer may have been made.
    init(_ error: ClientError, access: Method.Access = .read) {
        let hasBegun = [.connectionLost, .timedOut, .badReply].contains(error.code)
        if access == .write, hasBegun {
            self.init(
                status: .outcomeUnknown, message: error.message,
                hint: "whether the change was made is not known: read the item before sending it again")
        } else {
            let status = error.code == .badParameters ? ExitCode.usage : .noDaemon
            self.init(status: status, message: error.message, hint: error.hint)
        }
        cause = error.code
    }

    /// One line: the kind, the message, and what the daemon says besides, in brackets.
    init(_ error: ReplyError) {
        let details = (JSONObject(error.data)?.entries ?? []).compactMap { name, value in
            // The rest has a place of its own: the kind in front, the hint behind, retryable in the status.
            // The value as a whole has an empty path.
            ["kind", "retryable", "hint"].contains(name) || value.elementsEqual("\"\"".utf8)
                ? nil : "\(name) \(JSONObject.string(value) ?? String(decoding: value, as: UTF8.self))"
        }
        let suffix = details.isEmpty ? "" : " (\(details.joined(separator: ", ")))"
        let remedy = ErrorKind.allCases.first { "\($0.facts.name)" == error.kind }.map { "\($0.facts.remedy)" }
        self.init(
            status: ExitCode.of(error), message: "\(error.kind): \(error.message)\(suffix)",
            hint: (error.hint ?? remedy).map { Self.inCommands($0, JSONObject(error.data)) }, reply: Self.json(error))
    }

    /// The protocol's advice names methods, parameters and members of the error; here they are commands, options and numbers.
    private static func inCommands(_ advice: String, _ data: JSONObject?) -> String {
        let advice = advice.replacing("`allowScan: true`", with: "allowScan: true")
            .replacing("allowScan: true", with: "--allow-scan")
        return advice.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
            // What stands between the signs has the odd places.
            guard index % 2 == 1 else { return String(part) }
            if let number = data?.integer(String(part)) { return String(number) }
            guard let method = Method.all.first(where: { $0.name == part }) else { return "`\(part)`" }
            let noun = Method.Store(rawValue: method.noun)?.shortName ?? method.noun
            return "'kura \(noun) \(method.verb)'"
        }.joined()
    }

    /// The error object as one line.
    private static func json(_ error: ReplyError) -> [UInt8] {
        var output = ByteBuffer()
        output.append("{\"code\":")
        output.append(integer: error.code)
        output.append(",\"message\":")
        output.append(quoted: error.message)
        if !error.data.isEmpty {
            output.append(",\"data\":")
            error.data.withBytes { output.append($0) }
        }
        output.append("}")
        return Array(output.bytes)
    }
}
