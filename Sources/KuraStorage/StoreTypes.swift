public import KuraBytes

/// An item as a room shows it. The bytes lie in the storage's memory: good until the next change or turn.
public struct StoredItem {
    public var key: Bytes
    /// JSON text.
    public var value: Bytes
    public var rev: UInt64
    /// How often it has been written since it was first created.
    public var version: UInt32
    /// Milliseconds since 1970.
    public var createdAt: Int64
    public var updatedAt: Int64

    init(_ item: ItemRef) {
        key = item.key
        value = item.value
        rev = item.pointee.rev
        version = item.pointee.version
        createdAt = item.pointee.createdAt
        updatedAt = item.pointee.updatedAt
    }
}

/// What a look-up found. `shownRev` is the newest revision that the answer gives away, absence included: the answer may
/// only leave when that revision is synced.
public struct Lookup {
    public var item: StoredItem?
    public var shownRev: UInt64
    /// What is configured for the item's scope; nil when nothing is.
    public var annex: ScopeAnnex?
    /// What was found may be shown before it is synced.
    public var isRelaxed = false
}

/// What a write did. `rev` is the revision to answer; it is also what the answer gives away.
public struct WriteResult {
    public var rev: UInt64
    /// Items that changed.
    public var changed: Int
    /// What was written, or found to be there already, is acknowledged before it is synced, unless the transaction around it
    /// has other changes.
    public var isRelaxed = false
    /// Documents of others that were deleted along with it, and that have lost a reference.
    public var cascaded = 0
    public var nullified = 0
}

/// A scope's numbers as of the newest change.
public struct ScopeSummary {
    public var name: [UInt8]
    public var count: Int
    public var bytes: Int
    public var rev: UInt64
    /// Bytes of what is attached to a collection's documents, each list counted by itself.
    public var attachmentBytes = 0
}

/// A condition on the revision of an item: absent, or a revision it must have (0: it must be absent).
public typealias Precondition = UInt64?

extension Ledger {
    /// - Throws: `.conflict` when the item is not as the writer thought.
    func check(_ condition: Precondition, _ item: ItemRef?) throws(EngineError) {
        guard let condition else { return }
        let current = item.map { $0.isTombstone ? 0 : $0.pointee.rev } ?? 0
        guard current == condition else { throw .conflict(currentRev: current) }
    }

    /// - Throws: `.duplicate` when the transaction that is under way has changed the item.
    func checkOnce(_ item: ItemRef?) throws(EngineError) {
        if let item, item.pointee.rev > rev { throw .duplicate(index: 0) }
    }

    func summaries(_ store: Store) -> [ScopeSummary] {
        scopes.list(store).map { ScopeSummary(name: $0.name, count: $0.count, bytes: $0.bytes, rev: $0.lastRev) }
    }

    /// Runs a transaction: everything `body` stages gets one revision, or nothing is staged when it throws.
    func transaction<Failure: Error>(
        by author: Author, _ body: () throws(Failure) -> Void
    ) throws(Failure) -> UInt64? {
        let mark = begin(by: author)
        do throws(Failure) { try body() } catch {
            abandon(mark)
            throw error
        }
        return end(mark)
    }
}
