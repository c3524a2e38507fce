/// A daemon's answer to one request.
public enum Reply: Sendable {
    /// The result as compact JSON text, an object.
    case result([UInt8])
    case error(ReplyError)

    /// Reads a reply's line.
    /// - Parameters:
    ///   - line: without its line end.
    ///   - id: the request's; an error may have null instead, when the request could not be read.
    /// - Throws: `badReply`.
    init(line: [UInt8], id: Int64) throws(ClientError) {
        guard let reply = JSONObject(line), reply.string("jsonrpc") == "2.0" else {
            throw ClientError(.badReply, "the answer is no JSON-RPC 2.0 reply: is this a Kura daemon's socket?")
        }
        let isUnread = reply["id"] == Array("null".utf8)
        switch (reply["result"], reply.object("error")) {
        case (let result?, nil) where reply.integer("id") == id:
            self = .result(result)
        case (nil, let error?) where reply.integer("id") == id || isUnread:
            self = .error(try ReplyError(error))
        default:
            throw ClientError(.badReply, "the answer is no reply to this request")
        }
    }
}

/// A refusal. proto-docs/errors.md says of every kind when it comes and what to do.
public struct ReplyError: Sendable {
    /// Stable, camelCase: `conflict`, `invalidParams`.
    public let kind: String
    /// JSON-RPC's code.
    public let code: Int64
    public let message: String
    /// The same request may succeed later as it is.
    public let isRetryable: Bool
    /// Everything that the daemon says on it, as JSON text; empty when it says nothing.
    public let data: [UInt8]

    init(_ error: JSONObject) throws(ClientError) {
        guard let code = error.integer("code"), let message = error.string("message") else {
            throw ClientError(.badReply, "the answer is an error without code or message")
        }
        self.code = code
        self.message = message
        data = error["data"] ?? []
        let details = JSONObject(data)
        kind = details?.string("kind") ?? "unknown"
        isRetryable = details?.boolean("retryable") ?? false
    }

    /// With `conflict`: the item's revision, 0 when it is absent.
    public var currentRev: Int64? { JSONObject(data)?.integer("currentRev") }
    /// What would have been right.
    public var hint: String? { JSONObject(data)?.string("hint") }
    /// Name of the parameter at fault.
    public var parameter: String? { JSONObject(data)?.string("parameter") }
}
