/// A JSON-RPC notification: what the daemon sends by itself, for a subscription or on the progress of a request.
public struct Notice: Sendable {
    /// `changes.changed`
    public let method: String
    /// JSON text; empty when there are none.
    public let params: [UInt8]

    /// - Returns: nil when the line is none; a reply is none.
    init?(line: [UInt8]) {
        guard let object = JSONObject(line), object.string("jsonrpc") == "2.0", object["id"] == nil,
            let method = object.string("method")
        else { return nil }
        self.method = method
        params = object["params"] ?? []
    }

    /// `storage.progress` and `rpc.progress` report how far a request has come.
    public var isProgress: Bool { method == "progress" || method.hasSuffix(".progress") }

    /// How far the request of this id has come; nil when it is about something else.
    func progress(of id: Int64) -> Int64? {
        guard isProgress, let params = JSONObject(params), params.integer("id") == id else { return nil }
        return params.integer("done")
    }
}
