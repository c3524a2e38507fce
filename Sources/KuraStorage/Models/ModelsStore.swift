public import KuraBytes
import SQLite

/// The model cache: JSON values by namespace and key that may be lost at any time, so they go through no log.
///
/// The truth while the daemon runs is the index in memory: a row an entry, and as many of the values as memory has room for. Changes are written
/// behind, in batches, and read back at the next start; a value that is not in memory is read by a thread. Belongs to the loop.
public final class ModelsStore {
    /// What becomes of what is invalidated.
    public enum Invalidation: Sendable {
        /// It is shown as stale until somebody has fetched it anew.
        case stale
        case drop
    }

    let caches: Caches
    let rows = ModelRows()
    let places = CachePlaces()
    let namespaces: ModelNamespaces
    let memory: ModelMemory
    let outbox: ModelOutbox
    private(set) lazy var sketch = FrequencySketch(counters: memory.limit / 256)
    /// Bytes that all entries count as, and that they may.
    var bytes = 0
    let byteLimit: Int
    let loading = ModelLoading()
    var naming = ModelNaming()
    var sweep = ModelSweep()
    /// Namespaces that have more than they may have now, and those that have moved.
    var oversize: [UInt32] = []
    var moves: [Move] = []

    static var tables: String { ModelStatements.tables }

    /// `boot`: is told what becomes of a seed bundle.
    init(_ caches: Caches, boot: Boot? = nil) {
        self.caches = caches
        namespaces = ModelNamespaces(places)
        memory = ModelMemory(limit: caches.configuration.caches.modelMemoryBytes)
        outbox = ModelOutbox(caches)
        byteLimit = caches.configuration.caches.modelBytes
        caches.add(self)
        let bundle = caches.configuration.seedBundle
        let seed = boot.flatMap { boot in bundle.map { ModelSeed($0, boot, caches.space) } }
        caches.writer.submit(ModelLoad(seed: seed))
    }

    // MARK: Namespaces

    /// Requests have to wait until it is known which namespaces there are: some milliseconds after the start.
    public var isReady: Bool { loading.state != .unknown }
    /// What is not found may still be in a file.
    public var isLoaded: Bool { loading.state == .done }

    public func namespace(_ name: Bytes) -> ModelNamespace? { namespaces.find(name) }

    /// The same; one that is not there yet is made.
    /// `binding`: the quotas of whoever asks.
    /// Throws: `.quotaExceeded` when there are too many, `.accountFull`.
    public func makeNamespace(_ name: Bytes, for binding: [QuotaAccount] = []) throws(EngineError) -> ModelNamespace {
        if let known = namespaces.find(name) { return known }
        guard namespaces.count < Self.namespaceLimit else { throw .quotaExceeded(limit: Self.namespaceLimit) }
        for account in namespaces.accounts(of: name) where binding.contains(where: { $0 === account }) {
            try account.admitting(bytes: 0, items: 0, isNewScope: true)
        }
        let number = namespaces.nextNumber { caches.claims.concerns(.models, scope: $0) }
        let made = namespaces.add(number: number, Array(name), ModelConfiguration())
        write(made)
        return made
    }

    public func namespace(number: UInt32) -> ModelNamespace? { namespaces[number] }

    /// In the order of their names.
    public var all: [ModelNamespace] { namespaces.named }

    public var totals: (entries: Int, bytes: Int, memory: Int) { (rows.count, bytes, memory.bytes) }
}
