import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// Answers `transaction.apply`.
enum TransactionHandlers {
    static let all: [String: Handler] = ["transaction.apply": apply]

    static func apply(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { return }
        out.append("{\"results\":[")
        let transaction = storage.beginTransaction()
        var walk = JSONWalk(call.reader.json(0), storage: call.walk)
        var index = 0
        while let operation = walk.nextElement() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
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
        out.append("],\"rev\":")
        out.append(unsigned: rev ?? storage.rev)
        if call.shows(transaction: rev, storage) { out.append(",\"durable\":false") }
        out.append("}")
    }

    /// The transaction has met something cold and is begun again: what its later operations on documents will look for is read in along
    /// with that.
    private static func alsoLook(for call: Call, after done: Int, _ storage: isolated Storage) {
        let inner = call.operation
        let reader = inner.reader
        var upcoming: [[UInt8]: DocumentsStore.Upcoming] = [:]
        var walk = JSONWalk(call.reader.json(0), storage: call.walk)
        var index = 0
        while let operation = walk.nextElement(), index < WireLimits.transactionItems {
            index += 1
            // What is wrong with one is told when its turn comes.
            guard index > done + 1, (try? reader.readOperation(operation)) != nil,
                reader.methodName.starts(with: Bytes("documents."))
            else { continue }
            let name = String(decoding: reader.methodName.dropFirst("documents.".utf8.count), as: UTF8.self)
            var changes = upcoming.removeValue(forKey: Array(reader.string(0))) ?? DocumentsStore.Upcoming()
            switch name {
            case "put": changes.written.append((reader.has(1) ? Array(reader.string(1)) : nil, reader.json(2)))
            case "putMany": changes.written += DocumentsHandlers.upcoming(inner, after: 0)
            case "delete": changes.deleted.append(Array(reader.string(1)))
            case "deleteMany" where reader.has(1):
                try? inner.forEachName(of: 1, limit: WireLimits.listItems) { changes.deleted.append(Array($0)) }
            case "patch", "increment", "restore", "attach", "detach": changes.changed.append(Array(reader.string(1)))
            default: break
            }
            upcoming[Array(reader.string(0))] = changes
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
                    .invalidParams, hint: "too many operations", parameter: call.reader.name(0),
                    limit: WireLimits.transactionItems))
        }
        let inner = call.operation
        do throws(RPCError) { try inner.reader.readOperation(operation) } catch {
            inner.reader.wipe()
            throw .error(error)
        }
        inner.begin(connection, replyAt: call.replyStart)
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

    /// Performs a write that carries a request key: answers the first result when the key is known, else records the
    /// result with the changes it reports.
    func performOnce(
        _ key: Bytes, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        if let permissions = connection?.permissions { try authorize(permissions, storage) }
        let user = connection?.peer?.uid ?? .max
        let key = requestKey(key)
        let found = storage.requests.find(user, key)
        if let item = found.item {
            shows(found.shownRev)
            if let permissions = connection?.permissions { try authorizeOperations(permissions) }
            guard let result = RecordedResult.result(in: item.value, of: reader) else {
                throw .error(RPCError(.requestKeyReused, parameter: reader.requestKeyName))
            }
            out.append(result)
            return
        }
        let start = out.count
        let transaction = storage.beginTransaction()
        do throws(Refusal) {
            try perform(&out, storage)
            var record = ByteBuffer()
            RecordedResult.append(Bytes(rebasing: out.bytes[start...]), of: reader, to: &record)
            try run { () throws(StoreError) in try storage.requests.record(user, key, record.bytes) }
        } catch {
            storage.abandon(transaction)
            forgetsShown(above: storage.rev)
            throw error
        }
        let rev = storage.end(transaction)
        // The reply must not leave before the record of it is durable, even when nothing else was changed.
        if let rev { shows(rev) }
    }
}

/// A result as it is kept under its request key: `["method",result]`.
private enum RecordedResult {
    static func append(_ result: Bytes, of reader: RequestReader, to out: inout ByteBuffer) {
        out.append("[\"")
        out.append(reader.methodName)
        out.append("\",")
        out.append(result)
        out.append("]")
    }

    /// The result, when it is one of the method that is being called; nil otherwise.
    static func result(in record: Bytes, of reader: RequestReader) -> Bytes? {
        let name = reader.methodName
        let head = 2 + name.count
        guard record.count > head + 3, record[head] == UInt8(ascii: "\""),
            record[2..<head].elementsEqual(name)
        else { return nil }
        return Bytes(rebasing: record[(head + 2)..<(record.count - 1)])
    }
}
