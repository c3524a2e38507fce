import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import SQLite

/// Answers what changes blobs. A small content that came in the line is taken at once; another one on a thread, while the request waits.
extension BlobsHandlers {
    static let digestHint: StaticString = "64 hexadecimal digits in small letters"

    static func put(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = call.blobName()
        guard let copy = try call.contentAtHand(BlobCopy.self) else {
            return try begin(name, call, &out, storage)
        }
        if let reason = copy.fault?.declines(copy.bound) {
            storage.blobs.noteDeclined(name)
            append(.declined(reason), &out)
            return call.endBlobClaim(BlobsPut.token, storage)
        }
        let content = try content(of: copy, call)
        try check(content, against: call.digest(BlobsPut.digest), named: BlobsPut.digest, call)
        try storeClaimed(name, content, options(call), call, &out, storage)
    }

    /// The same of a put that may have a token.
    private static func storeClaimed(
        _ name: BlobName, _ content: BlobContent, _ put: BlobPut, _ call: Call, _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) throws(Refusal) {
        guard try call.holdsBlobClaim(BlobsPut.token, storage) else { return append(.declined(.late), &out) }
        try store(name, content, put, call, &out, storage)
        call.endBlobClaim(BlobsPut.token, storage)
    }

    /// Stores what has come, and tells what became of it.
    static func store(
        _ name: BlobName, _ content: BlobContent, _ put: BlobPut, _ call: Call, _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) throws(Refusal) {
        try call.awaitBlobs(storage)
        try call.keepTurn()
        let stored = try call.run { () throws(EngineError) in
            try storage.blobs.put(name, content, put, by: call.author(storage))
        }
        if case .makingRoom = stored { throw .waits(.turn) }
        append(stored, &out)
    }

    /// Takes a small content, declines what is declined whatever it is, or has a thread take it.
    private static func begin(
        _ name: BlobName, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        // A claim ends with the reply, for good. Before the descriptor is taken, since this may put the request back.
        if call.has(BlobsPut.token) { try call.keepTurn() }
        // Taken first, whatever else is wrong: the next request's descriptor is another one.
        let source = try source(call)
        let put = try options(call)
        let digest = try call.digest(BlobsPut.digest)
        guard try call.holdsBlobClaim(BlobsPut.token, storage) else { return append(.declined(.late), &out) }
        if storage.blobs.isReady, let reason = storage.blobs.declines(name, put) {
            storage.blobs.noteDeclined(name)
            append(.declined(reason), &out)
            call.endBlobClaim(BlobsPut.token, storage)
            return
        }
        if let source {
            let bound = call.bound(of: name, atMost: BlobLimits.byteLimit, storage)
            throw .waits(.answer(storage.takeIn(blob: source, within: bound, for: call.uid)))
        }
        call.memory.scratch.removeAll()
        let mayBeSmall = call[BlobsPut.data].count <= Base64.length(of: BlobLimits.smallBytes)
        guard !mayBeSmall || Base64.decode(call[BlobsPut.data], into: &call.memory.scratch) else {
            throw .error(RPCError(.invalidParams, hint: "base64 with padding", parameter: call.name(BlobsPut.data)))
        }
        // Texts of one length stand for up to three lengths.
        guard mayBeSmall, call.memory.scratch.count <= BlobLimits.smallBytes else {
            let bound = call.bound(of: name, atMost: WireLimits.inlineBlobBytes, storage)
            throw .waits(
                .answer(storage.takeIn(blob: .text(Array(call[BlobsPut.data])), within: bound, for: call.uid)))
        }
        let content = BlobContent(small: call.memory.scratch.bytes)
        try check(content, against: digest, named: BlobsPut.digest, call)
        try storeClaimed(name, content, put, call, &out, storage)
    }

    /// The file that the request's content comes from; nil when it is in the line.
    private static func source(_ call: Call) throws(Refusal) -> BlobCopy.Source? {
        let taken = call[BlobsPut.fd] ? call.connection?.descriptors.take() ?? .missing : .missing
        let given = [call[BlobsPut.fd], call.has(BlobsPut.path), call.has(BlobsPut.data)].count { $0 }
        guard given == 1 else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "give one of fd: true, path and data", parameter: call.name(BlobsPut.data)))
        }
        guard !call.has(BlobsPut.data) else { return nil }
        return .file(PassedBlob(try call.end(taken, fd: 6, path: 7)))
    }

    private static func options(_ call: Call) throws(Refusal) -> BlobPut {
        var put = BlobPut()
        put.contentType = Array(call[BlobsPut.contentType])
        put.ttlSeconds = call[BlobsPut.ttlSeconds].map { Int($0) }
        put.ifAbsent = call[BlobsPut.ifAbsent]
        put.variantOf = try call.digest(BlobsPut.variantOf)
        return put
    }

    // MARK: What has come

    /// The content that a thread has taken in.
    static func content(of copy: BlobCopy, _ call: Call) throws(Refusal) -> BlobContent {
        if let content = copy.content { return content }
        switch copy.fault {
        case .closed:
            throw .error((copy.file as? PassedBlob)?.fault ?? RPCError(.transferFailed, hint: "it cannot be opened"))
        case .noFile: throw .error(RPCError(.transferFailed, hint: "the descriptor is of no regular file"))
        case .changed: throw .error(RPCError(.transferFailed, hint: "the file changed its size while it was read"))
        case .unreadable: throw .error(RPCError(.transferFailed, hint: "the descriptor could not be read"))
        case .tooLarge: throw .error(tooLarge(copy.bound))
        case .badBase64: throw .error(RPCError(.invalidParams, hint: "base64 with padding"))
        case .noSpace: throw .error(RPCError(.noSpace, hint: "nothing is stored, and nothing else is touched"))
        case .lowStorage: throw .error(lowStorage)
        case .crowded: throw .error(crowded)
        case .want: throw .error(RPCError(.overloaded, hint: "too many files are open, or memory is short"))
        case .ending: throw .error(call.stopped)
        default: throw .error(RPCError(.internalError, hint: "the content could not be written"))
        }
    }

    static func tooLarge(_ bound: BlobBound) -> RPCError {
        switch bound.reason {
        case .content: RPCError(.valueTooLarge, limit: bound.bytes)
        case .budget:
            RPCError(.valueTooLarge, hint: "the namespace, or all blobs, may have no more", limit: bound.bytes)
        case .account(let limit): .quotaExceeded(limit: limit, of: .bytes)
        }
    }

    static var lowStorage: RPCError { RPCError(.noSpace, hint: "the disk is nearly full: caches store nothing") }

    static var crowded: RPCError {
        RPCError(.overloaded, hint: "contents that are on their way in are as many bytes as all blobs may have")
    }

    static func check(
        _ content: BlobContent, against digest: ContentDigest?, named parameter: some Parameter, _ call: Call
    ) throws(Refusal) {
        guard let digest, digest != content.digest else { return }
        throw .error(RPCError(.digestMismatch, parameter: call.name(parameter)))
    }

    static func append(_ stored: BlobStored, _ out: inout ByteBuffer) {
        out.openObject()
        switch stored {
        case .stored(let facts):
            out.append(.stored, true)
            BlobsHandlers.append(facts, &out)
        case .declined(let reason):
            out.append(.stored, false)
            out.append(.reason, reason.rawValue)
        case .makingRoom: out.append(.stored, false)
        }
        out.closeObject()
    }

    // MARK: The rest

    static func touch(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        try call.keepTurn()
        let ttl = call[BlobsTouch.ttlSeconds].map { Int($0) }
        guard let facts = storage.blobs.touch(call.blobName(), ttlSeconds: ttl) else {
            return out.append(only: .found, false)
        }
        out.openObject()
        out.append(.found, true)
        out.append(.expiresAt, facts.expiresAt)
        out.closeObject()
    }

    static func delete(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        try call.keepTurn()
        out.append(only: .deleted, storage.blobs.delete(call.blobName(), by: call.author(storage)) > 0)
    }

    static func deleteMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        try call.forEachName(of: BlobsDeleteMany.keys, limit: WireLimits.getManyItems) { _ in }
        try call.keepTurn()
        var deleted = 0
        let namespace = call[BlobsDeleteMany.namespace]
        try call.forEachName(of: BlobsDeleteMany.keys, limit: WireLimits.getManyItems) { (key) throws(Refusal) in
            let name = BlobName(namespace: namespace, key: key)
            if storage.blobs.delete(name, by: call.author(storage)) > 0 { deleted += 1 }
        }
        out.append(only: .deleted, deleted)
    }
}

extension ContentFault {
    /// Why a put is declined whose content was not taken; nil when that is an error.
    fileprivate func declines(_ bound: BlobBound) -> BlobStored.Reason? {
        switch (self, bound.reason) {
        case (.tooLarge, .budget): .overBudget
        case (.lowStorage, _): .lowStorage
        case (.crowded, _): .busy
        default: nil
        }
    }
}

/// A file that a blob comes from, as the request names it.
final class PassedBlob: BlobSource {
    private struct State {
        var descriptor: PassedDescriptor?
        var fault: RPCError?
    }
    private let end: TransferEnd
    private let state = Guarded(State())

    init(_ end: TransferEnd) { self.end = end }

    /// Why it could not be opened.
    var fault: RPCError? { state.withLock { $0.fault } }

    func open() -> Int32? {
        do throws(RPCError) {
            // A named pipe would have the thread wait for somebody who writes.
            let descriptor = try end.open(flags: O_RDONLY | O_NONBLOCK)
            state.withLock { $0.descriptor = descriptor }
            return descriptor.number
        } catch {
            let fault = error
            state.withLock { $0.fault = fault }
            return nil
        }
    }

    func close() { state.withLock { $0.descriptor = nil } }
}

extension Call {
    func bound(of name: BlobName, atMost most: Int, _ storage: isolated Storage) -> BlobBound {
        storage.blobs.bound(of: name, atMost: most, for: connection?.client.admission.accounts ?? [])
    }

    /// The digest that a parameter states.
    func digest(_ parameter: TextParameter) throws(Refusal) -> ContentDigest? {
        guard has(parameter) else { return nil }
        guard let digest = ContentDigest(digits: self[parameter]) else {
            throw .error(RPCError(.invalidParams, hint: BlobsHandlers.digestHint, parameter: name(parameter)))
        }
        return digest
    }
}
