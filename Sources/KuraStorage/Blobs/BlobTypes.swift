public import KuraBytes

/// What a blob is called, as a request has it: good for the call.
public struct BlobName {
    public var namespace: Bytes
    public var key: Bytes
    /// Empty for the blob itself.
    public var variant: Bytes

    public init(namespace: Bytes, key: Bytes, variant: Bytes = Bytes()) {
        self.namespace = namespace
        self.key = key
        self.variant = variant
    }

    /// The blob that this one is derived from.
    public var parent: BlobName { BlobName(namespace: namespace, key: key) }
}

/// What is known of a blob without looking at its content.
public struct BlobFacts: Sendable, Equatable {
    public var digest: ContentDigest
    public var bytes: Int
    /// Empty when nobody said.
    public var contentType: [UInt8] = []
    /// Milliseconds since 1970.
    public var createdAt: Int64
    public var expiresAt: Int64
}

/// A content that has been taken in and has no name yet.
public struct BlobContent: Sendable {
    public var digest: ContentDigest
    public var bytes: Int
    /// The content itself, when it is small; a large one lies in its file, which `hold` keeps.
    var small: [UInt8]?
    var hold: BlobHold?
}

/// What else a put says.
public struct BlobPut {
    public var contentType: [UInt8] = []
    /// Nil: the namespace's.
    public var ttlSeconds: Int?
    /// Nothing is stored when there is one.
    public var ifAbsent = false
    /// With a variant: what its parent has to be for it to be of use.
    public var variantOf: ContentDigest?

    public init() {}
}

/// What became of a put. A cache may always decline.
public enum BlobStored: Sendable {
    case stored(BlobFacts)
    case declined(Reason)
    /// More has to go for it than there is time for in one turn: it is to be put again in the next one.
    case makingRoom

    public enum Reason: String, Sendable, CaseIterable {
        /// There is one, and `ifAbsent` was asked for.
        case present
        /// A variant of what is not there, or not there any more as it was.
        case parentMissing, parentChanged
        /// It is larger than all blobs, or those of its namespace, may be.
        case overBudget
        /// More waits to be written than memory is there for.
        case busy
        /// The disk is nearly full.
        case lowStorage
        /// The claim that it was made under has ended.
        case late
    }
}

/// How large a content may be that is on its way in, and what says so.
public struct BlobBound: Sendable {
    public enum Reason: Sendable {
        /// The longest that there can be, or that was announced.
        case content
        /// What the namespace, or all blobs, may have.
        case budget
        /// A quota of so many bytes.
        case account(limit: Int)
    }
    public private(set) var bytes: Int
    public private(set) var reason = Reason.content

    public init(bytes: Int) { self.bytes = bytes }

    mutating func narrow(to bytes: Int?, _ reason: Reason) {
        if let bytes, bytes < self.bytes { (self.bytes, self.reason) = (bytes, reason) }
    }
}

/// What a namespace is configured to be; nil: the room's own.
public struct BlobNamespaceSettings: Sendable, Equatable {
    public var ttlSeconds: Int?
    public var maxBytes: Int?
    public var maxEntries: Int?

    public init(ttlSeconds: Int? = nil, maxBytes: Int? = nil, maxEntries: Int? = nil) {
        self.ttlSeconds = ttlSeconds
        self.maxBytes = maxBytes
        self.maxEntries = maxEntries
    }
}

/// What a namespace has and has seen since the start.
public struct BlobNamespaceSummary: Sendable {
    public var name: [UInt8]
    public var count: Int
    /// Bytes of its blobs, equal contents counted each time.
    public var bytes: Int
    public var settings: BlobNamespaceSettings
    public var counts: BlobCounts

    /// Of one that is not there.
    public static let empty = BlobNamespaceSummary(
        name: [], count: 0, bytes: 0, settings: BlobNamespaceSettings(), counts: BlobCounts())
}

public struct BlobCounts: Sendable, Equatable {
    public var hits = 0
    public var misses = 0
    public var stored = 0
    public var declined = 0
    public var evicted = 0
    public var expired = 0
    /// Contents that were found damaged or gone.
    public var damaged = 0

    public init() {}
}

/// Bounds of the room that are not configured.
public enum BlobLimits {
    /// A content up to here lies in the table and in memory; a longer one has a file.
    public static let smallBytes = 16 << 10
    /// Bytes that are written of a content before the file system is asked again how much it has left.
    static let lookBytes = 4 << 20
    /// Longest content.
    public static let byteLimit = 4 << 30
    /// What a blob lives when neither its put nor its namespace says.
    public static let ttlSeconds = 7 * 86_400
    /// Longest that one can live.
    public static let longestTTLSeconds = 10 * 365 * 86_400
    /// Namespaces that there can be.
    public static let namespaces = 1000
}
