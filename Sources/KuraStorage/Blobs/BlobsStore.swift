import KuraBytes
import SQLite
import Sodium

/// The blobs: contents of any kind by namespace and key, which may be lost, and whose number is bounded.
///
/// Nothing of it goes through the log. The index in memory is the truth while the daemon runs; the table is written behind it on the cache
/// thread, and read at the start in pieces while requests are served. Contents up to 16 KiB lie in the table and in memory, larger ones in
/// files (`BlobFiles`). Belongs to the actor; nothing in here waits for the disk.
public final class BlobsStore {
    enum Phase: Equatable {
        /// The index has been read up to this row of the table.
        case loading(after: Int64)
        case ready
        /// The table could not be written, and is being dropped: all has been forgotten.
        case dropping
    }

    let caches: Caches
    let index = BlobIndex()
    package let files: BlobFiles
    var namespaces = BlobNamespaces()
    var memory: BlobMemory
    var contentTypes = BlobContentTypes()
    var openContents = OpenContents()
    private var hasher = BlobHasher()
    var phase = Phase.loading(after: .min)
    /// Blobs that are gone and have variants left, contents that are damaged and have blobs left, and what is left of all when it goes.
    var partings: [BlobPlace] = []
    var damaged: [ContentDigest] = []
    var resetPlace: BlobPlace = 0
    var nextID: Int64 = 1
    var outbox = BlobOutbox()
    var sweep = BlobSweep()

    init(_ caches: Caches) {
        self.caches = caches
        let configuration = caches.configuration
        memory = BlobMemory(limit: configuration.caches.blobMemoryBytes)
        files = BlobFiles(configuration, remover: caches.writer, space: caches.space)
        caches.writer.submit(BlobLoad(after: .min, key: nameKey))
        caches.add(self)
    }

    var configuration: StorageConfiguration { caches.configuration }
    var nameKey: LookupHash.Key { hasher.key }
    /// Milliseconds since 1970, as of the turn.
    var clock: Int64 { caches.clock }

    /// All that the table has is known.
    public var isReady: Bool { phase == .ready }

    // MARK: Names

    /// Where a blob lies that has not expired.
    func place(_ name: BlobName) -> BlobPlace? {
        guard phase != .dropping, let namespace = namespaces.find(name.namespace),
            let place = index.find(hash(name, namespace)), !index.isOrphan(place)
        else { return nil }
        guard index[place].expiresAt > clock else {
            caches.noteExpired()
            return nil
        }
        return place
    }

    func hash(_ name: BlobName, _ namespace: BlobNamespace) -> LookupHash {
        hasher.hash(name, namespace: namespace.id)
    }

    func facts(_ place: BlobPlace) -> BlobFacts {
        let row = index[place]
        let content = index.content(row.content)
        return BlobFacts(
            digest: content.digest, bytes: content.bytes, contentType: contentTypes[row.contentType],
            createdAt: row.createdAt, expiresAt: row.expiresAt)
    }

    func namespace(of place: BlobPlace) -> BlobNamespace { namespaces[index[place].namespace]! }
}

/// Makes what stands for a blob's name in the index.
struct BlobHasher: ~Copyable {
    let key = LookupHash.Key()
    private var scratch = ByteBuffer()

    mutating func hash(_ name: BlobName, namespace: Int32) -> LookupHash {
        LookupHash(namespace: namespace, key: name.key, variant: name.variant, &scratch, key: key)
    }
}

/// Content types by number: there are few of them.
struct BlobContentTypes {
    private var names: [[UInt8]] = [[]]
    private var numbers: [[UInt8]: Int32] = [[]: 0]
    /// Kinds that are told apart; further ones are kept as none.
    private static let limit = 10_000

    subscript(number: Int32) -> [UInt8] { names[Int(number)] }

    mutating func number(_ name: [UInt8]) -> Int32 {
        if let number = numbers[name] { return number }
        guard names.count < Self.limit else { return 0 }
        names.append(name)
        numbers[name] = Int32(names.count - 1)
        return Int32(names.count - 1)
    }
}
