/// What a blob is, without its content.
public struct BlobInfo: Sendable, Equatable {
    public let key: String
    /// Which of the blobs derived from its key's; nil for that itself.
    public let variant: String?
    public let bytes: Int
    /// BLAKE2b-256 of its content in hexadecimal.
    public let digest: String
    /// Its media type, when it was given one.
    public let contentType: String?
    /// RFC 3339, UTC, with milliseconds.
    public let createdAt: String
    /// When it goes by itself; it may go earlier. RFC 3339, UTC.
    public let expiresAt: String
    /// It was asked for as a variant, and this is the blob itself.
    public let isParent: Bool

    init?(_ answer: JSONObject, key: String? = nil, variant: String? = nil) {
        guard let key = key ?? answer.string("key"), let bytes = answer.integer("bytes"), bytes >= 0,
            let digest = answer.string("digest"), let createdAt = answer.string("createdAt"),
            let expiresAt = answer.string("expiresAt")
        else { return nil }
        self.key = key
        isParent = answer.boolean("isParent") ?? false
        self.variant = isParent ? nil : variant ?? answer.string("variant")
        self.bytes = Int(clamping: bytes)
        self.digest = digest
        contentType = answer.string("contentType")
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A namespace's blobs, fetched a page at a time while they are iterated over.
public struct BlobList: AsyncSequence, Sendable {
    public typealias Element = BlobInfo
    public typealias Failure = KuraError

    let cache: BlobCache
    let prefix: String?

    public func makeAsyncIterator() -> Iterator { Iterator(list: self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let list: BlobList
        private var page: ArraySlice<BlobInfo> = []
        private var cursor: String?
        private var isAtEnd = false

        init(list: BlobList) { self.list = list }

        public mutating func next() async throws(KuraError) -> BlobInfo? { try await next(isolation: nil) }

        public mutating func next(isolation: isolated (any Actor)?) async throws(KuraError) -> BlobInfo? {
            while page.isEmpty {
                if isAtEnd { return nil }
                var parameters = ParameterText()
                parameters.add("namespace", list.cache.namespace)
                parameters.add("prefix", list.prefix)
                parameters.add("cursor", cursor)
                parameters.add("limit", 1000)
                let answer = try await list.cache.kura.call("blobs.list", parameters)
                guard let parts = answer["blobs"].flatMap(JSONElements.read) else { throw .badAnswer("blobs.list") }
                page = parts.compactMap { JSONObject($0).flatMap { BlobInfo($0) } }[...]
                cursor = try KuraError.next(answer.string("cursor"), after: cursor, "blobs.list")
                isAtEnd = cursor == nil
            }
            return page.removeFirst()
        }
    }
}
