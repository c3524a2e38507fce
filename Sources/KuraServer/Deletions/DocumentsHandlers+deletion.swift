import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Answers `documents.deleteMany`.
extension DocumentsHandlers {
    static func deleteMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard call.has(DocumentsDeleteMany.ids) != call.has(DocumentsDeleteMany.where) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "give one of ids and where", parameter: call.name(DocumentsDeleteMany.ids)))
        }
        if call.has(DocumentsDeleteMany.where) { return try deleteMatching(call, &out, storage) }
        let others: [any Parameter] = [
            DocumentsDeleteMany.atomic, DocumentsDeleteMany.dryRun, DocumentsDeleteMany.allowScan,
            DocumentsDeleteMany.timeoutMs,
        ]
        for parameter in others where call.has(parameter) {
            throw .error(RPCError(.invalidParams, hint: "it goes with where", parameter: call.name(parameter)))
        }
        try deleteNamed(call, &out, storage)
    }

    private static func deleteNamed(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        var refusal: Refusal?
        var deleted = 0
        let result: WriteResult
        do throws(StoreError) {
            result = try storage.documents.putMany(call[InDocuments.collection], by: call.author(storage)) {
                (batch) throws(StoreError) in
                var index = 0
                do throws(Refusal) {
                    try call.forEachName(of: DocumentsDeleteMany.ids, limit: WireLimits.listItems) {
                        (id) throws(Refusal) in
                        do throws(StoreError) { if try batch.delete(id) { deleted += 1 } } catch {
                            guard case .error(let fault) = Refusal(error, call: call) else {
                                throw Refusal(error, call: call)
                            }
                            throw .error(call.error(fault, in: DocumentsDeleteMany.ids, index))
                        }
                        index += 1
                    }
                } catch {
                    refusal = error
                    throw .busy
                }
            }
        } catch {
            let refusal = refusal ?? Refusal(error, call: call)
            if refusal.isCold {
                var ids: [[UInt8]] = []
                // What is wrong with a later one is told when its turn comes.
                try? call.forEachName(of: DocumentsDeleteMany.ids, limit: WireLimits.listItems) { (id) in
                    ids.append(Array(id))
                }
                storage.documents.alsoLook(toDelete: ids, from: call[InDocuments.collection])
            }
            throw refusal
        }
        append(deleted, result, slices: nil, call, &out, storage)
    }

    private static func append(
        _ deleted: Int, _ result: WriteResult, slices: Int?, _ call: Call, _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) {
        out.openObject()
        out.append(.deleted, deleted)
        if let slices { out.append(.slices, slices) }
        out.append(.rev, result.rev)
        out.append(effectsOf: result)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    // MARK: By a selector

    /// Up to as many as one transaction may take go in one. More than that go in slices, by a thread that the request waits for.
    private static func deleteMatching(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        guard !call.isOperation else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "a transaction deletes by ids: find the documents first",
                    parameter: call.name(DocumentsDeleteMany.where)))
        }
        if call[DocumentsDeleteMany.dryRun] { return try countMatching(call, &out, storage) }
        let incarnation = storage.documents.incarnation(call[InDocuments.collection])
        // Whatever it waits for, it is about the collection that had the name when it came.
        call.goesOn { (call, out, storage) throws(Refusal) in
            try deleteMatching(in: incarnation, call, &out, storage)
        }
        try deleteMatching(in: incarnation, call, &out, storage)
    }

    private static func deleteMatching(
        in incarnation: UInt32, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        // A turn that is taken back takes the answer along, and looking again would not end.
        if storage.isRefusingChanges { throw .error(RPCError(.noSpace)) }
        try answer(
            call, &out, storage, { (call, storage) throws(Refusal) in try matching(in: incarnation, call, storage) }
        ) { (matched, call, out, storage) throws(Refusal) in
            // All that was to be deleted has gone with the collection, and another one may have its name.
            guard storage.documents.incarnation(call[InDocuments.collection]) == incarnation else {
                out.openObject()
                out.append(.deleted, 0)
                out.append(.slices, 0)
                out.append(.rev, storage.rev)
                out.closeObject()
                return call.shows(storage.rev)
            }
            try delete(matched, call, &out, storage)
        }
    }

    private static func delete(
        _ matched: MatchedDocuments, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let isSliced = matched.isOver || matched.found.count > storage.removals && !isWhole(call)
        guard !isSliced else {
            guard !isWhole(call) else { throw tooMany }
            try call.refuseUnlessTransferFree()
            let selector = try call.run { () throws(StoreError) in try matched.selector.copy() }
            throw .transfer(
                DocumentsDeletion(
                    Array(call[InDocuments.collection]),
                    storage.documents.incarnation(call[InDocuments.collection]), matched, selector,
                    milliseconds: call[DocumentsDeleteMany.timeoutMs].map { Int($0) } ?? Call.usualMilliseconds,
                    storage.configuration))
        }
        var deleted = 0
        let result = try call.run { () throws(StoreError) in
            try storage.documents.putMany(call[InDocuments.collection], by: call.author(storage)) {
                (batch) throws(StoreError) in
                deleted = try batch.delete(matched.found, where: matched.selector)
            }
        }
        append(deleted, result, slices: deleted > 0 ? 1 : 0, call, &out, storage)
    }

    /// All go in one transaction or none.
    private static func isWhole(_ call: Call) -> Bool {
        call[DocumentsDeleteMany.atomic] || call.reader.requestKey != nil
    }

    private static var tooMany: Refusal {
        .error(
            RPCError(
                .tooManyDocuments, hint: "with atomic, or a requestKey, all go in one transaction or none",
                limit: MatchedDocuments.limit))
    }

    /// What matches in that collection; nothing when it is gone.
    private static func matching(
        in incarnation: UInt32, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) -> MatchedDocuments {
        let selector = try call.selector(DocumentsDeleteMany.where)
        let isThere = storage.documents.incarnation(call[InDocuments.collection]) == incarnation
        let query =
            isThere
            ? try call.query(
                QueryShape(selector: selector), allowScan: DocumentsDeleteMany.allowScan,
                timeout: DocumentsDeleteMany.timeoutMs, storage) : nil
        return MatchedDocuments(
            query, selector, looks: storage.documents.looks(forDeletionsIn: call[InDocuments.collection]),
            emptyAsOf: storage.rev)
    }

    private static func countMatching(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let count = { @Sendable (call: Call, storage: isolated Storage) throws(Refusal) in
            let query = try call.query(
                QueryShape(selector: try call.selector(DocumentsDeleteMany.where), countsOnly: true),
                allowScan: DocumentsDeleteMany.allowScan, timeout: DocumentsDeleteMany.timeoutMs, storage)
            return CountAnswer(query, emptyAsOf: storage.rev)
        }
        try answer(call, &out, storage, count) { (found, call, out, _) throws(Refusal) in
            let matched = found.query?.cost.matched ?? 0
            guard matched <= MatchedDocuments.limit || !isWhole(call) else { throw tooMany }
            out.openObject()
            out.append(.deleted, matched)
            out.append(.dryRun, true)
            out.append(.rev, found.rev)
            out.closeObject()
        }
    }
}

extension ByteBuffer {
    /// What else a deletion has done; nothing when it has not.
    mutating func append(effectsOf result: WriteResult) {
        append(cascaded: result.cascaded, nullified: result.nullified)
    }

    mutating func append(cascaded: Int, nullified: Int) {
        if cascaded > 0 { append(.cascaded, cascaded) }
        if nullified > 0 { append(.nullified, nullified) }
    }
}
