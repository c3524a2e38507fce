import KuraBytes

/// Undoing a revision.
extension Storage {
    /// What there is now of an item that a revision changed.
    public enum ItemNow {
        /// It is as the revision left it. `rev`: its own, which may be a newer one; 0 when there is nothing of it.
        /// `versions`: how many a document counts. `row`: a document's, when its collection keeps former versions.
        /// `hasLastValue`: the revision deleted it, and what it was stays with it.
        case asLeft(rev: UInt64, versions: Int?, row: Int64?, hasLastValue: Bool)
        case changed(rev: UInt64)
        /// It was a document, and nobody knows it any more.
        case gone
    }

    /// Reads the changes of a revision from the log; nil if the log does not have the revision. More than 5,000 items are `isTooLarge`.
    /// - Throws: what `fill` does.
    public func undone(_ rev: UInt64) throws(ChangesError) -> UndoneRevision? {
        guard rev > 0, rev <= self.rev else { return nil }
        guard rev <= ledger.committedRev else {
            // The log has it after this turn.
            documents.coldLook = .several([])
            throw .cold
        }
        return try log.history.undone(rev)
    }

    /// - Throws: `.cold`, `.unreadable`.
    public func now(_ undone: UndoneRevision, _ position: Int) throws(EngineError) -> ItemNow {
        let item = undone.items[position]
        guard let found = try find(item) else {
            // The tables forget settings that are deleted.
            return item.store == .settings && item.effect == .deleted
                ? .asLeft(rev: 0, versions: nil, row: nil, hasLastValue: false) : .gone
        }
        let rev = found.pointee.rev
        guard found.isTombstone == (item.effect == .deleted), rev == undone.rev || isAsLeft(found, undone, position)
        else { return .changed(rev: rev) }
        guard item.store != .settings else {
            return .asLeft(rev: rev, versions: nil, row: nil, hasLastValue: false)
        }
        // Undoing a creation deletes the document, and its attachments with it.
        if item.effect == .created, let attachedAt = try attachmentsRev(item), attachedAt > undone.rev {
            return .changed(rev: attachedAt)
        }
        let hasLastValue = found.isTombstone && rev == undone.rev && !found.value.elementsEqual(DocumentsStore.givenUp)
        let row = ledger.keepsHistory(found.pointee.scope) ? found.pointee.row : nil
        return .asLeft(rev: rev, versions: Int(found.pointee.version), row: row, hasLastValue: hasLastValue)
    }

    private func attachmentsRev(_ item: UndoneRevision.Item) throws(EngineError) -> UInt64? {
        try item.scope.withBytes { (collection) throws(EngineError) in
            try item.key.withBytes { (id) throws(EngineError) in try documents.attachmentsRev(collection, id) }
        }
    }

    private func isAsLeft(_ found: ItemRef, _ undone: UndoneRevision, _ position: Int) -> Bool {
        found.isTombstone || undone.hasWritten(position, found.value)
    }

    private func find(_ item: UndoneRevision.Item) throws(EngineError) -> ItemRef? {
        try item.scope.withBytes { (name) throws(EngineError) in
            try item.key.withBytes { (key) throws(EngineError) -> ItemRef? in
                guard let scope = ledger.scopes.find(item.store, name) else { return nil }
                return item.store == .documents ? try documents.find(scope, key) : ledger.find(scope, key)
            }
        }
    }
}

extension ChangeHistory {
    fileprivate func undone(_ rev: UInt64) throws(ChangesError) -> UndoneRevision? {
        let chunk = try chunk(after: rev - 1)
        let position = chunk.position(after: rev - 1)
        guard position < chunk.rows.count else { return nil }
        do throws(StorageFault) { return try UndoneRevision(rev, in: chunk, position) } catch { throw .damagedLog }
    }
}
