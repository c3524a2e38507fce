public import KuraBytes

/// What is done in the background: dropping collections, forgetting what was deleted.
extension Storage {
    /// Runs what may wait for the disk on a background thread, after what was asked for before.
    public func runInBackground(_ job: @escaping @Sendable () -> Void) { start.housekeeper.submit(job) }

    /// Drops a collection: its documents, what is configured for it, and its name are gone at once, in one revision. What lies in
    /// the tables goes later, in pieces.
    /// Throws: what staging a change throws.
    public func drop(_ collection: Bytes, by author: Author) throws(EngineError) -> WriteResult {
        let isConfigured = configurations.rev(.documents, collection) > 0
        guard let scope = ledger.scopes.find(.documents, collection), isConfigured || scope.lastRev > 0 else {
            ledger.countNoOp(.documents, by: author)
            return WriteResult(rev: 0, changed: 0)
        }
        let rev = try ledger.transaction(by: author) { () throws(EngineError) in
            try configurations.deleteAll(.documents, collection, by: author)
            try ledger.stageDrop(scope)
            if let lists = ledger.scopes.find(.attachments, collection) { try ledger.stageDrop(lists) }
        }
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    /// Has the tombstones of a collection forgotten that are as old; those that are folded.
    /// `before`: milliseconds since 1970.
    /// - Returns: a ticket that `takeAnswers` gives back with a `PurgeDone`.
    public func purge(_ collection: Bytes, before: Int64) -> UInt64? {
        guard let scope = ledger.scopes.find(.documents, collection) else { return nil }
        return tables.submit(Purge(ticket: desk.takeTicket(), collection: scope.id, before: before))
    }
}

/// What a purge has done.
public final class PurgeDone: TableQuery {
    public let foldedTo: UInt64 = 0
    /// Tombstones that are gone.
    public let removed: Int

    init(_ removed: Int) {
        self.removed = removed
    }

    public func run(_ tables: TableReader) {}
}
