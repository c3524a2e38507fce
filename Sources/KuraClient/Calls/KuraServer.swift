import KuraBytes
import KuraProtocol

/// Who is at the other end, as `session.hello` answers.
public struct KuraServer: Sendable {
    /// The daemon's version.
    public let version: String
    /// Names the history that revisions belong to (UUID).
    public let epoch: String
    /// What this connection is allowed to be.
    public let role: String
    /// Bounds in bytes or items, by name: `lineBytes`, `documentBytes`, …
    public let limits: [String: Int64]

    /// Version of the protocol that this client speaks.
    static let protocolVersion: Int64 = 1

    init(answer line: [UInt8], path: String) throws(KuraError) {
        guard let reply = JSONObject(line), reply.string("jsonrpc") == "2.0" else {
            throw KuraError(
                .versionMismatch, "what listens at \(path) does not speak JSON-RPC 2.0",
                advice: "See whose socket it is.")
        }
        if let error = reply["error"] {
            let error = KuraError(answer: error, method: "session.hello")
            // What is wrong with the application's own name is said as it is.
            let isOurs =
                error.kind == .invalidParams && ["client", "version", "installation"].contains(error.parameter)
            guard error.kind == .methodNotFound || error.kind == .invalidParams, !isOurs else { throw error }
            throw KuraError(
                .versionMismatch, "what listens at \(path) does not know this client's session.hello: \(error.message)")
        }
        let hello = reply.object("result")
        let server = hello?.string("server") ?? "somebody"
        let version = hello?.string("version") ?? "?"
        guard let hello, server == "kurad", hello.integer("protocol") == Self.protocolVersion else {
            let spoken = hello?.integer("protocol").map(String.init) ?? "?"
            throw KuraError(
                .versionMismatch,
                "\(path): \(server) \(version) speaks version \(spoken) of the protocol, this client version \(Self.protocolVersion)"
            )
        }
        self.version = version
        epoch = hello.string("epoch") ?? ""
        role = hello.string("role") ?? ""
        var limits: [String: Int64] = [:]
        for (name, value) in hello.object("limits")?.entries ?? [] {
            limits[name] = value.withBytes { JSONNumber.integer($0) }
        }
        self.limits = limits
    }
}
