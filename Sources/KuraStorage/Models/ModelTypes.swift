public import KuraBytes

/// How an entry stands for whoever asks.
public enum ModelState: Sendable {
    case fresh, stale, miss
}

/// An entry as it is shown. The bytes lie in the storage's memory: good until the next change or turn.
public struct ModelView {
    public var state: ModelState
    /// JSON text; empty on a miss.
    public var value: Bytes
    /// Empty for none.
    public var etag: Bytes
    /// Milliseconds since it was stored or touched.
    public var age: Int64
    /// Numbers of its tags, four bytes each.
    public var tags: Bytes

    public static var miss: ModelView {
        ModelView(state: .miss, value: Bytes(), etag: Bytes(), age: 0, tags: Bytes())
    }
}

/// How long what is put lives; what is nil is as the namespace is configured. Seconds.
public struct ModelLifetime: Sendable {
    /// It is fresh.
    public var ttl: Int64?
    /// It is stale after that.
    public var stale: Int64?
    /// It is stale after its time to live while those who fetch it fail.
    public var staleIfError: Int64?

    public init(ttl: Int64? = nil, stale: Int64? = nil, staleIfError: Int64? = nil) {
        self.ttl = ttl
        self.stale = stale
        self.staleIfError = staleIfError
    }
}

/// What became of a put.
public enum ModelStored: Equatable, Sendable {
    case stored
    /// An entry is there that was not to be replaced.
    case exists
    /// It is larger than its namespace, or all of them, may be.
    case overBudget
    /// The file system has too little left.
    case lowStorage
    /// More has to go for it than there is time for in one turn: it is to be put again in the next one.
    case makingRoom
}

/// What a namespace is configured to be.
public struct ModelConfiguration: Equatable, Sendable {
    public var ttl: Int64?
    public var stale: Int64 = 7 * 86_400
    public var staleIfError: Int64 = 0
    public var maxEntries: Int?
    public var maxBytes: Int?
    /// It has a file of its own.
    public var isPartition = false
    /// It has a file of its own.
    var hasFile: Bool { isPartition && persists && !isScratch }
    /// It survives a restart.
    public var persists = true
    /// It lives while connections hold it.
    public var isScratch = false

    public init() {}
}

/// What has happened to a namespace since the start.
public struct ModelCounts: Sendable {
    public var hits = 0
    public var stale = 0
    public var misses = 0
    public var puts = 0
    public var evictions = 0
    /// Of those that were evicted: who came out of the window and was asked for less often than who was there.
    public var rejections = 0
    public var expired = 0
}

extension ModelsStore {
    /// Bytes of a value's JSON text.
    public static let valueLimit = 8 << 20
    /// Bytes of a key and of an entity tag.
    static let keyLimit = 512
    /// Tags of one entry.
    public static let tagLimit = 16
    /// Namespaces that there can be.
    public static let namespaceLimit = 10_000
    /// Namespaces that can have a file of their own: each takes five descriptors for as long as the daemon runs.
    public static let partitionLimit = 64
}
