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
    let rows = Cell(GrowingRow<ModelRow>())
    let index = Cell(RowIndex())
    private let unused = Cell(GrowingRow<UInt32>())
    let places = CachePlaces()
    let memoryPlaces = CachePlaces()
    /// Which values in memory go first: only those that are in a file.
    var memoryOrder: CacheOrder
    private(set) lazy var sketch = FrequencySketch(counters: limits.memory / 256)
    private let seed = UInt64.random(in: 0...UInt64.max)

    /// By their numbers, from 1 on; nil where one is gone.
    var namespaces: [ModelNamespace?] = [nil]
    var names: [[UInt8]: UInt32] = [:]
    /// The one that was asked for last.
    private var latest: ModelNamespace?

    /// Counts writes and invalidations; what a mark is about lies below it.
    var sequence: UInt64 = 0
    var entries = 0
    /// Bytes that all entries count as.
    var bytes = 0
    /// Bytes of memory: rows, keys and the values that are there.
    var memory = 0
    let limits: (bytes: Int, memory: Int)

    var batch: ModelBatch
    /// Rows whose values are on their way to a file, with the batches that have them, in their order; some may be others' by now.
    var unwritten: [SentRow] = []
    var writtenBatch: UInt64 = 0
    /// The main file does not know the namespaces any more, and when it may be told them next.
    var isUnnamed = false
    var namesAgainAt: UInt64 = 0
    /// Rows that are in no batch yet, in the order of their writing; some may be others' by now.
    var unsent: [UInt32] = []
    /// Bytes of their values.
    var unsentBytes = 0
    /// A row that is still among them though its entry is gone; 0 when there is none.
    var vacatedUnsent: UInt32 = 0
    /// When the first of them was seen waiting; 0 when none was.
    var unsentSince: UInt64 = 0
    var loading = Loading.unknown
    var filesToLoad: [String] = []
    var sweep = Sweep()
    /// Bytes of entries that have gone with their files, and are still to be swept.
    var clearedBytes = 0
    /// Namespaces that have more than they may have now, that have moved, and those that go.
    var oversize: [UInt32] = []
    var moves: [Move] = []
    var leaving: [UInt32] = []
    /// Scratch namespaces by the connections that hold them.
    var holdings: [UInt64: Set<UInt32>] = [:]
    /// Numbers of namespaces that are gone.
    var freeNumbers: [UInt32] = []
    var hand = 0
    /// Names of the tags of an entry that is being written.
    var tagNames = ByteBuffer()

    /// How far the files have been read.
    enum Loading {
        /// The namespaces are not known yet.
        case unknown
        case entries
        case done
    }

    static var tables: String { ModelStatements.tables }

    init(_ caches: Caches) {
        self.caches = caches
        limits = (caches.configuration.modelBytes, caches.configuration.modelMemoryBytes)
        memoryOrder = CacheOrder(memoryPlaces)
        batch = ModelBatch(number: 1, space: caches.space)
        rows.pointee.append(ModelRow())
        caches.add(self)
        beginLoading()
    }

    deinit {
        // A free row has an empty one.
        for place in 0..<rows.pointee.count { rows.pointee[place].block.release() }
    }

    // MARK: Namespaces

    /// Requests have to wait until it is known which namespaces there are: some milliseconds after the start.
    public var isReady: Bool { if case .unknown = loading { false } else { true } }
    /// What is not found may still be in a file.
    public var isLoaded: Bool { if case .done = loading { true } else { false } }

    public func namespace(_ name: Bytes) -> ModelNamespace? {
        if let latest, latest.name.withBytes({ $0.equals(name) }) { return latest }
        guard let number = names[Array(name)] else { return nil }
        latest = namespaces[Int(number)]
        return latest
    }

    /// The same; one that is not there yet is made.
    /// `binding`: the quotas of whoever asks.
    /// Throws: `.quotaExceeded` when there are too many, `.accountFull`.
    public func makeNamespace(_ name: Bytes, for binding: [QuotaAccount] = []) throws(StoreError) -> ModelNamespace {
        if let known = namespace(name) { return known }
        guard names.count < Self.namespaceLimit else { throw .quotaExceeded(limit: Self.namespaceLimit) }
        let accounts = assign?(name) ?? []
        for account in accounts where binding.contains(where: { $0 === account }) {
            try account.admitting(bytes: 0, items: 0, isNewScope: true)
        }
        let made = add(number: nextNumber(), Array(name), ModelConfiguration())
        write(made)
        return made
    }

    /// A number that nobody has, nor a token of one who had it.
    private func nextNumber() -> UInt32 {
        guard let number = freeNumbers.last, !caches.claims.concerns(.models, scope: number) else {
            return UInt32(namespaces.count)
        }
        freeNumbers.removeLast()
        return number
    }

    public func namespace(number: UInt32) -> ModelNamespace? {
        Int(number) < namespaces.count ? namespaces[Int(number)] : nil
    }

    func add(number: UInt32, _ name: [UInt8], _ configuration: ModelConfiguration) -> ModelNamespace {
        let made = ModelNamespace(number: number, name: name, configuration: configuration, places: places)
        while namespaces.count <= Int(number) { namespaces.append(nil) }
        namespaces[Int(number)] = made
        names[name] = number
        made.accounts = name.withBytes { assign?($0) ?? [] }
        for account in made.accounts { account.note(bytes: 0, items: 0, scopes: 1) }
        return made
    }

    /// Takes a namespace without entries out.
    func forget(_ namespace: ModelNamespace) {
        if !namespace.isLeaving { forgetName(of: namespace) }
        namespaces[Int(namespace.number)] = nil
        freeNumbers.append(namespace.number)
    }

    /// Nobody finds it any more.
    func forgetName(of namespace: ModelNamespace) {
        namespace.isLeaving = true
        for account in namespace.accounts { account.note(bytes: 0, items: 0, scopes: -1) }
        names[namespace.name] = nil
        if latest === namespace { latest = nil }
    }

    private var assign: ((Bytes) -> [QuotaAccount])?

    /// From now on `assign` tells which accounts a namespace is in. They are new: what there is, is counted into them here.
    func assignAccounts(_ assign: @escaping (Bytes) -> [QuotaAccount]) {
        self.assign = assign
        for namespace in namespaces.compactMap({ $0 }) {
            namespace.accounts = namespace.name.withBytes { assign($0) }
            for account in namespace.accounts {
                account.note(bytes: namespace.bytes, items: namespace.count, scopes: namespace.isLeaving ? 0 : 1)
            }
        }
    }

    /// In the order of their names.
    public var all: [ModelNamespace] {
        namespaces.compactMap { $0 }.filter { !$0.isLeaving }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    public var totals: (entries: Int, bytes: Int, memory: Int) { (entries, bytes, memory) }

    // MARK: Rows

    func hash(_ namespace: UInt32, _ key: Bytes) -> UInt64 {
        Hash.bytes(key, seed: seed &+ UInt64(namespace) &* 0x9E37_79B9_7F4A_7C15)
    }

    /// The row of a key; 0 when there is none.
    func find(_ namespace: UInt32, _ key: Bytes, _ hash: UInt64) -> UInt32 {
        var row = index.pointee.first(hash)
        while row != 0 {
            let candidate = Int(row)
            if rows.pointee[candidate].hash == hash, rows.pointee[candidate].namespace == namespace,
                rows.pointee[candidate].key.equals(key)
            {
                return row
            }
            row = rows.pointee[candidate].chain
        }
        return 0
    }

    /// Puts a row into the index.
    func insert(_ row: ModelRow) -> UInt32 {
        var number = UInt32(rows.pointee.count)
        if unused.pointee.count > 0 {
            number = unused.pointee[unused.pointee.count - 1]
            unused.pointee.truncate(to: unused.pointee.count - 1)
            rows.pointee[Int(number)] = row
        } else {
            rows.pointee.append(row)
        }
        rows.pointee[Int(number)].chain = index.pointee.insert(number, row.hash)
        entries += 1
        index.pointee.grow(
            rows: entries, hash: { self.rows.pointee[Int($0)].hash }, next: { self.rows.pointee[Int($0)].chain },
            setNext: { self.rows.pointee[Int($0)].chain = $1 })
        return number
    }

    /// Takes a row out of the index and gives its memory back. It is in no order any more.
    func remove(_ row: UInt32) {
        let hash = rows.pointee[Int(row)].hash
        let chain = rows.pointee[Int(row)].chain
        var before = index.pointee.first(hash)
        if before == row {
            index.pointee.setFirst(chain, hash)
        } else {
            while rows.pointee[Int(before)].chain != row { before = rows.pointee[Int(before)].chain }
            rows.pointee[Int(before)].chain = chain
        }
        rows.pointee[Int(row)].block.release()
        rows.pointee[Int(row)] = ModelRow()
        unused.pointee.append(row)
        entries -= 1
    }
}
