import KuraBytes

/// A namespace of blobs: what it is configured to be, who is in it, and what it has seen. Belongs to the loop.
final class BlobNamespace {
    /// In the table, and in the hashes of names.
    let id: Int32
    let name: [UInt8]
    var settings: BlobNamespaceSettings
    var queue = BlobQueue()
    private(set) var count = 0
    /// Bytes of its blobs, equal contents counted each time.
    private(set) var bytes = 0
    var counts = BlobCounts()
    /// Quotas that count it.
    fileprivate(set) var accounts: [QuotaAccount] = []

    init(_ id: Int32, _ name: [UInt8], _ settings: BlobNamespaceSettings) {
        self.id = id
        self.name = name
        self.settings = settings
    }

    /// It has so many blobs and bytes more, or fewer.
    func add(count: Int, bytes: Int) {
        self.count += count
        self.bytes += bytes
        for account in accounts { account.note(bytes: bytes, items: count, scopes: 0) }
    }

    var summary: BlobNamespaceSummary {
        BlobNamespaceSummary(name: name, count: count, bytes: bytes, settings: settings, counts: counts)
    }
}

/// The namespaces by name and by number. A look-up makes nothing.
struct BlobNamespaces {
    private(set) var all: [Int32: BlobNamespace] = [:]
    private var byName: [UInt64: [BlobNamespace]] = [:]
    private let seed = UInt64.random(in: 0...UInt64.max)
    private var nextID: Int32 = 1
    private var assign: ((Bytes) -> [QuotaAccount])?

    var count: Int { all.count }

    /// From now on `assign` tells which accounts a namespace is in. They are new: what there is, is counted into them here.
    mutating func assignAccounts(_ assign: @escaping (Bytes) -> [QuotaAccount]) {
        self.assign = assign
        for namespace in all.values { enter(namespace) }
    }

    /// The accounts that a namespace is in, or would be.
    func accounts(of name: Bytes) -> [QuotaAccount] { find(name)?.accounts ?? assign?(name) ?? [] }

    private func enter(_ namespace: BlobNamespace) {
        guard let assign else { return }
        namespace.accounts = namespace.name.withBytes { assign($0) }
        for account in namespace.accounts { account.note(bytes: namespace.bytes, items: namespace.count, scopes: 1) }
    }

    func find(_ name: Bytes) -> BlobNamespace? {
        byName[Hash.bytes(name, seed: seed)]?.first { $0.name.withBytes { $0.equals(name) } }
    }

    subscript(id: Int32) -> BlobNamespace? { all[id] }

    mutating func insert(_ name: Bytes, _ settings: BlobNamespaceSettings = BlobNamespaceSettings()) -> BlobNamespace {
        let namespace = BlobNamespace(nextID, Array(name), settings)
        insert(namespace)
        return namespace
    }

    mutating func insert(_ namespace: BlobNamespace) {
        nextID = max(nextID, namespace.id + 1)
        all[namespace.id] = namespace
        enter(namespace)
        namespace.name.withBytes { byName[Hash.bytes($0, seed: seed), default: []].append(namespace) }
    }

    mutating func remove(_ namespace: BlobNamespace) {
        all[namespace.id] = nil
        for account in namespace.accounts { account.note(bytes: 0, items: 0, scopes: -1) }
        let hash = namespace.name.withBytes { Hash.bytes($0, seed: seed) }
        byName[hash]?.removeAll { $0 === namespace }
        if byName[hash]?.isEmpty == true { byName[hash] = nil }
    }

    /// The one with the most bytes, so that a large one's growth costs no small one its blobs.
    var largest: BlobNamespace? { all.values.max { $0.bytes < $1.bytes } }
}
