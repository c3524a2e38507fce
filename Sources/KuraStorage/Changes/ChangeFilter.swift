public import KuraBytes

/// Which changes a reader of the feed wants.
public struct ChangeFilter: Hashable, Sendable {
    /// One bit a store, at its raw value.
    private var stores: UInt32 = 0
    /// In place of stores: caches, whose changes are not in the log (`CacheChanges`).
    public private(set) var caches: CacheSources = []
    /// Name of the only scope wanted; nil for all.
    public var scope: [UInt8]?
    /// What keys begin with.
    public var prefix: [UInt8] = []
    /// What the reader may see at all; nil for everything.
    public var visible: VisibleScopes?

    /// Everything that is public.
    public init() {
        for store in Store.published { insert(store) }
    }

    /// Changes of these stores only.
    public init(stores: [Store]) {
        for store in stores where Store.published.contains(store) { insert(store) }
    }

    /// Changes of these caches only.
    public init(caches: CacheSources) { self.caches = caches }

    /// It is about caches.
    public var isOfCaches: Bool { !caches.isEmpty }

    private mutating func insert(_ store: Store) { stores |= 1 << UInt32(store.rawValue) }

    func admits(_ record: LogRecord) -> Bool {
        guard admits(record.store) else { return false }
        if let scope, !scope.withBytes({ $0.equals(record.scope) }) { return false }
        if let visible, !visible.admits(record.store, record.scope) { return false }
        // Whoever wants some of a scope's items is told when all of them go.
        return prefix.isEmpty || record.isDrop || prefix.withBytes { record.key.starts(with: $0) }
    }

    /// The same of a secret, by its names.
    func admits(_ secret: SecretName) -> Bool {
        if let scope, !scope.withBytes({ $0.equals(secret.service) }) { return false }
        if let visible, !visible.admitsSecret(secret.service, secret.group) { return false }
        return prefix.isEmpty || prefix.withBytes { secret.account.starts(with: $0) }
    }

    /// Whether a secret whose names nobody knows now could be one that is wanted.
    var admitsSealed: Bool {
        guard let visible else { return true }
        guard let scope else { return visible.seesSecrets(nil) }
        return scope.withBytes { visible.seesSecrets($0) }
    }

    public func admits(_ store: Store) -> Bool { stores & 1 << UInt32(store.rawValue) != 0 }
}

/// Which scopes somebody may see in the feed. Two are equal when they are the same object: whoever grants keeps one for all who
/// may see the same.
public final class VisibleScopes: Hashable, Sendable {
    public let admits: @Sendable (Store, Bytes) -> Bool
    /// Of secrets, by service and access group.
    let admitsSecret: @Sendable (Bytes, Bytes) -> Bool
    /// Whether there are secrets of the service that it admits, whatever groups they are in; nil: of any service.
    let seesSecrets: @Sendable (Bytes?) -> Bool
    /// Of caches, by namespace.
    let admitsCache: @Sendable (CacheSources, Bytes) -> Bool

    public init(
        _ admits: @escaping @Sendable (Store, Bytes) -> Bool,
        secrets: @escaping @Sendable (Bytes, Bytes) -> Bool = { _, _ in false },
        seesSecrets: @escaping @Sendable (Bytes?) -> Bool = { _ in false },
        caches: @escaping @Sendable (CacheSources, Bytes) -> Bool = { _, _ in false }
    ) {
        self.admits = admits
        admitsSecret = secrets
        self.seesSecrets = seesSecrets
        admitsCache = caches
    }

    public static func == (left: VisibleScopes, right: VisibleScopes) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
