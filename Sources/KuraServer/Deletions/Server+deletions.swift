import KuraBytes
import KuraProtocol
import KuraStorage

/// Deletions by a selector, a slice a turn, as imports store their batches.
extension Server {
    /// Deletes a slice; what becomes of it is told when the turn is in the log.
    func delete(
        _ slice: [MatchedDocument], _ work: DocumentsDeletion, _ transfer: Transfer, _ storage: isolated Storage
    ) {
        // Without its connection nobody is there by whose rights it could be deleted.
        guard let connection = connections[transfer.token], !connection.phase.isClosed,
            work.collection.withBytes({
                connection.permissions?.allows(work.need.verbs, .documents, $0) ?? true
            })
        else {
            work.judge(.failed(.engine(.cancelled)))
            return
        }
        // Dropped, and perhaps made anew: its documents are gone, and others are none of this request's.
        guard work.collection.withBytes({ storage.documents.incarnation($0) }) == work.incarnation else {
            work.judge(.stored(rev: storage.rev, DocumentsDeletion.Sums()))
            return
        }
        let author = author(ofSlice: connection, DocumentsDeleteMany.methodIndex, storage)
        var deleted = 0
        do throws(DocumentsError) {
            let result = try work.collection.withBytes { (collection) throws(DocumentsError) in
                try storage.documents.putMany(collection, by: author) { (batch) throws(DocumentsError) in
                    deleted = try batch.delete(slice, where: work.selector)
                }
            }
            work.staged = DocumentsDeletion.Sums(
                deleted: deleted, cascaded: result.cascaded, nullified: result.nullified)
            transfers.stage(transfer, rev: result.rev)
        } catch {
            switch error {
            case .engine(.busy): work.putBack()
            case .engine(.cold):
                work.collection.withBytes { storage.documents.alsoLook(toDelete: slice.map(\.id), from: $0) }
                if let look = storage.documents.coldLook { work.judge(.cold(look)) } else { work.judge(.later) }
            case .referencesBuilding: work.judge(.later)
            case .engine, .query, .absent, .uniqueViolation, .referenced, .unfit, .tooManyDocuments, .attachmentsFull,
                .migrating:
                work.judge(.failed(error))
            }
        }
    }
}
