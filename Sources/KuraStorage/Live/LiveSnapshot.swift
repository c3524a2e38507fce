public import KuraBytes
public import KuraJSON

/// The documents that a live query begins with, or goes on with when it has lost too many: read from the tables like those of a
/// find, on a reader thread.
///
/// A walk over several snapshots shows no one state: it does when all changes behind `rev`, up to `exactFrom` at least, have been
/// taken into the window.
public final class LiveSnapshot: TableQuery, @unchecked Sendable {
    // Safety: has one user at a time, as the pool sees to; then the loop has it.

    public struct Limits: Sendable, Equatable {
        /// Documents that a live query without a limit may have.
        public var documents: Int
        /// Bytes of keys and values that it may keep.
        public var bytes: Int

        public init(documents: Int, bytes: Int) {
            self.documents = documents
            self.bytes = bytes
        }
    }

    public let window: LiveWindow
    /// Nil: there is no such collection.
    private let query: DocumentQuery?
    private let shape: LiveShape
    /// Documents come in the order wanted, so that the first of them will do.
    private let isOrdered: Bool
    /// Values that are not newer are not wanted: the client has them. Only without a limit.
    private let since: UInt64
    private let limits: Limits
    private let emptyAsOf: UInt64

    init(
        _ query: DocumentQuery?, _ shape: LiveShape, limit: Int?, isOrdered: Bool, since: UInt64, limits: Limits,
        emptyAsOf: UInt64
    ) {
        self.query = query
        self.shape = shape
        self.isOrdered = isOrdered
        self.since = since
        self.limits = limits
        self.emptyAsOf = emptyAsOf
        window = LiveWindow(limit: limit)
    }

    public var isEmpty: Bool { query == nil }
    public var foldedTo: UInt64 { query?.foldedTo ?? 0 }
    public var isLong: Bool { query.map { $0.plan.isLong } ?? false }
    public func stop() { query?.control.stop() }
    /// Changes that follow this revision have to be taken in.
    public var rev: UInt64 { query?.rev ?? emptyAsOf }
    /// As of this revision the window shows one state of the collection.
    public var exactFrom: UInt64 { query?.newestRev ?? emptyAsOf }

    /// - Throws: as `DocumentQuery.run`; `.liveQueryTooLarge`.
    public func run(_ tables: TableReader) throws(QueryError) {
        guard let query else { return }
        var quoted = ByteBuffer(capacity: 128)
        var last: [UInt8] = []
        var isCut = false
        var failure: QueryError?
        try query.run(tables) { document in
            quoted.removeAll()
            quoted.append(idAsJSON: document.id)
            let key = shape.key(StoredValue(document.value), id: document.id, quotedID: StoredValue(quoted.bytes))
            if isOrdered, let limit = window.limit {
                // Those that are equal in what they are sorted by come in an order of their own: all of them or none.
                let group = shape.sort.isEmpty ? key : Array(key.dropLast(document.id.count + 2))
                if window.keptCount >= limit + window.reserve, group != last {
                    isCut = true
                    return .refused
                }
                last = group
            }
            guard window.wants(key) else { return .taken }
            let isWanted = window.limit != nil || document.rev > since
            window.put(
                Array(document.id), LiveWindow.hash(document.id), rev: document.rev, key: key,
                value: isWanted ? Array(document.value) : [])
            failure = window.fault(limits)
            return failure == nil ? .taken : .refused
        }
        if let failure { throw failure }
        if isCut { window.close() }
    }
}

extension LiveWindow {
    /// Why it is more than a live query may be.
    public func fault(_ limits: LiveSnapshot.Limits) -> QueryError? {
        if limit == nil, keptCount > limits.documents {
            return .liveQueryTooLarge(limit: limits.documents, isBytes: false)
        }
        return footprint > limits.bytes ? .liveQueryTooLarge(limit: limits.bytes, isBytes: true) : nil
    }
}

extension DocumentsStore {
    /// What a live query begins with, to be submitted unless it `isEmpty`.
    ///
    /// - Parameters:
    ///   - collection: its name.
    ///   - selector: that of the shape; another object when it has patterns, since a reader thread asks it.
    ///   - shape: what is asked for.
    ///   - limit: documents that are shown at most; nil for all.
    ///   - since: without a limit: values that are not newer are left out.
    ///   - limits: bounds of the live query.
    ///   - control: ends it.
    ///   - allowsScan: it may look at every document of a large collection.
    /// - Returns: what reads it.
    /// - Throws: `.indexNeeded`.
    public func liveSnapshot(
        _ collection: Bytes, _ selector: Selector, _ shape: LiveShape, limit: Int?, since: UInt64,
        limits: LiveSnapshot.Limits, control: QueryControl, allowsScan: Bool
    ) throws(QueryError) -> LiveSnapshot {
        var query: DocumentQuery?
        var isOrdered = false
        if limit != nil {
            let sort = shape.sort.isEmpty ? [SortField(path: Self.idPath)] : shape.sort
            query = try self.query(
                collection, QueryShape(selector: selector, sort: sort, isPage: true), control: control,
                allowsScan: allowsScan)
            isOrdered = query?.plan.sortsInMemory == false
        }
        if !isOrdered {
            // In any order: the window sorts.
            query = try self.query(
                collection, QueryShape(selector: selector), control: control, allowsScan: allowsScan)
        }
        return LiveSnapshot(
            query, shape, limit: limit, isOrdered: isOrdered, since: since, limits: limits,
            emptyAsOf: ledger.rev)
    }

    private static let idPath: FieldPath = {
        guard let path = try? FieldPath(name: Array("_id".utf8)) else { preconditionFailure("_id is a path") }
        return path
    }()

    /// Revision of the collection's newest change, or of a drop that may have taken away what had its name before; the largest there is
    /// when there is no such collection.
    public func lastRev(_ collection: Bytes) -> UInt64 {
        ledger.scopes.find(.documents, collection).map { ledger.scopes.newestRev($0) } ?? .max
    }
}
