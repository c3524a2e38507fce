public import KuraBytes

/// What is done in the background: dropping collections, forgetting what was deleted, what is told of indexes.
extension Storage {
    /// Runs what may wait for the disk on a background thread, after what was asked for before.
    public func runInBackground(_ job: @escaping @Sendable () -> Void) { housekeeper.submit(job) }

    /// Drops a collection: its documents, what is configured for it, and its name are gone at once, in one revision. What lies in
    /// the tables goes later, in pieces.
    /// Throws: what staging a change throws.
    public func drop(_ collection: Bytes) throws(StoreError) -> WriteResult {
        let isConfigured = configurations.rev(.documents, collection) > 0
        guard let scope = ledger.scopes.find(.documents, collection), isConfigured || scope.lastRev > 0 else {
            ledger.countNoOp(.documents)
            return WriteResult(rev: 0, changed: 0)
        }
        let rev = try ledger.transaction { () throws(StoreError) in
            try configurations.deleteAll(.documents, collection)
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
        return submit(Purge(ticket: takeTicket(), collection: scope.id, before: before))
    }

    /// Takes in what the fold thread tells of indexes of both kinds.
    func noteIndexes(of outcome: Folder.Outcome, _ time: UInt64) {
        if let statuses = outcome.indexes { note(statuses, time) }
        if let statuses = outcome.searches { note(statuses, time) }
    }

    /// Takes in how the indexes stand, and tells the operator which are through.
    private func note(_ statuses: [IndexStatus], _ time: UInt64) {
        ledger.publish(statuses)
        for status in statuses {
            if status.state == .building || status.state == .built {
                if builds[status.number] == nil { builds[status.number] = time }
            } else if let start = builds.removeValue(forKey: status.number) {
                let line = status.line(took: time - start, longestPiece: longestPiece)
                if status.state == .failed { report(line) } else { remark(line) }
                if builds.isEmpty { longestPiece = 0 }
            }
        }
    }

    /// The same of full text indexes.
    private func note(_ statuses: [SearchStatus], _ time: UInt64) {
        ledger.publish(statuses)
        for status in statuses {
            if status.state == .building {
                if builds[-status.number] == nil { builds[-status.number] = time }
            } else if let start = builds.removeValue(forKey: -status.number) {
                remark(status.line(took: time - start, longestPiece: longestPiece))
                if builds.isEmpty { longestPiece = 0 }
            }
        }
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
