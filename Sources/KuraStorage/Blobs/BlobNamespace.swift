import KuraBytes

/// A namespace of blobs: what it is configured to be, who is in it, and what it has seen. Belongs to the loop.
final class BlobNamespace {
    /// In the table, and in the hashes of names.
    let id: Int32
    let name: [UInt8]
    var settings: BlobNamespaceSettings
    var queue = BlobQueue()
    var count = 0
    /// Bytes of its blobs, equal contents counted each time.
    var bytes = 0
    var counts = BlobCounts()

    init(_ id: Int32, _ name: [UInt8], _ settings: BlobNamespaceSettings) {
        self.id = id
        self.name = name
        self.settings = settings
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

    var count: Int { all.count }

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
        namespace.name.withBytes { byName[Hash.bytes($0, seed: seed), default: []].append(namespace) }
    }

    mutating func remove(_ namespace: BlobNamespace) {
        all[namespace.id] = nil
        let hash = namespace.name.withBytes { Hash.bytes($0, seed: seed) }
        byName[hash]?.removeAll { $0 === namespace }
        if byName[hash]?.isEmpty == true { byName[hash] = nil }
    }

    /// The one with the most bytes, so that a large one's growth costs no small one its blobs.
    var largest: BlobNamespace? { all.values.max { $0.bytes < $1.bytes } }
}
