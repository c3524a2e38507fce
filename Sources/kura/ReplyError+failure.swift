import KuraClient
import KuraProtocol

extension Failure {
    /// One line: the kind, the message, and what the daemon says besides, in brackets.
    init(_ error: ReplyError) {
        let data = JSONObject(error.data)
        let details = ["parameter", "index", "limit", "currentRev", "reason", "offset"].compactMap { name in
            data?[name].map { "\(name) \(JSONObject.string($0) ?? String(decoding: $0, as: UTF8.self))" }
        }
        let suffix = details.isEmpty ? "" : " (\(details.joined(separator: ", ")))"
        let remedy = ErrorKind.allCases.first { "\($0.facts.name)" == error.kind }.map { "\($0.facts.remedy)" }
        self.init(
            status: ExitStatus.of(error), message: "\(error.kind): \(error.message)\(suffix)",
            hint: error.hint ?? remedy, reply: error.data.isEmpty ? nil : Self.json(error))
    }

    /// The error object as one line.
    private static func json(_ error: ReplyError) -> [UInt8] {
        var output = ByteBuffer()
        output.append("{\"code\":")
        output.append(integer: error.code)
        output.append(",\"message\":")
        output.append(quoted: error.message)
        output.append(",\"data\":")
        error.data.withUnsafeBytes { output.append($0) }
        output.append("}")
        return Array(output.bytes)
    }
}
