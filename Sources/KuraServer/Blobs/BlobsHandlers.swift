import Glibc
import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// Answers what reads blobs. Files are opened and read on threads: the request
/// waits, and is begun again when its content is there.
extension BlobsHandlers {
    // MARK: One

    static func get(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = call.blobName()
        var found = storage.blobs.find(name)
        if found == nil { try call.awaitBlobs(storage) }
        var isParent = false
        if found == nil, call[BlobsGet.orParent], !name.variant.isEmpty {
            found = storage.blobs.find(name.parent)
            isParent = found != nil
        }
        guard let found else {
            let token = try call.claimBlob(BlobsGet.claim, lease: BlobsGet.leaseSeconds, storage)
            storage.blobs.noteMiss(name)
            out.openObject()
            out.append(.found, false)
            if let token { out.append(token, of: storage.caches.claims) }
            return out.closeObject()
        }
        let range = try call.range(BlobsGet.range, of: found.facts.bytes)
        guard let content = try BlobContents.fetch(found, range, call, storage) else {
            storage.blobs.noteMiss(name)
            return out.append(only: .found, false)
        }
        // Last, since a request that has to wait for the content is begun again.
        let token = isParent ? try call.claimBlob(BlobsGet.claim, lease: BlobsGet.leaseSeconds, storage) : nil
        storage.blobs.noteHit(found)
        out.openObject()
        out.append(.found, true)
        append(found.facts, &out)
        if isParent { out.append(.isParent, true) }
        if let range {
            out.openObject(.range)
            out.append(.offset, range.lowerBound)
            out.append(.length, range.count)
            out.closeObject()
        }
        try content.append(to: &out, call, startingAt: range?.lowerBound ?? 0)
        if let token { out.append(token, of: storage.caches.claims) }
        out.closeObject()
    }

    static func renew(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let seconds = call[BlobsRenew.leaseSeconds] ?? 30
        try call.keepTurn()
        try call.renewBlobClaim(BlobsRenew.token, variant: BlobsRenew.variant, seconds: seconds, storage)
        out.openObject()
        out.append(.expiresAt, storage.now.later(by: .milliseconds(seconds: seconds)))
        out.closeObject()
    }

    static func stat(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let found = storage.blobs.find(call.blobName()) else {
            try call.awaitBlobs(storage)
            return out.append(only: .found, false)
        }
        out.openObject()
        out.append(.found, true)
        append(found.facts, &out)
        out.closeObject()
    }

    /// Members of an object that has begun.
    static func append(_ facts: BlobFacts, _ out: inout ByteBuffer) {
        out.append(.bytes, facts.bytes)
        out.append(name: .digest)
        out.append("\"")
        out.append(digitsOf: facts.digest)
        out.append("\"")
        if !facts.contentType.isEmpty { out.append(.contentType, facts.contentType) }
        out.append(.createdAt, facts.createdAt)
        out.append(.expiresAt, facts.expiresAt)
    }

    // MARK: Many

    static func statMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        let namespace = call[BlobsStatMany.namespace]
        call.memory.scratch.removeAll()
        out.openObject()
        out.openList(.blobs)
        try call.forEachName(of: BlobsStatMany.keys, limit: WireLimits.getManyItems) { (key) throws(Refusal) in
            guard let found = storage.blobs.find(BlobName(namespace: namespace, key: key)) else {
                return call.memory.scratch.append(element: key)
            }
            out.openObject()
            out.append(.key, key)
            append(found.facts, &out)
            out.closeObject()
        }
        out.closeList()
        out.openList(.missing)
        out.append(call.memory.scratch.bytes)
        out.closeList()
        out.closeObject()
    }

    static func findMissing(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        let namespace = call[BlobsFindMissing.namespace]
        out.openObject()
        out.openList(.missing)
        var index = 0
        var looks = 20_000
        try call.forEachName(of: BlobsFindMissing.digests, limit: WireLimits.getManyItems) { (digits) throws(Refusal) in
            guard let digest = ContentDigest(digits: digits) else {
                throw .error(
                    call.error(
                        RPCError(.invalidParams, hint: BlobsHandlers.digestHint), in: BlobsFindMissing.digests, index))
            }
            index += 1
            if !storage.blobs.has(digest, in: namespace, looks: &looks) { out.append(element: digits) }
        }
        out.closeList()
        out.closeObject()
    }

    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let page = try call.page(cursor: BlobsList.cursor, of: BlobsList.namespace, BlobsList.prefix)
        let after = position(page)
        try call.awaitBlobs(storage)
        guard let listing = try call.contentAtHand(BlobListing.self) else {
            let limit = Int(call[BlobsList.limit] ?? 100)
            guard
                let ticket = storage.list(
                    blobsOf: call[BlobsList.namespace], prefix: call[BlobsList.prefix], after: after, limit: limit)
            else {
                out.openObject()
                out.openList(.blobs)
                out.closeList()
                return out.closeObject()
            }
            throw .waits(.answer(ticket))
        }
        let start = out.count
        out.openObject()
        out.openList(.blobs)
        var isCut = false
        var last: (key: [UInt8], variant: [UInt8])?
        listing.forEach { key, variant, facts in
            guard out.count - start < pageBytes else {
                isCut = true
                return false
            }
            last = (key, variant)
            guard storage.blobs.isAlive(facts) else { return true }
            out.openObject()
            out.append(.key, key)
            if !variant.isEmpty { out.append(.variant, variant) }
            append(facts, &out)
            out.closeObject()
            return true
        }
        out.closeList()
        if isCut || listing.hasMore, let last {
            (last.key + [0] + last.variant).withBytes { page.append(cursor: $0, to: &out) }
        }
        out.closeObject()
    }

    private static let pageBytes = 1 << 20

    /// The key and variant behind which the page begins.
    private static func position(_ page: ListPage) -> (key: [UInt8], variant: [UInt8]) {
        guard let key = page.after else { return ([], []) }
        let parts = key.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        return (Array(parts[0]), parts.count > 1 ? Array(parts[1]) : [])
    }
}

extension Call {
    /// The blob that the first three parameters name.
    func blobName(variant: TextParameter = BlobsGet.variant) -> BlobName {
        BlobName(namespace: self[InBlobs.namespace], key: self[InBlobs.key], variant: self[variant])
    }

    /// Goes on when all blobs that there are are known.
    func awaitBlobs(_ storage: isolated Storage) throws(Refusal) {
        guard !storage.blobs.isReady else { return }
        throw .waits(.answer(storage.awaitBlobs()))
    }

    /// The part of a content that a parameter asks for; nil when it asks for all.
    /// - Throws: `invalidParams`, and `rangeNotSatisfiable` when the content has not so much.
    func range(_ parameter: JSONParameter, of bytes: Int) throws(Refusal) -> Range<Int>? {
        guard has(parameter) else { return nil }
        var offset: Int64 = 0
        var length: Int64?
        var members = JSONWalk(self[parameter], storage: memory.walk)
        while let (name, value) = members.nextMember() {
            let number = RequestReader.integer(value)
            guard let number, number >= 0, number <= WireLimits.safeInteger,
                name.elementsEqual("offset".utf8) || name.elementsEqual("length".utf8)
            else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "{offset, length}: whole numbers, the length may be left out",
                        parameter: self.name(parameter)))
            }
            if name.elementsEqual("offset".utf8) { offset = number } else { length = number }
        }
        guard offset <= bytes, length ?? 0 <= Int64(bytes) - offset else {
            throw .error(RPCError(.rangeNotSatisfiable, parameter: name(parameter), limit: bytes))
        }
        return Int(offset)..<Int(offset + (length ?? Int64(bytes) - offset))
    }
}
