import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `documents.drop` and `documents.purge`.
extension DocumentsHandlers {
    static func drop(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let result = try call.run { () throws(StoreError) in
            try storage.drop(call[DocumentsDrop.collection], by: call.author(storage))
        }
        out.openObject()
        out.append(.rev, result.rev)
        out.append(.dropped, result.changed > 0)
        out.closeObject()
        call.shows(result.changed > 0 ? result.rev : storage.rev)
    }

    /// Once what has been deleted so far is folded, the fold thread removes it in pieces.
    static func purge(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let count = storage.documents.tombstones(call[DocumentsPurge.collection]) else {
            return append(purged: 0, call, to: &out, storage)
        }
        let incarnation = storage.documents.incarnation(call[DocumentsPurge.collection])
        throw call.wait(for: storage.submit(count)) {
            (call, count: TombstoneCount, error, out, storage) throws(Refusal) in
            if let error { throw Refusal(error, call: call) }
            // They have gone with the collection, and another one may have its name.
            guard storage.documents.incarnation(call[DocumentsPurge.collection]) == incarnation else {
                return append(purged: 0, call, to: &out, storage)
            }
            // No days are everything, what this very millisecond deleted too.
            let days = call[DocumentsPurge.olderThanDays] ?? 0
            let before = days == 0 ? max(count.newest, storage.now) + 1 : storage.now - days * 86_400_000
            guard count.count > 0, let ticket = storage.purge(call[DocumentsPurge.collection], before: before) else {
                return append(purged: 0, call, to: &out, storage)
            }
            throw call.wait(for: ticket, hasEffect: true) {
                (call, done: PurgeDone, error, out, storage) throws(Refusal) in
                if let error { throw Refusal(error, call: call) }
                append(purged: done.removed, call, to: &out, storage)
            }
        }
    }

    private static func append(
        purged removed: Int, _ call: Call, to out: inout ByteBuffer, _ storage: isolated Storage
    ) {
        out.openObject()
        out.append(.purged, removed)
        out.append(.rev, storage.rev)
        out.closeObject()
        call.shows(storage.rev)
    }
}
