import KuraProtocol

/// Why a call did not do what was asked: what it is by `kind`, and in words, with what to do about it.
///
///     do { try await kura.settings["app"].put(.theme, "dark", ifRev: rev) } catch {
///         switch error.kind {
///         case .conflict: …            // error.currentRev is the item's revision now
///         case .outcomeUnknown: …      // read the item, then decide
///         default: log(error)          // says what is wrong and what to do
///         }
///     }
public struct KuraError: Error, Sendable {
    /// What went wrong. The daemon's kinds are those of proto-docs/errors.md, under the same names; those of the client itself stand apart.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        // The daemon's.
        case parseError, invalidRequest, methodNotFound, invalidParams, internalError
        case lineTooLong, batchTooLarge
        case conflict, valueTooLarge, quotaExceeded, typeMismatch, outOfRange
        case requestKeyReused
        case locked, schemaViolation, uniqueViolation
        case forbidden
        case noSpace
        /// A write that may or may not have been made: its daemon, or the connection, went before the answer was there.
        case outcomeUnknown
        case overloaded, shuttingDown, replyTooLarge
        case compacted, epochChanged, tooManySubscriptions, liveQueryTooLarge
        case indexNeeded, timeout
        /// The task was cancelled, or somebody has ended the query. A write may have been made all the same.
        case cancelled
        case descriptorMissing, pathDenied, badRecord, transferFailed
        case notFound, patchFailed
        case referenced, tooManyDocuments
        case schemaTooNew
        case indexBuilding
        case sealed, integrity, wrongKey
        case installationMismatch
        case protocolMismatch
        case forged, tokenUnusable
        case tokenInvalid
        case digestMismatch, rangeNotSatisfiable, uploadNotFound
        case notSupported

        // The client's own.
        /// No daemon answers at the socket.
        case serverGone
        /// The socket is there and this user may not use it, or somebody else listens there than is expected: nothing was sent.
        case notAllowed
        /// The path cannot be a socket's.
        case badPath
        /// The other end speaks another version of the protocol, or is no Kura daemon.
        case versionMismatch
        /// The connection was lost before a read was answered, each time that it was tried.
        case connectionLost
        /// No reply within the time that the call was given. A write may be made yet.
        case noReply
        /// The client has been closed.
        case closed
        /// What came is not what the protocol says.
        case badReply
        /// A value cannot be written as JSON; nothing was sent.
        case notEncodable
        /// What is stored does not have the type that was asked for.
        case wrongType
        /// A kind that this version of the client does not know; `name` tells it.
        case unknown
    }

    public let kind: Kind
    /// The kind as the daemon names it; for kinds of the client its own name.
    public let name: String
    /// What is wrong, in one line.
    public let message: String
    /// The method that was called; nil when it was none.
    public let method: String?
    /// JSON-RPC's code; 0 for what the client finds out by itself.
    public let code: Int
    /// Everything that the daemon says on it, a JSON object; empty when it says nothing.
    public let data: [UInt8]
    /// What to do about it.
    public let advice: String
    /// The key that a write went under: sent again with it (`CallOptions.requestKey`), it is not done twice.
    public let requestKey: String?

    /// An error of the client's own.
    init(_ kind: Kind, _ message: String, method: String? = nil, advice: String? = nil, requestKey: String? = nil) {
        self.kind = kind
        name = kind.rawValue
        self.message = message
        self.method = method
        code = 0
        data = []
        self.advice = advice ?? Self.advice(kind)
        self.requestKey = requestKey
    }

    /// What the daemon has answered.
    /// - Parameters:
    ///   - text: the error, a JSON object.
    ///   - method: what was called.
    ///   - requestKey: what a write went under.
    init(answer text: [UInt8], method: String?, requestKey: String? = nil) {
        let error = JSONObject(text)
        data = error?["data"] ?? []
        let details = JSONObject(data)
        let name = details?.string("kind") ?? "unknown"
        let kind = Kind(rawValue: name) ?? .unknown
        self.kind = kind
        self.name = name
        self.method = method
        self.requestKey = requestKey
        code = Int(clamping: error?.integer("code") ?? 0)
        var message = error?.string("message") ?? "an error without a message"
        let parts = details.map(Self.details) ?? []
        if !parts.isEmpty { message += " (" + parts.joined(separator: "; ") + ")" }
        self.message = message
        let sentences = [details?.string("hint") ?? "", Self.advice(kind)]
        advice = sentences.filter { !$0.isEmpty }.map { $0.hasSuffix(".") ? $0 : $0 + "." }.joined(separator: " ")
    }

    /// With `conflict`: the item's revision, 0 when it is absent.
    public var currentRev: Int64? { JSONObject(data)?.integer("currentRev") }
    /// The bound that was crossed.
    public var limit: Int64? { JSONObject(data)?.integer("limit") }
    /// Name of the parameter at fault.
    public var parameter: String? { JSONObject(data)?.string("parameter") }
    /// With `compacted`: the smallest revision that can still be gone on from.
    public var oldestRev: Int64? { JSONObject(data)?.integer("oldestRev") }
    /// The same call may succeed later as it is.
    public var isRetryable: Bool {
        switch kind {
        case .serverGone, .connectionLost: true
        default: JSONObject(data)?.boolean("retryable") ?? false
        }
    }

    /// What the daemon's `data` says besides, in words.
    private static func details(_ data: JSONObject) -> [String] {
        var parts: [String] = []
        if let parameter = data.string("parameter") {
            parts.append("parameter \(parameter)\(data.string("path") ?? "")")
        } else if let path = data.string("path"), !path.isEmpty {
            parts.append("at \(path)")
        }
        for name in ["index", "operation", "limit", "currentRev", "oldestRev", "id", "indexName", "reason"] {
            if let value = data.string(name) ?? data.integer(name).map(String.init) { parts.append("\(name) \(value)") }
        }
        if let grant = data.object("grant") {
            let allow = grant["allow"].flatMap(JSONElements.read)?.map {
                String(decoding: $0.dropFirst().dropLast(), as: UTF8.self)
            }
            let scope = grant.string("scope").map { " \"\($0)\"" } ?? ""
            parts.append("missing: \((allow ?? []).joined(separator: ", ")) on \(grant.string("store") ?? "*")\(scope)")
        }
        return parts
    }

    /// What to do, where that is more in Swift than the protocol's own remedy.
    private static func advice(_ kind: Kind) -> String {
        switch kind {
        case .invalidParams: "Correct what is named here; nothing was changed."
        case .indexNeeded:
            "Make such an index with the collection's `addIndexes`, or let every document be looked at: `.allowingScan()`, `allowingScan: true`."
        case .uploadNotFound:
            "Begin anew: an upload ends with its commit, its abort, or its connection."
        case .valueTooLarge:
            "A setting takes 1 MiB, a document 8 MiB; larger things are blobs, or a document's attachments."
        case .sealed:
            "Have somebody unlock them, with `kura secrets unlock`, then call again; `secrets.status` shows the state."
        case .forbidden:
            "`session.hello` shows what this connection may do; the daemon's administrator grants more, or runs a socket with another role."
        case .conflict:
            "Somebody else has changed it: read it again, apply the change to what is there, write with its rev."
        case .outcomeUnknown:
            "Whether the change was made is not known: read the item and its rev, then decide; the same call under `requestKey` is not done twice."
        case .compacted: "Read the items themselves, then go on from the revision of what was read."
        case .serverGone:
            "Start a daemon with `kurad --socket PATH`, or name its socket in $KURA_SOCKET or `Kura.connect(to:)`."
        case .notAllowed: "Run as the user who runs the daemon, or have the socket's mode, owner or group changed."
        case .badPath: "A socket's path has at most 100 bytes, see unix(7)."
        case .versionMismatch: "Update the older one of daemon and client."
        case .connectionLost: "Look at the daemon's log: it has closed the connection again and again."
        case .noReply: "The daemon may be busy or stopped, or the call takes long: give it a longer `timeout`."
        case .closed: "Connect anew with `Kura.connect`."
        case .badReply: "See who listens at the socket: `kura doctor`."
        case .notEncodable: "JSON has no NaN, no infinity and no object with a name twice."
        case .wrongType: "Ask for the type that is stored, or put a value of this one first."
        case .unknown: "Update the client: the daemon is newer."
        case .cancelled: "Call again if it is still wanted."
        default: known[kind] ?? ""
        }
    }

    /// What the protocol itself says.
    private static let known: [Kind: String] = {
        var known: [Kind: String] = [:]
        for kind in ErrorKind.allCases {
            if let own = Kind(rawValue: "\(kind)") { known[own] = "\(kind.facts.remedy)" }
        }
        return known
    }()
}

extension KuraError: CustomStringConvertible {
    /// What was called, what is wrong and what to do.
    public var description: String {
        let text = method.map { "\($0): \(message)" } ?? message
        let end = text.hasSuffix(".") ? "" : "."
        return advice.isEmpty ? text + end : "\(text)\(end) \(advice)"
    }
}

/// Two are equal when they are of one kind and say the same of it.
extension KuraError: Equatable {
    public static func == (left: KuraError, right: KuraError) -> Bool {
        left.kind == right.kind && left.name == right.name && left.data == right.data && left.method == right.method
    }
}

extension KuraError {
    /// No daemon could be started for a test.
    package init(starting message: String, advice: String) {
        self.init(.serverGone, message, advice: advice)
    }
}
