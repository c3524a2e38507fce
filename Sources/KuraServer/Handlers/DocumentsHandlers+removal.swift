import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `documents.drop` and `documents.purge`.
extension DocumentsHandlers {
    static func drop(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let result = try call.run { () throws(StoreError) in try storage.drop(call[DocumentsDrop.collection]) }
        out.openObject()
        out.append(.rev, result.rev)
        out.append(.dropped, result.changed > 0)
        out.closeObject()
        call.shows(result.changed > 0 ? result.rev : storage.rev)
    }

    /// Once what has been deleted so far is folded, the fold thread removes it in pieces.
    static func purge(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let collection = call[DocumentsPurge.collection]
        var removed = 0
        if let answer = call.takeAnswer() {
            if answer.error == .noSpace { throw .error(RPCError(.noSpace)) }
            if let error = answer.error { throw Refusal(error, call: call) }
            if let done = answer.query as? PurgeDone {
                removed = done.removed
            } else if let count = answer.query as? TombstoneCount, count.count > 0 {
                // No days are everything, what this very millisecond deleted too.
                let days = call[DocumentsPurge.olderThanDays] ?? 0
                let before = days == 0 ? max(count.newest, storage.now) + 1 : storage.now - days * 86_400_000
                if let ticket = storage.purge(collection, before: before) { throw .query(ticket: ticket) }
            }
        } else if let count = storage.documents.tombstones(collection) {
            throw .query(ticket: storage.submit(count))
        }
        out.openObject()
        out.append(.purged, removed)
        out.append(.rev, storage.rev)
        out.closeObject()
        call.shows(storage.rev)
    }
}
