/// The durable stores; raw values are on disk, and none is given twice.
public enum Store: UInt8, Sendable, CaseIterable {
    case settings = 1
    case documents = 2
    /// First results of writes that carried a `requestKey`.
    case requests = 3
    /// What rooms keep about their scopes: schemas, registered defaults.
    case configuration = 4
    /// Lists of documents' attachments, under the names of collections and ids.
    case attachments = 5
    /// Sealed metadata of secrets, under hashes of their names: a head for each secret, a record for each service, and one for the whole store.
    case secrets = 6
    /// The secrets themselves, sealed: one a version.
    case secretVersions = 7
}

/// The properties of a store. Code that needs a list of stores derives it from these.
public struct StoreDescription: Sendable {
    public struct Traits: OptionSet, Sendable {
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// Its items are in memory whole, and lie in the `settings` table; those of the others lie in `documents`.
        public static let resident = Traits(rawValue: 1)
        /// Nothing that tells of people or applications may stand beside its items in clear.
        public static let sealed = Traits(rawValue: 2)
        /// Its items are the clients' own and lie in clear: messages, the bill and accounts name them.
        public static let named = Traits(rawValue: 4)
        /// The change feed shows it. What the others hold is the daemon's own.
        public static let published = Traits(rawValue: 8)
        /// Something can be configured for its scopes.
        public static let configurable = Traits(rawValue: 16)
        /// It goes into backups.
        public static let backedUp = Traits(rawValue: 32)
        /// A client can read an item of it as a backup has it, so both can be compared, and what a manifest counts can be counted again.
        public static let comparable = Traits(rawValue: 64)
        /// A backup says how many items of it there are.
        public static let counted = Traits(rawValue: 128)
        /// It has what is configured for the scopes of others.
        public static let configures = Traits(rawValue: 256)
        /// A deleted item's last value stays in the tables, unless there is no room for it.
        public static let keepsLastValues = Traits(rawValue: 512)
        /// Its items name contents that lie in files of their own.
        public static let usesContents = Traits(rawValue: 1024)
        /// What clients keep in clear.
        public static let clear: Traits = [.named, .published, .configurable, .backedUp, .comparable, .counted]
    }

    /// The store's name in scopes, files and replies; the clients' word for one of its scopes; and the parameter that names an item.
    public let name, scopeWord, itemWord: StaticString
    /// The store that the write bill counts its writes for.
    let billed: BilledStore
    /// The store that it is a part of: both have scopes of the same names, and quotas count its bytes there, and no items. nil for none.
    let part: Store?
    /// Bytes of a value, at most.
    let valueLimit: Int
    let traits: Traits
}

extension Store {
    @inline(__always)
    public var described: StoreDescription {
        func store(
            _ name: StaticString, _ scopeWord: StaticString, _ itemWord: StaticString, billed: BilledStore? = nil,
            partOf part: Store? = nil, _ valueLimit: Int, _ traits: StoreDescription.Traits
        ) -> StoreDescription {
            StoreDescription(
                name: name, scopeWord: scopeWord, itemWord: itemWord, billed: billed ?? BilledStore(self), part: part,
                valueLimit: valueLimit, traits: traits)
        }
        return switch self {
        case .settings:
            store("settings", "domain", "key", billed: .settings, SettingsStore.valueLimit, [.clear, .resident])
        case .documents:
            store(
                "documents", "collection", "id", billed: .documents, DocumentsStore.valueLimit,
                [.clear, .keepsLastValues])
        case .requests: store("requests", "user", "key", billed: .settings, RequestKeys.resultLimit, .resident)
        case .configuration:
            store(
                "configuration", "scope", "key", billed: .settings, ConfigurationStore.valueLimit,
                [.resident, .backedUp, .configures])
        case .attachments:
            store(
                "attachments", "collection", "id", billed: .documents, partOf: .documents, DocumentsStore.valueLimit,
                [.backedUp, .comparable, .counted, .usesContents])
        case .secrets:
            store(
                "secrets", "service", "account", billed: .secrets, RecordGuard.sealedBytes,
                [.resident, .sealed, .published, .backedUp, .counted])
        case .secretVersions:
            store(
                "secretVersions", "service", "account", billed: .secrets, partOf: .secrets, BackupFormat.mostFrameBytes,
                [.sealed, .backedUp])
        }
    }

    /// One more than the greatest number.
    static let numbers = 1 + Int(allCases.map(\.rawValue).max() ?? 0)

    /// Those that have all of the traits, in the order of their numbers.
    static func all(_ traits: StoreDescription.Traits) -> [Store] { allCases.filter { $0.has(traits) } }

    @inline(__always)
    func has(_ trait: StoreDescription.Traits) -> Bool { described.traits.isSuperset(of: trait) }

    @inline(__always)
    var isResident: Bool { has(.resident) }
    @inline(__always)
    package var isSealed: Bool { has(.sealed) }
    public var isPublic: Bool { has(.named) }
    var isPart: Bool { described.part != nil }
    /// The store that its scopes stand beside; itself when it is no part.
    var owner: Store { described.part ?? self }

    /// The stores that the change feed shows.
    public static let published = all(.published)

    var roomName: String { "\(described.name)" }
    /// Where the fold writes its items.
    var table: String { isResident ? "settings" : "documents" }
    /// As messages call what it has: of what is sealed they tell no parts.
    package var shownName: String { isSealed ? owner.roomName : roomName }
}
