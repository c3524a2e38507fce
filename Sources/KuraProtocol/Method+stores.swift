extension Method {
    /// The nouns before the dots of methods' names, in the order of the method table. Those that keep something are declared here for the
    /// wire, once: grants, texts of the table, hints and the command line make their lists of it. What the disk knows of them is in
    /// `StoreDescription`.
    public enum Store: String, Sendable, CaseIterable {
        case rpc, session, storage, backups, transaction, settings, secrets, documents, models, blobs, changes, fault
    }
}

extension Method.Store {
    /// How a store keeps what clients give to it.
    public enum Keeping: Sendable {
        /// In the log, in clear.
        case clear
        /// In the log, sealed.
        case sealed
        /// It may be lost.
        case cached
    }

    /// The properties of a store that a client sees.
    public struct Facts: Sendable {
        /// The store's purpose, in one sentence.
        public let summary: String
        /// nil: it keeps nothing.
        public let keeping: Keeping?
        /// What people call an item, where it is not called a key.
        public let item: String
        /// What `storage.status` says of it; nil for nothing.
        let status: String?

        init(_ summary: String, _ keeping: Keeping? = nil, item: String = "key", status: String? = nil) {
            (self.summary, self.keeping, self.item, self.status) = (summary, keeping, item, status)
        }
    }

    public var facts: Facts {
        switch self {
        case .rpc: Facts("The protocol, described by itself.")
        case .session: Facts("The connection: who is there, and what both sides can do.")
        case .storage: Facts("The daemon as a whole.")
        case .backups: Facts("Backups in the data directory.")
        case .transaction: Facts("Changes of several items and rooms: all or nothing.")
        case .settings:
            Facts(
                "Small values by domain and key, kept in memory whole.", .clear,
                status: "Domains, keys and bytes of the settings.")
        case .secrets: Facts("Sealed values by service and account, and the keys that lead to them.", .sealed)
        case .documents:
            Facts(
                "JSON documents of any shape by collection and id.", .clear, item: "document",
                status: "Collections and documents.")
        case .models:
            Facts(
                "Values fetched from elsewhere, by namespace and key: they may be lost, and many share them.", .cached,
                status: "Namespaces, entries and bytes of the model cache, and its bytes in memory.")
        case .blobs:
            Facts(
                "Contents that may be lost, by namespace and key: images, downloads, what was made of them.", .cached,
                status: "Blobs, their contents and bytes, uploads under way.")
        case .changes: Facts("What has changed, in the order of revisions.")
        case .fault: Facts("Faults on demand: what goes wrong in a test, on ephemeral daemons alone.")
        }
    }

    /// Its methods, in the order of the table.
    var methods: [Method] {
        switch self {
        case .rpc: Method.rpcMethods
        case .session: Method.sessionMethods
        case .storage: Method.storageMethods + Method.recoveryMethods + Method.compactionMethods
        case .backups: Method.backupsMethods
        case .transaction: Method.transactionMethods
        case .settings: Method.settingsMethods
        case .secrets:
            Method.secretsMethods + Method.secretsKeysMethods + Method.secretsUseMethods + Method.secretsAuditMethods
        case .documents:
            Method.documentsMethods + Method.documentsConfigurationMethods + Method.queryMethods + Method.searchMethods
                + Method.liveMethods
        case .models: Method.modelsMethods
        case .blobs: Method.blobsMethods + Method.blobUploadMethods
        case .changes: Method.changesMethods
        case .fault: Method.faultMethods
        }
    }

    /// What its methods call one of its scopes; nil where it has none.
    public var scopeWord: String? {
        for case .scope(_, let scope, _) in methods.map(\.need) { return scope }
        return nil
    }

    /// The parameter that names an item, such as `key` or `id`; nil for a store whose items are not written one by one.
    public var itemWord: String? {
        for case .item(_, let name) in methods.map(\.need) { return name }
        return nil
    }

    // MARK: Hints

    // A refusal takes no memory, so that these are written out.
    public static let feedHint: StaticString = "stores are settings, secrets and documents"
    public static let feedAndCachesHint: StaticString =
        "stores are settings, secrets and documents, or caches: models, blobs and storage"
    public static let cachesHint: StaticString =
        "models, blobs and storage are watched apart: their revisions are others"
    public static let backupHint: StaticString =
        "settings, secrets, documents, or a scope such as documents/notes; secrets go all together"
    public static let bundleHint: StaticString =
        "settings, documents, models, or a scope such as documents/notes"
}

// MARK: Lists

extension Method.Store {
    public static func all(_ keeping: Keeping...) -> [Method.Store] {
        allCases.filter { store in store.facts.keeping.map { keeping.contains($0) } ?? false }
    }

    /// Those whose changes are in the log.
    public static let durable = all(.clear, .sealed)
    public static let caches = all(.cached)
    /// Those that a seed bundle has.
    public static let bundled = all(.clear) + [.models]

    /// Those that grants can be about; the others have nothing to protect, or look into these.
    public static let granted = [.storage] + durable + caches
}

extension [Method.Store] {
    public var words: [String] { map(\.rawValue) }
    /// What their scopes, and the items in these, are called: each word once.
    var scopeWords: [String] { compactMap(\.scopeWord).reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
    var itemWords: [String] { compactMap(\.itemWord).reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
    /// As texts of the method table write them.
    var quoted: [String] { map { "`\($0.rawValue)`" } }
}

extension [String] {
    /// `a, b and c`.
    public func listed(_ conjunction: String = "and") -> String {
        count > 1 ? dropLast().joined(separator: ", ") + " \(conjunction) \(self[count - 1])" : joined()
    }

    /// `a, b, c`.
    public var joinedByCommas: String { joined(separator: ", ") }
}
