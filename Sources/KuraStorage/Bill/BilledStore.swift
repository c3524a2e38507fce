/// A room as the write bill names it: a durable store that is no part of another, or a cache. Raw values are on disk.
public struct BilledStore: RawRepresentable, Hashable, Sendable, CaseIterable {
    public let rawValue: UInt8

    // Numbers that were given before stores of the log had theirs here.
    public static var settings: Self { Self(0) }
    public static var secrets: Self { Self(1) }
    public static var documents: Self { Self(2) }
    public static var models: Self { Self(3) }
    public static var blobs: Self { Self(4) }

    private init(_ number: UInt8) { rawValue = number }

    private init(_ cache: CacheStore) { self.init(2 + cache.rawValue) }

    /// The later ones have their number in the log.
    init(_ store: Store) { self.init(store.rawValue) }

    /// nil for the number of no store.
    public init?(rawValue: UInt8) {
        self.init(rawValue)
        guard Self.allCases.contains(self) else { return nil }
    }

    /// It goes through the log.
    public var isDurable: Bool { !Self.caches.contains(self) }

    private static let caches = CacheStore.allCases.map { Self($0) }

    /// In the order of their numbers.
    public static let allCases = Set(names.keys).sorted { $0.rawValue < $1.rawValue }

    private static let names = Dictionary(
        Store.allCases.map { ($0.described.billed, $0.roomName) }
            + CacheStore.allCases.map { (Self($0), "\($0.name)") }
    ) { first, _ in first }
}

extension BilledStore: CustomStringConvertible {
    public var description: String { Self.names[self] ?? "" }
}
