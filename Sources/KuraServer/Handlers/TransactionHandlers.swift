import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// Answers `transaction.apply`.
extension TransactionHandlers {
    static func apply(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { return }
        out.openObject()
        out.openList(.results)
        let transaction = storage.beginTransaction()
        var walk = JSONWalk(call[TransactionApply.operations], storage: call.walk)
        var index = 0
        while let operation = walk.nextElement() {
            out.beginElement()
            do throws(Refusal) {
                try perform(operation, index, call, connection, &out, storage)
            } catch {
                storage.abandon(transaction)
                call.forgetsShown(above: storage.rev)
                if error.isCold { alsoLook(for: call, after: index, storage) }
                throw error.at(operation: index)
            }
            index += 1
        }
        let rev = storage.end(transaction)
        out.closeList()
        out.append(.rev, rev ?? storage.rev)
        if call.shows(transaction: rev, storage) { out.append(.durable, false) }
        out.closeObject()
    }

    /// The transaction has met something cold and is begun again: what its later operations on documents will look for is read in along
    /// with that.
    private static func alsoLook(for call: Call, after done: Int, _ storage: isolated Storage) {
        let inner = call.operation
        let reader = inner.reader
        var upcoming: [[UInt8]: DocumentsStore.Upcoming] = [:]
        var walk = JSONWalk(call[TransactionApply.operations], storage: call.walk)
        var index = 0
        while let operation = walk.nextElement(), index < WireLimits.transactionItems {
            index += 1
            // What is wrong with one is told when its turn comes.
            guard index > done + 1, (try? reader.readOperation(operation)) != nil,
                reader.table.methods[reader.methodIndex].store == .documents
            else { continue }
            DocumentsHandlers.note(inner, in: &upcoming[Array(inner[InDocuments.collection]), default: .init()])
        }
        reader.wipe()
        storage.documents.alsoLook(for: upcoming)
    }

    private static func perform(
        _ operation: Bytes, _ index: Int, _ call: Call, _ connection: Connection,
        _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        guard index < WireLimits.transactionItems else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "too many operations", parameter: call.name(TransactionApply.operations),
                    limit: WireLimits.transactionItems))
        }
        let inner = call.operation
        do throws(RPCError) { try inner.reader.readOperation(operation) } catch {
            inner.reader.wipe()
            throw .error(error)
        }
        if inner.reader.isAboutSecrets { call.isAboutSecrets = true }
        inner.begin(connection, isAhead: call.isAhead, replyAt: call.replyStart)
        defer {
            if inner.holdsSecrets {
                call.holdsSecrets = true
                inner.wipeSecrets()
            }
        }
        do throws(Refusal) { try inner.perform(&out, storage) } catch {
            call.shows(inner)
            throw error
        }
        call.shows(inner)
    }
}

extension Call {
    /// The key as it is kept. What one role was answered is not for another of the same user: behind a control character,
    /// which no name has, stands the role.
    private func requestKey(_ key: Bytes) -> Bytes {
        guard let permissions = connection?.permissions else { return key }
        keyOfRole.removeAll()
        keyOfRole.append(key)
        keyOfRole.append(0x1F)
        keyOfRole.append(text: permissions.role)
        return keyOfRole.bytes
    }

    /// Performs a write that carries a request key: answers the first result when the key is known and the request is the
    /// same, else records the result with the changes it reports.
    func performOnce(
        _ key: Bytes, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        if let permissions = connection?.permissions { try authorize(permissions, storage) }
        let user = uid
        let key = requestKey(key)
        let digests = storage.requests.digests
        let found = storage.requests.find(user, key)
        if let item = found.item {
            shows(found.shownRev)
            if let permissions = connection?.permissions { try authorizeOperations(permissions, storage) }
            guard let recorded = RecordedResult(item.value, method: reader.methodName),
                recorded.digest.map({ RequestDigests.differs($0, from: digest(digests)) }) != true
            else { throw .error(RPCError(.requestKeyReused, parameter: reader.requestKeyName)) }
            out.append(recorded.result)
            return
        }
        let start = out.count
        let transaction = storage.beginTransaction()
        isAboutSecrets = reader.isAboutSecrets
        do throws(Refusal) {
            try perform(&out, storage)
            let digest = isAboutSecrets || holdsSecrets ? nil : digest(digests)
            recordedResult.removeAll()
            RecordedResult.append(
                out.bytes(start..<out.count), method: reader.methodName, digest: digest, to: &recordedResult)
            defer { if recordedResult.capacity > 1 << 16 { recordedResult.releaseMemory() } }
            try run { () throws(StoreError) in try storage.requests.record(user, key, recordedResult.bytes) }
        } catch {
            storage.abandon(transaction)
            forgetsShown(above: storage.rev)
            throw error
        }
        let rev = storage.end(transaction)
        // The reply must not leave before the record of it is durable, even when nothing else was changed.
        if let rev { shows(rev) }
    }

    /// What the request asks for, as a digest. A descriptor's contents are no part of it.
    private func digest(_ digests: RequestDigests) -> Bytes {
        digests.begin(reader.methodName)
        reader.forEachTerm { name, text in digests.add(name: name, text: text) }
        return digests.finish()
    }
}

/// A result as it is kept under its request key: `["digest","method",result]`. Without the digest when it is about secrets, or when
/// an earlier version has recorded it: it is that of every request of its method then. An earlier version that reads one with a digest
/// takes it for another method's, and refuses.
private struct RecordedResult {
    let digest: Bytes?
    let result: Bytes

    /// - Returns: nil when it is another method's.
    init?(_ record: Bytes, method: Bytes) {
        guard record.count > 4 else { return nil }
        var rest = record.extracting(2..<record.count - 1)
        digest = RequestDigests.leading(rest)
        if let digest { rest = rest.extracting(min(rest.count, digest.count + 3)..<rest.count) }
        guard rest.count > method.count + 2, rest.starts(with: method), rest[method.count] == UInt8(ascii: "\"")
        else { return nil }
        result = rest.extracting(method.count + 2..<rest.count)
    }

    static func append(_ result: Bytes, method: Bytes, digest: Bytes?, to out: inout ByteBuffer) {
        out.append("[\"")
        if let digest {
            out.append(digest)
            out.append("\",\"")
        }
        out.append(method)
        out.append("\",")
        out.append(result)
        out.append("]")
    }
}
