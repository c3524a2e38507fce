public import KuraBytes

/// A grant that would have been needed, as far as the request tells.
public struct MissingGrant: Sendable {
    /// nil when one of several would do.
    public var store: Method.Store?
    /// The scope's name as the request has it, escapes resolved; nil when any scope would do. It points into the request, as
    /// `RPCError.parameter` does.
    // Safety: as for `RPCError.parameter`.
    public nonisolated(unsafe) var scope: Bytes?
    /// With secrets: the access group; nil for none. Kept like `scope`.
    // Safety: as for `RPCError.parameter`.
    public nonisolated(unsafe) var accessGroup: Bytes?
    public var verbs: Verbs

    public init(store: Method.Store?, scope: Bytes?, verbs: Verbs) {
        self.store = store
        // Safety: as the property says.
        unsafe self.scope = scope
        self.verbs = verbs
    }
}

/// One error reply, before it is bytes. It holds no heap memory, so that refusing costs nothing.
public struct RPCError: Error {
    public var kind: ErrorKind
    /// A short fixed sentence on what would have been right.
    public var hint: StaticString?
    /// The parameter's name as JSON text without quotes. It points into the request line or the method table, so the reply
    /// has to be rendered before the line goes. Only names are ever echoed: values may be secret.
    // Safety: what is not Sendable is the borrowed bytes alone: an error is rendered on the thread that made it, before its
    // line goes.
    public nonisolated(unsafe) var parameter: Bytes?
    public var limit: Int?
    public var currentRev: UInt64?
    /// With `compacted`: the smallest `afterRev` that still works.
    public var oldestRev: UInt64?
    public var reason: StaticString?
    public var offset: Int?
    /// Line of an input that is at fault, counted from 1.
    public var line: Int?
    /// Position in a list parameter of the element that is at fault.
    public var index: Int?
    /// Position in a transaction of the operation that is at fault.
    public var operation: Int?
    /// What the connection's role has not been granted.
    public var grant: MissingGrant?
    /// The layer of settings that stands in the way.
    public var layer: StaticString?
    /// Where in a value or a schema the fault is, as a JSON pointer. UTF-8, not escaped; it points into memory that whoever
    /// refuses keeps until the next request.
    // Safety: as for `parameter`.
    public nonisolated(unsafe) var path: Bytes?
    /// Why, in somebody's words; kept like `path`.
    // Safety: as for `parameter`.
    public nonisolated(unsafe) var explanation: Bytes?

    /// The version of a collection, and the one that the client declared.
    public var storedVersion: Int?
    public var declaredVersion: Int?
    /// The version of the protocol that the daemon speaks.
    public var protocolVersion: Int?

    /// The unique index that stands in the way, and the document that is in it; kept like `path`.
    // Safety: as for `parameter`.
    public nonisolated(unsafe) var indexName: Bytes?
    // Safety: as for `parameter`.
    public nonisolated(unsafe) var documentID: Bytes?

    /// Members that tell who refers to a document, as JSON; kept like `path`.
    // Safety: as for `parameter`.
    public nonisolated(unsafe) var referrer: Bytes?
    /// Documents that were deleted before.
    public var deleted: Int?

    public init(
        _ kind: ErrorKind, hint: StaticString? = nil, parameter: Bytes? = nil, limit: Int? = nil,
        currentRev: UInt64? = nil, index: Int? = nil
    ) {
        self.kind = kind
        self.hint = hint
        // Safety: as the property says.
        unsafe self.parameter = parameter
        self.limit = limit
        self.currentRev = currentRev
        self.index = index
    }

    public init(_ fault: JSONFault) {
        self.init(.parseError)
        offset = fault.offset
        reason =
            switch fault.reason {
            case .unexpectedEnd: "unexpectedEnd"
            case .unexpectedByte: "unexpectedByte"
            case .badNumber: "badNumber"
            case .badEscape: "badEscape"
            case .controlCharacter: "controlCharacter"
            case .badUTF8: "badUTF8"
            case .loneSurrogate: "loneSurrogate"
            case .duplicateName: "duplicateName"
            case .tooDeep: "tooDeep"
            case .trailingBytes: "trailingBytes"
            }
    }

    /// Names the element of a list parameter that is at fault.
    public func at(index: Int) -> RPCError {
        var copy = self
        copy.index = index
        return copy
    }
}

extension ByteBuffer {
    /// One error reply without its line end; `id` is the request's as it came, an empty one is written as null.
    ///
    /// Safety: the bytes that the error points to are there until the reply is rendered, which is now.
    public mutating func append(error: RPCError, id: Bytes) {
        appendReplyHead(id: id)
        append(UInt8(ascii: ","))
        append(errorMember: error)
        append("}")
    }

    /// `"error":{…}`
    ///
    /// Safety: as above.
    public mutating func append(errorMember error: RPCError) {
        let facts = error.kind.facts
        append("\"error\":{\"code\":")
        append(integer: Int64(facts.code))
        append(",\"message\":\"")
        append(facts.message)
        append("\",\"data\":{\"kind\":\"")
        append(facts.name)
        append("\",\"retryable\":")
        append(facts.retryable ? "true" : "false")
        if let parameter = unsafe error.parameter {
            append(",\"parameter\":\"")
            append(parameter)
            append("\"")
        }
        if let index = error.index { append(",\"index\":", Int64(index)) }
        if let operation = error.operation { append(",\"operation\":", Int64(operation)) }
        if let grant = error.grant { append(grant) }
        if let layer = error.layer {
            append(",\"layer\":\"")
            append(layer)
            append("\"")
        }
        if let path = unsafe error.path { append(text: ",\"path\":", path) }
        if let explanation = unsafe error.explanation { append(text: ",\"reason\":", explanation) }
        if let name = unsafe error.indexName { append(text: ",\"indexName\":", name) }
        if let id = unsafe error.documentID { append(text: ",\"id\":", id) }
        if let referrer = unsafe error.referrer {
            append(",")
            append(referrer)
        }
        if let deleted = error.deleted { append(",\"deleted\":", Int64(deleted)) }
        if let version = error.storedVersion { append(",\"storedVersion\":", Int64(version)) }
        if let version = error.declaredVersion { append(",\"declaredVersion\":", Int64(version)) }
        if let version = error.protocolVersion { append(",\"protocol\":", Int64(version)) }
        if let limit = error.limit { append(",\"limit\":", Int64(limit)) }
        if let currentRev = error.currentRev { append(",\"currentRev\":", Int64(currentRev)) }
        if let oldestRev = error.oldestRev { append(",\"oldestRev\":", Int64(oldestRev)) }
        if let reason = error.reason {
            append(",\"reason\":\"")
            append(reason)
            append("\"")
        }
        if let line = error.line { append(",\"line\":", Int64(line)) }
        if let offset = error.offset { append(",\"offset\":", Int64(offset)) }
        if let hint = error.hint {
            append(",\"hint\":\"")
            append(hint)
            append("\"")
        }
        append("}}")
    }

    /// `,"grant":{…}`: a member of an object that has begun.
    public mutating func append(_ grant: MissingGrant) {
        append(",\"grant\":{\"store\":\"")
        append(text: grant.store?.rawValue ?? "*")
        append("\"")
        // Safety: rendered before the request's line goes.
        if let scope = unsafe grant.scope { append(text: ",\"scope\":", scope) }
        if let group = unsafe grant.accessGroup { append(text: ",\"accessGroup\":", group) }
        append(",\"allow\":")
        append(verbs: grant.verbs)
        append("}")
    }

    private mutating func append(text name: StaticString, _ utf8: Bytes) {
        append(name)
        append(quoted: utf8)
    }

    private mutating func append(_ name: StaticString, _ value: Int64) {
        append(name)
        append(integer: value)
    }

    /// `{"jsonrpc":"2.0","id":ID` — a result or an error follows.
    public mutating func appendReplyHead(id: Bytes) {
        reserve(64 + id.count)
        append("{\"jsonrpc\":\"2.0\",\"id\":")
        if id.isEmpty { append("null") } else { append(id) }
    }
}
