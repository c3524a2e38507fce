import KuraBytes

/// Which changes a reader of the feed wants.
public struct ChangeFilter: Hashable, Sendable {
    /// One bit a store, at its raw value.
    private var stores: UInt32 = 0
    /// Name of the only scope wanted; nil for all.
    public var scope: [UInt8]?
    /// What keys begin with.
    public var prefix: [UInt8] = []

    /// Everything that is public.
    public init() {
        for store in Store.published { insert(store) }
    }

    /// Changes of these stores only.
    public init(stores: [Store]) {
        for store in stores where Store.published.contains(store) { insert(store) }
    }

    private mutating func insert(_ store: Store) { stores |= 1 << UInt32(store.rawValue) }

    func admits(_ record: LogRecord) -> Bool {
        guard stores & 1 << UInt32(record.store.rawValue) != 0 else { return false }
        if let scope, !scope.withBytes({ $0.equals(record.scope) }) { return false }
        return prefix.isEmpty || prefix.withBytes { record.key.starts(with: $0) }
    }
}

extension Store {
    /// The stores that the change feed shows; what others hold is the daemon's own.
    public static let published: [Store] = [.settings, .documents]
}
