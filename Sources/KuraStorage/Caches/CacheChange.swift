import KuraBytes

/// Where a change comes from that is not in the log: a cache's room, or the file system that they share.
public struct CacheSources: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public static let models = CacheSources(rawValue: 1)
    public static let blobs = CacheSources(rawValue: 2)
    /// Whether space is low.
    public static let storage = CacheSources(rawValue: 4)

    public static let all = CacheStore.allCases.map { CacheSources($0) } + [storage]
    private static let names = CacheStore.allCases.map(\.name) + ["storage"]

    /// What the wire and grants call one of them.
    public var name: StaticString { Self.names[rawValue.trailingZeroBitCount] }

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ store: CacheStore) { rawValue = store.rawValue }
}

/// A change of a cache, as those who watch are told: what it is about, and what became of that.
public struct CacheChange: Sendable {
    /// What a change is about.
    public struct Target: Hashable, Sendable {
        public enum Extent: UInt8, Sendable {
            /// An entry; `name` is its key.
            case entry
            /// All whose key begins with `name`, or that have it as a tag.
            case prefix, tag
            /// A namespace, or the file system.
            case whole
        }
        /// One of them.
        public var source: CacheSources
        public var extent: Extent
        /// The namespace; empty for the file system.
        public var scope: [UInt8]
        public var name: [UInt8] = []
        /// Of a blob; empty for the blob itself.
        public var variant: [UInt8] = []
    }
    public enum Event: UInt8, Sendable {
        case stored, deleted
        /// Shown as stale from now on, or gone.
        case invalidated, dropped
        case becameLow, becameAmple
        /// A start has had to set something aside, or somebody has acknowledged that it has.
        case recovered, acknowledged
        /// A budget of what may be written to the disk is exceeded, or all such reports are resolved.
        case overBudget, withinBudget
    }

    public var target: Target
    public var event: Event

    /// Of two changes with the same, only the later one matters.
    struct Identity: Hashable {
        var target: Target
        /// What was dropped does not come back by being made stale.
        var isDrop: Bool
    }
    var identity: Identity { Identity(target: target, isDrop: event == .dropped) }

    /// Bytes that it counts as.
    var footprint: Int { 128 + target.name.count + target.variant.count }
}

extension ChangeFilter {
    func admits(_ change: CacheChange) -> Bool {
        let target = change.target
        guard caches.contains(target.source) else { return false }
        if let visible, !target.scope.withBytes({ visible.admitsCache(target.source, $0) }) { return false }
        if let scope, scope != target.scope { return false }
        guard !prefix.isEmpty else { return true }
        // Whoever wants some of a namespace's entries is told of all that may be about one of them.
        switch target.extent {
        case .entry: return target.name.starts(with: prefix)
        case .prefix: return target.name.starts(with: prefix) || prefix.starts(with: target.name)
        case .tag: return true
        case .whole: return target.source != .storage
        }
    }
}
