import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what has to do with blobs that come in pieces.
extension BlobsHandlers {
    static func beginUpload(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = call.blobName()
        var put = BlobPut()
        put.contentType = Array(call[BlobsBeginUpload.contentType])
        put.ttlSeconds = call[BlobsBeginUpload.ttlSeconds].map { Int($0) }
        put.ifAbsent = call[BlobsBeginUpload.ifAbsent]
        put.variantOf = try call.digest(BlobsBeginUpload.variantOf)
        let digest = try call.digest(BlobsBeginUpload.digest)
        try call.awaitBlobs(storage)
        if let reason = storage.blobs.declines(name, put) {
            storage.blobs.noteDeclined(name)
            BlobsHandlers.append(.declined(reason), &out)
            return
        }
        let bytes = call[BlobsBeginUpload.bytes].map { Int($0) }
        let bound = call.bound(of: name, atMost: BlobLimits.byteLimit, storage)
        if let bytes, bytes > bound.bytes {
            guard case .budget = bound.reason else { throw .error(BlobsHandlers.tooLarge(bound)) }
            storage.blobs.noteDeclined(name)
            return BlobsHandlers.append(.declined(.overBudget), &out)
        }
        let owner = call.connection?.token ?? 0
        if let limit = call.server.uploads.limit(of: owner) {
            throw .error(RPCError(.overloaded, hint: "too many uploads are under way", limit: limit))
        }
        try call.keepTurn()
        let upload = call.server.uploads.begin(
            name, put, bytes: bytes, digest: digest, owner: owner, role: call.role,
            leaseSeconds: call[BlobsBeginUpload.leaseSeconds].map { Int($0) })
        out.openObject()
        out.append(.upload, upload.token)
        out.closeObject()
    }

    static func appendUpload(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let upload = try upload(call)
        let received = upload.received
        guard call[BlobsAppendUpload.offset] == Int64(received) else {
            throw .error(
                gap(
                    received, "pieces come one after the other: go on at `offset`",
                    call.name(BlobsAppendUpload.offset)))
        }
        try call.keepTurn(waits: true)
        let bound = upload.withName { call.bound(of: $0, atMost: upload.limit, storage) }
        let ticket = storage.append(Array(call[BlobsAppendUpload.data]), to: upload, within: bound, for: call.uid)
        throw call.wait(for: ticket, hasEffect: true) { (call, piece: BlobAppend, error, out, _) throws(Refusal) in
            if let error { throw Refusal(error, call: call) }
            try append(piece, call, to: &out)
        }
    }

    private static func append(_ piece: BlobAppend, _ call: Call, to out: inout ByteBuffer) throws(Refusal) {
        switch piece.fault {
        case nil: break
        case .badBase64:
            throw .error(
                RPCError(.invalidParams, hint: "base64 with padding", parameter: call.name(BlobsAppendUpload.data)))
        case .tooLarge:
            guard case .content = piece.bound.reason else { throw .error(BlobsHandlers.tooLarge(piece.bound)) }
            throw .error(
                RPCError(
                    .valueTooLarge, hint: "more than was announced; what came before this piece is kept",
                    parameter: call.name(BlobsAppendUpload.data), limit: piece.upload.limit))
        case .noSpace: throw .error(RPCError(.noSpace))
        case .lowStorage: throw .error(BlobsHandlers.lowStorage)
        case .crowded: throw .error(BlobsHandlers.crowded)
        default: throw .error(RPCError(.internalError, hint: "the piece could not be written"))
        }
        call.server.uploads.extend(piece.upload)
        out.append(only: .received, piece.received)
    }

    static func commitUpload(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let copy = try call.contentAtHand(BlobCopy.self) else {
            let upload = try upload(call)
            let received = upload.received
            guard upload.bytes ?? received == received else {
                throw .error(
                    gap(received, "less has come than was announced: go on at `offset`", call.name(InBlobs.upload)))
            }
            try call.keepTurn(waits: true)
            call.server.uploads.end(upload)
            throw .waits(
                .answer(storage.takeIn(blob: .upload(upload), within: BlobBound(bytes: upload.limit), for: call.uid)))
        }
        guard let upload = copy.upload else { throw .error(RPCError(.internalError)) }
        guard isAllowed(upload, call) else { throw notFound(call) }
        let content = try BlobsHandlers.content(of: copy, call)
        try BlobsHandlers.check(content, against: upload.digest, named: BlobsCommitUpload.upload, call)
        try BlobsHandlers.check(
            content, against: call.digest(BlobsCommitUpload.digest), named: BlobsCommitUpload.digest, call)
        try upload.withName { (name) throws(Refusal) in
            try BlobsHandlers.store(name, content, upload.put, call, &out, storage)
        }
    }

    static func abortUpload(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let upload = call.server.uploads.find(call[BlobsAbortUpload.upload]), isAllowed(upload, call) else {
            return out.append(only: .aborted, false)
        }
        try call.keepTurn()
        call.server.uploads.end(upload)
        out.append(only: .aborted, true)
    }

    /// The upload that the first parameter names, when nobody is adding to it.
    private static func upload(_ call: Call) throws(Refusal) -> BlobUpload {
        guard let upload = call.server.uploads.find(call[InBlobs.upload]), isAllowed(upload, call) else {
            throw notFound(call)
        }
        guard !upload.isBusy else {
            throw .error(RPCError(.overloaded, hint: "another piece of this upload is being written"))
        }
        return upload
    }

    /// Whether the caller has the role that has begun it, which may still write there. To others it is as if it were not there.
    private static func isAllowed(_ upload: BlobUpload, _ call: Call) -> Bool {
        upload.role == call.role
            && upload.withName { call.shows([.create, .update], .blobs, scope: Array($0.namespace)) }
    }

    private static func notFound(_ call: Call) -> Refusal {
        .error(RPCError(.uploadNotFound, parameter: call.name(InBlobs.upload)))
    }

    private static func gap(_ received: Int, _ hint: StaticString, _ parameter: Bytes) -> RPCError {
        var error = RPCError(.invalidParams, hint: hint, parameter: parameter)
        error.offset = received
        return error
    }
}
