import KuraBytes

/// Staging the deletion of a document: of itself alone, without what follows from it (`remove`).
extension DocumentsStore {
    /// The marker in a tombstone whose last value was dropped for its room. It is no JSON text.
    static let givenUp = [UInt8(ascii: " ")]

    /// The tombstone carries the last value, so that it can be brought back; but for what is deleted to make room on a full disk.
    func stageDeletion(_ scope: Scope, _ id: Bytes, _ old: ItemRef) throws(DocumentsError) {
        // Its new revision says that it has been migrated.
        let migrated = try stageMigrated(scope, id, old)
        let old = migrated ?? old
        let keeps = ledger.carries(old.value.count)
        do throws(EngineError) {
            try Self.givenUp.withBytes { (givenUp) throws(EngineError) in
                try ledger.stage(
                    scope, key: id, value: keeps ? Bytes() : givenUp, isTombstone: true,
                    carrying: keeps ? old.value : nil, old: old, oldBytes: old.value.count, newBytes: 0,
                    mayRepeat: migrated != nil
                ) { item in
                    Self.succeed(item, old)
                    item.pointee.writesBody = old.isDirty || !keeps
                }
            }
            try stageDeletionOfAttachments(scope, id, keeps)
        } catch { throw .engine(error) }
    }

    /// Has a document that is about to be deleted migrated first, while a run is under way.
    /// - Returns: the document as it is now; nil when it stays as it was.
    private func stageMigrated(_ scope: Scope, _ id: Bytes, _ old: ItemRef) throws(DocumentsError) -> ItemRef? {
        guard let migrations = scope.collection.migrations, migrations.isRunning, old.pointee.rev <= ledger.rev else {
            return nil
        }
        do throws(DocumentsError) {
            guard let value = try migrations.migrated(old.value, rev: old.pointee.rev) else { return nil }
            try stage(scope, id, value, old: old)
        } catch {
            switch error {
            // What cannot be migrated can be deleted.
            case .migrating, .uniqueViolation, .engine(.valueTooLarge): return nil
            case .engine, .query, .absent, .referenced, .unfit, .tooManyDocuments, .referencesBuilding,
                .attachmentsFull:
                throw error
            }
        }
        return ledger.find(scope, id)
    }
}
