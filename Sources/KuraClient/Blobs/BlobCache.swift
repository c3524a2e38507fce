import KuraBytes

extension Kura {
    /// The blob cache: contents that may be lost, shared by all processes of the host.
    ///
    ///     let thumbnails = kura.blobs["thumbnails"]
    public var blobs: BlobCaches { BlobCaches(kura: self) }
}

/// All namespaces of the blob cache.
public struct BlobCaches: Sendable {
    let kura: Kura

    /// One namespace, 1 to 128 bytes.
    public subscript(namespace: String) -> BlobCache { BlobCache(kura: kura, namespace: namespace) }
}

/// One namespace of the blob cache.
///
/// A blob lives for 7 days unless somebody says otherwise, and may go earlier when there is no room. What an unclean stop has damaged is
/// not there; `get` with `verify` finds what has changed on the disk otherwise. What must not be lost is an attachment of a document.
public struct BlobCache: Sendable {
    let kura: Kura
    /// Its name.
    public let namespace: String

    /// Contents up to so many bytes go along in the request's line; larger ones by a descriptor.
    static let inlineBytes = 8192

    // MARK: Reading

    /// A blob as mapped memory, which nothing was copied for; nil when it is not there.
    /// - Parameters:
    ///   - key: 1 to 512 bytes.
    ///   - variant: which of the blobs derived from it.
    ///   - orParent: for want of the variant, the blob itself; `info.isParent` tells.
    ///   - verify: hash all of it first; damaged, it is not there.
    /// - Returns: the blob, mapped.
    /// - Throws: `noSpace` when it cannot be mapped; `descriptorMissing` when this process can have no more descriptors.
    public func get(
        _ key: String, variant: String? = nil, orParent: Bool = false, verify: Bool = false
    ) async throws(KuraError) -> Blob? {
        var parameters = parameters(key, variant)
        parameters.add("orParent", flag: orParent)
        parameters.add("as", "fd")
        parameters.add("verify", flag: verify)
        let reply = try await kura.call("blobs.get", json: parameters.object)
        guard let answer = JSONObject(reply.result) else { throw .badAnswer("blobs.get") }
        guard answer.boolean("found") == true else { return nil }
        guard let info = BlobInfo(answer, key: key, variant: variant) else { throw .badAnswer("blobs.get") }
        guard let descriptor = reply.descriptor else {
            throw KuraError(
                .descriptorMissing, "the blob's descriptor could not be received", method: "blobs.get",
                advice:
                    "The process may have no more: let other blobs go, or raise the number of open files (ulimit -n).")
        }
        return try Blob(info: info, descriptor: descriptor)
    }

    /// What a blob is, without its content; nil when it is not there.
    public func stat(_ key: String, variant: String? = nil) async throws(KuraError) -> BlobInfo? {
        let answer = try await kura.call("blobs.stat", parameters(key, variant))
        guard answer.boolean("found") == true else { return nil }
        guard let info = BlobInfo(answer, key: key, variant: variant) else { throw .badAnswer("blobs.stat") }
        return info
    }

    /// The namespace's blobs in the order of their keys' bytes, each one's variants behind it, a page at a time.
    public func list(prefix: String? = nil) -> BlobList { BlobList(cache: self, prefix: prefix) }

    // MARK: Writing

    /// What a new blob is.
    public struct Attributes: Sendable {
        /// Its media type, kept and returned as it is.
        public var contentType: String?
        /// How long it lives, whole seconds; as its namespace says when nil.
        public var lifetime: Duration?
        /// With a variant: the digest of the blob that it was made from; it is declined when that is another one by now.
        public var variantOf: String?
        /// Store nothing when there is a blob of this name.
        public var ifAbsent = false
        /// BLAKE2b-256 that the content has to have, in hexadecimal; `digestMismatch` when it is another.
        public var digest: String?

        public init(
            contentType: String? = nil, lifetime: Duration? = nil, variantOf: String? = nil, ifAbsent: Bool = false,
            digest: String? = nil
        ) {
            self.contentType = contentType
            self.lifetime = lifetime
            self.variantOf = variantOf
            self.ifAbsent = ifAbsent
            self.digest = digest
        }

        func add(to parameters: inout ParameterText) {
            parameters.add("contentType", contentType)
            parameters.add("ttlSeconds", lifetime.map(ModelCache.Lifetime.seconds))
            parameters.add("variantOf", variantOf)
            parameters.add("ifAbsent", flag: ifAbsent)
            parameters.add("digest", digest)
        }
    }

    /// What became of a put: a cache may decline.
    public enum Outcome: Sendable, Equatable {
        case stored(BlobInfo)
        /// `present`, `parentMissing`, `parentChanged`, `overBudget`, `busy`, `lowStorage`.
        case declined(reason: String)

        init(_ answer: JSONObject, key: String, variant: String?, _ method: String) throws(KuraError) {
            guard answer.boolean("stored") == true else {
                self = .declined(reason: answer.string("reason") ?? "unknown")
                return
            }
            guard let info = BlobInfo(answer, key: key, variant: variant) else { throw .badAnswer(method) }
            self = .stored(info)
        }
    }

    /// Stores bytes.
    @discardableResult
    public func put(
        _ bytes: [UInt8], as key: String, variant: String? = nil, _ attributes: Attributes = Attributes()
    ) async throws(KuraError) -> Outcome {
        if bytes.count > Self.inlineBytes {
            return try await put(file: try MemoryFile.make(bytes), as: key, variant: variant, attributes)
        }
        var parameters = parameters(key, variant)
        attributes.add(to: &parameters)
        parameters.add("data", json: Self.base64(bytes))
        return try Outcome(try await kura.call("blobs.put", parameters), key: key, variant: variant, "blobs.put")
    }

    /// Stores a file's content, from its beginning to its end, which the daemon copies within the kernel.
    /// - Parameters:
    ///   - file: a regular file, or one in memory, open for reading.
    ///   - key: 1 to 512 bytes.
    ///   - variant: which of the blobs derived from it.
    ///   - attributes: what the blob is.
    /// - Returns: whether the cache took it.
    /// - Throws: `transferFailed` when it is no such file, or changed meanwhile.
    @discardableResult
    public func put(
        file: OwnedDescriptor, as key: String, variant: String? = nil, _ attributes: Attributes = Attributes()
    ) async throws(KuraError) -> Outcome {
        var parameters = parameters(key, variant)
        attributes.add(to: &parameters)
        parameters.add("fd", flag: true)
        let answer = try await kura.call("blobs.put", parameters, passing: file)
        return try Outcome(answer, key: key, variant: variant, "blobs.put")
    }

    /// Begins a blob that comes piece by piece, as from a download; nothing of it is seen before its `commit`.
    /// - Returns: what takes the pieces; nil when the cache declines at once, because there is such a blob or no room.
    public func write(
        _ key: String, variant: String? = nil, _ attributes: Attributes = Attributes(), expectedBytes: Int? = nil
    ) async throws(KuraError) -> BlobWriter? {
        var parameters = parameters(key, variant)
        attributes.add(to: &parameters)
        parameters.add("bytes", expectedBytes)
        let answer = try await kura.call("blobs.beginUpload", parameters)
        return answer.string("upload").map { BlobWriter(cache: self, key: key, variant: variant, upload: $0) }
    }

    /// Says how long a blob lives from now on.
    /// - Returns: whether there is such a blob.
    @discardableResult
    public func touch(_ key: String, variant: String? = nil, lifetime: Duration? = nil) async throws(KuraError) -> Bool
    {
        var parameters = parameters(key, variant)
        parameters.add("ttlSeconds", lifetime.map(ModelCache.Lifetime.seconds))
        return try await kura.call("blobs.touch", parameters).boolean("found") ?? false
    }

    /// Removes a blob with all its variants, or one variant.
    /// - Returns: whether there was one.
    @discardableResult
    public func delete(_ key: String, variant: String? = nil) async throws(KuraError) -> Bool {
        try await kura.call("blobs.delete", parameters(key, variant)).boolean("deleted") ?? false
    }

    /// Says how long the namespace's blobs live, and how much of them there may be; what is nil stays.
    public func configure(
        lifetime: Duration? = nil, maxBytes: Int? = nil, maxEntries: Int? = nil
    ) async throws(KuraError) {
        var parameters = ParameterText()
        parameters.add("namespace", namespace)
        parameters.add("ttlSeconds", lifetime.map(ModelCache.Lifetime.seconds))
        parameters.add("maxBytes", maxBytes)
        parameters.add("maxEntries", maxEntries)
        _ = try await kura.call("blobs.configure", parameters)
    }

    // MARK: Calls

    private func parameters(_ key: String, _ variant: String?) -> ParameterText {
        var parameters = ParameterText()
        parameters.add("namespace", namespace)
        parameters.add("key", key)
        parameters.add("variant", variant)
        return parameters
    }

    /// Bytes as a JSON string of base64.
    static func base64(_ bytes: [UInt8]) -> [UInt8] {
        var text = ByteBuffer(capacity: Base64.length(of: bytes.count) + 2)
        text.append("\"")
        bytes.withBytes { Base64.encode($0, into: &text) }
        text.append("\"")
        return Array(text.bytes)
    }
}
