import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// What a blob is answered with.
enum BlobContents {
    /// Bytes of memory, to be made base64 of.
    case bytes([UInt8], Range<Int>)
    case text(BlobRead)
    /// Open for reading only.
    case descriptor(PassedDescriptor)
    case path(String)

    /// Fetches what the request asks for; it waits while that is not at hand.
    /// - Returns: nil when it was damaged or gone; the blob is forgotten then.
    static func fetch(
        _ found: BlobsStore.Found, _ range: Range<Int>?, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) -> BlobContents? {
        let wanted = range ?? 0..<found.facts.bytes
        let form = call[BlobsGet.as]
        let isDescriptor = form.equals("fd")
        let isPath = form.equals("path")
        if isPath {
            guard call.connection?.client.peer?.uid == geteuid(), call.connection?.permissions == nil else {
                throw .error(RPCError(.pathDenied, hint: "paths are for the daemon's own user in role admin"))
            }
        }
        guard isDescriptor || isPath || wanted.count <= WireLimits.inlineBlobBytes else {
            throw .error(
                RPCError(
                    .valueTooLarge, hint: "ask for it as fd, or for a range", parameter: call.name(BlobsGet.as),
                    limit: WireLimits.inlineBlobBytes))
        }
        switch storage.blobs.content(of: found) {
        case .memory(let bytes): return isDescriptor ? try sealed(bytes) : .bytes(bytes, wanted)
        case .table: return try read(small: found, isDescriptor, wanted, call, storage)
        case .file(let isDoubtful):
            let verifies = isDoubtful || call[BlobsGet.verify]
            if isDescriptor, !verifies, let descriptor = storage.blobs.openDescriptor(of: found.facts) {
                return .descriptor(PassedDescriptor(owning: descriptor))
            }
            let read = try file(
                found, isDescriptor ? .descriptor : isPath ? .presence : .inline(wanted),
                verifies: verifies, call, storage)
            guard let read else { return nil }
            if isPath { return .path(storage.blobs.path(found.facts.digest)) }
            guard isDescriptor else { return .text(read) }
            guard let descriptor = read.descriptor() else {
                throw .error(RPCError(.overloaded, hint: "too many files are open"))
            }
            storage.blobs.keepOpen(read)
            return .descriptor(PassedDescriptor(owning: descriptor))
        }
    }

    private static func read(
        small found: BlobsStore.Found, _ isDescriptor: Bool, _ range: Range<Int>, _ call: Call,
        _ storage: isolated Storage
    ) throws(Refusal) -> BlobContents? {
        let digest = found.facts.digest
        guard let read = try call.contentAtHand(BlobSmallRead.self) else {
            throw .waits(.answer(storage.read(smallBlob: digest)))
        }
        // It was replaced meanwhile.
        guard read.digest == digest else {
            call.begun?.discardContent()
            throw .waits(.answer(storage.read(smallBlob: digest)))
        }
        guard !read.isUnavailable else { throw .error(unavailable) }
        guard let bytes = read.bytes else {
            storage.blobs.noteDamaged(digest)
            return nil
        }
        storage.blobs.remember(bytes, of: digest)
        return isDescriptor ? try sealed(bytes) : .bytes(bytes, range)
    }

    private static func file(
        _ found: BlobsStore.Found, _ form: BlobRead.Form, verifies: Bool, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) -> BlobRead? {
        guard let read = try call.contentAtHand(BlobRead.self) else {
            throw .waits(.answer(storage.read(blob: found.facts, as: form, verifies: verifies, for: call.uid)))
        }
        // It was replaced meanwhile: what has been opened would be answered under the new one's name.
        guard read.digest == found.facts.digest else {
            call.begun?.discardContent()
            throw .waits(.answer(storage.read(blob: found.facts, as: form, verifies: verifies, for: call.uid)))
        }
        guard !read.isUnavailable else { throw .error(unavailable) }
        guard !read.isDamaged else {
            storage.blobs.noteDamaged(read.digest)
            return nil
        }
        if read.isVerified { storage.blobs.noteVerified(read.digest) }
        return read
    }

    /// Nothing was found out about the content: it is not damaged for that.
    private static var unavailable: RPCError {
        RPCError(.overloaded, hint: "it cannot be read now: too many files are open, or memory is short")
    }

    private static func sealed(_ bytes: [UInt8]) throws(Refusal) -> BlobContents {
        guard let descriptor = bytes.withBytes({ SealedFile.make($0) }) else {
            throw .error(RPCError(.overloaded, hint: "too many files are open"))
        }
        return .descriptor(PassedDescriptor(owning: descriptor))
    }

    /// Appends the member that tells, or has the descriptor leave with the reply.
    /// `start`: where the descriptor is to stand.
    func append(to out: inout ByteBuffer, _ call: Call, startingAt start: Int) throws(Refusal) {
        switch self {
        case .bytes(let bytes, let range):
            out.append(name: .data)
            out.append("\"")
            bytes.withBytes { Base64.encode($0.extracting(range), into: &out) }
            out.append("\"")
        case .text(let read):
            out.append(name: .data)
            out.append("\"")
            out.append(read.text)
            out.append("\"")
        case .descriptor(let descriptor):
            // Nobody else has this one's place.
            if start > 0 { lseek(descriptor.number, off_t(start), SEEK_SET) }
            call.attempt.pass(descriptor)
        case .path(let path): out.append(.path, path)
        }
    }
}
