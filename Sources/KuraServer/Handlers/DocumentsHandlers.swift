import JSONSchema
import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Answers `documents.*`.
extension DocumentsHandlers {
    // MARK: Reading

    static func get(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        if let rev = call[DocumentsGet.atRev] { return try get(at: UInt64(rev), call, &out, storage) }
        let found = try call.run { () throws(EngineError) in
            try storage.documents.get(call[DocumentsGet.collection], call[DocumentsGet.id])
        }
        call.shows(found)
        if let expansion = try call.expansion(DocumentsGet.expand, storage) {
            return try append(found, expansion, call, &out, storage)
        }
        out.openObject()
        try append(found, call, &out, storage)
        out.closeObject()
    }

    /// Appends the members that tell of a document.
    private static func append(
        _ found: Lookup, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        if let item = found.item {
            try call.refuseUnlessRoom(for: item.value.count)
            out.append(content: item.value, rev: item.rev)
            out.append(.version, item.version)
            out.append(.createdAt, item.createdAt)
            out.append(.updatedAt, item.updatedAt)
            if let attachments = try call.run({ () throws(EngineError) in
                try storage.documents.attachments(call[DocumentsGet.collection], call[DocumentsGet.id])
            }) {
                out.append(.attachments, json: attachments)
            }
        } else {
            out.append(content: call.has(DocumentsGet.default) ? call[DocumentsGet.default] : nil, rev: 0)
        }
    }

    /// The same with what it refers to, all as of one moment: the document is the reply's first element.
    private static func append(
        _ found: Lookup, _ expansion: Expansion, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        var reply = GatheredReply(call, storage)
        call.memory.scratch.removeAll()
        if reply.isNew {
            out.openObject()
            reply.opened(out.count, call)
        }
        try reply.checkMoment(found.shownRev, &out, call, storage)
        if let item = found.item, !expansion.note(StoredValue(item.value)) { throw Expansion.tooMany }
        if reply.state.done == 0 {
            try append(found, call, &out, storage)
            out.openObject(.expanded)
            reply.addedFirst()
            reply.advance(found.item?.value.count ?? 0)
        }
        try call.append(expansion, after: 1, basis: nil, &reply, to: &out, storage)
        out.closeObject()
    }

    static func getMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let collection = call[DocumentsGetMany.collection]
        var expansion = call.connection?.state.gathering?.basis as? Expansion
        if expansion == nil { expansion = try call.expansion(DocumentsGetMany.expand, storage) }
        var reply = GatheredReply(call, basis: expansion, storage)
        call.memory.scratch.removeAll()
        call.memory.scratch.append(reply.state.aside)
        if reply.state.done == 0 { expansion?.removeAll() }
        let count = expansion == nil ? 0 : call.elements(of: DocumentsGetMany.ids)
        // They stand there, with all that follows them.
        let hasAll = count > 0 && reply.state.done >= count
        if reply.isNew {
            out.openObject()
            out.openList(.documents)
            reply.opened(out.count, call)
        }
        try call.forEachName(of: DocumentsGetMany.ids, limit: WireLimits.getManyItems, after: reply.state.done) {
            (id) throws(Refusal) in
            try reply.checkTime(out.count, aside: call.memory.scratch, call)
            let found: Lookup
            do throws(EngineError) { found = try storage.documents.get(collection, id) } catch {
                reply.keepIfMuch(out.count, aside: call.memory.scratch, call)
                throw Refusal(error, call: call)
            }
            try reply.checkMoment(found.shownRev, basis: expansion, &out, call, storage)
            if let expansion, let item = found.item, !expansion.note(StoredValue(item.value)) {
                throw Expansion.tooMany
            }
            call.shows(found.shownRev)
            reply.advance(found.item?.value.count ?? 0)
            guard let item = found.item else { return call.memory.scratch.append(element: id) }
            try reply.checkRoom(for: item.value.count, out.count, call)
            reply.addedFirst()
            out.openObject()
            out.append(document: item.key, item.value, rev: item.rev)
            out.closeObject()
        }
        if !hasAll {
            out.closeList()
            out.openList(.missing)
            out.append(call.memory.scratch.bytes)
            out.closeList()
            out.append(.rev, reply.state.rev)
        }
        if let expansion {
            if !hasAll { out.openObject(.expanded) }
            try call.append(expansion, after: count, basis: expansion, &reply, to: &out, storage)
        }
        out.closeObject()
        call.shows(reply.state.rev)
    }

    static func scopes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        call.append(scopes: storage.documents.scopes(), of: .documents, named: .collection, to: &out, storage)
    }

    // MARK: Writing

    static func put(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let isNewID = !call.has(DocumentsPut.id)
        let id = isNewID ? call.edits.newID(at: storage.now) : call[DocumentsPut.id]
        let warning = try call.check(
            CollectionRules.of(call[DocumentsPut.collection], storage), call[DocumentsPut.value])
        let result = try call.run { () throws(DocumentsError) in
            try storage.documents.put(
                call[DocumentsPut.collection], id, call[DocumentsPut.value], isNewID: isNewID,
                ifRev: call.condition(DocumentsPut.ifRev), by: call.author(storage))
        }
        out.openObject()
        out.append(.id, id)
        out.append(.rev, result.rev)
        call.append(warning: warning, to: &out)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    static func delete(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let result = try call.run { () throws(DocumentsError) in
            try storage.documents.delete(
                call[DocumentsDelete.collection], call[DocumentsDelete.id],
                ifRev: call.condition(DocumentsDelete.ifRev),
                by: call.author(storage))
        }
        call.append(deletion: result, to: &out, storage)
    }

    static func putMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        var refusal: Refusal?
        var warnings: [(index: Int, violation: Violation)] = []
        let result: WriteResult
        out.openObject()
        out.openList(.ids)
        do throws(DocumentsError) {
            // `out` is borrowed by the closure, which ends before it is used again.
            result = try storage.documents.putMany(call[DocumentsPutMany.collection], by: call.author(storage)) {
                (batch) throws(DocumentsError) in
                var index = 0
                do throws(Refusal) { try fill(batch, call, &out, &index, &warnings, storage) } catch {
                    if error.isCold {
                        storage.documents.alsoLook(
                            toWrite: upcoming(call, after: index), into: call[DocumentsPutMany.collection])
                    }
                    refusal = error
                    throw .engine(.busy)
                }
            }
        } catch { throw refusal ?? Refusal(error, call: call) }
        out.closeList()
        out.append(.rev, result.rev)
        append(warnings: warnings, to: &out)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    /// Notes what an operation will look for, so that it is read in together with what others will.
    static func note(_ operation: Call, in changes: inout DocumentsStore.Upcoming) {
        let id = Array(operation[InDocuments.id])
        switch operation.reader.methodIndex {
        case DocumentsPut.methodIndex:
            changes.written.append((operation.has(DocumentsPut.id) ? id : nil, operation[DocumentsPut.value]))
        case DocumentsPutMany.methodIndex: changes.written += upcoming(operation, after: 0)
        case DocumentsDelete.methodIndex: changes.deleted.append(id)
        case DocumentsDeleteMany.methodIndex where operation.has(DocumentsDeleteMany.ids):
            try? operation.forEachName(of: DocumentsDeleteMany.ids, limit: WireLimits.listItems) {
                changes.deleted.append(Array($0))
            }
        case DocumentsPatch.methodIndex, DocumentsIncrement.methodIndex, DocumentsRestore.methodIndex,
            DocumentsAttach.methodIndex, DocumentsDetach.methodIndex:
            changes.changed.append(id)
        default: break
        }
    }

    /// The documents of a `putMany` from `done` on, for what they will be held against to be read in together.
    static func upcoming(_ call: Call, after done: Int) -> [(id: [UInt8]?, value: Bytes)] {
        var documents: [(id: [UInt8]?, value: Bytes)] = []
        var walk = JSONWalk(call[DocumentsPutMany.documents], storage: call.memory.walk)
        var index = 0
        while let element = walk.nextElement(), index < WireLimits.listItems {
            index += 1
            // What is wrong with one is told when its turn comes.
            guard index > done, let entry = try? DocumentEntry(element, call) else { continue }
            documents.append((entry.id.map { Array($0) }, entry.value))
        }
        return documents
    }

    private static func append(warnings: [(index: Int, violation: Violation)], to out: inout ByteBuffer) {
        guard !warnings.isEmpty else { return }
        out.openList(.warnings)
        for warning in warnings {
            out.openObject()
            out.append(.index, warning.index)
            out.append(.path, warning.violation.instancePointer)
            out.append(.message, warning.violation.message)
            out.closeObject()
        }
        out.closeList()
    }

    private static func fill(
        _ batch: DocumentsStore.Batch, _ call: Call, _ out: inout ByteBuffer, _ index: inout Int,
        _ warnings: inout [(index: Int, violation: Violation)], _ storage: isolated Storage
    ) throws(Refusal) {
        let rules = CollectionRules.of(call[DocumentsPutMany.collection], storage)
        var walk = JSONWalk(call[DocumentsPutMany.documents], storage: call.memory.walk)
        while let element = walk.nextElement() {
            guard index < WireLimits.listItems else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "too many documents", parameter: call.name(DocumentsPutMany.documents),
                        limit: WireLimits.listItems))
            }
            let entry: DocumentEntry
            do throws(EntryFault) { entry = try DocumentEntry(element, call) } catch {
                throw .error(
                    call.error(
                        RPCError(.invalidParams, hint: error.hint), in: DocumentsPutMany.documents, index,
                        member: error.member))
            }
            do throws(Refusal) {
                if let violation = try call.check(rules, entry.value), warnings.count < Call.violationLimit {
                    warnings.append((index, violation))
                }
            } catch { throw error.at(index: index) }
            let id = entry.id ?? call.edits.newID(at: storage.now)
            do throws(DocumentsError) {
                try batch.put(id, entry.value, isNewID: entry.id == nil, ifRev: entry.ifRev)
            } catch {
                guard case .error(let fault) = Refusal(error, call: call) else { throw Refusal(error, call: call) }
                let member: StaticString? =
                    switch error {
                    case .engine(.duplicate): "id"
                    case .engine(.valueTooLarge): "value"
                    case .engine, .query, .absent, .uniqueViolation, .referenced, .unfit, .tooManyDocuments,
                        .referencesBuilding, .attachmentsFull, .migrating:
                        nil
                    }
                throw .error(
                    call.error(fault, in: DocumentsPutMany.documents, index, member: member.map { Array(Bytes($0)) }))
            }
            out.append(element: id)
            index += 1
        }
    }
}

/// What is wrong with an element of `documents.putMany`.
private struct EntryFault: Error {
    var hint: StaticString
    /// The member that is at fault; nil for the element.
    var member: [UInt8]?

    init(_ hint: StaticString, _ member: StaticString? = nil) {
        self.hint = hint
        self.member = member.map { Array(Bytes($0)) }
    }

    init(_ hint: StaticString, member: Bytes) {
        self.hint = hint
        self.member = Array(member)
    }
}

/// One element of `documents.putMany`.
private struct DocumentEntry {
    var id: Bytes?
    var value = Bytes()
    var ifRev: Precondition = nil

    init(_ element: Bytes, _ call: Call) throws(EntryFault) {
        guard element.first == UInt8(ascii: "{") else {
            throw EntryFault("a document is an object with value, id and ifRev")
        }
        var walk = JSONWalk(element, storage: call.memory.innerWalk)
        while let (name, text) = walk.nextMember() {
            if name.elementsEqual("value".utf8) {
                value = text
            } else if name.elementsEqual("id".utf8) {
                guard let text = JSONWalk.string(text, storage: call.memory.innerWalk),
                    JSONWalk.isName(text, limit: WireLimits.keyBytes)
                else {
                    throw EntryFault("an id is a string of 1 to 512 bytes without control characters", "id")
                }
                id = text
            } else if name.elementsEqual("ifRev".utf8) {
                guard let number = RequestReader.integer(text), number >= 0, number <= WireLimits.safeInteger else {
                    throw EntryFault("ifRev is a revision", "ifRev")
                }
                ifRev = UInt64(number)
            } else {
                throw EntryFault("members of a document are value, id and ifRev", member: name)
            }
        }
        guard !value.isEmpty else { throw EntryFault("a document has a value") }
    }
}
