import KuraBytes
import KuraProtocol
import KuraStorage

extension Call {
    /// Performs a write that carries a request key: answers the first result when the key is known and the request is the
    /// same, else records the result with the changes it reports.
    func performOnce(
        _ key: Bytes, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        if let permissions = connection?.permissions { try authorize(permissions, storage) }
        let user = connection?.client.uid ?? .max
        let key = keyed.key(key, role: connection?.permissions?.role)
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
        let transaction = storage.beginTransaction(by: author(storage))
        keyed.begin(isAboutSecrets: reader.isAboutSecrets)
        do throws(Refusal) {
            try perform(&out, storage)
            let digest = keyed.isAboutSecrets || memory.holdsSecrets ? nil : digest(digests)
            let record = keyed.record(out.bytes(start..<out.count), method: reader.methodName, digest: digest)
            defer { keyed.end() }
            // It finds room where what it is about has.
            let author = author(storage)
            try run { () throws(EngineError) in try storage.requests.record(user, key, record, by: author) }
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
