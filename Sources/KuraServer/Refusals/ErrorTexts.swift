import KuraBytes
import KuraProtocol
import KuraStorage

/// The texts of the error that a request is refused with: an `RPCError` has no memory of its own, and points at them.
///
/// Each member of an error has its own buffer, so one error can have all of them. A text is good until another error gets one in the same
/// member. Errors are rendered before that: a request is refused with one error.
///
/// Safety: what an error is made to point at is a buffer of this value. It belongs to the call, which outlives the rendering.
struct ErrorTexts: ~Copyable {
    private var path = ByteBuffer()
    private var explanation = ByteBuffer()
    private var documentID = ByteBuffer()
    private var indexName = ByteBuffer()
    private var referrer = ByteBuffer()
    private var scope = ByteBuffer()

    /// An error with a place and a reason of its own.
    /// - Parameters:
    ///   - kind: of the error.
    ///   - path: where the fault is, as a JSON pointer.
    ///   - reason: why it is one.
    ///   - parameter: the name of the parameter that is at fault.
    ///   - limit: what would have been allowed.
    /// - Returns: the error.
    mutating func fault(
        _ kind: ErrorKind, path: String, _ reason: String, parameter: Bytes? = nil, limit: Int? = nil
    ) -> RPCError {
        var error = RPCError(kind, parameter: parameter, limit: limit)
        point(&error, at: path)
        explain(&error, reason)
        return error
    }

    // MARK: Where

    /// `pointer`: a JSON pointer.
    mutating func point(_ error: inout RPCError, at pointer: String) {
        path.removeAll()
        path.append(text: pointer)
        // Safety: as the type says.
        unsafe error.path = path.bytes
    }

    /// `pointer`: a JSON pointer.
    mutating func point(_ error: inout RPCError, at pointer: [UInt8]) {
        path.removeAll()
        path.append(pointer)
        // Safety: as the type says.
        unsafe error.path = path.bytes
    }

    /// Points at an element of a list, and at a member of that.
    mutating func point(_ error: inout RPCError, at index: Int, member: [UInt8]? = nil) {
        path.removeAll()
        path.append("/")
        path.append(integer: Int64(index))
        if let member {
            path.append("/")
            // Source: RFC 6901, 3.
            for byte in member {
                switch byte {
                case UInt8(ascii: "~"): path.append("~0")
                case UInt8(ascii: "/"): path.append("~1")
                default: path.append(byte)
                }
            }
        }
        // Safety: as the type says.
        unsafe error.path = path.bytes
    }

    // MARK: Why

    mutating func explain(_ error: inout RPCError, _ reason: String) {
        explanation.removeAll()
        explanation.append(text: reason)
        // Safety: as the type says.
        unsafe error.explanation = explanation.bytes
    }

    mutating func explain(_ error: inout RPCError, _ reason: Bytes) {
        explanation.removeAll()
        explanation.append(reason)
        // Safety: as the type says.
        unsafe error.explanation = explanation.bytes
    }

    // MARK: What stands in the way

    mutating func name(document id: [UInt8], in error: inout RPCError) {
        documentID.removeAll()
        documentID.append(id)
        // Safety: as the type says.
        unsafe error.documentID = documentID.bytes
    }

    mutating func name(index name: [UInt8], in error: inout RPCError) {
        indexName.removeAll()
        indexName.append(name)
        // Safety: as the type says.
        unsafe error.indexName = indexName.bytes
    }

    /// Names some documents of the collection that refers to the one which the error is about.
    /// - Parameters:
    ///   - collection: whose documents refer.
    ///   - field: the one that refers; nil: the error says that in another way.
    ///   - ids: of some of the documents.
    ///   - count: how many there are; nil: those are all.
    ///   - error: the one that tells of them.
    mutating func name(
        referrer collection: [UInt8], field: [UInt8]? = nil, ids: [[UInt8]], count: Int? = nil,
        in error: inout RPCError
    ) {
        referrer.removeAll()
        referrer.append(.collection, collection)
        if let field { referrer.append(.field, field) }
        referrer.openList(.ids)
        for id in ids { referrer.append(element: id) }
        referrer.closeList()
        if let count { referrer.append(.count, count) }
        // Safety: as the type says.
        unsafe error.referrer = referrer.bytes
    }

    /// The right that a request lacks in a scope that it names by a value, not by a parameter.
    mutating func missing(_ verbs: Verbs, _ store: Method.Store, scope name: [UInt8]) -> MissingGrant {
        scope.removeAll()
        scope.append(name)
        return MissingGrant(store: store, scope: scope.bytes, verbs: verbs)
    }
}
